"""Whether a value counts as true."""

from __future__ import annotations

from collections.abc import Iterable

from mlaprobe.evaluator.objects.classes import PyClass
from mlaprobe.evaluator.objects.iterables import View
from mlaprobe.evaluator.objects.objects import class_name, special
from mlaprobe.evaluator.symbolic.symbols import Sym, SymText
from mlaprobe.evaluator.values import Unknown, Value, rest_of
from mlaprobe.evaluator.values.floats import Single
from mlaprobe.evaluator.values.kinds import (
    Builtin,
    Closure,
    EnumMember,
    EnumType,
    Model,
    Owner,
    Record,
    ToObject,
)


def truth(value: Value) -> Value:
    """``True``, ``False`` or an :class:`Unknown`."""
    if value is True or value is False:
        return value
    kind = type(value)
    if kind is Sym:
        return value.compare("!=", value, 0)
    if kind is SymText:
        return True
    if kind in (list, dict, set):
        rest = rest_of(value)
        return bool(value) if rest is None or len(value) > 1 else rest.another()
    if kind in (int, float, Single, str, tuple, set, frozenset, range):
        return bool(value)
    if value is None:
        return False
    if isinstance(value, Unknown):
        return value
    if isinstance(value, EnumMember):
        if isinstance(value.kind, PyClass) and value.scoped and not value.kind.flag:
            return True if not value.kind.defines("__bool__") else Unknown("an enum's truth")
        if isinstance(value.kind, PyClass) and value.kind.flag and type(value.value) is int:
            return bool(value.value) if not value.kind.defines("__bool__") else Unknown("a flag")
        if value.value is None or (value.scoped and value.kind is None):
            return Unknown(f"truth of {value!r} is not known")
        return bool(value.value)
    if special(value, "__bool__", "__len__"):
        return Unknown(f"the truth of a {class_name(value)} is not followed")
    if isinstance(value, (tuple, dict)):
        return bool(value)
    if isinstance(value, View):
        return truth(value.mapping)
    if isinstance(value, Model) and not value.always_true:
        return value.truth()
    if isinstance(value, (Model, Record, Closure, Builtin, EnumType, Owner, ToObject)):
        return True
    return Unknown(f"truth of a {kind.__name__} is not known")


def settled(stop: bool, values: Iterable[Value]) -> Value:
    """Whether any of some truth values is true (``stop`` is true), or all are (it is false)."""
    unknowns: list[Unknown] = []
    for value in values:
        if value is stop:
            return stop
        if isinstance(value, Unknown):
            unknowns.append(value)
    if not unknowns:
        return not stop
    # what the first of them says is not yet what all say
    first = unknowns[0]
    return first if len(unknowns) == 1 else first.derive("any" if stop else "all", *unknowns)

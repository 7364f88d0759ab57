"""Whether a value is an object of a class, and its class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.symbolic.symbols import SymText, number_of
from mlaprobe.evaluator.values import Args, Kwargs, SomeText, Unknown, Value
from mlaprobe.evaluator.values.classes import PyClass
from mlaprobe.evaluator.values.kinds import (
    Builtin,
    Closure,
    EnumMember,
    EnumType,
    LooseSet,
    Model,
    Record,
)
from mlaprobe.evaluator.values.objects import Instance, NamedTuple, class_of

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float,),
    "str": (str,),
    "bool": (bool,),
    "list": (list,),
    "tuple": (tuple,),
    "dict": (dict,),
    "set": (set,),
    "frozenset": (frozenset,),
    "type": (EnumType, PyClass),
}
"""Built-in classes, by name."""
_PLAIN = (int, float, str, list, tuple, dict, set, frozenset, range, type(None))


def instance_of(
    value: Value, kinds: Value, span: Span, types: Mapping[str, tuple[type, ...]] = TYPES
) -> Value:
    """``isinstance(value, kinds)``."""
    unclear: Unknown | None = None
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        found = instance_of(value, kind, span, types) if isinstance(kind, tuple) else None
        if found is None:
            found = _is_a(value, kind, span, types)
        if found is True:
            return True
        if isinstance(found, Unknown) and unclear is None:
            unclear = found
    return False if unclear is None else unclear


def _is_a(value: Value, kind: Value, span: Span, types: Mapping[str, tuple[type, ...]]) -> Value:
    value = number_of(value)
    if isinstance(kind, _TypeOf):
        kind = kind.cls
    if kind is None:
        return value is None
    if isinstance(value, Unknown) and not isinstance(value, SomeText):
        return value.derive("isinstance", value, getattr(kind, "name", None))
    if isinstance(kind, (PyClass, EnumType)):
        return _of_class(value, kind, span)
    names = types.get(kind.name) if isinstance(kind, Builtin) else None
    if names is None:
        return Unknown("the type of a value", span)
    if isinstance(value, (SymText, SomeText)):
        return names == (str,)
    if isinstance(value, LooseSet):
        return names == (set,)
    if isinstance(value, EnumMember):
        mixed = not value.scoped and value.value is not None
        return isinstance(value.value, names) if mixed else False
    cls = class_of(value)
    if isinstance(cls, PyClass) and cls.reason and not isinstance(value, names):
        return Unknown(cls.reason, span)
    return isinstance(value, names)


def _of_class(value: Value, kind: PyClass | EnumType, span: Span) -> Value:
    if isinstance(kind, EnumType):
        return isinstance(value, EnumMember) and value.enum == kind.name
    if kind.defines("__instancecheck__"):
        return Unknown(f"what counts as a {kind.name} is not followed", span)
    cls = class_of(value) or (value.kind if isinstance(value, EnumMember) else None)
    if isinstance(cls, PyClass):
        if kind in cls.order:
            return True
        unclear = cls.reason or (kind.reason if kind.reason else "")
        return Unknown(unclear, span) if unclear else False
    if kind.abstract or (isinstance(value, (Model, Record)) and not isinstance(value, Instance)):
        return Unknown(f"whether a value is a {kind.name}", span)
    return False if isinstance(value, (*_PLAIN, Closure, Builtin)) else Unknown("a type", span)


class _TypeOf(Model):
    """The class of a value of one of Python's own types."""

    __slots__ = ("cls",)

    one_of_a_kind = True

    def __init__(self, cls: Value) -> None:
        self.cls = cls

    def equals(self, other: Value) -> bool | None:
        other = other.cls if isinstance(other, _TypeOf) else other
        if isinstance(other, Builtin) and isinstance(self.cls, Builtin):
            return self.cls.name == other.name if other.name in TYPES else None
        if other is None or self.cls is None:
            return other is self.cls
        return None


def type_of(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """``type(value)``."""
    if len(args) != 1 or kwargs:
        return Unknown("a class that is made by type() is not followed", span)
    value = number_of(args[0])
    if isinstance(value, (Instance, NamedTuple)):
        return value.cls
    if value is None:
        return _TypeOf(None)
    if isinstance(value, EnumMember) and isinstance(value.kind, PyClass):
        return value.kind.enum
    if type(value) in _PLAIN and type(value).__name__ in TYPES:
        name = type(value).__name__
        return _TypeOf(Builtin(name, lambda run, a, k, s: Unknown(f"a call of {name}", s)))
    return Unknown("the type of a value", span)

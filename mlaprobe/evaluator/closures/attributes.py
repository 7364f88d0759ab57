"""Attributes and subscripts of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlaprobe.evaluator.closures.displays import elements
from mlaprobe.evaluator.closures.methodcalls.methods import method
from mlaprobe.evaluator.closures.methodcalls.setmethods import set_method
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects import enums
from mlaprobe.evaluator.objects.mappings import put_entry
from mlaprobe.evaluator.objects.objects import NOTHING, Instance, NamedTuple
from mlaprobe.evaluator.stl.containers import copied
from mlaprobe.evaluator.stl.optionals import METHODS
from mlaprobe.evaluator.stl.optionals import method as optional_method
from mlaprobe.evaluator.stl.places import PAIR
from mlaprobe.evaluator.symbolic.symbols import Sym, SymText, plain
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value, rest_of
from mlaprobe.evaluator.values.comparing import entry_of, equals
from mlaprobe.evaluator.values.kinds import (
    Builtin,
    Closure,
    EnumMember,
    EnumType,
    Model,
    Pointer,
    Record,
    StructType,
)
from mlaprobe.evaluator.values.unordered import LooseSet

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.modules import Module

_OF_CACHES: dict[str, Callable[[Run, Args, Kwargs, Span], Value]] = {
    "cache_info": lambda run, args, kwargs, span: Unknown("what a cache holds", span),
    "cache_clear": lambda run, args, kwargs, span: None,
}
"""What functions have whose results are kept: to forget these changes no result."""
_WITH_MEMBERS = (Unknown, Model, Record, Pointer, StructType, EnumType)
"""What has members of its own, by whatever name."""


def attribute(
    run: Run, module: Module | None, obj: Value, name: str, span: Span, *, python: bool = False
) -> Value:
    """``obj.name``."""
    if name in METHODS and not python and not isinstance(obj, _WITH_MEMBERS):
        return optional_method(obj, name)
    if isinstance(obj, (Instance, NamedTuple)):
        found = obj.cls.read(run, obj, name, span)
        return method(obj, name, span, python=python) if found is NOTHING else found
    if isinstance(obj, Record):
        found = obj.fields.get(name, run)
        if found is not run:
            return found
        return Unknown(f"{obj.type} has no known member {name}", span)
    if isinstance(obj, Unknown):
        return obj.derive("." + name)
    if isinstance(obj, (set, frozenset, LooseSet)):
        return set_method(obj, name, span)
    if isinstance(obj, Model):
        return (obj.read_in_python if python else obj.get_in)(run, name, span)
    if isinstance(obj, Pointer):
        return attribute(run, module, obj.load(), name, span)
    if isinstance(obj, StructType) and module is not None:
        return module.static(run, obj, name, span)
    if isinstance(obj, EnumType):
        return enums.attribute_of_type(run, obj, name, span)
    if isinstance(obj, EnumMember):
        return enums.attribute_of_member(run, obj, name, span)
    if isinstance(obj, tuple) and len(obj) == 2 and name in PAIR and not python:
        return copied(obj[PAIR.index(name)])
    if obj is None:
        return Unknown(f"attribute {name} of nothing", span)
    if isinstance(obj, Closure):
        if name in _OF_CACHES and obj.function.cached and len(obj.function.decorators) == 1:
            return Builtin(name, _OF_CACHES[name])
        what = f"attribute {name} of the function {obj.function.name}"
        return Unknown(f"{what} is not followed", span)
    if python and isinstance(obj, Builtin) and obj.name in _TYPES:
        return _of_type(obj.name, name)
    return method(obj, name, span, python=python)


_TYPES = frozenset(("str", "int", "list", "dict", "set", "frozenset", "tuple"))


def _of_type(kind: str, name: str) -> Builtin:
    """``str.lower`` and its kin: a method that takes its object."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if kind == "dict" and name == "fromkeys":
            return _from_keys(args, span)
        if not args or type(plain(args[0])).__name__ != kind:
            return Unknown(f"{kind}.{name} is not followed", span)
        found = attribute(run, None, args[0], name, span, python=True)
        return run.machine.call(run, found, args[1:], kwargs, span)

    return Builtin(f"{kind}.{name}", call, symbolic=True)


def _from_keys(args: Args, span: Span) -> Value:
    keys = elements(args[0], span) if args else Unknown("the keys of a dict", span)
    if isinstance(keys, Unknown):
        return keys
    made: dict[Value, Value] = {}
    for key in keys:
        why = put_entry(made, key, args[1] if len(args) > 1 else None, span)
        if why is not None:
            return why.another()
    return made


def subscript(obj: Value, key: Value, span: Span, *, python: bool) -> Value:
    """``obj[key]``.

    Raises:
        Failed: what Python raises for a key or an index that is certainly not there.
    """
    if isinstance(obj, Unknown):
        return obj.derive("[]", key)
    if isinstance(obj, Model):
        return obj.index(key, span)
    if isinstance(obj, EnumType):
        found = obj.member(key) if isinstance(key, str) else None
        return Unknown(f"{obj.name} by name", span) if found is None else found.alias or found
    rest = rest_of(obj) if isinstance(obj, list) or isinstance(key, Unknown) else None
    if rest is not None:
        return rest.another()
    if isinstance(key, Unknown):
        return _at_unknown(obj, key)
    obj = plain(obj) if type(obj) is SymText else obj
    if type(key) is Sym and not isinstance(obj, dict):
        key = key.concretize()
    if isinstance(obj, dict):
        return _in_dict(obj, key, span, python=python)
    if isinstance(obj, (tuple, list, str, range)):
        if isinstance(key, slice):
            return _sliced(obj, key)
        if type(key) in (int, bool):
            if (-len(obj) if python else 0) <= key < len(obj):
                return obj[key]
            if type(obj) is str and key == len(obj) and not python:
                return "\0"
            if python:
                raise Failed("exception", "IndexError", f"index {key} out of range", span)
            return Unknown(f"index {key} out of range", span)
    return Unknown(f"subscript of a {type(obj).__name__}", span)


def _sliced(obj: Value, key: slice) -> Value:
    parts = [plain(part) for part in (key.start, key.stop, key.step)]
    unknown = next((part for part in parts if isinstance(part, Unknown)), None)
    return obj[slice(*parts)] if unknown is None else unknown.derive("[]", *parts)


def may_be_missing(run: Run, obj: Value, key: Unknown, span: Span) -> None:
    """Python's error where there may be nothing at an unknown key.

    Raises:
        Failed: on the path where there is nothing.
    """
    how = "KeyError" if isinstance(obj, dict) else "IndexError"
    keys = tuple(obj) if isinstance(obj, dict) else (len(obj),)
    if run.decide(key.derive("missing", key, *keys)):
        raise Failed("exception", how, "a key that is not known", span)


def _at_unknown(obj: Value, key: Unknown) -> Value:
    """An element at an unknown place: known only if all elements are the same."""
    values = list(obj.values()) if isinstance(obj, dict) else None
    if values is None and isinstance(obj, (tuple, list)):
        values = list(obj)
    if values and not isinstance(obj, dict):
        first = values[0]
        if all(equals(first, v, key.span) is True for v in values[1:]):
            return first
    return key.derive("[]", key)


def _in_dict(obj: dict[Value, Value], key: Value, span: Span, *, python: bool) -> Value:
    found, value = entry_of(obj, key, span)
    if found is True:
        return value
    if isinstance(found, Unknown):
        return Unknown("a key that cannot be compared", span)
    if python:
        text = SymText((key,)) if type(key) is Sym else repr(key)
        raise Failed("exception", "KeyError", text, span)
    return Unknown(f"no key {key!r}", span)

"""Whether a value is an object of a class, its class, and what else patterns ask of values."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mlaprobe.evaluator.closures.attributes import attribute
from mlaprobe.evaluator.closures.exceptions import catches
from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.classes import PyClass
from mlaprobe.evaluator.objects.iterables import Cursor
from mlaprobe.evaluator.objects.objects import NOTHING, Instance, NamedTuple, class_of
from mlaprobe.evaluator.symbolic.symbols import SymText, number_of
from mlaprobe.evaluator.values import Args, Kwargs, SomeText, Unknown, Value, rest_of
from mlaprobe.evaluator.values.comparing import entry_of
from mlaprobe.evaluator.values.handled import CaughtError, ErrorType
from mlaprobe.evaluator.values.kinds import (
    Builtin,
    Closure,
    EnumMember,
    EnumType,
    Model,
    Record,
)
from mlaprobe.evaluator.values.unordered import LooseSet

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
    "range": (range,),
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
    if isinstance(value, CaughtError):
        return _is_error(value, kind, span)
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


def _is_error(error: CaughtError, kind: Value, span: Span) -> Value:
    """Whether an exception that was caught is of one of Python's classes."""
    name = getattr(kind, "dotted", "") or f"builtins.{getattr(kind, 'name', '')}"
    own = name.removeprefix("builtins.") if name.startswith("builtins.") else ""
    own = own if isinstance(getattr(builtins, own, None), type) else ""
    if not own and isinstance(kind, ErrorType):
        own = kind.name
    found = catches((own,), error.failure.how) if own else None
    return Unknown("the class of an exception is not known", span) if found is None else found


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
        raise Unsupported("a class that is made by type() is not followed", span)
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


# --- what patterns ask ----------------------------------------------------------------------------


def _unclear(value: Value, span: Span) -> Unknown | None:
    """Why it is not known what a value is, where that is so."""
    if isinstance(value, Unknown):
        return value.another()
    if isinstance(value, Instance) and isinstance(value.cls, PyClass) and value.cls.reason:
        return Unknown(value.cls.reason, span)
    if isinstance(value, Model) and not isinstance(value, Cursor):
        return Unknown("whether a value is a sequence or a mapping is not known", span)
    return None


def _is_sequence(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """Whether something is a sequence of so many items, or with a star of at least so many."""
    value, count, open_ended = args
    unclear = _unclear(value, span)
    if unclear is not None:
        return unclear
    if not isinstance(value, (list, tuple, range)):
        return False
    rest = rest_of(value)
    if rest is not None:
        return rest.another()
    return len(value) >= count if open_ended else len(value) == count


def _is_mapping(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    unclear = _unclear(args[0], span)
    return isinstance(args[0], dict) if unclear is None else unclear


def _middle(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """What a star gets."""
    value, before, after = args
    if not isinstance(value, (list, tuple, range)):
        return Unknown("the items of a sequence are not known", span)
    return list(value[before : len(value) - after])


def _remaining(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """A mapping without some keys."""
    value, *keys = args
    if not isinstance(value, dict) or rest_of(value) is not None:
        return Unknown("what a mapping holds is not known", span)
    left = dict(value)
    for key in keys:
        for known in tuple(left):
            found, _ = entry_of({known: None}, key, span)
            if isinstance(found, Unknown):
                return found.another()
            if found:
                del left[known]
    return left


def _match_argument(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """The attribute that a positional pattern of a class is for."""
    value, cls, at = args
    if not isinstance(cls, PyClass):
        return Unknown("what a pattern of this class asks for is not followed", span)
    names = cls.find("__match_args__")
    if names is NOTHING:
        names = tuple(f.name for f in cls.fields or () if f.init and not f.keyword)
    if not isinstance(names, tuple) or at >= len(names):
        return Unknown("what a pattern of this class asks for is not followed", span)
    return attribute(run, None, value, names[at], span, python=True)


def _has_attribute(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    try:
        found = attribute(run, None, args[0], args[1], span, python=True)
    except Failed as failure:
        if failure.how == "AttributeError":
            return False
        raise
    return found if isinstance(found, Unknown) else True


IS_SEQUENCE = Builtin("a sequence pattern", _is_sequence, symbolic=True)
IS_MAPPING = Builtin("a mapping pattern", _is_mapping, symbolic=True)
MIDDLE = Builtin("a starred pattern", _middle, symbolic=True)
REMAINING = Builtin("a mapping pattern", _remaining, symbolic=True)
MATCH_ARGUMENT = Builtin("a class pattern", _match_argument, symbolic=True)
HAS_ATTRIBUTE = Builtin("a class pattern", _has_attribute, symbolic=True)

"""What patterns ask of values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlaprobe.evaluator.closures.attributes import attribute
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value, rest_of
from mlaprobe.evaluator.values.classes import PyClass
from mlaprobe.evaluator.values.comparing import entry_of
from mlaprobe.evaluator.values.iterables import Cursor
from mlaprobe.evaluator.values.kinds import Builtin, Model
from mlaprobe.evaluator.values.objects import NOTHING, Instance

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run


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

"""Methods of Python's sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlaprobe.evaluator.closures.displays import elements
from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.mappings import as_set, concrete
from mlaprobe.evaluator.symbolic.symbols import plain
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value, unknown_in
from mlaprobe.evaluator.values.kinds import Builtin
from mlaprobe.evaluator.values.unordered import LooseSet

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

_ASKS: dict[str, Callable[..., Value]] = {
    "union": set.union,
    "intersection": set.intersection,
    "difference": set.difference,
    "symmetric_difference": set.symmetric_difference,
    "issubset": set.issubset,
    "issuperset": set.issuperset,
    "isdisjoint": set.isdisjoint,
    "copy": set.copy,
}
_CHANGES: dict[str, Callable[..., Value]] = {
    "add": set.add,
    "discard": set.discard,
    "remove": set.remove,
    "clear": set.clear,
    "update": set.update,
    "difference_update": set.difference_update,
    "intersection_update": set.intersection_update,
    "symmetric_difference_update": set.symmetric_difference_update,
}
_OF_ELEMENTS = frozenset(("add", "discard", "remove"))


def set_method(obj: Value, name: str, span: Span) -> Value:
    """A method of a set, as something that can be called."""
    if name in _ASKS:
        return Builtin(name, lambda run, a, k, s: _asked(obj, name, a, s))
    if name in _CHANGES and not isinstance(obj, frozenset):
        return Builtin(name, lambda run, a, k, s: _changed(run, obj, name, a, s))
    if isinstance(obj, frozenset):
        return Unknown(f"set.{name} is not followed", span)

    def unclear(run: Run, args: Args, kwargs: Kwargs, where: Span) -> Value:
        raise Unsupported(f"set.{name} is not followed", where)

    return Builtin(name, unclear)


def _sets(args: Args, span: Span) -> list[set[Value]] | Unknown:
    """The arguments as sets."""
    found: list[set[Value]] = []
    for arg in args:
        values = elements(concrete(arg, span), span, any_order=True)
        made = values if isinstance(values, Unknown) else as_set(plain(values), span)
        if isinstance(made, (Unknown, LooseSet)):
            return made if isinstance(made, Unknown) else Unknown("which elements a set has", span)
        found.append(made)
    return found


def _asked(obj: Value, name: str, args: Args, span: Span) -> Value:
    known = concrete(obj, span)
    others = _sets(args, span)
    if isinstance(known, Unknown) or isinstance(others, Unknown):
        why = known if isinstance(known, Unknown) else others
        assert isinstance(why, Unknown)
        return why.another()
    return _ASKS[name](set(known), *others)


def _changed(run: Run, obj: Value, name: str, args: Args, span: Span) -> Value:
    """A method that changes a set.

    Raises:
        Failed: ``KeyError`` where what is to be removed is certainly not there.
        Unsupported: it is not known what is in the set then.
    """
    run.changes(obj, span)
    if isinstance(obj, LooseSet) and name in ("add", "clear"):
        obj.elements = (*obj.elements, *args) if name == "add" else ()
        return None
    known = concrete(obj, span)
    others: Value = _sets(args, span)
    if name in _OF_ELEMENTS:
        others = [plain(a) for a in args]
        if unknown_in(others) is not None or isinstance(as_set(others, span), LooseSet):
            others = Unknown("which element of a set", span)
    if isinstance(known, Unknown) or isinstance(others, Unknown):
        raise Unsupported("it is not known how a set is changed", span)
    try:
        result = _CHANGES[name](known, *others)
    except KeyError as error:
        raise Failed("exception", "KeyError", str(error), span) from None
    except TypeError as error:
        raise Failed("exception", "TypeError", str(error), span) from None
    if isinstance(obj, LooseSet):
        obj.elements = tuple(known)
    return result

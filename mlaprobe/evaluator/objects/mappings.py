"""Dicts and sets as Python keeps them: what is equal is there once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.iterables import DefaultDict, View
from mlaprobe.evaluator.objects.objects import Instance
from mlaprobe.evaluator.symbolic.symbols import ConcretizationError, plain
from mlaprobe.evaluator.values import Rest, Unknown, Value, rest_of, unknown_in
from mlaprobe.evaluator.values.comparing import entry_of
from mlaprobe.evaluator.values.kinds import EnumMember
from mlaprobe.evaluator.values.unordered import LooseSet

_SIMPLE = frozenset((int, bool, str, float, type(None)))


def hashable(value: Value) -> bool:
    """Whether Python's own look-up finds a value."""
    if isinstance(value, tuple):
        return all(map(hashable, value))
    return type(value) in _SIMPLE


def put_entry(mapping: dict[Value, Value], key: Value, value: Value, span: Span) -> Unknown | None:
    """Stores a value under a key, once. Where it is not known which key that is, why."""
    key = plain(key)
    unknown = unknown_in(key)
    if unknown is not None:
        return unknown
    if isinstance(key, (list, dict, set)) or not _can_be_hashed(key):
        return Unknown("a key that cannot be hashed", span)
    if not (hashable(key) and all(hashable(k) for k in mapping if type(k) is not Rest)):
        for known in mapping:
            if type(known) is Rest:
                continue
            found, _ = entry_of({known: None}, key, span)
            if isinstance(found, Unknown):
                return found
            if found:
                mapping[known] = value
                return None
    try:
        mapping[key] = value
    except ConcretizationError:
        raise
    except TypeError:
        return Unknown("a key that cannot be hashed", span)
    return None


def _can_be_hashed(key: Value) -> bool:
    return not isinstance(key, Instance) or bool(getattr(key.cls, "hashed", False))


def joined(left: Mapping[Value, Value], right: Mapping[Value, Value], span: Span) -> Value:
    """``left | right`` of two dicts."""
    if isinstance(left, DefaultDict):
        return Unknown("a default dict is joined", span)
    result: dict[Value, Value] = dict(left)
    for key, value in right.items():
        if type(key) is Rest:
            return key.another()
        why = put_entry(result, key, value, span)
        if why is not None:
            return why.another()
    return result


def as_set(values: Iterable[Value], span: Span) -> Value:
    """A set, which is Python's own where it is known which elements are the same."""
    items = list(values)
    kinds = {type(v) for v in items}
    if all(map(hashable, items)):
        return set(items)
    if kinds == {EnumMember} and len({v.enum for v in items}) == 1:
        return {v.alias or v for v in items}
    return LooseSet(tuple(items))


def concrete(value: Value, span: Span) -> Value:
    """A set as one of Python's own, symbols in it made plain numbers; or why it is none."""
    if isinstance(value, LooseSet):
        items = [plain(v) for v in value.elements]
        made = as_set(items, span)
        return Unknown("which elements a set has", span) if isinstance(made, LooseSet) else made
    if isinstance(value, View):
        keys = value.iterate()
        if keys is None or value.kind == "values":
            return Unknown("what a dict holds is not known", span)
        return concrete(as_set(keys, span), span)
    rest = rest_of(value)
    return value if rest is None else rest.another()

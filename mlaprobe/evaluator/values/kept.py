"""Values that outlive a run: those of modules, which every question of a context gets.

A run works on copies of its own of what can be changed in place, so that nothing that it does
reaches another question. Code that changes such a value keeps state from call to call: what earlier
calls have left there is not known.
"""

from __future__ import annotations

from mlaprobe.evaluator.objects.iterables import DefaultDict
from mlaprobe.evaluator.objects.objects import Instance, NamedTuple
from mlaprobe.evaluator.values import Value
from mlaprobe.evaluator.values.kinds import Model, Record

_HOLDERS = (list, dict, DefaultDict, set, tuple, Record, Instance, NamedTuple)


class Copies:
    """A run's own copies of kept values. Two names of one value have one copy."""

    __slots__ = ("_copies", "_ids")

    def __init__(self) -> None:
        self._copies: dict[int, tuple[Value, Value]] = {}
        """By the identity of the kept value: the value, so that it stays, and the copy."""
        self._ids: set[int] = set()

    def __contains__(self, value: Value) -> bool:
        """Whether a value is a copy of something that is kept."""
        return id(value) in self._ids

    def add(self, value: Value) -> Value:
        """Takes a value as it is, with all that it holds, where a copy must not be made."""
        return self._taken(value, value)

    def keep(self, value: Value) -> Value:
        """Takes a value as it is, and everything that it holds."""
        todo: list[Value] = [value]
        while todo:
            one = todo.pop()
            if type(one) not in _HOLDERS or one in self:
                continue
            self._taken(one, one)
            if isinstance(one, dict):
                todo += [*one, *one.values()]
            else:
                todo += one.fields.values() if isinstance(one, Record) else one
        return value

    def of(self, value: Value) -> Value:
        """The copy of a value; itself where nothing in it can be changed."""
        kind = type(value)
        if kind not in _HOLDERS and not (isinstance(value, Model) and value.changes):
            return value
        found = self._copies.get(id(value))
        if found is None:
            copy = self._copied(value)
            return value if copy is value else self._taken(value, copy)
        return found[1]

    def _taken(self, value: Value, copy: Value) -> Value:
        self._copies[id(value)] = (value, copy)
        self._ids.add(id(copy))
        return copy

    def _copied(self, value: Value) -> Value:
        kind = type(value)
        if kind in (tuple, NamedTuple):
            parts = tuple(map(self.of, value))
            if all(a is b for a, b in zip(parts, value, strict=True)):
                return value
            return parts if kind is tuple else value.remade(parts)
        if kind is list:
            made: Value = self._taken(value, [])  # first, as it may hold itself
            made.extend(map(self.of, value))
            return made
        if kind in (dict, DefaultDict):
            empty = {} if kind is dict else DefaultDict(value.factory, {})
            made = self._taken(value, empty)
            made.update((k, self.of(v)) for k, v in value.items())
            return made
        if kind is set:
            return set(value)
        if kind is Instance:
            made = self._taken(value, Instance(value.cls, {}, value.lost))
            made.fields.update((n, self.of(v)) for n, v in value.fields.items())
            return made
        if kind is Record:
            return value.like({n: self.of(v) for n, v in value.fields.items()})
        return value.fresh(self.of)

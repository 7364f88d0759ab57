"""Arguments with their numbers taken out, so that runs can be shared among calls."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from mlaprobe.evaluator.symbolic.symbols import Sym, SymText
from mlaprobe.evaluator.values import Args, Unknown
from mlaprobe.evaluator.values.kinds import Record, identity
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.instantiate import Deferred
from mlaprobe.stages.numbers import is_whole

Numbers = tuple[int, ...]


def parameterize(
    call: Deferred, name: str, complete: Callable[[Any], tuple[Any, ...]]
) -> tuple[Parameterized, Numbers]:
    """The arguments of a call without their numbers, and the numbers. What calls of one path have
    in common is made once.

    Args:
        call: the arguments, as the path left them.
        name: of the function that is called.
        complete: adds the arguments that the call leaves to their defaults.
    """
    rest = call.derived("rest", _rest)
    if not all(isinstance(value, (bool, float, str)) for value in rest):
        alone = Parameterized(complete(call.get()))
        return alone, alone.numbers

    def lift(args: Any) -> Parameterized:
        given = iter(rest)
        return Parameterized(complete(tuple(next(given) if _is_rest(a) else a for a in args)))

    shared = (name, *((type(value), value) for value in rest))
    found: Parameterized = call.derived((*shared, "parameterized"), lift)
    numbers: Numbers = call.derived((*shared, "numbers"), lambda args: found.numbers)
    return found, numbers


def _rest(args: Any) -> tuple[Any, ...]:
    """Arguments that may hold a symbol and are no number: they are filled in first."""
    return tuple(a for a in args if _is_rest(a))


def _is_rest(value: Any) -> bool:
    if type(value) in (Sym, SymText):
        return not is_whole(value)
    return isinstance(value, (tuple, list, dict, set, frozenset, Record))


class Parameterized:
    """Arguments as inputs (every number, dimensions of tensors too) and what holds them."""

    __slots__ = ("_numbers", "_shapes", "_unknowns", "key", "names")

    def __init__(self, args: Args, *, reasons: bool = True) -> None:
        """Without ``reasons`` that of an unknown value makes no difference."""
        self._numbers: list[Any] = []
        self._shapes = tuple(self._lift(a) for a in args)
        self._unknowns = Unknowns(reasons=reasons)
        self.key: Hashable = Hashed(tuple(self._key(s) for s in self._shapes))
        """What two calls share that differ in numbers only."""
        self.names = tuple(f"n{number}" for number in range(len(self._numbers)))
        """Of the numbers, in their order."""

    @property
    def numbers(self) -> tuple[Any, ...]:
        """Every number, or a symbol for it."""
        return tuple(self._numbers)

    def sides(self, decided: Mapping[Hashable, int]) -> Sides:
        """What is known of the unknown arguments where these sides were taken of branches on
        unknown values."""
        known = {key: side for key, side in decided.items() if self._unknowns.about(key)}
        placed = ((self._unknowns.placed(key), side) for key, side in known.items())
        return Sides(known, frozenset(placed))

    def _lift(self, value: Any) -> Any:
        if is_whole(value):
            return self._input(value)
        if isinstance(value, Tensor):
            dims = tuple(self._input(d) if is_whole(d) else d for d in value.shape)
            return value.resized(dims)
        return value

    def _input(self, value: Any) -> _Place:
        self._numbers.append(value)
        return _Place(f"n{len(self._numbers) - 1}")

    def _key(self, shape: Any) -> Hashable:
        if isinstance(shape, _Place):
            return "number"
        if isinstance(shape, Tensor):
            dims = tuple(self._key(d) for d in shape.shape)
            return (dims, shape.dtype.identity, shape.contiguous, shape.sliced)
        if isinstance(shape, Unknown):
            return self._unknowns.key(shape)
        known = identity(shape)
        return known if known is not None else _Itself(shape)

    def args(self, inputs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments with certain inputs, numbers or symbols."""

        def fill(value: Any) -> Any:
            if isinstance(value, _Place):
                return inputs[value.name]
            if isinstance(value, Tensor):
                return value.resized(tuple(fill(d) for d in value.shape))
            return value

        return tuple(fill(s) for s in self._shapes)


class Sides(NamedTuple):
    """Sides that were taken of branches on unknown values."""

    known: Mapping[Hashable, int]
    """By the keys of the values."""
    key: Hashable
    """What two calls share that know the same of their arguments."""


class Unknowns:
    """Tells unknown values apart by where they first occur: two calls whose unknowns are equal in
    the same places, for the same reasons, are one question."""

    __slots__ = ("_places", "_reasons", "_seen")

    def __init__(self, *, reasons: bool = True) -> None:
        self._reasons = reasons
        self._places: dict[Hashable, int] = {}
        self._seen: set[Hashable] = set()

    def key(self, value: Unknown) -> Hashable:
        """What stands for an unknown value in this call."""
        kind = type(value).__name__
        why = (value.reason, value.span) if self._reasons else ()
        self._seen.add(value.key)
        return ("unknown", kind, self.placed(value.key), (*why, value.free, value.foreign))

    def about(self, key: Hashable) -> bool:
        """Whether a formula speaks of an unknown value that was seen, and of none that is like no
        other and was not."""
        if key in self._seen:
            return True
        if type(key) is not tuple or (len(key) == 2 and key[0] == "?"):
            return False
        parts = [part for part in key if type(part) is tuple]
        return not any(map(self._strange, parts)) and any(map(self.about, parts))

    def _strange(self, key: Hashable) -> bool:
        if type(key) is not tuple:
            return False
        if len(key) == 2 and key[0] == "?":
            return key[1] not in self._places
        return any(map(self._strange, key))

    def placed(self, key: Hashable) -> Hashable:
        """A formula with the places of unknown values for themselves."""
        if type(key) is not tuple:
            return key
        if len(key) == 2 and key[0] == "?":  # one that is like no other
            return ("?", self._places.setdefault(key[1], len(self._places)))
        return tuple(self.placed(part) for part in key)


class Hashed:
    """A long key whose hash is computed once."""

    __slots__ = ("_hash", "_key")

    def __init__(self, key: Hashable) -> None:
        self._key = key
        self._hash = hash(key)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Hashed and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash


class _Itself:
    """A value that nothing else stands for; kept, so that no other can take its place."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is _Itself and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)


class _Place:
    """Where a number was."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

"""Arguments with their numbers taken out, so that runs can be shared among calls."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from mlaprobe.reading.values import Unknown, identity
from mlaprobe.stages.tensors import Tensor


class Lifted:
    """Arguments as inputs (every number, dimensions of tensors too) and what holds them."""

    __slots__ = ("_shapes", "_unknowns", "inputs", "key")

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.inputs: dict[str, int] = {}
        """Name and value of every number."""
        self._shapes = tuple(self._lift(a) for a in args)
        self._unknowns = Unknowns()
        self.key: Hashable = tuple(self._key(s) for s in self._shapes)
        """What two calls share that differ in numbers only."""

    def _lift(self, value: Any) -> Any:
        if type(value) is int:
            return self._input(value)
        if isinstance(value, Tensor):
            dims = tuple(self._input(d) if type(d) is int else d for d in value.shape)
            return Tensor(value.name, dims, value.dtype, contiguous=value.contiguous)
        return value

    def _input(self, value: int) -> _Place:
        name = f"n{len(self.inputs)}"
        self.inputs[name] = value
        return _Place(name)

    def _key(self, shape: Any) -> Hashable:
        if isinstance(shape, _Place):
            return "number"
        if isinstance(shape, Tensor):
            dims = tuple(self._key(d) for d in shape.shape)
            return (dims, shape.dtype.identity, shape.contiguous)
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
                dims = tuple(fill(d) for d in value.shape)
                return Tensor(value.name, dims, value.dtype, contiguous=value.contiguous)
            return value

        return tuple(fill(s) for s in self._shapes)


class Unknowns:
    """Tells unknown values apart by where they first occur: two calls whose unknowns are equal in
    the same places, for the same reasons, are one question."""

    __slots__ = ("_places",)

    def __init__(self) -> None:
        self._places: dict[Hashable, int] = {}

    def key(self, value: Unknown) -> Hashable:
        """What stands for an unknown value in this call."""
        kind = type(value).__name__
        told = (value.reason, value.span, value.free, value.foreign)
        return ("unknown", kind, self._placed(value.key), told)

    def _placed(self, key: Hashable) -> Hashable:
        if type(key) is not tuple:
            return key
        if len(key) == 2 and key[0] == "?":  # one that is like no other
            return ("?", self._places.setdefault(key[1], len(self._places)))
        return tuple(self._placed(part) for part in key)


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

"""Arguments with their numbers taken out, so that runs can be shared among calls."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from mlaprobe.reading.values import Unknown, identity
from mlaprobe.stages.tensors import Tensor


class Lifted:
    """Arguments as inputs (every number, dimensions of tensors too) and what holds them."""

    __slots__ = ("_serials", "_shapes", "inputs", "key")

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.inputs: dict[str, int] = {}
        """Name and value of every number."""
        self._serials: dict[Hashable, int] = {}
        """Unknowns that are like no other, by their turn."""
        self._shapes = tuple(self._lift(a) for a in args)
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
            # Which unknowns are the same matters, not which they are.
            kind = (type(shape), shape.free, shape.foreign, shape.reason, shape.span)
            return ("unknown", self._renamed(shape.key), *kind)
        known = identity(shape)
        return known if known is not None else ("id", id(shape))

    def _renamed(self, key: Hashable) -> Hashable:
        """An unknown's key, those in it that are like no other by their turn."""
        if not isinstance(key, tuple):
            return key
        if len(key) == 2 and key[0] == "?":
            return ("?", self._serials.setdefault(key[1], len(self._serials)))
        return tuple(self._renamed(part) for part in key)

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


class _Place:
    """Where a number was."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

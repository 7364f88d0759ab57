"""The arrays behind the tensors of a launch, made as the dispatcher made the tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mlaprobe.stages.environment.dtypes import DtypeToken
from mlaprobe.stages.environment.placed import Placed
from mlaprobe.stages.environment.shaping import is_integer

Array: TypeAlias = npt.NDArray[Any]
_STORED: dict[str, npt.DTypeLike] = {
    "bf16": np.uint16,
    "fp16": np.uint16,
    "fp8": np.uint8,
    "byte": np.uint8,
    "i8": np.int8,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
    "fp32": np.float32,
}
"""How numpy holds the elements of a torch dtype: of what it does not have, the bits."""


def _padded(array: Array, widths: tuple[int, ...], value: Any) -> Array:
    """With so many elements before and behind each dimension, the last one first; negative ones
    are taken away."""
    pairs = [(0, 0)] * array.ndim
    for turn in range(len(widths) // 2):
        pairs[array.ndim - 1 - turn] = (widths[2 * turn], widths[2 * turn + 1])
    kept = tuple(
        slice(max(0, -before), size - max(0, -behind))
        for size, (before, behind) in zip(array.shape, pairs, strict=True)
    )
    more = [(max(0, before), max(0, behind)) for before, behind in pairs]
    return np.pad(array[kept], more, constant_values=value)


def _operator(name: str) -> Callable[..., Array]:
    compute = getattr(np, name)

    def call(array: Array, other: Any, reflected: bool) -> Array:
        sides = (other, array) if reflected else (array, other)
        return compute(*(np.asarray(side, np.int64) for side in sides))  # type: ignore[no-any-return]

    return call


_MOVES: dict[str, Callable[..., Array]] = {
    "reshape": lambda array, *shape: np.reshape(array, shape),
    "transpose": lambda array, *order: np.transpose(array, order),
    "repeat": np.repeat,
    "ascontiguousarray": np.ascontiguousarray,
    "copy": np.copy,
    "getitem": lambda array, key: array[key],
    "take": np.take,
    "tile": np.tile,
    "broadcast_to": np.broadcast_to,
}
"""What leaves elements as they are."""
_JOINS: dict[str, Callable[..., Array]] = {"concatenate": np.concatenate, "stack": np.stack}
"""What puts tensors together."""
_COMPUTED: dict[str, Callable[..., Array]] = {
    **{name: _operator(name) for name in ("add", "subtract", "multiply")},
    **{name: _operator(name) for name in ("floor_divide", "remainder")},
    "cumsum": np.cumsum,
    "diff": lambda array, at: np.diff(array, axis=at),
    "pad": _padded,
    "astype": lambda array: array,
}
"""What computes with them, as 64-bit numbers of which as many bits are kept as the result has."""


class NotFollowedError(Exception):
    """What a tensor of the launch holds is not known."""


def stored(dtype: DtypeToken) -> np.dtype[Any]:
    """The numpy dtype that holds elements of a tensor.

    Raises:
        NotFollowedError: none does.
    """
    if dtype.kind not in _STORED:
        raise NotFollowedError(f"tensors of {dtype} are not emulated")
    return np.dtype(_STORED[dtype.kind])


class Arrays:
    """One array per memory of a launch; views share it."""

    def __init__(self, seed: int) -> None:
        """``seed``: of what is in memory that nobody has written."""
        self._random = np.random.default_rng(seed)
        self._known: dict[int, tuple[Placed, Array]] = {}

    def give(self, tensor: Placed, array: Array) -> None:
        """Says what a tensor holds that the caller passes."""
        self._known[id(tensor)] = (tensor, np.array(array, order="C", copy=True))

    def replace(self, tensor: Placed, other: Placed) -> None:
        """A tensor takes the memory of another."""
        self._known[id(tensor)] = (tensor, self.of(other))

    def of(self, tensor: Placed) -> Array:
        """The array of a tensor; of a view, one that shares memory with what it is a view of.

        Raises:
            NotFollowedError: the tensor was made in a way that is not followed.
        """
        known = self._known.get(id(tensor))
        if known is None:
            known = self._known[id(tensor)] = (tensor, self._made(tensor))
        return known[1]

    def _made(self, tensor: Placed) -> Array:
        how, source, values = tensor.step
        if source is None:
            return self._filled(tensor, how, values)
        before = self.of(source)
        if before.shape != source.shape:
            raise NotFollowedError(f"of {source.name} only some pages have memory")
        move = _MOVES.get(how)
        if move is not None:
            return move(before, *map(self._counts, values))
        if how in _JOINS:
            return self._joined(tensor, source)
        if how == "astype" and tensor.dtype.identity == source.dtype.identity:
            return before
        return self._computed(tensor, source)

    def _joined(self, tensor: Placed, source: Placed) -> Array:
        others, at = tensor.step.values
        if any(each.dtype.identity != tensor.dtype.identity for each in (source, *others)):
            raise NotFollowedError(f"{tensor.name} is made of tensors of several dtypes")
        join = _JOINS[tensor.step.how]
        return join([self.of(each) for each in (source, *others)], at)

    def _computed(self, tensor: Placed, source: Placed) -> Array:
        """What is computed of whole numbers."""
        how, _, values = tensor.step
        compute = _COMPUTED.get(how)
        among = (tensor, source, *(each for each in values if isinstance(each, Placed)))
        if compute is None or not all(is_integer(each.dtype.kind) for each in among):
            raise NotFollowedError(f"what {how} makes of {source.name} is not followed")
        wide = self.of(source).astype(np.int64)
        made: Array = compute(wide, *map(self._counts, values))
        return np.ascontiguousarray(made.astype(stored(tensor.dtype)))

    def _counts(self, value: Any) -> Any:
        """An argument of an operation, a tensor as its array."""
        return self.of(value) if isinstance(value, Placed) else value

    def _filled(self, tensor: Placed, how: str, values: tuple[Any, ...]) -> Array:
        dtype = stored(tensor.dtype)
        shape = tensor.shape
        if not all(type(size) is int for size in shape):
            raise NotFollowedError(f"the shape of {tensor.name} is not known")
        if how == "empty":
            size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            garbage: Array = np.frombuffer(self._random.bytes(size), dtype).reshape(shape).copy()
            return garbage
        if how in ("zeros", "ones"):
            return np.full(shape, how == "ones", dtype)
        numbers = all(isinstance(value, (int, float)) for value in values)
        if how == "full" and numbers and dtype.kind in "iuf" and tensor.dtype.kind != "bf16":
            return np.full(shape, values[0], dtype)
        if how == "arange" and numbers:
            return np.arange(*values, dtype=dtype)
        raise NotFollowedError(f"what {tensor.name} starts with is not known")


class Marks(Arrays):
    """The same for masks: which elements of each tensor were written."""

    def __init__(self) -> None:
        super().__init__(0)

    def _filled(self, tensor: Placed, how: str, values: tuple[Any, ...]) -> Array:
        return np.zeros(tensor.shape, np.bool_)

    def _computed(self, tensor: Placed, source: Placed) -> Array:
        raise NotFollowedError(f"what was written of {tensor.name} is not followed")

    def _counts(self, value: Any) -> Any:
        if isinstance(value, Placed):
            raise NotFollowedError(f"what was written of {value.name} is not followed")
        return value


def memory_of(array: Array) -> Array:
    """The array that owns an array's memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def offset_in(array: Array, memory: Array) -> int:
    """Bytes from the start of an array's memory to its first element."""
    start: int = array.__array_interface__["data"][0]
    first: int = memory.__array_interface__["data"][0]
    return start - first

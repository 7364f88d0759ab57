"""Operations of torch that take a tensor apart or show it several times: the shapes they give.

A function that returns ``None`` does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.stages.environment import shaping
from mlaprobe.stages.environment.sizes import is_one, is_size, same_size
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.numbers import calculate, is_whole

Given = Mapping[str, Any]
_MOST = 64
"""The most parts that are made."""


def _at(tensor: Tensor, given: Given) -> int | None:
    value = given["dim"] if type(given["dim"]) is int else 0
    return shaping.dimension(value, len(tensor.shape))


def split(tensor: Tensor, given: Given, span: Span) -> Any:
    """Parts of one size, the last one smaller, or of sizes that are listed."""
    at, sizes = _at(tensor, given), given["split_size"]
    if at is None:
        return None
    if isinstance(sizes, (tuple, list)):
        return _listed(tensor, at, tuple(sizes), span)
    return _even(tensor, at, sizes, span)


def chunk(tensor: Tensor, given: Given, span: Span) -> Any:
    """So many parts, or fewer: of one size, which is rounded up."""
    at, count = _at(tensor, given), given["chunks"]
    if at is None or type(count) is not int or count < 1 or not is_whole(tensor.shape[at]):
        return None
    begun = binary("+", tensor.shape[at], count - 1, span)
    return _even(tensor, at, binary("//", begun, count, span), span)


def unbind(tensor: Tensor, given: Given, span: Span) -> Any:
    """Each part without the dimension."""
    at = _at(tensor, given)
    size = None if at is None else tensor.shape[at]
    if at is None or not is_whole(size) or calculate(">", size, _MOST):
        return None
    parts, index = [], 0
    while calculate("<", index, size):
        parts.append(tensor.index((*[slice(None)] * at, index), span))
        index += 1
    return tuple(parts)


def _even(tensor: Tensor, at: int, size: Any, span: Span) -> Any:
    total = tensor.shape[at]
    if not is_whole(size) or not is_whole(total) or calculate("<", size, 1):
        return None
    parts: list[Any] = []
    start: Any = 0
    while calculate("<", start, total) and len(parts) <= _MOST:
        stop = binary("+", start, size, span)
        parts.append(_part(tensor, at, start, stop if calculate("<", stop, total) else total, span))
        start = stop
    return tuple(parts) if 0 < len(parts) <= _MOST else None


def _listed(tensor: Tensor, at: int, sizes: tuple[Any, ...], span: Span) -> Any:
    """Raises:
    Failed: the sizes are not together the whole.
    """
    if not all(map(is_whole, sizes)) or len(sizes) > _MOST:
        return None
    parts: list[Any] = []
    start: Any = 0
    for size in sizes:
        if calculate("<", size, 0):
            return None
        stop = binary("+", start, size, span)
        parts.append((start, stop))
        start = stop
    whole = same_size(start, tensor.shape[at])
    if whole is False:
        message = "split_with_sizes expects split_sizes to sum exactly to the size"
        raise Failed("exception", "RuntimeError", message, span)
    return tuple(_part(tensor, at, a, b, span) for a, b in parts) if whole else None


def _part(tensor: Tensor, at: int, start: Any, stop: Any, span: Span) -> Any:
    return tensor.index((*[slice(None)] * at, slice(start, stop)), span)


def expand(tensor: Tensor, given: Given, span: Span) -> Any:
    """Dimensions of 1 are shown as often as is wanted, without a copy.

    Raises:
        Failed: a dimension is neither 1 nor what is wanted.
    """
    sizes = given["sizes"]
    new = len(sizes) - len(tensor.shape)
    if new < 0 or not all(map(is_size, sizes)):
        return None
    shape: list[Any] = list(sizes[:new])
    if any(is_whole(size) and calculate("<", size, 0) for size in shape):
        return None
    for size, wanted in zip(tensor.shape, sizes[new:], strict=True):
        if is_whole(wanted) and same_size(wanted, -1):
            shape.append(size)
        elif is_one(size):
            shape.append(wanted)
        else:
            fits = same_size(size, wanted)
            if fits is False:
                message = f"the expanded size of {tensor.name} must match the existing size"
                raise Failed("exception", "RuntimeError", message, span)
            if fits is None:
                return None
            shape.append(size)
    sizes = tuple(shape)
    whole = (*(1,) * new, *tensor.shape)
    same = all(same_size(one, other) for one, other in zip(sizes, whole, strict=True))
    return tensor.derived(
        "broadcast_to", sizes, tensor.dtype, (sizes,), contiguous=same and tensor.contiguous
    )


def repeat(tensor: Tensor, given: Given, span: Span) -> Any:
    """The whole behind itself, so often along each dimension."""
    times = given["sizes"]
    new = len(times) - len(tensor.shape)
    if new < 0 or not all(is_whole(n) and calculate(">=", n, 0) for n in times):
        return None
    before = (*(1,) * new, *tensor.shape)
    shape = tuple(binary("*", size, n, span) for size, n in zip(before, times, strict=True))
    if not all(map(is_size, shape)):
        return None
    return tensor.derived("tile", shape, tensor.dtype, (tuple(times),))

"""The shapes and dtypes that torch's operations give, by those of what they are given.

A function that returns ``None`` does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.stages.environment.sizes import at_least, is_one, is_size, same_size, sliced
from mlaprobe.stages.numbers import calculate, is_whole

Shape = tuple[Any, ...]


class Part(NamedTuple):
    """What a subscript leaves of a tensor."""

    shape: Shape
    contiguous: bool


def subscripted(shape: Shape, contiguous: bool, key: Any, span: Span) -> Part | None:
    """The part of a tensor at whole numbers, slices, ``None`` and an ellipsis.

    Raises:
        Failed: what torch raises for an index that is certainly not there.
    """
    keys = _spelled(shape, key, span)
    if keys is None:
        return None
    found: list[Any] = []
    sizes, dense = iter(shape), _Dense()
    for each in keys:
        if each is None:
            found.append(1)
            continue
        size = next(sizes)
        if isinstance(each, slice):
            left = sliced(size, each, span)
            if not is_size(left):
                return None
            found.append(left)
            dense.add(left, same_size(left, size), each.step in (None, 1))
        else:
            _check_index(each, size, span)
            dense.add(1, is_one(size), True)
    if any(at_least(size, 1) is False for size in found):
        return Part(tuple(found), True)
    if not contiguous:
        return Part(tuple(found), False) if dense.all else None
    return None if dense.value is None else Part(tuple(found), dense.value)


class _Dense:
    """Whether the part of a contiguous tensor that is left is contiguous."""

    def __init__(self) -> None:
        self.value: bool | None = True
        """``None``: not known."""
        self.all = True
        """Whether certainly nothing was left out."""
        self._outer: Any = 1

    def add(self, left: Any, whole: bool | None, one_by_one: bool) -> None:
        """Of a dimension ``left`` elements are left; ``whole``: all of them."""
        self.all = self.all and whole is True
        if whole is not True:
            self._unless_one(self._outer)
        if not one_by_one:
            self._unless_one(left)
        self._outer = calculate("*", self._outer, left)

    def _unless_one(self, size: Any) -> None:
        several = at_least(size, 2)
        if several is None or self.value is None:
            self.value = None
        elif several:
            self.value = False


def _spelled(shape: Shape, key: Any, span: Span) -> list[Any] | None:
    """A key for each dimension, the ellipsis spelled out."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if not all(map(_is_key, keys)):
        return None
    taken = sum(each is not None and each is not ... for each in keys)
    if taken > len(shape):
        raise Failed("exception", "IndexError", "too many indices for tensor", span)
    rest = [slice(None)] * (len(shape) - taken)
    dots = [at for at, each in enumerate(keys) if each is ...]
    if len(dots) > 1:
        return None
    at = dots[0] if dots else len(keys)
    return [*keys[:at], *rest, *keys[at + 1 :]]


def _is_key(each: Any) -> bool:
    return each is None or each is ... or isinstance(each, slice) or is_whole(each)


def _check_index(at: Any, size: Any, span: Span) -> None:
    if not is_whole(size):
        return
    low = calculate("-", 0, size)
    if not (calculate("<=", low, at) and calculate("<", at, size)):
        raise Failed("exception", "IndexError", "index out of bounds for dimension", span)


def broadcast(one: Shape, other: Shape) -> Shape | None:
    """The shape of an operation on two tensors, element by element."""
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    padded = (*(1,) * (len(longer) - len(shorter)), *shorter)
    found = []
    for left, right in zip(longer, padded, strict=True):
        if is_one(right) or same_size(left, right):
            found.append(left)
        elif is_one(left):
            found.append(right)
        else:
            return None
    return tuple(found)


_FLOATS = {"fp16": 2, "bf16": 2, "fp32": 4, "f64": 8}
_INTEGERS = {"i8": 1, "i16": 2, "i32": 4, "i64": 8}
"""Signed; of the others torch has only bytes in all operations."""


def promoted(one: str, other: str) -> str | None:
    """The kind of dtype of an operation on two tensors, by torch's rules of promotion."""
    if one == other:
        return one if one in (*_FLOATS, *_INTEGERS, "byte") else None
    if one in _FLOATS and other in _FLOATS:
        wide = max(one, other, key=_FLOATS.__getitem__)
        return wide if _FLOATS[one] != _FLOATS[other] else "fp32"
    for left, right in ((one, other), (other, one)):
        if left in _FLOATS and (right in _INTEGERS or right == "byte"):
            return left
        if left == "byte" and right in _INTEGERS:
            return "i16" if right == "i8" else right
    if one in _INTEGERS and other in _INTEGERS:
        return max(one, other, key=_INTEGERS.__getitem__)
    return None


def with_number(kind: str, number: Any) -> str | None:
    """The same where the other side is a number of Python's."""
    if kind not in (*_FLOATS, *_INTEGERS, "byte"):
        return None
    if isinstance(number, float):
        return kind if kind in _FLOATS else "fp32"
    return kind if is_size(number) else None


def is_integer(kind: str) -> bool:
    """Whether tensors of a dtype hold whole numbers."""
    return kind in _INTEGERS or kind == "byte"


def dimension(value: Any, count: int) -> int | None:
    """A dimension of so many, negative ones from the end."""
    if type(value) is int and -count <= value < count:
        return value % count
    return None


def together(shapes: Sequence[Shape], at: int) -> Shape | None:
    """The shape of tensors behind one another along a dimension."""
    first, *others = shapes
    found = list(first)
    for shape in others:
        if len(shape) != len(first):
            return None
        rest = [n for n in range(len(first)) if n != at]
        if not all(same_size(first[n], shape[n]) for n in rest):
            return None
        found[at] = calculate("+", found[at], shape[at])
    return tuple(found) if is_size(found[at]) else None


def padded(shape: Shape, widths: Sequence[Any]) -> Shape | None:
    """The shape with so many elements before and behind each dimension, the last one first."""
    if len(widths) % 2 or len(widths) > 2 * len(shape) or not all(map(is_size, widths)):
        return None
    found = list(shape)
    for turn, (before, behind) in enumerate(_pairs(widths)):
        at = len(shape) - 1 - turn
        size = calculate("+", calculate("+", shape[at], before), behind)
        if at_least(size, 0) is not True:
            return None
        found[at] = size
    return tuple(found)


def _pairs(values: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    return zip(values[::2], values[1::2], strict=True)

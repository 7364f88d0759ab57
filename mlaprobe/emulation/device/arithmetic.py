"""Operators over numbers, as C++ defines them.

Unsigned integers wrap around. Where signed ones overflow, or something is divided by zero in a
thread that takes part, the language leaves the outcome open, and the run ends; also where a float
is rounded.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from mlaprobe.emulation.device.kinds import BOOL, INT, Scalar, common, promoted
from mlaprobe.emulation.device.signals import NotFollowed, Undetermined
from mlaprobe.emulation.device.values import Array, Mask, Number, Value, scalar, storage

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


def converted(value: Value, kind: Scalar, mask: Mask) -> Value:
    """A number as another type; an integer keeps its lowest bits."""
    source, data = scalar(value)
    if source == kind:
        return value
    if kind.kind == "b":
        return Value(kind, data != 0 if isinstance(data, np.ndarray) else bool(data != 0))
    if kind.kind == "f":
        made = storage(kind).type(data) if not isinstance(data, np.ndarray) else None
        return Value(kind, data.astype(storage(kind)) if isinstance(data, np.ndarray) else made)
    if source.kind == "f":
        return Value(kind, _truncated(data, kind, mask))
    return Value(kind, _fit(data, kind))


def _truncated(data: Any, kind: Scalar, mask: Mask) -> Number | Array:
    """A float as an integer, which has to hold it."""
    low, high = kind.bounds
    cut = np.trunc(np.where(mask, data, 0) if isinstance(data, np.ndarray) else data)
    if not np.all((cut >= low) & (cut <= high)):  # false for NaN, too
        raise Undetermined(f"a float that a {kind.name} cannot hold")
    return cut.astype(storage(kind)) if isinstance(cut, np.ndarray) and cut.ndim else int(cut)


def _fit(data: Any, kind: Scalar) -> Number | Array:
    """The lowest bits of an integer."""
    if not isinstance(data, np.ndarray):
        low = int(data) & ((1 << kind.bits) - 1)
        return low - (1 << kind.bits) if kind.kind == "i" and low >> (kind.bits - 1) else low
    if kind.bits == 64:
        return data.astype(storage(kind))
    bits = data.astype(np.int64) & ((1 << kind.bits) - 1)
    if kind.kind == "i":
        half = 1 << (kind.bits - 1)
        return (bits ^ half) - half
    return bits


def binary(op: str, left: Value, right: Value, mask: Mask) -> Value:
    """An arithmetic operator or a comparison of two numbers."""
    if left.type is INT and right.type is INT and type(left.data) is type(right.data) is int:
        quick = _COMPARE.get(op)
        if quick is not None:  # most of what is computed are a few numbers that threads share
            return Value(BOOL, quick(left.data, right.data))
    if op in ("<<", ">>"):
        return _shifted(op, left, right, mask)
    kind = common(scalar(left)[0], scalar(right)[0])
    a, b = converted(left, kind, mask).data, converted(right, kind, mask).data
    if op in _COMPARE:
        found = _COMPARE[op](a, b)
        return Value(BOOL, found if isinstance(found, np.ndarray) else bool(found))
    if op in ("/", "%"):
        return _divided(op, a, b, kind, mask)
    if op not in _PLAIN or (kind.kind == "f" and op in "&|^"):
        raise NotFollowed(f"the operator {op} on a {kind.name}")
    if kind.kind == "f":
        return Value(kind, _exact(_PLAIN[op], a, b, kind, mask))
    return Value(kind, _checked(op, a, b, kind, mask))


def _exact(
    plain: Callable[[Any, Any], Any], a: Any, b: Any, kind: Scalar, mask: Mask
) -> Number | Array:
    """A float that an operator gives without rounding: what is rounded depends on whether the
    compiler joins it with another operation."""
    wide = np.float64 if kind.bits == 32 else np.longdouble
    with np.errstate(all="ignore"):
        result = np.asarray(plain(np.asarray(a, storage(kind)), np.asarray(b, storage(kind))))
        whole = np.asarray(plain(np.asarray(a, wide), np.asarray(b, wide)))
    same = result.astype(wide) == whole
    if not (same[mask].all() if same.ndim else same):
        raise NotFollowed("a float that is rounded")
    return result if result.ndim else storage(kind).type(result)


def _checked(op: str, a: Any, b: Any, kind: Scalar, mask: Mask) -> Number | Array:
    """The integer that an operator gives in its type."""
    plain = _PLAIN[op]
    many = isinstance(a, np.ndarray) or isinstance(b, np.ndarray)
    if many and kind.bits == 64:
        if kind.kind == "i" and op in "+-*":
            exact = plain(np.asarray(a, object), np.asarray(b, object))
            _signed(exact, kind, mask)
            return np.where(mask, exact, 0).astype(np.int64)
        dtype = storage(kind)
        with np.errstate(all="ignore"):
            return np.asarray(plain(np.asarray(a, dtype), np.asarray(b, dtype)))
    result = plain(a, b)
    if kind.kind == "u":
        return _fit(result, kind)
    _signed(result, kind, mask)
    return result  # type: ignore[no-any-return]


def _signed(result: Any, kind: Scalar, mask: Mask) -> None:
    low, high = kind.bounds
    if isinstance(result, np.ndarray):
        result = result[mask]
        inside = bool(((result >= low) & (result <= high)).all())
    else:
        inside = low <= result <= high
    if not inside:
        raise Undetermined("signed arithmetic overflows")


def _divided(op: str, a: Any, b: Any, kind: Scalar, mask: Mask) -> Value:
    """A quotient, truncated towards zero, or its remainder."""
    many = isinstance(a, np.ndarray) or isinstance(b, np.ndarray)
    if kind.kind == "f":
        if op == "%":
            raise NotFollowed("a remainder of floats")
        return Value(kind, _exact(operator.truediv, a, b, kind, mask))
    if not many:
        if b == 0:
            raise Undetermined("a division by zero")
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        _signed(quotient, kind, mask)
        return Value(kind, quotient if op == "/" else a - quotient * b)
    lanes = len(mask)
    left = np.broadcast_to(np.asarray(a, storage(kind)), lanes)
    right = np.broadcast_to(np.asarray(b, storage(kind)), lanes)
    if (right[mask] == 0).any():
        raise Undetermined("a division by zero")
    right = np.where(mask, right, 1).astype(storage(kind))
    if kind.kind == "i" and ((left == kind.bounds[0]) & (right == -1) & mask).any():
        raise Undetermined("signed arithmetic overflows")
    rest = np.fmod(left, right)
    return Value(kind, (left - rest) // right if op == "/" else rest)


def _shifted(op: str, left: Value, right: Value, mask: Mask) -> Value:
    kind, a = scalar(converted(left, promoted(scalar(left)[0]), mask))
    _, b = scalar(right)
    if kind.kind == "f":
        raise NotFollowed("a float is shifted")
    by = b[mask] if isinstance(b, np.ndarray) else np.asarray([b])
    if ((by < 0) | (by >= kind.bits)).any():
        raise Undetermined("a shift by more bits than there are")
    if isinstance(b, np.ndarray):
        b = np.where(mask, b, 0).astype(np.int64)
    if not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
        whole = int(a) << int(b) if op == "<<" else int(a) >> int(b)
        return Value(kind, _fit(whole, kind))
    if kind.bits == 64:
        dtype = storage(kind)
        a, b = np.asarray(a, dtype), np.asarray(b, dtype)
    return Value(kind, _fit(a << b if op == "<<" else a >> b, kind))  # type: ignore[operator]


def unary(op: str, value: Value, mask: Mask) -> Value:
    """``-``, ``+``, ``~`` or ``!``."""
    kind, data = scalar(value)
    if op == "!":
        truth = converted(value, BOOL, mask).data
        return Value(BOOL, ~truth if isinstance(truth, np.ndarray) else not truth)
    kind, data = scalar(converted(value, promoted(kind), mask))
    if op == "+":
        return Value(kind, data)
    if op == "-" and kind.kind == "f":
        return Value(kind, -data)
    if op == "-":
        return binary("-", Value(kind, 0), Value(kind, data), mask)
    if op == "~" and kind.kind != "f":
        return binary("^", Value(kind, -1 if kind.kind == "i" else kind.bounds[1]), value, mask)
    raise NotFollowed(f"the operator {op} on a {kind.name}")

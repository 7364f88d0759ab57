"""Numbers of C++'s ``float``, which has fewer digits than a number of Python's."""

from __future__ import annotations

import struct


class Single(float):
    """A number of a ``float``; plain ones are of a ``double``."""

    __slots__ = ()


def single(value: float) -> Single:
    """The nearest number of a ``float``."""
    try:
        return Single(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return Single("inf") if value > 0 else Single("-inf")


def in_one_type(left: float, right: float) -> tuple[float, float]:
    """Two numbers, of which one is of a ``float``, in the type that both are converted to."""
    if float in (type(left), type(right)):
        return float(left), float(right)
    return single(left), single(right)

"""Numbers of C++'s ``float``, which has fewer digits than a number of Python's."""

from __future__ import annotations

import struct

EXACT = 1 << 24
"""Whole numbers up to this one are numbers of a ``float``."""


def single(value: float) -> float:
    """The nearest number of a ``float``."""
    try:
        found: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return found

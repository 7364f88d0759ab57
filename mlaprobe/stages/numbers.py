"""Arithmetic on what was read off a path: numbers, or symbols for them.

A comparison of a symbol here is a condition of the answer, like the code's own comparisons (see
``SourceSession.solve``).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from mlaprobe.core.shape import Status
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.symbolic.symbols import Sym, key_of, same
from mlaprobe.evaluator.values.operators import binary


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number that is known."""
    return type(value) is int or (type(value) is Sym and type(value.value) is int)


def calculate(op: str, left: Any, right: Any) -> Any:
    """``left op right``; a comparison gives a plain bool."""
    return binary(op, left, right, NOWHERE)


def whole_key(value: Any) -> Hashable:
    """What stands for a number or its formula in the key of an unknown value."""
    return key_of(value) if type(value) is Sym else ("int", value)


def multiple(value: Any, unit: Any) -> Any:
    """How often ``unit`` goes into ``value``; ``None`` where that is no whole number of times, or
    not even once. ``unit`` is not 0."""
    if same(value, unit):
        return 1
    if not same(calculate("%", value, unit), 0):
        return None
    times = calculate("//", value, unit)
    return times if calculate(">=", times, 1) else None


def folded(fold: Any, qlen_fold: Any) -> Status | None:
    """How a query is folded, by the two factors; ``None`` where it is not."""
    if not same(fold, 1):
        return Status.FOLD
    return None if same(qlen_fold, 1) else Status.QLEN_FOLD

"""Whole numbers that are not known, and lie between two bounds."""

from __future__ import annotations

from mlaprobe.evaluator.ir import NOWHERE, CType
from mlaprobe.evaluator.symbolic.symbols import Sym
from mlaprobe.evaluator.values.arithmetic import arithmetic
from mlaprobe.evaluator.values.comparing import compare
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.evaluator.values.value import Value

Bounds = tuple[Value, Value]
"""The least and the greatest that a number can be; both are numbers or symbols."""
_LARGEST = 2**31 - 1


class Within(Unknown):
    """A number that is not known, and is not negative. Sums, differences, products and quotients
    stay such as far as no type can wrap around; a comparison that all numbers between the bounds
    answer alike is known."""

    __slots__ = ("high", "low")

    def __init__(self, why: Unknown, low: Value, high: Value) -> None:
        super().__init__(
            why.reason,
            why.span,
            key=why.key,
            free=why.free,
            depth=why.depth,
            foreign=why.foreign,
        )
        self.low = low
        self.high = high

    def derive(self, op: str, *operands: Value) -> Value:
        found = super().derive(op, *operands)
        sides = [bounds_of(operand) for operand in operands]
        if len(sides) != 2 or sides[0] is None or sides[1] is None:
            return found
        left, right = sides[0], sides[1]
        if op in ("<", "=="):
            told = _told(op, left, right)
            return found if told is None else told
        between = _between(op, left, right)
        if between is None:
            return found
        low, high = between
        return low if type(low) is type(high) is int and low == high else Within(found, low, high)

    def stored(self, ctype: CType) -> Unknown:
        """The number in a variable of a type: one that it may not fit in changes it."""
        bits = {"int": ctype.bits - 1, "unsigned": ctype.bits}.get(ctype.kind, 0)
        if bits and _holds("<", self.high, 1 << bits):
            return self
        key = ("stored", ctype.kind, ctype.bits, self.key)
        return Unknown(self.reason, self.span, key=key, free=self.free, foreign=self.foreign)


def bounds_of(value: Value) -> Bounds | None:
    """The bounds of a whole number; ``None`` for what is not known to have any."""
    if isinstance(value, Within):
        return value.low, value.high
    whole = type(value) is int or (type(value) is Sym and type(value.value) is int)
    return (value, value) if whole else None


def _holds(op: str, left: Value, right: Value) -> bool:
    return compare(op, left, right, NOWHERE) is True


def _told(op: str, left: Bounds, right: Bounds) -> bool | None:
    """What a comparison of any two numbers between bounds gives, where all give one answer."""
    if op == "==":
        apart = _holds("<", left[1], right[0]) or _holds("<", right[1], left[0])
        return False if apart else None
    if _holds("<", left[1], right[0]):
        return True
    return False if _holds(">=", left[0], right[1]) else None


def _between(op: str, left: Bounds, right: Bounds) -> Bounds | None:
    """The bounds of a result; ``None`` where there are none, or a type may wrap around."""
    if op == "+":
        found = _computed(op, left[0], right[0]), _computed(op, left[1], right[1])
    elif op == "-":
        found = _computed(op, left[0], right[1]), _computed(op, left[1], right[0])
    elif op == "*" and _holds(">=", left[0], 0) and _holds(">=", right[0], 0):
        found = _computed(op, left[0], right[0]), _computed(op, left[1], right[1])
    elif op in ("c/", "//") and _holds(">=", left[0], 0) and _holds(">=", right[0], 1):
        found = _computed(op, left[0], right[1]), _computed(op, left[1], right[0])
    else:
        return None
    fits = _holds(">=", found[0], 0) and _holds("<=", found[1], _LARGEST)
    return found if fits else None


def _computed(op: str, left: Value, right: Value) -> Value:
    return arithmetic(op, left, right, NOWHERE)

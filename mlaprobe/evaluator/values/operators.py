"""The operators of both languages over known and unknown values."""

from __future__ import annotations

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.flags import inverted
from mlaprobe.evaluator.objects.iterables import View
from mlaprobe.evaluator.objects.mappings import concrete, joined
from mlaprobe.evaluator.objects.objects import NOTHING
from mlaprobe.evaluator.symbolic.formulas import COMPARE
from mlaprobe.evaluator.symbolic.symbols import Sym, number_of
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.arithmetic import (
    NUMBERS,
    arithmetic,
    kind_of,
    plain_number,
)
from mlaprobe.evaluator.values.comparing import compare, identical, negate
from mlaprobe.evaluator.values.floats import Single, single
from mlaprobe.evaluator.values.kinds import EnumMember, Model
from mlaprobe.evaluator.values.membership import contains
from mlaprobe.evaluator.values.unordered import LooseSet

_AS_SETS = (LooseSet, View)


def binary(op: str, left: Value, right: Value, span: Span, *, unsigned: int = 0) -> Value:
    """``left op right``, for any values; the compiler shortcuts the common cases."""
    if op in COMPARE and (type(left) in _AS_SETS or type(right) in _AS_SETS):
        left, right = concrete(left, span), concrete(right, span)
    if op in COMPARE:
        return compare(op, left, right, span)
    if op in ("is", "is not"):
        same = identical(number_of(left), number_of(right), span)
        return negate(same) if op == "is not" else same
    if op in ("in", "not in"):
        inside = contains(right, left, span)
        return negate(inside) if op == "not in" else inside
    if op == "|" and isinstance(left, dict) and isinstance(right, dict):
        return joined(left, right, span)
    if op in ("|", "&", "-", "^") and (type(left) in _AS_SETS or type(right) in _AS_SETS):
        left, right = concrete(left, span), concrete(right, span)
    return arithmetic(op, left, right, span, unsigned)


def unary(op: str, value: Value, span: Span) -> Value:
    """``- + ~ not``."""
    if op == "not":
        return negate(value)
    if type(value) is Sym:
        if op == "-":
            return value.combine("-", 0, value, -value.value)
        return value if op == "+" else unary(op, value.concretize(), span)
    if isinstance(value, Unknown):
        return value.derive(op)
    if isinstance(value, Model) and op == "-":
        return arithmetic("-", 0, value, span)
    if op == "~" and isinstance(value, EnumMember):
        flag = inverted(value)
        if flag is not NOTHING:
            return flag
    value = plain_number(value)
    if isinstance(value, NUMBERS):
        if op == "-":
            return single(-value) if type(value) is Single else -value
        if op == "+":
            return +value
        if isinstance(value, int):
            return ~value
    return Unknown(f"{op} of a {kind_of(value)}", span)

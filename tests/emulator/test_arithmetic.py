"""Float32 arithmetic against exact fractions and AMD's pseudocode written down anew."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from mlaprobe.emulator import arithmetic
from mlaprobe.emulator.floats import Values
from tests.emulator import exact
from tests.emulator.exact import nearest

PATTERNS = st.integers(0, 2**32 - 1)
NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)
INFINITY, QUIET, SIGNALING = 0x7F800000, 0x7FC00001, 0x7F800001


def of(*numbers: float) -> Values:
    return np.array(numbers, np.float32)


def as_float(bits: int) -> Values:
    return np.array([bits], np.uint32).view(np.float32)


def to_bits(values: Values) -> int:
    return int(values.view(np.uint32)[0])


@settings(max_examples=250, deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS)
@example(1 + 2.0**-12, 1 + 2.0**-12, 2.0**-90)
@example(1 + 2.0**-12, 1 + 2.0**-12, -(2.0**-90))
@example(1 + 2.0**-12, -1 - 2.0**-12, 2.0**-90)
@example(2.0**-75, 2.0**-75, 1 + 2.0**-23)
@example(2.0**-75, -(2.0**-75), 2.0**-149)
@example(2.0**-100, 2.0**-50, 2.0**-149)
@example(2.0**127, 2.0, -(2.0**127))
def test_fma_rounds_once(a: float, b: float, c: float) -> None:
    wanted = nearest(Fraction(a) * Fraction(b) + Fraction(c))
    with np.errstate(all="ignore"):
        (result,) = arithmetic.fma(of(a), of(b), of(c)).tolist()
    assert result == wanted


@settings(max_examples=150, deadline=None)
@given(st.integers(2**23, 2**24 - 1), st.integers(-160, 0), st.booleans())
def test_fma_sees_what_lies_below_a_tie(mantissa: int, low: int, up: bool) -> None:
    """A product half way between two float32, and an addend too small for float64 to keep."""
    assume(mantissa % 2 == 1)
    tie = Fraction(mantissa) * Fraction(3, 2)
    addend = Fraction(2) ** low * (1 if up else -1)
    assume(nearest(addend) != 0)
    with np.errstate(all="ignore"):
        (result,) = arithmetic.fma(of(mantissa), of(1.5), of(float(addend))).tolist()
    assert result == nearest(tie + addend)


def test_fma_of_what_is_no_number() -> None:
    a = of(math.inf, math.inf, math.inf, math.nan, 1.0)
    b = of(1.0, 0.0, 1.0, 1.0, 1.0)
    c = of(1.0, 1.0, -math.inf, 1.0, -math.inf)
    with np.errstate(all="ignore"):
        first, *nans, last = arithmetic.fma(a, b, c).tolist()
    assert (first, last) == (math.inf, -math.inf)
    assert all(math.isnan(value) for value in nans)


SPECIAL = [0, 0x80000000, INFINITY, INFINITY | 1 << 31, QUIET, SIGNALING, 0xFF800001, 0x3F800000, 1]


@pytest.mark.parametrize("a", SPECIAL)
@pytest.mark.parametrize("b", SPECIAL)
@pytest.mark.parametrize("ieee", [False, True])
def test_maximum_of_special_numbers(a: int, b: int, ieee: bool) -> None:
    with np.errstate(all="ignore"):
        found = to_bits(arithmetic.maximum(as_float(a), as_float(b), ieee=ieee))
    expected = exact.larger(a, b, ieee=ieee)
    if expected & 0x7FFFFFFF > INFINITY:
        assert found & 0x7FFFFFFF > INFINITY
    else:
        assert found == expected


@settings(max_examples=120, deadline=None)
@given(PATTERNS, PATTERNS)
def test_maximum_of_any_numbers(a: int, b: int) -> None:
    expected = exact.larger(a, b)
    assume(expected & 0x7FFFFFFF <= INFINITY)
    assert to_bits(arithmetic.maximum(as_float(a), as_float(b))) == expected


def last_place(value: Decimal) -> Decimal:
    """The distance between float32 numbers at a value."""
    exponent = math.frexp(float(value))[1] - 1
    return Decimal(2) ** (max(exponent, -126) - 23)


@settings(max_examples=120, deadline=None)
@given(st.floats(-126, 127.96875, width=32))
def test_exp2_is_within_a_last_place(value: float) -> None:
    with localcontext() as context:
        context.prec = 60
        wanted = Decimal(2) ** Decimal(value)
        found = Decimal(float(arithmetic.exp2(of(value))[0]))
        assert abs(found - wanted) <= last_place(wanted)


@settings(max_examples=120, deadline=None)
@given(st.floats(2.0**-126, 2.0**127, width=32))
@example(1.0)
@example(1 + 2.0**-23)
@example(1 - 2.0**-24)
def test_log2_is_within_a_last_place(value: float) -> None:
    with localcontext() as context:
        context.prec = 60
        wanted = Decimal(value).ln() / Decimal(2).ln()
        found = Decimal(float(arithmetic.log2(of(value))[0]))
        assert abs(found - wanted) <= last_place(wanted)


@settings(max_examples=120, deadline=None)
@given(NUMBERS)
def test_reciprocal_is_rounded_once(value: float) -> None:
    assume(value != 0)
    with np.errstate(all="ignore"):
        assert arithmetic.reciprocal(of(value))[0] == nearest(1 / Fraction(value))


def test_edges_of_the_transcendental_functions() -> None:
    with np.errstate(all="ignore"):
        assert arithmetic.exp2(of(-math.inf, math.inf, 0.0, 1.0)).tolist() == [0, math.inf, 1, 2]
        assert arithmetic.log2(of(0.0, 8.0, math.inf)).tolist() == [-math.inf, 3, math.inf]
        assert np.isnan(arithmetic.log2(of(-1.0, math.nan))).all()
        assert arithmetic.reciprocal(of(0.0, -0.0)).tolist() == [math.inf, -math.inf]


@settings(max_examples=120, deadline=None)
@given(PATTERNS)
@example(0x4F800000)
@example(0x4F7FFFFF)
@example(0xBF800000)
@example(0x3F7FFFFF)
@example(QUIET)
@example(INFINITY)
@example(0xFF800000)
def test_whole_numbers(bits: int) -> None:
    (value,) = as_float(bits).tolist()
    expected = 0 if math.isnan(value) else min(max(value, 0), 2**32 - 1)
    with np.errstate(all="ignore"):
        assert int(arithmetic.u32_from_f32(as_float(bits))[0]) == int(expected)


@pytest.mark.parametrize(
    ("bits", "place"),
    [
        (0x7F800001, 0),
        (0xFFBFFFFF, 0),
        (0x7FC00000, 1),
        (0xFFFFFFFF, 1),
        (0xFF800000, 2),
        (0xFF7FFFFF, 3),
        (0x80800000, 3),
        (0x807FFFFF, 4),
        (0x80000001, 4),
        (0x80000000, 5),
        (0x00000000, 6),
        (0x00000001, 7),
        (0x007FFFFF, 7),
        (0x00800000, 8),
        (0x7F7FFFFF, 8),
        (0x7F800000, 9),
    ],
)
def test_classes(bits: int, place: int) -> None:
    assert int(arithmetic.classes(np.array([bits], np.uint32))[0]) == 1 << place

"""Conversions against exact fractions, and the formats' definitions written down anew."""

from __future__ import annotations

import struct
from bisect import bisect_left
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mlaprobe.emulator import floats
from mlaprobe.emulator.floats import Bits, NarrowFormat

INFINITY, NAN = "infinity", "nan"
Number = Fraction | str

BYTES = [floats.E4M3, floats.E5M2, floats.E4M3_FNUZ, floats.E5M2_FNUZ]
NARROWER = [floats.E2M3, floats.E3M2, floats.E2M1]
ids = pytest.mark.parametrize("form", BYTES, ids=lambda form: form.name)
all_ids = pytest.mark.parametrize("form", BYTES + NARROWER, ids=lambda form: form.name)

# Format to exponent bits, mantissa bits, bias: OFP8 table 1, MX tables 2 to 4, and for fnuz a bias
# of one more.
LAYOUT = {
    "e4m3": (4, 3, 7),
    "e5m2": (5, 2, 15),
    "e4m3fnuz": (4, 3, 8),
    "e5m2fnuz": (5, 2, 16),
    "e2m3": (2, 3, 1),
    "e3m2": (3, 2, 3),
    "e2m1": (2, 1, 1),
}


def meaning(name: str, code: int) -> Number:
    """The number that an encoding stands for; infinity and NaN without their sign."""
    exponent_bits, mantissa_bits, bias = LAYOUT[name]
    width = 1 + exponent_bits + mantissa_bits
    sign, rest = code >> (width - 1), code & ((1 << (width - 1)) - 1)
    exponent, mantissa = rest >> mantissa_bits, rest & ((1 << mantissa_bits) - 1)
    if name.endswith("fnuz") and code == 0x80:
        return NAN
    if name == "e4m3" and rest == 0x7F:
        return NAN
    if name == "e5m2" and exponent == 31:
        return NAN if mantissa else INFINITY
    hidden = 1 if exponent else 0
    number = (hidden + Fraction(mantissa, 1 << mantissa_bits)) * Fraction(2) ** (
        max(exponent, 1) - bias
    )
    return -number if sign else number


@cache
def finite(name: str) -> list[Fraction]:
    """The non-negative numbers of a format by their encoding, smallest first."""
    exponent_bits, mantissa_bits, _ = LAYOUT[name]
    codes = range(1 << (exponent_bits + mantissa_bits))
    return [number for code in codes if isinstance(number := meaning(name, code), Fraction)]


def rounded(name: str, magnitude: Fraction, saturate: bool) -> int | str:
    """The encoding, without sign, of a non-negative number: the nearest, ties to the even one.

    Beyond the last number a further one is imagined, half way to which everything overflows.
    """
    numbers = finite(name)
    step = numbers[-1] - numbers[-2]
    last = len(numbers) - 1
    if magnitude > numbers[-1]:
        over = magnitude - numbers[-1]
        tie_goes_up = last % 2 == 1
        if over * 2 > step or (over * 2 == step and tie_goes_up):
            return last if saturate or name in ("e2m3", "e3m2", "e2m1") else "too large"
        return last
    above = bisect_left(numbers, magnitude)
    if numbers[above] == magnitude:
        return above
    low, high = magnitude - numbers[above - 1], numbers[above] - magnitude
    if low == high:
        return above if above % 2 == 0 else above - 1
    return above if high < low else above - 1


# What is too large, and what is NaN, by format: OFP8 section 5.2 (not saturating), fnuz by AMD.
TOO_LARGE = {"e4m3": 0x7F, "e5m2": 0x7C, "e4m3fnuz": 0x80, "e5m2fnuz": 0x80}


def encoded(name: str, bits: int, saturate: bool) -> int | None:
    """The encoding of a float32 by its bits; ``None``: any NaN of that format."""
    negative, rest = bits >> 31, bits & 0x7FFFFFFF
    if rest > 0x7F800000:
        return None
    sign_bit = 1 << sum(LAYOUT[name][:2])
    if rest == 0x7F800000:
        code: int | str = len(finite(name)) - 1 if saturate or sign_bit < 0x80 else "too large"
    else:
        (value,) = struct.unpack("<f", struct.pack("<I", rest))
        code = rounded(name, Fraction(value), saturate)
    if code == "too large":
        return TOO_LARGE[name] if name.endswith("fnuz") else TOO_LARGE[name] | negative << 7
    assert isinstance(code, int)
    if name.endswith("fnuz") and code == 0:
        return 0
    return code | (sign_bit if negative else 0)


def of(*bits: int) -> Bits:
    return np.array(bits, np.uint32)


def bits_of(value: float) -> int:
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return int(bits)


def near(name: str) -> list[int]:
    """Bits of float32 numbers at and beside everything where rounding decides."""
    numbers = finite(name)
    step = numbers[-1] - numbers[-2]
    middles = [(low + high) / 2 for low, high in pairwise(numbers)]
    edges = [*numbers, *middles, numbers[-1] + step / 2, numbers[-1] + step]
    around = [bits_of(float(edge)) + by for edge in edges for by in (-1, 0, 1)]
    return [bits for bits in around if bits >= 0]


@all_ids
def test_every_encoding_is_its_number(form: NarrowFormat) -> None:
    values = floats.widen(np.arange(1 << form.width, dtype=np.uint8), form)
    for code, value in enumerate(values.tolist()):
        expected = meaning(form.name, code)
        if expected == NAN:
            assert value != value
        elif expected == INFINITY:
            assert value == (float("-inf") if code & 0x80 else float("inf"))
        else:
            assert Fraction(value) == expected
            negative = bool(code >> (form.width - 1))
            assert np.signbit(np.float32(value)) == negative


@all_ids
@pytest.mark.parametrize("saturate", [False, True])
def test_rounding_where_it_decides(form: NarrowFormat, saturate: bool) -> None:
    inputs = near(form.name)
    inputs += [bits | 1 << 31 for bits in inputs] + [0x7F800000, 0xFF800000]
    codes = floats.narrow(of(*inputs), form, saturate=saturate).tolist()
    assert codes == [encoded(form.name, bits, saturate) for bits in inputs]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(BYTES + NARROWER), st.booleans())
@example(0x43E80000, floats.E4M3, False)
@example(0x00000001, floats.E4M3, False)
@example(0x80000001, floats.E4M3_FNUZ, False)
def test_rounding_of_any_float(bits: int, form: NarrowFormat, saturate: bool) -> None:
    code = int(floats.narrow(of(bits), form, saturate=saturate)[0])
    expected = encoded(form.name, bits, saturate)
    if expected is not None:
        assert code == expected
    elif form in BYTES:
        assert meaning(form.name, code) == NAN


@all_ids
def test_encoding_what_was_decoded_changes_nothing(form: NarrowFormat) -> None:
    codes = np.arange(1 << form.width, dtype=np.uint8)
    values = floats.widen(codes, form)
    numbers = ~np.isnan(values)
    back = floats.narrow(values.view(np.uint32), form)
    assert (back == codes)[numbers].all()


@ids
@settings(max_examples=100, deadline=None)
@given(low=st.floats(width=32, allow_nan=False), high=st.floats(width=32, allow_nan=False))
def test_rounding_is_monotonic(form: NarrowFormat, low: float, high: float) -> None:
    low, high = min(low, high), max(low, high)
    codes = floats.narrow(of(bits_of(low), bits_of(high)), form, saturate=True)
    first, second = floats.widen(codes, form).tolist()
    assert first <= second


@pytest.mark.parametrize(
    ("value", "form", "saturate", "code"),
    [
        # Largest finite values, ties to the next, overflow: OFP8 table 1 and section 5.2.
        (448.0, floats.E4M3, False, 0x7E),
        (464.0, floats.E4M3, False, 0x7E),
        (465.0, floats.E4M3, False, 0x7F),
        (-465.0, floats.E4M3, False, 0xFF),
        (465.0, floats.E4M3, True, 0x7E),
        (float("inf"), floats.E4M3, False, 0x7F),
        (float("-inf"), floats.E4M3, True, 0xFE),
        (61439.0, floats.E5M2, False, 0x7B),
        (61440.0, floats.E5M2, False, 0x7C),
        (-1e9, floats.E5M2, True, 0xFB),
        # fnuz: 240 is the largest, 248 the first that is too large; NaN has one pattern.
        (240.0, floats.E4M3_FNUZ, False, 0x7F),
        (247.9, floats.E4M3_FNUZ, False, 0x7F),
        (248.0, floats.E4M3_FNUZ, False, 0x80),
        (-300.0, floats.E4M3_FNUZ, False, 0x80),
        (-300.0, floats.E4M3_FNUZ, True, 0xFF),
        (57344.0, floats.E5M2_FNUZ, False, 0x7F),
        (61440.0, floats.E5M2_FNUZ, False, 0x80),
        (float("nan"), floats.E4M3_FNUZ, True, 0x80),
        (float("nan"), floats.E5M2_FNUZ, False, 0x80),
        # Signed zero, and the least that is not zero.
        (-0.0, floats.E4M3, False, 0x80),
        (-0.0, floats.E4M3_FNUZ, False, 0x00),
        (2.0**-9, floats.E4M3, False, 0x01),
        (2.0**-10, floats.E4M3, False, 0x00),
        (2.0**-10, floats.E4M3_FNUZ, False, 0x01),
        (-(2.0**-11), floats.E4M3_FNUZ, False, 0x00),
        (1.0, floats.E4M3, False, 0x38),
        (1.0, floats.E4M3_FNUZ, False, 0x40),
    ],
)
def test_encodings_worked_out_by_hand(
    value: float, form: NarrowFormat, saturate: bool, code: int
) -> None:
    assert int(floats.narrow(of(bits_of(value)), form, saturate=saturate)[0]) == code


def test_the_same_bits_are_half_as_much_in_fnuz() -> None:
    codes = np.arange(1, 0x7F, dtype=np.uint8)
    assert (floats.widen(codes, floats.E4M3) == 2 * floats.widen(codes, floats.E4M3_FNUZ)).all()


def test_packing_keeps_the_order() -> None:
    low, high = np.full(64, bits_of(1.0), np.uint32), np.full(64, bits_of(-2.0), np.uint32)
    assert (floats.pack_narrow(low, high, floats.E4M3) == 0xC038).all()
    assert (floats.pack_bf16(low, high) == 0xC0003F80).all()


def nearest_bf16(bits: int, saturate: bool) -> int:
    """Among the two bfloat16 numbers around a finite float32, the nearer, ties to even."""
    sign, rest = bits & 0x80000000, bits & 0x7FFFFFFF
    low = rest >> 16
    distance = Fraction(rest & 0xFFFF, 1 << 16)
    up = distance > Fraction(1, 2) or (distance == Fraction(1, 2) and low % 2 == 1)
    code = low + up
    return (0x7F7F if saturate and code == 0x7F80 else code) | sign >> 16


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
@example(0x3F808000, False)
@example(0x3F818000, False)
@example(0x7F7FFFFF, False)
@example(0x7F7FFFFF, True)
@example(0x7F800000, True)
@example(0x7F800001, False)
@example(0xFFFFFFFF, False)
def test_bf16_rounds_to_the_nearest(bits: int, saturate: bool) -> None:
    code = int(floats.bf16_from_f32(of(bits), saturate=saturate)[0])
    if bits & 0x7FFFFFFF > 0x7F800000:
        assert code & 0x7F80 == 0x7F80
        assert code & 0x0040
        assert code >> 15 == bits >> 31
    elif bits & 0x7FFFFFFF == 0x7F800000:
        assert code == bits >> 16
    else:
        assert code == nearest_bf16(bits, saturate)


def test_bf16_and_back() -> None:
    codes = np.arange(1 << 16, dtype=np.uint16)
    values = floats.f32_from_bf16(codes)
    assert (values.view(np.uint32) == codes.astype(np.uint32) << 16).all()
    back = floats.bf16_from_f32(values.view(np.uint32))
    assert (back == codes)[~np.isnan(values)].all()

"""Conversions with a scale alone, with results worked out exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from mlaprobe.emulator.errors import UnmodelledError
from tests.emulator.exact import bits_of
from tests.emulator.single import LANES, Lone

FP8 = "v_cvt_scalef32_pk_bf16_fp8 v1, v2, v3"
UPPER = f"{FP8} op_sel:[1,0,0]"
BF8 = "v_cvt_scalef32_pk_bf16_bf8 v1, v2, v3 op_sel:[1,0,0]"
SCALAR = "v_cvt_scalef32_pk_bf16_fp8 v1, v2, s3"
QUIET = 0x7FC0
SOME_LANES = 0xF0F0_1234_8001_FFFE


def number(code: int, exponent: int, mantissa: int) -> Fraction:
    """What the magnitude of an OCP encoding stands for, by the widths of its fields."""
    bias = (1 << exponent - 1) - 1
    field, fraction = code >> mantissa & (1 << exponent) - 1, code & (1 << mantissa) - 1
    whole = Fraction(fraction, 1 << mantissa) + (1 if field else 0)
    return whole * Fraction(2) ** (max(field, 1) - bias)


def bf16(value: Fraction, negative: bool) -> int:
    """The encoding of a number that bfloat16 has, with a sign for zero too."""
    bits = bits_of(math.copysign(float(value), -1 if negative else 1))
    assert not bits & 0xFFFF
    return bits >> 16


def scaled(code: int, scale: int) -> int:
    """The bfloat16 of an e4m3 encoding, times a scale in e8m0."""
    if code & 0x7F == 0x7F:
        return QUIET | (code & 0x80) << 8
    return bf16(number(code & 0x7F, 4, 3) * Fraction(2) ** (scale - 127), code >= 0x80)


def is_nan(code: int) -> bool:
    return code & 0x7FFF > 0x7F80


def check(found: list[int], wanted: list[tuple[int, int]]) -> None:
    """Compares two numbers in each lane; NaNs are all alike."""
    for bits, pair in zip(found, wanted, strict=True):
        for got, want in zip((bits & 0xFFFF, bits >> 16), pair, strict=True):
            assert got == want or (is_nan(got) and is_nan(want)), (hex(bits), pair)


@pytest.mark.parametrize("scale", [40, 121, 126, 127, 128, 130, 200, 245])
def test_every_fp8_with_a_scale(scale: int) -> None:
    lone = Lone()
    lone.set(3, scale << 23)
    for start in range(0, 256, 4 * len(LANES)):
        codes = np.arange(start, start + 4 * len(LANES)).reshape(-1, 4)
        lone.set(2, [int.from_bytes(bytes(four), "little") for four in codes.tolist()])
        for line, first in ((FP8, 0), (UPPER, 2)):
            lone.run(line)
            pairs = [(scaled(c[first], scale), scaled(c[first + 1], scale)) for c in codes.tolist()]
            check(lone.get(1), pairs)


def test_by_hand() -> None:
    lone = Lone()
    # From the lowest byte up: 1.0, -1.5, 448, 2^-9 (the least subnormal).
    lone.set(2, 0x017EBC38)
    lone.set(3, bits_of(2.0))
    lone.run(FP8)
    assert lone.get(1) == [0xC0404000] * 64  # -3.0, 2.0
    lone.run(UPPER)
    assert lone.get(1) == [0x3B804460] * 64  # 2^-8, 896


def test_of_the_scale_only_the_exponent_counts() -> None:
    lone = Lone()
    lone.set(2, 0x00BC38)
    lone.set(3, [bits_of(value) for value in (0.5, -0.75, 0.999, 4.0)] * 16)
    lone.run(FP8)
    half, four = 0xBF403F00, 0xC0C04080
    assert lone.get(1) == [half, half, half, four] * 16


def test_the_scale_may_be_a_scalar() -> None:
    lone = Lone()
    lone.set(2, 0x38B8)
    lone.wave.sgpr[3] = bits_of(8.0)
    lone.run(SCALAR)
    assert lone.get(1) == [0x4100C100] * 64


def test_each_lane_has_its_own_scale_and_others_are_left() -> None:
    lone = Lone()
    lone.set(1, 7)
    lone.set(2, 0x3838)
    fields = [100 + lane for lane in LANES]
    lone.set(3, [field << 23 for field in fields])
    lone.switch(SOME_LANES)
    lone.run(FP8)
    ones = [(field << 7) * 0x10001 for field in fields]
    assert lone.get(1) == [ones[n] if SOME_LANES >> n & 1 else 7 for n in LANES]


def test_bf8() -> None:
    lone = Lone()
    # 1.5 and minus infinity; then NaN and the least normal number, 2^-14.
    lone.set(2, [0xFC3E0000, 0x047E0000] * 32)
    lone.set(3, bits_of(4.0))
    lone.run(BF8)
    check(lone.get(1), [(0x40C0, 0xFF80), (QUIET, 0x3980)] * 32)


@pytest.mark.parametrize(
    ("code", "field"),
    [
        (0x01, 127 - 118),  # 2^-9 times 2^-118, less than the least normal number
        (0x30, 0),  # 0.5 times 2^-127
        (0x7E, 247),  # 448 times 2^120
        (0x38, 255),  # the exponent of infinity and NaN
        (0x00, 255),
    ],
)
def test_what_has_no_rule_is_refused(code: int, field: int) -> None:
    lone = Lone()
    lone.set(2, [code, *[0x38] * 63])
    lone.set(3, [field << 23, *[127 << 23] * 63])
    with pytest.raises(UnmodelledError, match="no normal number"):
        lone.run(FP8)
    lone.switch(SOME_LANES)  # without that lane
    lone.run(FP8)
    lone.switch((1 << 64) - 1)
    lone.set(3, [127 << 23] * 64)
    lone.run(FP8)


def test_the_least_scale() -> None:
    lone = Lone()
    lone.set(2, 0x8040)  # 2.0 and minus zero
    lone.set(3, 0)
    lone.run(FP8)
    assert lone.get(1) == [0x80000080] * 64

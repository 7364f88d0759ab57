"""Each conversion between number formats alone, with results worked out by hand or exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from mlaprobe.emulator.modes import FloatMode
from tests.emulator import exact
from tests.emulator.exact import QUIET_NAN, SIGN, bits_of, same
from tests.emulator.single import EXACT, FLUSHING, LANES, SATURATING, Lone

EVERY_LANE = (1 << 64) - 1
SOME_LANES = 0xF0F0_1234_8001_FFFE


def test_signed_whole_numbers() -> None:
    lone = Lone()
    inputs = [0, 1, 0xFFFFFFFF, 0x01000001, 0x80000000, 0xFEFFFFFF, 0x7FFFFFFF, 0xFFFFFF85] * 8
    lone.set(2, inputs)
    lone.run("v_cvt_f32_i32_e32 v1, v2")
    signed = [value - (value >> 31 << 32) for value in inputs]
    assert lone.get(1) == [bits_of(exact.nearest(Fraction(value))) for value in signed]
    floats = [2.9, -2.9, 2.0**31, -(2.0**31), -(2.0**40), math.inf, math.nan, -0.0] * 8
    lone.set(2, [bits_of(value) for value in floats])
    lone.run("v_cvt_i32_f32_e32 v1, v2")
    most, least = 0x7FFFFFFF, 0x80000000
    assert lone.get(1) == [2, 0xFFFFFFFE, most, least, least, most, 0, 0] * 8


def test_whole_numbers_to_floats() -> None:
    lone = Lone()
    inputs = [0, 1, 0x00FFFFFF, 0x01000001, 0x01000003, 0x7FFFFFFF, 0xFFFFFF7F, 0xFFFFFFFF] * 8
    lone.set(2, inputs)
    lone.run("v_cvt_f32_u32_e32 v1, v2")
    assert lone.get(1) == [bits_of(exact.nearest(Fraction(value))) for value in inputs]
    lone.wave.sgpr[5] = 0x80000001
    lone.run("v_cvt_f32_u32_e32 v1, s5")
    assert lone.get(1) == [bits_of(2.0**31)] * 64


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (0.0, 0),
        (0.999, 0),
        (2.5, 2),
        (-0.5, 0),
        (-7.0, 0),
        (4294967040.0, 0xFFFFFF00),
        (4294967296.0, 0xFFFFFFFF),
        (math.inf, 0xFFFFFFFF),
        (-math.inf, 0),
        (math.nan, 0),
    ],
)
def test_floats_to_whole_numbers(value: float, result: int) -> None:
    lone = Lone(mode=FLUSHING)
    lone.set(2, bits_of(value))
    lone.run("v_cvt_u32_f32_e32 v1, v2")
    assert lone.get(1) == [result] * 64


HALF = bits_of(0.5)


@pytest.mark.parametrize(
    ("arch", "mode", "bits", "code"),
    [
        ("gfx950", EXACT, bits_of(1.0), 0x38),
        ("gfx942", EXACT, bits_of(1.0), 0x40),
        ("gfx950", EXACT, bits_of(448.0), 0x7E),
        ("gfx950", EXACT, bits_of(500.0), 0x7F),
        ("gfx950", SATURATING, bits_of(500.0), 0x7E),
        ("gfx942", EXACT, bits_of(240.0), 0x7F),
        ("gfx942", EXACT, bits_of(-250.0), 0x80),
        ("gfx942", SATURATING, bits_of(-250.0), 0xFF),
        ("gfx950", EXACT, bits_of(1.0625), 0x38),
        ("gfx950", EXACT, bits_of(1.1875), 0x3A),
        ("gfx950", EXACT, bits_of(-0.0), 0x80),
        ("gfx942", EXACT, bits_of(-0.0), 0x00),
        ("gfx950", FLUSHING, bits_of(2.0**-9), 0x01),
    ],
)
def test_floats_to_fp8(arch: str, mode: FloatMode, bits: int, code: int) -> None:
    half = {"gfx950": 0x30, "gfx942": 0x38}[arch]
    lone = Lone(arch=arch, mode=mode)
    lone.set(1, 0xAABBCCDD)
    lone.set(2, bits)
    lone.set(3, HALF)
    lone.run("v_cvt_pk_fp8_f32 v1, v2, v3")
    assert lone.get(1) == [0xAABB0000 | half << 8 | code] * 64
    lone.set(1, 0xAABBCCDD)
    lone.switch(SOME_LANES)
    lone.run("v_cvt_pk_fp8_f32 v1, v2, v3 op_sel:[0,0,1]")
    after = (half << 8 | code) << 16 | 0xCCDD
    assert lone.get(1) == [after if SOME_LANES >> n & 1 else 0xAABBCCDD for n in LANES]


@pytest.mark.parametrize(("arch", "one"), [("gfx950", bits_of(1.0)), ("gfx942", bits_of(0.5))])
def test_fp8_to_floats(arch: str, one: int) -> None:
    lone = Lone(arch=arch)
    # From the lowest byte up: 2 or 1, 1 or 1/2, 1 or 1/2 negative, NaN of OCP.
    lone.set(2, 0x7FB83840)
    lone.run("v_cvt_pk_f32_fp8_sdwa v[4:5], v2 src0_sel:WORD_0")
    assert (lone.get(4), lone.get(5)) == ([one + 0x00800000] * 64, [one] * 64)
    lone.run("v_cvt_pk_f32_fp8_sdwa v[4:5], v2 src0_sel:WORD_1")
    assert lone.get(4) == [one | SIGN] * 64
    if arch == "gfx950":
        assert same(lone.get(5), [QUIET_NAN] * 64)
    else:
        assert lone.get(5) == [bits_of(240.0)] * 64
    lone.set(2, 0x80)
    lone.run("v_cvt_pk_f32_fp8_sdwa v[4:5], v2 src0_sel:WORD_0")
    assert same(lone.get(4), [SIGN if arch == "gfx950" else QUIET_NAN] * 64)


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
def test_floats_to_bf16(lanes: int) -> None:
    lone = Lone()
    lone.set(1, 7)
    # Ties: to the even one below, to the even one above; then just above a tie.
    lone.set(2, [0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF] * 16)
    lone.set(3, [0xBF80FFFF, 0x80000000, 0x7FC00000, 0xFF800000] * 16)
    lone.switch(lanes)
    lone.run("v_cvt_pk_bf16_f32 v1, v2, v3")
    results = [0xBF813F80, 0x80003F82, 0x7FC03F81, 0xFF807F80] * 16
    assert lone.get(1) == [results[n] if lanes >> n & 1 else 7 for n in LANES]


@pytest.mark.parametrize(
    ("arch", "one", "overflow"), [("gfx950", 0x3C, 0x7C), ("gfx942", 0x40, 0x80)]
)
def test_bf8(arch: str, one: int, overflow: int) -> None:
    lone = Lone(arch=arch)
    lone.set(1, 0xAABBCCDD)
    lone.set(2, bits_of(1.0))
    lone.set(3, bits_of(65536.0))
    lone.run("v_cvt_pk_bf8_f32 v1, v2, v3")
    assert lone.get(1) == [0xAABB0000 | overflow << 8 | one] * 64
    lone.set(2, (one | one + 2 << 8) << 16)
    lone.run("v_cvt_pk_f32_bf8_sdwa v[4:5], v2 src0_sel:WORD_1")
    assert (lone.get(4), lone.get(5)) == ([bits_of(1.0)] * 64, [bits_of(1.5)] * 64)

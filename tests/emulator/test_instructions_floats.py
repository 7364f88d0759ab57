"""Each vector instruction on floats alone, lane by lane, against exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from mlaprobe.emulator.modes import FloatMode
from mlaprobe.emulator.wave import EXEC
from tests.emulator import exact
from tests.emulator.exact import QUIET_NAN, SIGN, bits_of, value_of
from tests.emulator.single import EXACT, FLUSHING, LANES, SATURATING, Lone

EVERY_LANE = (1 << 64) - 1
SOME_LANES = 0xF0F0_1234_8001_FFFE
EDGES = [
    *(0, 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0x3F800001, 0x40490FDB, 0x4B800001),
    *(0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x34000000, 0x0D800000, 0x00400000),
]
WITH_SIGNS = EDGES + [bits | SIGN for bits in EDGES]
S5 = 0x3FB8AA3B
"""log2(e), which kernels multiply by."""

Registers = dict[str, int]


def whole(bits: int, function: Callable[[float], int]) -> int:
    """A number rounded to a whole one, which keeps its sign where it is zero."""
    value = value_of(bits)
    if not math.isfinite(value):
        return bits
    return bits_of(math.copysign(abs(float(function(value))), value))


CASES: dict[str, Callable[[Registers], int]] = {
    "v_add_f32_e32 v1, v2, v3": lambda r: exact.add(r["v2"], r["v3"]),
    "v_add_f32_e64 v1, 0, -v3": lambda r: exact.add(0, r["v3"] ^ SIGN),
    "v_sub_f32_e32 v1, v2, v3": lambda r: exact.add(r["v2"], r["v3"] ^ SIGN),
    "v_mul_f32_e32 v1, v2, v3": lambda r: exact.multiply(r["v2"], r["v3"]),
    "v_mul_f32_e32 v1, 0x3fb8aa3b, v3": lambda r: exact.multiply(S5, r["v3"]),
    "v_mul_f32_e64 v1, v2, s5": lambda r: exact.multiply(r["v2"], S5),
    "v_max_f32_e32 v1, v2, v3": lambda r: exact.larger(r["v2"], r["v3"]),
    "v_max3_f32 v1, v2, v3, v4": lambda r: exact.larger(exact.larger(r["v2"], r["v3"]), r["v4"]),
    "v_fma_f32 v1, v2, s5, -v4": lambda r: exact.multiply_add(r["v2"], S5, r["v4"] ^ SIGN),
    "v_fma_f32 v1, v2, s5, v4": lambda r: exact.multiply_add(r["v2"], S5, r["v4"]),
    "v_subrev_f32_e32 v1, v2, v3": lambda r: exact.add(r["v3"], r["v2"] ^ SIGN),
    "v_fmac_f32_e32 v1, v2, v3": lambda r: exact.multiply_add(r["v2"], r["v3"], r["v1"]),
    "v_min_f32_e32 v1, v2, v3": lambda r: exact.smaller(r["v2"], r["v3"]),
    "v_min3_f32 v1, v2, v3, v4": lambda r: exact.smaller(exact.smaller(r["v2"], r["v3"]), r["v4"]),
    "v_max_f32_e64 v1, |v2|, -|v3|": lambda r: exact.larger(r["v2"] & ~SIGN, r["v3"] | SIGN),
    "v_floor_f32_e32 v1, v2": lambda r: whole(r["v2"], math.floor),
    "v_ceil_f32_e32 v1, v2": lambda r: whole(r["v2"], math.ceil),
    "v_trunc_f32_e32 v1, v2": lambda r: whole(r["v2"], math.trunc),
    "v_rndne_f32_e32 v1, v2": lambda r: whole(r["v2"], round),
}


def filled(lone: Lone, seed: int) -> None:
    """Registers with edge cases against each other, and ordinary numbers of several sizes."""
    rng = np.random.default_rng(seed)
    for register in range(1, 8):
        numbers = rng.standard_normal(64) * 2.0 ** rng.integers(-20, 20, 64)
        lone.set(register, numbers.astype(np.float32).view(np.uint32))
        lone.wave.rows[register][:44] = rng.choice(np.array(WITH_SIGNS, np.uint32), 44)
    lone.wave.sgpr[5] = S5


def same(found: list[int], expected: list[int]) -> bool:
    """Whether two lists of float32 bits are equal, all NaNs taken for one."""
    return [QUIET_NAN if exact.is_nan(bits) else bits for bits in found] == [
        QUIET_NAN if exact.is_nan(bits) else bits for bits in expected
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mode", [EXACT, FLUSHING], ids=["exact", "flushing"])
@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize("text", CASES)
def test_results(text: str, lanes: int, mode: FloatMode, seed: int) -> None:
    lone = Lone(mode=mode)
    filled(lone, seed)
    lone.switch(lanes)
    before = {f"v{n}": lone.get(n) for n in range(1, 5)}
    lone.run(text)
    flush = exact.flushed if mode is FLUSHING else int
    expected = [
        flush(CASES[text]({name: flush(row[lane]) for name, row in before.items()}))
        if lanes >> lane & 1
        else before["v1"][lane]
        for lane in LANES
    ]
    assert same(lone.get(1), expected)


@pytest.mark.parametrize("name", ["v_max_f32", "v_min_f32"])
def test_signaling_nans_with_ieee(name: str) -> None:
    """MODE.IEEE: a signaling NaN wins over a number and becomes quiet; a quiet one loses."""
    lone = Lone(mode=replace(EXACT, ieee=True))
    lone.set(2, [0x7F800001, 0x3F800000, 0x7FC00001, 0xFF800001] * 16)
    lone.set(3, [0x3F800000, 0x7F800002, 0x3F800000, 0x7F800002] * 16)
    lone.run(f"{name}_e32 v1, v2, v3")
    found = lone.get(1)[:4]
    assert [exact.is_nan(bits) for bits in found] == [True, True, False, True]
    assert all(bits & 0x00400000 for n, bits in enumerate(found) if n != 2)
    assert found[2] == 0x3F800000


def packed(text: str, r: Registers) -> tuple[int, int]:
    """The two results of a packed instruction."""
    if text.startswith("v_pk_add"):
        if "op_sel:" in text:
            return exact.add(r["v3"], r["v4"]), exact.add(r["v2"], r["v5"])
        return exact.add(r["v2"], r["v4"]), exact.add(r["v3"], r["v5"])
    if "neg_lo" in text:
        low = exact.multiply(r["v2"], r["v4"] ^ SIGN)
        return low, exact.multiply(r["v3"] ^ SIGN, r["v5"])
    if text.startswith("v_pk_fma"):
        return (
            exact.multiply_add(r["v2"], r["s4"], r["v4"]),
            exact.multiply_add(r["v3"], r["s5"], r["v5"]),
        )
    high = r["v4"] if "op_sel_hi" in text else r["v5"]
    return exact.multiply(r["v2"], r["v4"]), exact.multiply(r["v3"], high)


@pytest.mark.parametrize("mode", [EXACT, FLUSHING], ids=["exact", "flushing"])
@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize(
    "text",
    [
        "v_pk_mul_f32 v[6:7], v[2:3], v[4:5]",
        "v_pk_mul_f32 v[6:7], v[2:3], v[4:5] op_sel_hi:[1,0]",
        "v_pk_fma_f32 v[6:7], v[2:3], s[4:5], v[4:5]",
        "v_pk_add_f32 v[6:7], v[2:3], v[4:5]",
        "v_pk_add_f32 v[6:7], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,1]",
        "v_pk_mul_f32 v[6:7], v[2:3], v[4:5] neg_lo:[0,1] neg_hi:[1,0]",
    ],
)
def test_packed(text: str, lanes: int, mode: FloatMode) -> None:
    lone = Lone(mode=mode)
    filled(lone, seed=4)
    lone.wave.sgpr[4] = 0xC0490FDB
    lone.switch(lanes)
    before = {f"v{n}": lone.get(n) for n in range(1, 8)}
    lone.run(text)
    flush = exact.flushed if mode is FLUSHING else int
    low, high = [], []
    for lane in LANES:
        registers = {name: flush(row[lane]) for name, row in before.items()}
        first, second = packed(text, {**registers, "s4": 0xC0490FDB, "s5": S5})
        on = lanes >> lane & 1
        low.append(flush(first) if on else before["v6"][lane])
        high.append(flush(second) if on else before["v7"][lane])
    assert same(lone.get(6), low)
    assert same(lone.get(7), high)


def units(found: int, wanted: Decimal) -> Decimal:
    """How far a float32 is from a number, in units of the last place."""
    exponent = math.frexp(float(wanted))[1] - 1
    return abs(Decimal(value_of(found)) - wanted) / Decimal(2) ** (max(exponent, -126) - 23)


def test_exponential_and_logarithm_are_within_a_last_place() -> None:
    lone = Lone(mode=FLUSHING)
    inputs = [bits_of(float(np.float32(-125 + 3.98 * lane))) for lane in LANES]
    lone.set(2, inputs)
    lone.run("v_exp_f32_e32 v1, v2")
    powers = lone.get(1)
    lone.set(2, powers)
    lone.run("v_log_f32_e32 v1, v2")
    with localcontext() as context:
        context.prec = 50
        for bits, power, back in zip(inputs, powers, lone.get(1), strict=True):
            assert units(power, Decimal(2) ** Decimal(value_of(bits))) <= 1
            logarithm = Decimal(value_of(power)).ln() / Decimal(2).ln()
            assert units(back, logarithm) <= 1


@pytest.mark.parametrize("name", ["v_rcp_f32", "v_rcp_iflag_f32"])
def test_reciprocals(name: str) -> None:
    lone = Lone(mode=FLUSHING)
    filled(lone, seed=6)
    inputs = lone.get(2)
    lone.run(f"{name}_e32 v1, v2")
    for bits, found in zip(inputs, lone.get(1), strict=True):
        value = value_of(exact.flushed(bits))
        if math.isnan(value):
            assert exact.is_nan(found)
        elif value == 0:
            assert found == exact.INFINITY | bits & SIGN
        elif math.isinf(value):
            assert found == bits & SIGN
        else:
            assert found == exact.flushed(bits_of(exact.nearest(1 / Fraction(value))))


@pytest.mark.parametrize(
    ("name", "bits", "result"),
    [
        ("v_exp_f32", 0xFF800000, 0),
        ("v_exp_f32", 0x7F800000, 0x7F800000),
        ("v_exp_f32", 0, 0x3F800000),
        ("v_exp_f32", SIGN, 0x3F800000),
        ("v_exp_f32", 1, 0x3F800000),
        ("v_exp_f32", bits_of(-1.0), bits_of(0.5)),
        ("v_exp_f32", bits_of(127.0), bits_of(2.0**127)),
        ("v_exp_f32", bits_of(128.0), 0x7F800000),
        ("v_exp_f32", bits_of(-126.0), 0x00800000),
        ("v_exp_f32", bits_of(-127.0), 0),
        ("v_log_f32", 0, 0xFF800000),
        ("v_log_f32", SIGN, 0xFF800000),
        ("v_log_f32", 0x3F800000, 0),
        ("v_log_f32", bits_of(8.0), bits_of(3.0)),
        ("v_log_f32", 0x7F800000, 0x7F800000),
        ("v_log_f32", 1, 0xFF800000),
        ("v_log_f32", bits_of(-2.0), QUIET_NAN),
        ("v_log_f32", QUIET_NAN, QUIET_NAN),
        ("v_exp_f32", QUIET_NAN, QUIET_NAN),
    ],
)
def test_edges_of_the_transcendental_functions(name: str, bits: int, result: int) -> None:
    lone = Lone(mode=FLUSHING)
    lone.set(2, bits)
    lone.run(f"{name}_e32 v1, v2")
    assert same(lone.get(1), [result] * 64)


def test_roots() -> None:
    lone = Lone(mode=FLUSHING)
    inputs = [bits_of(float(np.float32(1.37**lane))) for lane in range(-32, 32)]
    lone.set(2, inputs)
    lone.run("v_sqrt_f32_e32 v1, v2")
    roots = lone.get(1)
    lone.run("v_rsq_f32_e32 v1, v2")
    with localcontext() as context:
        context.prec = 50
        for bits, root, inverse in zip(inputs, roots, lone.get(1), strict=True):
            exactly = Decimal(value_of(bits)).sqrt()
            assert units(root, exactly) <= 1
            assert units(inverse, 1 / exactly) <= 1
    special = [0, SIGN, exact.INFINITY, bits_of(-1.0)] * 16
    lone.set(2, special)
    lone.run("v_sqrt_f32_e32 v1, v2")
    assert same(lone.get(1), [0, SIGN, exact.INFINITY, QUIET_NAN] * 16)
    lone.run("v_rsq_f32_e32 v1, v2")
    infinities = [exact.INFINITY, exact.INFINITY | SIGN]
    assert same(lone.get(1), [*infinities, 0, QUIET_NAN] * 16)


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


COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "gt": lambda a, b: a > b,
    "lt": lambda a, b: a < b,
    "u": lambda a, b: math.isnan(a) or math.isnan(b),
    "o": lambda a, b: not (math.isnan(a) or math.isnan(b)),
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "ge": lambda a, b: a >= b,
    "lg": lambda a, b: a < b or a > b,
    "neq": lambda a, b: a != b,
    "nlt": lambda a, b: not a < b,
    "nle": lambda a, b: not a <= b,
    "ngt": lambda a, b: not a > b,
    "nge": lambda a, b: not a >= b,
    "nlg": lambda a, b: not (a < b or a > b),
}


@pytest.mark.parametrize("mode", [EXACT, FLUSHING], ids=["exact", "flushing"])
@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str, lanes: int, mode: FloatMode) -> None:
    lone = Lone(mode=mode)
    filled(lone, seed=8)
    lone.wave.rows[3][40:] = lone.wave.rows[2][40:]
    lone.switch(lanes)
    flush = exact.flushed if mode is FLUSHING else int
    pairs = [
        (value_of(flush(a)), value_of(flush(b)))
        for a, b in zip(lone.get(2), lone.get(3), strict=True)
    ]
    lone.run(f"v_cmp_{name}_f32_e64 s[10:11], v2, v3")
    outcomes = enumerate(COMPARISONS[name](*pair) for pair in pairs)
    expected = sum(1 << n for n, true in outcomes if true and lanes >> n & 1)
    assert lone.pair(10) == expected
    lone.run(f"v_cmpx_{name}_f32_e64 s[10:11], v2, v3")
    assert lone.pair(10) == lone.pair(EXEC) == expected


# Bits of v_cmp_class_f32's second operand, by a number of that class.
CLASSES = [
    *(0x7F800001, 0x7FC00000, 0xFF800000, 0xBF800000, 0x80000001),
    *(0x80000000, 0x00000000, 0x007FFFFF, 0x00800000, 0x7F800000),
]


@pytest.mark.parametrize("mode", [EXACT, FLUSHING], ids=["exact", "flushing"])
def test_classes(mode: FloatMode) -> None:
    lone = Lone(mode=mode)
    numbers = CLASSES * 6
    lone.set(2, numbers + [0] * 4)
    for bit in range(10):
        lone.set(3, 1 << bit)
        lone.run("v_cmp_class_f32_e64 s[10:11], v2, v3")
        expected = sum(1 << n for n in range(bit, 60, 10))
        assert lone.pair(10) & (1 << 60) - 1 == expected
    lone.run("v_cmpx_class_f32_e64 s[10:11], v2, v3")
    assert lone.pair(EXEC) & (1 << 60) - 1 == expected


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

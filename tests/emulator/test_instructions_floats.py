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
from tests.emulator.exact import QUIET_NAN, SIGN, bits_of, same, value_of
from tests.emulator.single import EXACT, FLUSHING, LANES, Lone

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

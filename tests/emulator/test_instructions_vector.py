"""Each vector instruction on integers and bits alone, lane by lane, against plain Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.emulator.single import LANES, Lone

WORD = 0xFFFFFFFF
EDGES = [0, 1, 2, 31, 32, 0x7FFFFFFF, 0x80000000, 0x80000001, WORD, 0xFFFFFF, 0x800000, 0x7FFFFF]
EVERY_LANE = (1 << 64) - 1
SOME_LANES = 0xF0F0_1234_8001_FFFE

Registers = dict[str, int]
"""What a lane reads, by name."""


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def permuted(high: int, low: int, selector: int) -> int:
    """``v_perm_b32``: bytes 0 to 3 are those of the second source."""
    both = (high << 32 | low).to_bytes(8, "little")

    def byte(select: int) -> int:
        if select >= 13:
            return 0xFF
        if select == 12:
            return 0
        if select >= 8:
            return 0xFF if both[2 * (select - 8) + 1] >> 7 else 0
        return both[select]

    return int.from_bytes(bytes(byte(s) for s in selector.to_bytes(4, "little")), "little")


CASES: dict[str, Callable[[Registers], int]] = {
    "v_mov_b32_e32 v1, v2": lambda r: r["v2"],
    "v_mov_b32_e32 v1, s5": lambda r: r["s5"],
    "v_mov_b32_e32 v1, -1": lambda r: WORD,
    "v_mov_b32_e32 v1, 0xdeadbeef": lambda r: 0xDEADBEEF,
    "v_add_u32_e32 v1, v2, v3": lambda r: r["v2"] + r["v3"],
    "v_add_u32_e32 v1, s5, v3": lambda r: r["s5"] + r["v3"],
    "v_add_u32_e32 v1, 0x10000, v3": lambda r: 0x10000 + r["v3"],
    "v_add_u32_e64 v1, v2, s5": lambda r: r["v2"] + r["s5"],
    "v_add_i32 v1, s5, v3": lambda r: r["s5"] + r["v3"],
    "v_sub_u32_e32 v1, 31, v3": lambda r: 31 - r["v3"],
    "v_sub_u32_e64 v1, v2, 1": lambda r: r["v2"] - 1,
    "v_subrev_u32_e32 v1, s5, v3": lambda r: r["v3"] - r["s5"],
    "v_add3_u32 v1, v2, v3, 1": lambda r: r["v2"] + r["v3"] + 1,
    "v_and_b32_e32 v1, 15, v3": lambda r: 15 & r["v3"],
    "v_or_b32_e32 v1, v2, v3": lambda r: r["v2"] | r["v3"],
    "v_xor_b32_e32 v1, v2, v3": lambda r: r["v2"] ^ r["v3"],
    "v_lshlrev_b32_e32 v1, 2, v3": lambda r: r["v3"] << 2,
    "v_lshlrev_b32_e64 v1, 2, s5": lambda r: r["s5"] << 2,
    "v_lshrrev_b32_e32 v1, s5, v3": lambda r: r["v3"] >> r["s5"] % 32,
    "v_min_u32_e32 v1, s5, v3": lambda r: min(r["s5"], r["v3"]),
    "v_bfe_u32 v1, v2, 4, 8": lambda r: r["v2"] // 16 % 256,
    "v_bfm_b32 v1, s5, 3": lambda r: (2 ** (r["s5"] % 32) - 1) * 8,
    "v_perm_b32 v1, v2, v3, s5": lambda r: permuted(r["v2"], r["v3"], r["s5"]),
    "v_mul_u32_u24_e32 v1, v2, v3": lambda r: (r["v2"] % 2**24) * (r["v3"] % 2**24),
    "v_mul_i32_i24_e32 v1, 7, v3": lambda r: 7 * signed(r["v3"], 24),
    "v_mul_i32_i24_e64 v1, v2, s5": lambda r: signed(r["v2"], 24) * signed(r["s5"], 24),
    "v_mul_lo_u32 v1, v2, s5": lambda r: r["v2"] * r["s5"],
    "v_mul_hi_u32 v1, v2, v3": lambda r: r["v2"] * r["v3"] // 2**32,
}


def filled(lone: Lone, seed: int) -> None:
    """Registers with edge cases in the first lanes and random numbers in the others."""
    rng = np.random.default_rng(seed)
    for register in range(1, 5):
        lone.set(register, rng.integers(0, 1 << 32, 64, dtype=np.uint32))
    pairs = [(a, b) for a in EDGES for b in EDGES]
    for lane, (a, b) in enumerate(rng.permutation(np.array(pairs))[:40].tolist()):
        lone.wave.rows[2][lane], lone.wave.rows[3][lane] = a, b


@pytest.mark.parametrize("s5", [0, 5, 33, 0x80000003, 0x0C0D0201, 0x08090A0B, WORD])
@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize("text", CASES)
def test_results(text: str, lanes: int, s5: int) -> None:
    lone = Lone()
    filled(lone, seed=len(text) + s5 % 7)
    lone.wave.sgpr[5] = s5
    lone.switch(lanes)
    v1, v2, v3 = lone.get(1), lone.get(2), lone.get(3)
    lone.run(text)
    expected = [
        CASES[text]({"v2": v2[lane], "v3": v3[lane], "s5": s5}) & WORD
        if lanes >> lane & 1
        else v1[lane]
        for lane in LANES
    ]
    assert lone.get(1) == expected
    assert (lone.get(2), lone.get(3)) == (v2, v3)


@pytest.mark.parametrize("text", [text for text in CASES if "v2, v3" in text])
def test_the_destination_may_be_a_source(text: str) -> None:
    """Encodings differ in the register numbers only: v1 and v2 are set to the same numbers, and
    both rows of the wave are made one."""
    lone = Lone()
    filled(lone, seed=3)
    lone.wave.sgpr[5] = 9
    v2, v3 = lone.get(2), lone.get(3)
    lone.wave.rows[1] = lone.wave.rows[2]
    lone.run(text)
    sources = zip(v2, v3, strict=True)
    expected = [CASES[text]({"v2": a, "v3": b, "s5": 9}) & WORD for a, b in sources]
    assert lone.get(1) == expected


VCC = 106


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize(
    ("text", "second", "takes"),
    [
        ("v_add_co_u32_e32 v1, vcc, v2, v3", "v3", False),
        ("v_add_co_u32_e64 v1, vcc, v2, s5", "s5", False),
        ("v_addc_co_u32_e32 v1, vcc, v2, v3, vcc", "v3", True),
        ("v_addc_co_u32_e64 v1, vcc, v2, 0, vcc", "0", True),
    ],
)
def test_carries(text: str, second: str, takes: bool, lanes: int) -> None:
    lone = Lone()
    filled(lone, seed=11)
    lone.wave.sgpr[5] = 0xFFFF0000
    carries = 0x123456789ABCDEF0
    lone.wave.sgpr[VCC], lone.wave.sgpr[VCC + 1] = carries & WORD, carries >> 32
    lone.switch(lanes)
    v1, v2, v3 = lone.get(1), lone.get(2), lone.get(3)
    lone.run(text)
    after, sums = 0, []
    for lane in LANES:
        other = {"v3": v3[lane], "s5": 0xFFFF0000, "0": 0}[second]
        total = v2[lane] + other + (carries >> lane & 1 if takes else 0)
        on = lanes >> lane & 1
        after |= (total >> 32 & on) << lane
        sums.append(total & WORD if on else v1[lane])
    assert lone.get(1) == sums
    # A lane that is off gets no carry.
    assert lone.pair(VCC) == after


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize(
    ("text", "mask", "second"),
    [
        ("v_cndmask_b32_e32 v1, v2, v3, vcc", VCC, None),
        ("v_cndmask_b32_e64 v1, v2, v3, s[10:11]", 10, None),
        ("v_cndmask_b32_e64 v1, v2, 1.0, s[10:11]", 10, 0x3F800000),
    ],
)
def test_selection(text: str, mask: int, second: int | None, lanes: int) -> None:
    lone = Lone()
    filled(lone, seed=5)
    chosen = 0xFEDCBA9876543210
    lone.wave.sgpr[mask], lone.wave.sgpr[mask + 1] = chosen & WORD, chosen >> 32
    lone.switch(lanes)
    v1, v2, v3 = lone.get(1), lone.get(2), lone.get(3)
    lone.run(text)
    taken = [v3[n] if second is None else second for n in LANES]
    expected = [
        (taken[n] if chosen >> n & 1 else v2[n]) if lanes >> n & 1 else v1[n] for n in LANES
    ]
    assert lone.get(1) == expected


COMPARISONS: dict[str, tuple[int, Callable[[int, int, int], bool]]] = {
    "v_cmp_eq_u32_e64 s[10:11], v2, v3": (10, lambda a, b, s: a == b),
    "v_cmp_ge_u32_e64 s[10:11], v2, s5": (10, lambda a, b, s: a >= s),
    "v_cmp_le_u32_e64 s[10:11], v2, v3": (10, lambda a, b, s: a <= b),
    "v_cmp_le_u32_e32 vcc, s5, v3": (VCC, lambda a, b, s: s <= b),
    "v_cmp_lt_u32_e64 s[10:11], v2, v3": (10, lambda a, b, s: a < b),
    "v_cmp_le_i32_e64 s[10:11], v2, v3": (10, lambda a, b, s: signed(a) <= signed(b)),
}


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize("text", COMPARISONS)
def test_comparisons(text: str, lanes: int) -> None:
    lone = Lone()
    filled(lone, seed=7)
    lone.wave.sgpr[5] = 0x80000000
    lone.wave.rows[3][50:] = lone.wave.rows[2][50:]
    lone.switch(lanes)
    register, compare = COMPARISONS[text]
    v2, v3 = lone.get(2), lone.get(3)
    lone.run(text)
    expected = sum(1 << n for n in LANES if lanes >> n & 1 and compare(v2[n], v3[n], 0x80000000))
    # A lane that is off gets 0.
    assert lone.pair(register) == expected


def test_relative_registers() -> None:
    """``s_set_gpr_idx_on`` adds M0's index to the registers that its mode names, for the source
    operands by their position."""
    lone = Lone()
    filled(lone, seed=9)
    lone.set(2 + 7, 100)
    lone.set(3, 23)
    lone.wave.sgpr[5] = 7
    lone.index_mode = lone.run("s_set_gpr_idx_on s5, gpr_idx(SRC0)").next_mode
    lone.run("v_add_u32_e32 v1, v2, v3")
    assert lone.get(1) == [123] * 64
    lone.index_mode = lone.run("s_set_gpr_idx_off").next_mode
    v2 = lone.get(2)
    lone.run("v_add_u32_e32 v1, v2, v3")
    assert lone.get(1) == [(value + 23) & WORD for value in v2]

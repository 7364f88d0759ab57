"""Each vector instruction on integers and bits alone, lane by lane, against plain Python."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest

from mlaprobe.emulator.wave import EXEC
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


def signed_field(value: int, start: int, width: int) -> int:
    """``width`` bits of a two's complement number, the highest of them its sign."""
    return signed(signed(value) >> start, width) if width else 0


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
    "v_not_b32_e32 v1, v2": lambda r: ~r["v2"],
    "v_sub_i32 v1, v2, v3": lambda r: r["v2"] - r["v3"],
    "v_xnor_b32_e32 v1, v2, v3": lambda r: ~(r["v2"] ^ r["v3"]),
    "v_lshrrev_b32_e32 v1, v2, v3": lambda r: r["v3"] >> r["v2"] % 32,
    "v_ashrrev_i32_e32 v1, v2, v3": lambda r: signed(r["v3"]) >> r["v2"] % 32,
    "v_max_u32_e32 v1, v2, v3": lambda r: max(r["v2"], r["v3"]),
    "v_min_i32_e32 v1, v2, v3": lambda r: min(signed(r["v2"]), signed(r["v3"])),
    "v_max_i32_e32 v1, v2, v3": lambda r: max(signed(r["v2"]), signed(r["v3"])),
    "v_bfe_u32 v1, v2, v3, v4": lambda r: r["v2"] >> r["v3"] % 32 & 2 ** (r["v4"] % 32) - 1,
    "v_bfe_i32 v1, v2, v3, v4": lambda r: signed_field(r["v2"], r["v3"] % 32, r["v4"] % 32),
    "v_bfi_b32 v1, v2, v3, v4": lambda r: r["v2"] & r["v3"] | ~r["v2"] & r["v4"],
    "v_bfm_b32 v1, v2, v3": lambda r: (2 ** (r["v2"] % 32) - 1) << r["v3"] % 32,
    "v_perm_b32 v1, v2, v3, v4": lambda r: permuted(r["v2"], r["v3"], r["v4"]),
    "v_alignbit_b32 v1, v2, v3, v4": lambda r: (r["v2"] << 32 | r["v3"]) >> r["v4"] % 32,
    "v_lshl_add_u32 v1, v2, v3, v4": lambda r: (r["v2"] << r["v3"] % 32) + r["v4"],
    "v_add_lshl_u32 v1, v2, v3, v4": lambda r: (r["v2"] + r["v3"]) << r["v4"] % 32,
    "v_lshl_or_b32 v1, v2, v3, v4": lambda r: (r["v2"] << r["v3"] % 32) | r["v4"],
    "v_and_or_b32 v1, v2, v3, v4": lambda r: (r["v2"] & r["v3"]) | r["v4"],
    "v_or3_b32 v1, v2, v3, v4": lambda r: r["v2"] | r["v3"] | r["v4"],
    "v_xad_u32 v1, v2, v3, v4": lambda r: (r["v2"] ^ r["v3"]) + r["v4"],
    "v_mad_u32_u24 v1, v2, v3, v4": lambda r: (r["v2"] % 2**24) * (r["v3"] % 2**24) + r["v4"],
    "v_mad_i32_i24 v1, v2, v3, v4": lambda r: signed(r["v2"], 24) * signed(r["v3"], 24) + r["v4"],
    "v_mbcnt_lo_u32_b32 v1, v2, v3": lambda r: (
        (r["v2"] & (1 << min(r["lane"], 32)) - 1).bit_count() + r["v3"]
    ),
    "v_mbcnt_hi_u32_b32 v1, v2, v3": lambda r: (
        (r["v2"] & (1 << max(r["lane"] - 32, 0)) - 1).bit_count() + r["v3"]
    ),
}


def filled(lone: Lone, seed: int) -> None:
    """Registers with edge cases in the first lanes and random numbers in the others."""
    rng = np.random.default_rng(seed)
    for register in range(1, 5):
        lone.set(register, rng.integers(0, 1 << 32, 64, dtype=np.uint32))
    # Bytes from 0 to 15 in some lanes: what permutations select by.
    lone.wave.rows[4][20:] &= np.uint32(0x0F0F0F0F)
    pairs = [(a, b) for a in EDGES for b in EDGES]
    for lane, (a, b) in enumerate(rng.permutation(np.array(pairs))[:40].tolist()):
        lone.wave.rows[2][lane], lone.wave.rows[3][lane] = a, b


SHARED = [0, 5, 33, 0x07060302, 0x05040100, 0x80000003, 0x0C0D0201, 0x08090A0B, WORD]
"""Values of s5."""


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize(
    ("text", "s5"), [(text, s5) for text in CASES for s5 in SHARED if "s5" in text or s5 < 33]
)
def test_results(text: str, lanes: int, s5: int) -> None:
    lone = Lone()
    filled(lone, seed=len(text) + s5 % 7)
    lone.wave.sgpr[5] = s5
    lone.switch(lanes)
    before = {f"v{n}": lone.get(n) for n in range(1, 5)}
    lone.run(text)
    expected = [
        CASES[text]({**{n: row[lane] for n, row in before.items()}, "s5": s5, "lane": lane}) & WORD
        if lanes >> lane & 1
        else before["v1"][lane]
        for lane in LANES
    ]
    assert lone.get(1) == expected
    assert [lone.get(n) for n in (2, 3, 4)] == [before[f"v{n}"] for n in (2, 3, 4)]


@pytest.mark.parametrize("text", [text for text in CASES if "v2, v3" in text])
def test_the_destination_may_be_a_source(text: str) -> None:
    """Encodings differ in the register numbers only: v1 and v2 are set to the same numbers, and
    both rows of the wave are made one."""
    lone = Lone()
    filled(lone, seed=3)
    lone.wave.sgpr[5] = 9
    before = {f"v{n}": lone.get(n) for n in range(1, 5)}
    lone.wave.rows[1] = lone.wave.rows[2]
    lone.run(text)
    expected = [
        CASES[text]({**{n: row[lane] for n, row in before.items()}, "s5": 9, "lane": lane}) & WORD
        for lane in LANES
    ]
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
    "v_cmp_gt_u32_e64 s[10:11], v2, v3": (10, lambda a, b, s: a > b),
    "v_cmp_ne_u32_e64 s[10:11], v2, v3": (10, lambda a, b, s: a != b),
    "v_cmp_eq_i32_e64 s[10:11], v2, v3": (10, lambda a, b, s: a == b),
    "v_cmp_ne_i32_e64 s[10:11], v2, v3": (10, lambda a, b, s: a != b),
    "v_cmp_lt_i32_e64 s[10:11], v2, v3": (10, lambda a, b, s: signed(a) < signed(b)),
    "v_cmp_gt_i32_e64 s[10:11], v2, v3": (10, lambda a, b, s: signed(a) > signed(b)),
    "v_cmp_ge_i32_e64 s[10:11], v2, v3": (10, lambda a, b, s: signed(a) >= signed(b)),
}
TO_EXEC = [
    f"v_cmpx_{name}_{kind}32_e64 s[10:11], v2, v3"
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
    for kind in "iu"
]
PLAIN: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
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


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize("text", TO_EXEC)
def test_comparisons_that_set_exec_too(text: str, lanes: int) -> None:
    lone = Lone()
    filled(lone, seed=8)
    lone.wave.rows[3][50:] = lone.wave.rows[2][50:]
    lone.switch(lanes)
    name, kind = text.split("_")[2:4]
    take = signed if kind == "i32" else int
    pairs = list(zip(map(take, lone.get(2)), map(take, lone.get(3)), strict=True))
    lone.run(text)
    expected = sum(1 << n for n in LANES if lanes >> n & 1 and PLAIN[name](*pairs[n]))
    assert lone.pair(10) == lone.pair(EXEC) == expected
    assert lone.wave.exec_mask.tolist() == [bool(expected >> n & 1) for n in LANES]


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
def test_moves_of_pairs(lanes: int) -> None:
    lone = Lone()
    filled(lone, seed=2)
    lone.wave.sgpr[6], lone.wave.sgpr[7] = 66, 77
    for text, low, high in (
        ("v_mov_b64_e32 v[6:7], v[2:3]", lone.get(2), lone.get(3)),
        ("v_mov_b64_e32 v[6:7], -3", [WORD - 2] * 64, [WORD] * 64),
        ("v_mov_b64_e32 v[6:7], s[6:7]", [66] * 64, [77] * 64),
    ):
        lone.set(6, 1)
        lone.set(7, 2)
        lone.switch(lanes)
        lone.run(text)
        assert lone.get(6) == [low[n] if lanes >> n & 1 else 1 for n in LANES]
        assert lone.get(7) == [high[n] if lanes >> n & 1 else 2 for n in LANES]


def test_nothing() -> None:
    lone = Lone()
    before = lone.wave.vgpr.copy()
    lone.run("v_nop")
    assert (lone.wave.vgpr == before).all()


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

"""Instructions that move numbers between lanes and between register files, each alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mlaprobe.emulator.errors import UnmodelledError
from tests.emulator.single import LANES, Lone

EVERY_LANE = (1 << 64) - 1
SOME_LANES = 0xF0F0_1234_8001_FFFE
WORD = 0xFFFFFFFF
ACCUMULATION = 256


def numbered(lone: Lone) -> None:
    """Register n holds 1000 n + lane."""
    for register in (*range(1, 8), *range(256, 264)):
        lone.set(register, np.arange(64, dtype=np.uint32) + np.uint32(1000 * register))


@pytest.mark.parametrize(
    ("text", "source"),
    [
        # A quad takes its lanes 2, 3, 0, 1; a row of 16 all its lane 5.
        ("v_mov_b32_dpp v1, v2 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf", lambda n: n ^ 2),
        (
            "v_add_u32_dpp v1, v2, v3 row_newbcast:5 row_mask:0xf bank_mask:0xf",
            lambda n: n // 16 * 16 + 5,
        ),
    ],
)
def test_reading_other_lanes(text: str, source: Callable[[int], int]) -> None:
    lone = Lone()
    numbered(lone)
    lone.run(text)
    added = (3000 + n if "add" in text else 0 for n in LANES)
    expected = [2000 + source(n) + more for n, more in zip(LANES, added, strict=True)]
    assert lone.get(1) == expected


def test_arithmetic_on_other_lanes() -> None:
    lone = Lone()
    numbered(lone)
    lone.run("v_mul_u32_u24_dpp v1, v2, v3 row_newbcast:8 row_mask:0xf bank_mask:0xf")
    assert lone.get(1) == [(2000 + n // 16 * 16 + 8) * (3000 + n) for n in LANES]
    halves = np.arange(64, dtype=np.float32) / np.float32(2)
    lone.set(2, halves.view(np.uint32))
    lone.set(3, np.full(64, 3, np.float32).view(np.uint32))
    lone.run("v_mul_f32_dpp v1, v2, v3 row_newbcast:2 row_mask:0xf bank_mask:0xf")
    products = np.array(lone.get(1), np.uint32).view(np.float32).tolist()
    assert products == [1.5 * (n // 16 * 16 + 2) for n in LANES]


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
def test_swap(lanes: int) -> None:
    lone = Lone()
    numbered(lone)
    lone.switch(lanes)
    lone.run("v_swap_b32 v1, v2")
    assert lone.get(1) == [(2000 if lanes >> n & 1 else 1000) + n for n in LANES]
    assert lone.get(2) == [(1000 if lanes >> n & 1 else 2000) + n for n in LANES]


def test_swaps_of_half_waves() -> None:
    """The upper 32 lanes of the destination and the lower 32 of the source change places."""
    lone = Lone()
    numbered(lone)
    lone.run("v_permlane32_swap_b32_e32 v1, v2")
    assert lone.get(1) == [1000 + n if n < 32 else 2000 + n - 32 for n in LANES]
    assert lone.get(2) == [1000 + n + 32 if n < 32 else 2000 + n for n in LANES]


def test_swaps_of_rows() -> None:
    """The same with 16 lanes, in each half of the wave."""
    lone = Lone()
    numbered(lone)
    lone.run("v_permlane16_swap_b32_e32 v1, v2")
    odd = [n // 16 % 2 == 1 for n in LANES]
    assert lone.get(1) == [2000 + n - 16 if odd[n] else 1000 + n for n in LANES]
    assert lone.get(2) == [2000 + n if odd[n] else 1000 + n + 16 for n in LANES]


@pytest.mark.parametrize(
    ("lanes", "lane"), [(EVERY_LANE, 0), (SOME_LANES, 1), (1 << 63, 63), (0, 0)]
)
def test_the_first_lane_that_is_on(lanes: int, lane: int) -> None:
    lone = Lone()
    numbered(lone)
    lone.switch(lanes)
    lone.run("v_readfirstlane_b32 s4, v2")
    assert lone.wave.sgpr[4] == 2000 + lane


def test_single_lanes() -> None:
    """Whether a lane is on does not count."""
    lone = Lone()
    numbered(lone)
    lone.switch(0)
    lone.wave.sgpr[5], lone.wave.sgpr[6] = 55, 64 + 9
    lone.run("v_readlane_b32 s4, v2, s6")
    assert lone.wave.sgpr[4] == 2009
    lone.run("v_writelane_b32 v1, s5, 37")
    assert lone.get(1) == [55 if n == 37 else 1000 + n for n in LANES]


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
def test_accumulation_registers(lanes: int) -> None:
    lone = Lone()
    numbered(lone)
    lone.switch(lanes)
    lone.run("v_accvgpr_read_b32 v1, a2")
    assert lone.get(1) == [(258000 if lanes >> n & 1 else 1000) + n for n in LANES]
    lone.run("v_accvgpr_write_b32 a1, v2")
    assert lone.get(ACCUMULATION + 1) == [(2000 if lanes >> n & 1 else 257000) + n for n in LANES]
    lone.run("v_accvgpr_write_b32 a1, 0")
    assert lone.get(ACCUMULATION + 1) == [0 if lanes >> n & 1 else 257000 + n for n in LANES]
    lone.run("v_accvgpr_mov_b32 a1, a2")
    assert lone.get(ACCUMULATION + 1) == [(258000 if lanes >> n & 1 else 257000) + n for n in LANES]


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize("offset", [0, 4])
def test_reading_the_lane_that_a_register_names(offset: int, lanes: int) -> None:
    lone = Lone()
    numbered(lone)
    # Byte addresses: bits 7 to 2 name the lane, what is above and below does not count.
    addresses = [(7 * n % 64 * 4 + n % 4) | n << 8 for n in LANES]
    lone.set(2, addresses)
    lone.switch(lanes)
    lone.run(f"ds_bpermute_b32 v1, v2, v3{' offset:4' if offset else ''}")
    expected = []
    for n in LANES:
        lane = (addresses[n] + offset) // 4 % 64
        found = 3000 + lane if lanes >> lane & 1 else 0
        expected.append(found if lanes >> n & 1 else 1000 + n)
    assert lone.get(1) == expected


def test_what_has_no_rule_is_said_when_it_is_reached() -> None:
    lone = Lone()
    numbered(lone)
    lone.switch(SOME_LANES)
    with pytest.raises(UnmodelledError):
        lone.run("v_permlane32_swap_b32_e32 v1, v2")

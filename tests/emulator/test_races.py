"""Uses of registers that a load is on its way to."""

from __future__ import annotations

import pytest

from mlaprobe.emulator.decoding import decode
from mlaprobe.emulator.machine import run
from mlaprobe.emulator.memory import Memory
from mlaprobe.emulator.modes import FloatMode
from mlaprobe.emulator.program import Context
from mlaprobe.emulator.races import Race, Watch, rows_used
from mlaprobe.emulator.schedules import SCHEDULES, Schedule
from tests.emulator.launching import Decode
from tests.emulator.single import encodings
from tests.emulator.test_kernels import FP8, code
from tests.emulator.test_schedules import END, WAIT_LDS, assembled, move

LATE = SCHEDULES["clock-at-wait"]
READ = "ds_read_b32 v1, v2 offset:64"
"""Eight bytes long."""
ZERO = 0x7E04_0280
"""v_mov_b32_e32 v2, 0"""


def races(*lines: str | int, schedule: Schedule = LATE) -> tuple[Race, ...]:
    watch = Watch()
    kernel = assembled("v_mov_b32_e32 v1, v2", ZERO, *lines, END)
    result = run(
        kernel, "k", memory=Memory(), arguments=0, grid=(1, 1, 1), schedule=schedule, watch=watch
    )
    assert result.finished
    return watch.races


def test_a_use_before_the_wait_is_a_race() -> None:
    (race,) = races(READ, move(3, 1), WAIT_LDS, move(4, 1))
    expected = Race(load=8, load_text=READ, use=16, use_text="v_mov_b32_e32 v3, v1", count=1)
    assert race == expected


def test_a_use_behind_the_wait_is_none() -> None:
    assert races(READ, WAIT_LDS, move(3, 1)) == ()


def test_a_use_of_another_register_is_none() -> None:
    assert races(READ, move(3, 2)) == ()


def test_overwriting_before_the_wait_is_a_race() -> None:
    (race,) = races(READ, move(1, 3), WAIT_LDS)
    assert race.use_text == "v_mov_b32_e32 v1, v3"


def test_where_loads_arrive_at_once_nothing_is_on_its_way() -> None:
    assert races(READ, move(3, 1), schedule=SCHEDULES["serial-at-once"]) == ()


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("v_add_u32_e32 v1, v2, v3", {1, 2, 3}),
        ("v_add_u32_e32 v1, s5, v3", {1, 3}),
        ("v_cmp_u_f32_e64 s[10:11], v2, v3", {2, 3}),
        ("v_readfirstlane_b32 s4, v2", {2}),
        ("v_pk_fma_f32 v[6:7], v[2:3], s[4:5], v[4:5]", {2, 3, 4, 5, 6, 7}),
        ("v_accvgpr_read_b32 v1, a2", {1, 258}),
        ("v_accvgpr_write_b32 a1, v2", {257, 2}),
        ("v_mfma_f32_16x16x16_bf16 a[0:3], v[2:3], a[4:5], a[0:3]", {2, 3, *range(256, 262)}),
        ("v_mfma_f32_16x16x32_fp8_fp8 v[0:3], a[4:5], a[6:7], 0", {*range(4), *range(260, 264)}),
        ("ds_read_b128 a[4:7], v2 offset:64", {2}),
        ("ds_write_b128 v2, v[4:7] offset:256", {2, 4, 5, 6, 7}),
        ("ds_bpermute_b32 v1, v2, v3", {2, 3}),
        ("buffer_load_dwordx4 v[4:7], v2, s[8:11], 0 offen", {2}),
        ("buffer_store_dwordx4 v[4:7], v2, s[8:11], 0 offen offset:16", {2, 4, 5, 6, 7}),
        ("global_load_lds_dwordx4 v[2:3], off", {2, 3}),
        ("s_add_u32 s4, s5, s6", set()),
        ("v_mov_b32_dpp v1, v2 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf", {1, 2}),
    ],
)
def test_which_rows_an_instruction_uses(line: str, rows: set[int]) -> None:
    mode = FloatMode(round_32=0, flush_inputs=False, flush_results=False, saturate=False)
    instruction = decode(encodings()[line] + bytes(8), 0, "gfx950")
    spans = rows_used(instruction, Context(arch="gfx950", mode=mode))
    assert {row for first, end in spans for row in range(first, end)} == rows


def test_a_real_kernel_is_watched_and_computes_the_same() -> None:
    plain = Decode(code=code("gfx950", FP8), fp8=True).launch(LATE)
    watched = Decode(code=code("gfx950", FP8), fp8=True, watch=Watch())
    assert (watched.launch(LATE) == plain).all()

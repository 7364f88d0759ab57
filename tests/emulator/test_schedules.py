"""Small programs whose result depends on when things happen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlaprobe.emulator.errors import BudgetExhausted
from mlaprobe.emulator.machine import RunResult, run
from mlaprobe.emulator.memory import Memory
from mlaprobe.emulator.modes import FloatMode
from mlaprobe.emulator.program import Context, Program
from mlaprobe.emulator.schedules import ADVERSARIAL, SCHEDULES, SWEEP, Arrival, Order, Schedule
from mlaprobe.emulator.semantics import RULES
from mlaprobe.emulator.workgroup import Workgroup
from mlaprobe.errors import UsageError
from mlaprobe.kernels.codeobject import CodeObject, CodeObjectError, KernelDescriptor
from tests.emulator.single import encodings

END, BARRIER = "s_endpgm", "s_barrier"
WAIT_LDS = 0xBF8CC07F
"""s_waitcnt lgkmcnt(0)"""
WAIT_MEMORY = 0xBF8C0F70
"""s_waitcnt vmcnt(0)"""


def move(to: int, register: int) -> int:
    """v_mov_b32 of one vector register to another."""
    return 0x7E00_0200 | to << 17 | 256 + register


def nops(cycles: int) -> list[int]:
    """As many cycles of doing nothing, in steps of four."""
    count = cycles // 4
    return [0xBF80_000F] * (count // 16) + ([0xBF80_0000 | count % 16 - 1] if count % 16 else [])


def descriptor(lanes: int = 64, **changes: Any) -> KernelDescriptor:
    values: dict[str, Any] = {
        "symbol": "k",
        "entry": 0,
        "lds_bytes": 4096,
        "scratch_bytes": 0,
        "kernarg_bytes": 0,
        "arguments": (),
        "workgroup_size": lanes,
        "wavefront_size": 64,
        "vgprs": 512,
        "accum_offset": 256,
        "user_sgprs": 2,
        "workgroup_ids": (True, True, True),
        "kernarg_pointer": True,
        "other_user_sgprs": 0,
        "preloaded_words": 0,
        "work_item_ids": 0,
        "float_mode": 0xC0,
        "dx10_clamp": False,
        "ieee": False,
        "fp16_overflow": False,
    }
    return KernelDescriptor(**{**values, **changes})


def assembled(*lines: str | int, lanes: int = 64, **changes: Any) -> CodeObject:
    """A code object of instructions: by their text, or as words."""
    image = b"".join(
        encodings()[line] if isinstance(line, str) else line.to_bytes(4, "little") for line in lines
    )
    kernels = (descriptor(lanes, **changes),)
    return CodeObject(
        arch="gfx950", image=image, text_start=0, text_end=len(image), kernels=kernels
    )


def started(
    code: CodeObject, schedule: Schedule, memory: Memory | None = None, seed: int = 1
) -> Workgroup:
    mode = FloatMode(round_32=0, flush_inputs=False, flush_results=False, saturate=False)
    program = Program(code=code, rules=RULES, context=Context(arch=code.arch, mode=mode))
    rng = np.random.default_rng(seed)
    group = Workgroup(program, code.kernels[0], schedule, memory or Memory(), rng)
    group.start(code.kernels[0], 0x1234_5678_9ABC, (3, 4, 5))
    return group


def reading(*between: int) -> CodeObject:
    """v1 gets a word of LDS; v3 is v1 some time later, v4 is v1 after waiting for it."""
    read = "ds_read_b32 v1, v2 offset:64"
    return assembled(read, *between, move(3, 1), WAIT_LDS, move(4, 1), END)


@pytest.mark.parametrize(
    ("schedule", "cycles", "early"),
    [
        ("clock-at-once", 0, False),
        ("lockstep-at-once", 0, False),
        ("serial-at-once", 0, False),
        ("clock-at-wait", 4000, True),
        ("serial-at-wait", 4000, True),
        # By the clock, the read takes 100 cycles and half a cycle for its word, four of which the
        # instruction itself is busy for.
        ("plausible", 96, True),
        ("plausible", 100, False),
        ("lds-latency-130", 124, True),
        ("lds-latency-130", 128, False),
    ],
)
def test_when_a_read_arrives(schedule: str, cycles: int, early: bool) -> None:
    group = started(reading(*nops(cycles)), SCHEDULES[schedule])
    (wave,) = group.waves
    wave.lds[16:] = 0x600D
    wave.rows[2][:] = 0
    wave.rows[1][:] = 0xBAD
    group.run(1000)
    assert (wave.rows[3] == (0xBAD if early else 0x600D)).all()
    assert (wave.rows[4] == 0x600D).all()


def test_waiting_takes_until_the_read_has_arrived() -> None:
    group = started(reading(), Schedule.PLAUSIBLE)
    (wave,) = group.waves
    wave.rows[2][:] = 0
    group.run(1000)
    # 100 cycles, half a one for the word, 12 to wake up, then s_waitcnt, v_mov and s_endpgm.
    assert wave.clock == 100 + 0.5 + 12 + 4 * 3
    assert wave.executed == 5


def exchanging(*between: str | int) -> CodeObject:
    """Each lane of two waves writes its number to LDS and reads that of the other wave's lane.

    v0 is the lane's number, v2 where it writes, v5 where it reads."""
    write = (0xD81A_0000, 0x0000_0002)  # ds_write_b32 v2, v0
    read = (0xD86C_0000, 0x0100_0005)  # ds_read_b32 v1, v5
    return assembled(*write, *between, *read, WAIT_LDS, END, lanes=128)


def exchanged(code: CodeObject, schedule: Schedule) -> list[bool]:
    group = started(code, schedule)
    for wave in group.waves:
        wave.rows[2][:] = 4 * wave.rows[0]
        wave.rows[5][:] = 4 * (wave.rows[0] ^ 64)
    group.run(1000)
    return [bool((wave.rows[1] == (wave.rows[0] ^ 64)).all()) for wave in group.waves]


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=lambda s: s.name)
def test_with_a_barrier_every_schedule_is_right(schedule: Schedule) -> None:
    assert exchanged(exchanging(WAIT_LDS, BARRIER), schedule) == [True, True]


def test_without_a_barrier_it_depends_on_the_schedule() -> None:
    code = exchanging(WAIT_LDS)
    assert exchanged(code, SCHEDULES["serial-at-once"]) == [False, True]
    assert exchanged(code, SCHEDULES["lockstep-at-once"]) == [True, True]
    assert exchanged(code, Schedule.PLAUSIBLE) == [True, True]


def into_lds(*behind: str | int) -> tuple[CodeObject, Memory, int]:
    """A load into LDS from a region of 64 words, and then something else."""
    memory = Memory()
    start = memory.place("kv", np.arange(64, dtype=np.uint32))
    load = "buffer_load_dword v2, s[8:11], 0 offen offset:16 lds"
    return assembled(load, *behind, END), memory, start


@pytest.mark.parametrize(
    ("schedule", "cycles", "early"),
    [
        ("clock-at-once", 0, False),
        ("clock-at-wait", 4000, True),
        ("plausible", 680, True),
        ("plausible", 700, False),
        ("memory-latency-400", 400, False),
    ],
)
def test_when_a_load_into_lds_arrives(schedule: str, cycles: int, early: bool) -> None:
    read = "ds_read_b32 v1, v2 offset:64"
    code, memory, start = into_lds(*nops(cycles), read, WAIT_LDS)
    group = started(code, SCHEDULES[schedule], memory)
    (wave,) = group.waves
    wave.sgpr[8:12] = [start & 0xFFFF_FFFF, start >> 32, 256, 0]
    wave.sgpr[124] = 0
    wave.rows[2][:] = np.arange(64) * 4
    wave.lds[:] = 0xBAD
    group.run(1000)
    # The instruction's offset moves both: memory from 16 on goes to LDS from 16 on, four bytes a
    # lane; what is behind the buffer's 256 bytes is 0. Lane i reads LDS at 4 * i + 64.
    loaded = [i + 16 if i + 16 < 64 else 0 if i + 16 < 68 else 0xBAD for i in range(64)]
    assert wave.rows[1].tolist() == ([0xBAD] * 64 if early else loaded)


def test_registers_at_the_start() -> None:
    group = started(assembled(END, lanes=96), Schedule.PLAUSIBLE)
    first, second = group.waves
    assert first.sgpr[:5] == [0x5678_9ABC, 0x1234, 3, 4, 5]
    assert (second.rows[0] == np.arange(64, 128)).all()
    assert first.full
    assert second.exec_mask.tolist() == [True] * 32 + [False] * 32


def test_garbage_is_another_with_another_seed_and_the_same_with_the_same() -> None:
    one, same, other = (started(reading(), Schedule.PLAUSIBLE, seed=n).waves[0] for n in (1, 1, 2))
    assert (one.vgpr[1:] == same.vgpr[1:]).all()
    assert (one.lds == same.lds).all()
    assert (one.vgpr[1:] != other.vgpr[1:]).mean() > 0.99
    assert (one.lds != other.lds).mean() > 0.99
    assert one.sgpr[5:100] != other.sgpr[5:100]


def test_a_wave_that_has_ended_holds_nobody_at_a_barrier() -> None:
    skip = 0xBF85_0001  # s_cbranch_scc1 1
    code = assembled("s_cmp_eq_u32 s5, s6", skip, BARRIER, END, lanes=128)
    group = started(code, Schedule.PLAUSIBLE)
    for wave, value in zip(group.waves, (1, 2), strict=True):
        wave.sgpr[5], wave.sgpr[6] = value, 1
    group.run(100)
    assert [wave.executed for wave in group.waves] == [3, 4]


def endless() -> CodeObject:
    return assembled(0xBF82_FFFF, END)  # s_branch -1


def test_an_endless_loop_ends_with_the_budget() -> None:
    with pytest.raises(BudgetExhausted):
        started(endless(), Schedule.PLAUSIBLE).run(50)


def launched(code: CodeObject, **arguments: Any) -> RunResult:
    defaults: dict[str, Any] = {"memory": Memory(), "arguments": 0, "grid": (2, 1, 1)}
    return run(code, "k", **{**defaults, **arguments})


def test_the_budget_is_of_the_whole_run() -> None:
    result = launched(endless(), budget=70)
    assert result.budget_exhausted
    assert 70 < result.instructions < 80
    assert not result.finished
    twice = launched(assembled(*nops(64), END), budget=3)
    assert (twice.workgroups, twice.instructions, twice.budget_exhausted) == (1, 4, True)


def test_chosen_workgroups() -> None:
    code = assembled(END)
    assert launched(code, grid=(2, 3, 4)).workgroups == 24
    assert launched(code, grid=(2, 3, 4), workgroups=[(1, 2, 3), (0, 0, 0)]).workgroups == 2
    with pytest.raises(UsageError, match="not in the grid"):
        launched(code, workgroups=[(2, 0, 0)])


def test_an_instruction_without_a_rule_ends_the_run() -> None:
    # ds_add_u32 v2, v3: an atomic.
    code = assembled(*nops(8), 0xD800_0000, 0x0000_0302, END)
    result = launched(code)
    assert result.unmodelled is not None
    assert result.unmodelled.mnemonic == "ds_add_u32"
    assert result.unmodelled.offset == 4
    assert result.unmodelled.encoding == (0xD800_0000, 0x0000_0302)
    assert (
        str(result.unmodelled) == "ds_add_u32 at 0x4 (d8000000 00000302): the mnemonic has no rule"
    )
    assert not result.finished
    assert result.workgroups == 0


def test_an_instruction_without_a_rule_that_is_not_reached_does_not_matter() -> None:
    assert launched(assembled(END, 0xD800_0000, 0x0000_0302)).finished


def test_running_off_the_code() -> None:
    result = launched(assembled(*nops(8)))
    assert result.unmodelled is not None
    assert result.unmodelled.reason == "no code is there"


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"wavefront_size": 32}, "32 lanes"),
        ({"kernarg_pointer": False}, "no pointer"),
        ({"user_sgprs": 6}, "more user registers"),
        ({"preloaded_words": 4}, "preloaded"),
        ({"scratch_bytes": 16}, "private memory"),
    ],
)
def test_launches_that_are_not_known(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(CodeObjectError, match=what):
        launched(assembled(END, **changes))


def test_schedules_are_named_and_consistent() -> None:
    assert set(SCHEDULES) == {s.name for s in (Schedule.PLAUSIBLE, *SWEEP, *ADVERSARIAL)}
    assert len(SCHEDULES) == 1 + len(SWEEP) + len(ADVERSARIAL)
    assert all(s.arrival is Arrival.CLOCK for s in (Schedule.PLAUSIBLE, *SWEEP))
    assert not any(s.arrival is Arrival.CLOCK for s in ADVERSARIAL)
    with pytest.raises(ValueError, match="by the clock"):
        Schedule(name="x", order=Order.SERIAL)


def test_an_unknown_use_of_an_instruction_says_why() -> None:
    # The descriptor asks for rounding toward zero.
    result = launched(assembled("v_add_f32_e32 v1, v2, v3", END, float_mode=0xC3))
    assert result.unmodelled is not None
    assert result.unmodelled.mnemonic == "v_add_f32"
    assert "rounding other than" in result.unmodelled.reason

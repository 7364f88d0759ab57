"""Instructions that are carried out together do what they do one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.memory import Memory
from mlaprobe.emulator.modes import FloatMode
from mlaprobe.emulator.program import Compiled, Context, Program, Segment
from mlaprobe.emulator.schedules import SCHEDULES, Schedule
from mlaprobe.emulator.semantics import RULES
from mlaprobe.emulator.wave import ACCUMULATION, EXEC, WORD
from mlaprobe.emulator.workgroup import Workgroup
from mlaprobe.kernels.codeobject import CodeObject
from tests.emulator.single import EXACT, FLUSHING
from tests.emulator.test_schedules import END, WAIT_LDS, assembled, move

REGISTERS = 24
"""Vector registers that random programs use: few, so that they often need each other."""
SGPR, LITERAL_HALF = 20, 240
"""A scalar register that holds a float, and the code of 0.5."""
_VOP2 = {"v_add_f32": 1, "v_sub_f32": 2, "v_mul_f32": 5, "v_and_b32": 19, "v_add_u32": 52}
_VOP1 = {"v_mov_b32": 1, "v_floor_f32": 31, "v_exp_f32": 32, "v_not_b32": 43}
_VOP3 = {"v_fma_f32": 0x1CB, "v_max3_f32": 0x1D3, "v_perm_b32": 0x1ED, "v_cndmask_b32": 0x100}
_PACKED = {"v_pk_fma_f32": 0x30, "v_pk_mul_f32": 0x31, "v_pk_add_f32": 0x32}
_READ, _WRITE = 0x58, 0x59
"""Opcodes of VOP3P that move from and to accumulation registers."""


def vop2(name: str, to: int, first: int, second: int) -> list[int]:
    return [_VOP2[name] << 25 | to << 17 | second << 9 | first]


def vop1(name: str, to: int, source: int) -> list[int]:
    return [0x7E00_0000 | to << 17 | _VOP1[name] << 9 | source]


def vop3(name: str, to: int, *sources: int) -> list[int]:
    a, b, c = (*sources, 0)[:3]
    return [0xD000_0000 | _VOP3[name] << 16 | to, c << 18 | b << 9 | a]


def packed(opcode: int, to: int, *sources: int) -> list[int]:
    """VOP3P, with the upper operation on upper registers."""
    a, b, c = (*sources, 0, 0)[:3]
    return [0xD380_4000 | opcode << 16 | to, 0x1800_0000 | c << 18 | b << 9 | a]


def stretch(rng: random.Random) -> Iterator[int]:
    """Some instructions of a kind on registers that follow each other, or do not."""
    count, distance = rng.randint(1, 6), rng.choice((0, 1, 1, 1, 2))
    moved = [rng.choice((0, distance)) for _ in range(3)]
    low = [rng.randrange(2, REGISTERS) for _ in range(4)]
    name = rng.choice([*_VOP2, *_VOP1, *_VOP3, *_PACKED, "read", "write"])
    scalar = rng.choice((None, None, SGPR, LITERAL_HALF))
    for n in range(count):
        to = (low[0] + n * distance) % REGISTERS
        sources = [(at + n * by) % REGISTERS for at, by in zip(low[1:], moved, strict=True)]
        first = 256 + sources[0] if scalar is None else scalar
        b, c = (256 + source for source in sources[1:])
        if name in _VOP2:
            yield from vop2(name, to, first, sources[1])
        elif name in _VOP1:
            yield from vop1(name, to, first)
        elif name in _VOP3:
            mask = rng.choice((30, 106)) if name == "v_cndmask_b32" else c
            yield from vop3(name, to, first, b, mask)
        elif name in _PACKED:
            even = [256 + source // 2 * 2 for source in sources]
            yield from packed(_PACKED[name], to // 2 * 2, *even)
        else:
            yield from packed(_READ if name == "read" else _WRITE, to, 256 + sources[0])


def program(rng: random.Random) -> CodeObject:
    """Reads from LDS on their way to registers, and much that does not wait for them."""
    lines: list[str | int] = ["ds_read_b32 v1, v2 offset:64"] if rng.random() < 0.7 else []
    for _ in range(rng.randint(2, 10)):
        lines += stretch(rng)
    return assembled(*lines, WAIT_LDS, END)


def one_by_one(instruction: Instruction, compiled: Compiled, context: Context) -> Compiled:
    return replace(compiled, lanewise=None)


def values(seed: int, *, subnormal: bool) -> npt.NDArray[np.uint32]:
    """What registers hold: numbers around 1, a zero and an infinity here and there, and a
    subnormal if so."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal((512, 64)).astype(np.float32)
    found[rng.random(found.shape) < 0.01] = 0.0
    found[rng.random(found.shape) < 0.002] = np.inf
    if subnormal:
        found[rng.random(found.shape) < 0.0005] = -1e-40
    return found.view(np.uint32)


def ran(
    code: CodeObject, mode: FloatMode, schedule: Schedule, seed: int, lanes: int, *, fused: bool
) -> Workgroup:
    program = Program(
        code=code,
        rules=RULES,
        context=Context(arch=code.arch, mode=mode),
        watch=None if fused else one_by_one,
    )
    group = Workgroup(program, code.kernels[0], schedule, Memory(), np.random.default_rng(seed))
    group.start(code.kernels[0], 0, (0, 0, 0))
    (wave,) = group.waves
    wave.vgpr[:] = values(seed, subnormal=seed % 3 == 0)
    wave.rows[2][:] = np.arange(64) * 4
    wave.sgpr[SGPR] = 0x3FC0_0000
    wave.sgpr[EXEC], wave.sgpr[EXEC + 1] = lanes & WORD, lanes >> 32
    wave.refresh_exec()
    with np.errstate(all="ignore"):
        group.run(10_000)
    return group


@pytest.mark.parametrize("schedule", ["plausible", "clock-at-once", "serial-at-wait"])
@pytest.mark.parametrize("mode", [EXACT, FLUSHING])
@pytest.mark.parametrize("lanes", [(1 << 64) - 1, 0x0F0F_0000_FFFF_1234])
def test_random_programs(schedule: str, mode: FloatMode, lanes: int) -> None:
    for seed in range(60):
        code = program(random.Random(seed))
        together, alone = (
            ran(code, mode, SCHEDULES[schedule], seed, lanes, fused=fused)
            for fused in (True, False)
        )
        (one,), (other,) = together.waves, alone.waves
        differ = np.flatnonzero((one.vgpr != other.vgpr).any(axis=1))
        assert not differ.size, (seed, differ)
        assert (one.clock, one.executed) == (other.clock, other.executed)


def segment(*words: int) -> Segment:
    """The first segment of some code."""
    code = assembled(*words, END)
    context = Context(arch=code.arch, mode=FLUSHING)
    return Program(code=code, rules=RULES, context=context).segment(0, 0)


def steps(*instructions: list[int]) -> int:
    """How many steps some instructions take."""
    return len(segment(*(word for words in instructions for word in words)).plain)


def test_registers_that_follow_each_other_are_one_step() -> None:
    assert steps(*(vop2("v_mul_f32", 8 + n, 256 + 4, 8 + n) for n in range(8))) == 1
    assert steps(*(vop1("v_mov_b32", 8 + 3 * n, 128) for n in range(5))) == 1
    assert steps(*(packed(0x31, 8 + 2 * n, 256 + 4, 256 + 8 + 2 * n) for n in range(8))) == 1
    assert steps(*(packed(_READ, 8 + n, 256 + 40 + n) for n in range(4))) == 1


def test_kinds_that_take_turns_are_one_step_each() -> None:
    turns = []
    for n in range(4):
        turns.append(vop2("v_mul_f32", 8 + n, 256 + 4, 8 + n))
        turns.append(vop1("v_mov_b32", 20 + n, 256 + 40 + n))
    assert steps(*turns) == 2


def test_what_uses_another_result_is_a_step_of_its_own() -> None:
    chain = [vop2("v_mul_f32", 9 + n, 256 + 4, 8 + n) for n in range(4)]
    assert steps(*chain) == 4
    # The common source is the result of the second.
    shared = [vop2("v_mul_f32", 3 + n, 256 + 4, 8 + n) for n in range(3)]
    assert steps(*shared) > 1
    # The second of each pair needs the first of it, and the next pair the same register.
    reused = []
    for n in range(3):
        reused += [vop1("v_mov_b32", 8, 256 + 12 + n), vop2("v_mul_f32", 20 + n, 256 + 4, 8)]
    assert steps(*reused) == 6


def test_a_load_that_arrives_meanwhile_elsewhere_does_not_matter() -> None:
    """A read arrives in v1 while many registers are scaled, or in one of them."""
    for first in (8, 0):
        lines = ["ds_read_b32 v1, v2 offset:64"]
        scaled = [vop2("v_mul_f32", first + n, 256 + 40, first + n)[0] for n in range(40)]
        code = assembled(*lines, *scaled, move(60, 1), WAIT_LDS, END)
        for schedule in (SCHEDULES["plausible"], SCHEDULES["serial-at-wait"]):
            together, alone = (
                ran(code, EXACT, schedule, 1, (1 << 64) - 1, fused=f) for f in (True, False)
            )
            assert (together.waves[0].vgpr == alone.waves[0].vgpr).all()
            assert together.waves[0].clock == alone.waves[0].clock


def test_accumulation_registers_are_other_registers() -> None:
    """What is written to a8 on is no vector register 8."""
    code = assembled(
        *packed(_WRITE, 8, 256 + 4),
        *packed(_WRITE, 9, 256 + 5),
        *vop1("v_mov_b32", 10, 256 + 8),
        END,
    )
    (wave,) = ran(code, EXACT, SCHEDULES["plausible"], 1, (1 << 64) - 1, fused=True).waves
    before = values(1, subnormal=False)
    assert (wave.rows[ACCUMULATION + 8] == before[4]).all()
    assert (wave.rows[ACCUMULATION + 9] == before[5]).all()
    assert (wave.rows[10] == before[8]).all()

"""Moves between lanes and between register files.

Source: AMD, "CDNA3" and "CDNA4 Instruction Set Architecture", chapter "Instructions", sections
"VOP1", "VOP3" and "VOP3P".
"""

from __future__ import annotations

import numpy as np

from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.fusion.lanewise import Kind, Lanewise, Source
from mlaprobe.emulator.operands import FIRST_VGPR, scalar, scalar_result, spread, vector
from mlaprobe.emulator.program import Compiled, Context, Rule
from mlaprobe.emulator.semantics.vectors import (
    check_absolute,
    check_modifiers,
    first_source,
    move,
    put,
    refuse,
)
from mlaprobe.emulator.wave import ACCUMULATION, LANES, Wave


def _nothing(instruction: Instruction, context: Context) -> Compiled:
    return Compiled(step=lambda wave: None)


def _register(instruction: Instruction, name: str = "src0") -> int:
    """The vector register that a source is."""
    code = instruction.fields[name]
    if code < FIRST_VGPR:
        raise instruction.unmodelled("a source that is no vector register has no rule here")
    return code - FIRST_VGPR


def _read_first_lane(instruction: Instruction, context: Context) -> Compiled:
    check_modifiers(instruction, real=False, dpp=False)
    source = vector(instruction, "src0", context.index_mode)
    write = scalar_result(instruction, "vdst")

    def step(wave: Wave) -> None:
        row = source(wave)
        # With no lane on, it reads lane 0, and that is what argmax says.
        lane = 0 if wave.full or len(row) == 1 else int(wave.exec_mask.argmax())
        write(wave, int(row[lane]))

    return Compiled(step=step)


def _read_lane(instruction: Instruction, context: Context) -> Compiled:
    check_modifiers(instruction, real=False, dpp=False)
    check_absolute(instruction, context)
    register, lane = _register(instruction), scalar(instruction, "src1")
    write = scalar_result(instruction, "vdst")
    return Compiled(step=lambda wave: write(wave, int(wave.rows[register][lane(wave) & 63])))


def _write_lane(instruction: Instruction, context: Context) -> Compiled:
    check_modifiers(instruction, real=False, dpp=False)
    check_absolute(instruction, context)
    value, lane = scalar(instruction, "src0"), scalar(instruction, "src1")
    register = instruction.fields["vdst"]

    def step(wave: Wave) -> None:
        wave.rows[register][lane(wave) & 63] = value(wave)

    return Compiled(step=step)


def _swap(instruction: Instruction, context: Context) -> Compiled:
    check_modifiers(instruction, real=False, dpp=False)
    check_absolute(instruction, context)
    one, other = instruction.fields["vdst"], _register(instruction)

    def step(wave: Wave) -> None:
        kept = wave.rows[one].copy()
        put(wave, one, wave.rows[other])
        put(wave, other, kept)

    return Compiled(step=step)


def _swap_rows(rows: int) -> Rule:
    """Swaps the odd rows of lanes of the destination with the even ones of the source."""

    def rule(instruction: Instruction, context: Context) -> Compiled:
        check_modifiers(instruction, real=False, dpp=False)
        check_absolute(instruction, context)
        one, other = instruction.fields["vdst"], _register(instruction)

        def step(wave: Wave) -> None:
            if not wave.full:
                raise instruction.unmodelled("a swap with lanes switched off has no rule")
            odd = wave.rows[one].reshape(-1, 2, rows)[:, 1]
            even = wave.rows[other].reshape(-1, 2, rows)[:, 0]
            kept = odd.copy()
            odd[:] = even
            even[:] = kept

        return Compiled(step=step)

    return rule


def _read_accumulation(instruction: Instruction, context: Context) -> Compiled:
    refuse(instruction, neg="neg", neg_hi="neg", clamp="clamp", op_sel="operand selection")
    check_absolute(instruction, context)
    register, source = instruction.fields["vdst"], _register(instruction) + ACCUMULATION
    return _moving(instruction, register, Source(Kind.ROW, source))


def _write_accumulation(instruction: Instruction, context: Context) -> Compiled:
    refuse(instruction, neg="neg", neg_hi="neg", clamp="clamp", op_sel="operand selection")
    check_absolute(instruction, context)
    register, source = instruction.fields["vdst"] + ACCUMULATION, vector(instruction, "src0")
    if instruction.fields["src0"] >= FIRST_VGPR:
        return _moving(instruction, register, Source(Kind.ROW, _register(instruction)))
    return Compiled(step=lambda wave: put(wave, register, source(wave)))


def _moving(instruction: Instruction, register: int, source: Source) -> Compiled:
    """A move from one vector register to another, in any of the files."""
    row = source.value
    return Compiled(
        step=lambda wave: put(wave, register, wave.rows[row]),
        lanewise=Lanewise(
            name=instruction.mnemonic, function=move, sources=(source,), out=register
        ),
    )


def _move_accumulation(instruction: Instruction, context: Context) -> Compiled:
    check_modifiers(instruction, real=False, dpp=False)
    check_absolute(instruction, context)
    register = instruction.fields["vdst"] + ACCUMULATION
    return _moving(instruction, register, Source(Kind.ROW, _register(instruction) + ACCUMULATION))


def _count_lanes(*, high: bool) -> Rule:
    """``v_mbcnt``: how many bits of a mask are set for lanes before, added to the second source."""

    def rule(instruction: Instruction, context: Context) -> Compiled:
        check_modifiers(instruction, real=False, dpp=False)
        mask, base = first_source(instruction, context), vector(instruction, "src1")
        check_absolute(instruction, context)
        register = instruction.fields["vdst"]
        lane = np.arange(LANES, dtype=np.uint64)
        below = (np.uint64(1) << lane) - np.uint64(1)
        half = ((below >> np.uint64(32)) if high else below).astype(np.uint32)

        def step(wave: Wave) -> None:
            bits = np.ascontiguousarray(spread(mask(wave)) & half).view(np.uint8)
            counts = np.unpackbits(bits).reshape(LANES, 32).sum(axis=1, dtype=np.uint32)
            put(wave, register, counts + base(wave))

        return Compiled(step=step)

    return rule


RULES: dict[str, Rule] = {
    "v_nop": _nothing,
    "v_readfirstlane_b32": _read_first_lane,
    "v_readlane_b32": _read_lane,
    "v_writelane_b32": _write_lane,
    "v_swap_b32": _swap,
    "v_permlane16_swap_b32": _swap_rows(16),
    "v_permlane32_swap_b32": _swap_rows(32),
    "v_accvgpr_read_b32": _read_accumulation,
    "v_accvgpr_write_b32": _write_accumulation,
    "v_accvgpr_mov_b32": _move_accumulation,
    "v_mbcnt_lo_u32_b32": _count_lanes(high=False),
    "v_mbcnt_hi_u32_b32": _count_lanes(high=True),
}

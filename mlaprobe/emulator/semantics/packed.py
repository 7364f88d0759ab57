"""Two float32 operations at once: the packed instructions of VOP3P.

Source: AMD, "CDNA3 Instruction Set Architecture", section "Packed Math", and chapter
"Instructions", section "VOP3P".
"""

from __future__ import annotations

import numpy as np

from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.fusion.lanewise import Kind, Lanewise, Source
from mlaprobe.emulator.modes import FloatMode, Subnormals, flushed
from mlaprobe.emulator.operands import SIGN, RealSource, fixed_row, vector
from mlaprobe.emulator.program import Compiled, Context, Rule, Step
from mlaprobe.emulator.semantics.real_steps import RealFunction
from mlaprobe.emulator.semantics.vector_floats import check_rounding, fused
from mlaprobe.emulator.semantics.vectors import check_absolute, put, refuse
from mlaprobe.emulator.wave import LANES, Wave

_SLOW = 8
"""Cycles of a packed instruction."""


def _half(instruction: Instruction, source: int, *, high: bool) -> RealSource:
    """What the lower or the upper operation reads of a source: ``op_sel`` and ``op_sel_hi`` say
    which of its two registers."""
    fields = instruction.fields
    chosen = fields["op_sel"]
    if high:
        chosen = fields["op_sel_hi"] | fields["op_sel_hi_2"] << 2
    name = f"src{source}"
    # A constant is one number, for both.
    pair = fields[name] >= 256 or fields[name] < 128
    row = vector(instruction, name, high=pair and bool(chosen >> source & 1))
    if fields["neg_hi" if high else "neg"] >> source & 1:
        return lambda wave: (row(wave) ^ SIGN).view(np.float32)
    return lambda wave: row(wave).view(np.float32)


def _step(
    function: RealFunction,
    halves: list[list[RealSource]],
    register: int,
    mode: FloatMode,
    subnormals: Subnormals,
) -> Step:
    result = np.empty((2, LANES), np.float32)
    bits = result.view(np.uint32)
    inputs = mode.flush_inputs

    def step(wave: Wave) -> None:
        for out, sources in zip(result, halves, strict=True):
            values = [source(wave) for source in sources]
            function(*([flushed(value) for value in values] if inputs else values), out)
        if mode.flush_results:
            subnormals.flush(bits)
        if wave.full:
            wave.vgpr[register : register + 2] = bits
        else:
            put(wave, register, bits[0])
            put(wave, register + 1, bits[1])

    return step


def _plain_rows(instruction: Instruction, count: int) -> list[int] | None:
    """The first registers of sources that are all pairs of registers, read as they are."""
    fields = instruction.fields
    high = fields["op_sel_hi"] | fields["op_sel_hi_2"] << 2
    every = (1 << count) - 1
    if fields["op_sel"] & every or high & every != every or fields["neg"] or fields["neg_hi"]:
        return None
    rows = [fixed_row(instruction, f"src{source}") for source in range(count)]
    known = [row for row in rows if row is not None]
    return known if len(known) == count else None


def _quick_step(
    function: RealFunction, rows: list[int], register: int, context: Context, careful: Step
) -> Step:
    """The same for plain pairs of registers, nearly always without subnormals."""
    spans = [slice(row, row + 2) for row in rows]
    out = slice(register, register + 2)
    inputs = context.subnormals((2, LANES), parts=len(rows))
    results, flush_results = context.subnormals((2, LANES)), context.mode.flush_results

    def step(wave: Wave) -> None:
        vgpr = wave.vgpr
        pairs = [vgpr[span] for span in spans]
        if not wave.full or inputs.among(*pairs):
            careful(wave)
            return
        result = vgpr[out]
        # Where registers overlap, numpy reads all of them before it writes.
        function(*[pair.view(np.float32) for pair in pairs], result.view(np.float32))
        if flush_results:
            results.flush(result)

    return step


def _rule(function: RealFunction, count: int) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        refuse(instruction, clamp="clamp")
        check_absolute(instruction, context)
        check_rounding(instruction, context.mode)
        halves = [
            [_half(instruction, source, high=high) for source in range(count)]
            for high in (False, True)
        ]
        register = instruction.fields["vdst"]
        subnormals = context.subnormals((2, LANES))
        step = _step(function, halves, register, context.mode, subnormals)
        rows = _plain_rows(instruction, count)
        if rows is None:
            return Compiled(step=step, cycles=_SLOW)
        if context.mode.flush_inputs:
            step = _quick_step(function, rows, register, context, step)
        alike = Lanewise(
            name=instruction.mnemonic,
            function=function,
            sources=tuple(Source(Kind.ROW, row) for row in rows),
            out=register,
            width=2,
            real=True,
            flush_inputs=context.mode.flush_inputs,
            flush_results=context.mode.flush_results,
        )
        return Compiled(step=step, cycles=_SLOW, lanewise=alike)

    return rule


def _fused(instruction: Instruction, context: Context) -> Compiled:
    return _rule(fused(context.mode), 3)(instruction, context)


RULES: dict[str, Rule] = {
    "v_pk_add_f32": _rule(np.add, 2),
    "v_pk_mul_f32": _rule(np.multiply, 2),
    "v_pk_fma_f32": _fused,
}

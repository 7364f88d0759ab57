"""Two float32 operations at once: the packed instructions of VOP3P.

Source: AMD, "CDNA3 Instruction Set Architecture", section "Packed Math", and chapter
"Instructions", section "VOP3P".
"""

from __future__ import annotations

import numpy as np

from mlaprobe.emulator.arithmetic import fma
from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.modes import FloatMode, flush, flushed
from mlaprobe.emulator.operands import SIGN, RealSource, vector
from mlaprobe.emulator.program import Compiled, Context, Rule, Step
from mlaprobe.emulator.semantics.vector_floats import RealFunction, check_rounding
from mlaprobe.emulator.semantics.vectors import check_absolute, put, refuse
from mlaprobe.emulator.wave import Reals, Wave

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


def _packed_step(
    function: RealFunction,
    halves: list[list[RealSource]],
    register: int,
    mode: FloatMode,
) -> Step:
    result = np.empty((2, 64), np.float32)
    inputs, results = mode.flush_inputs, mode.flush_results

    def step(wave: Wave) -> None:
        for out, sources in zip(result, halves, strict=True):
            if inputs:
                function(*[flushed(source(wave)) for source in sources], out)
            else:
                function(*[source(wave) for source in sources], out)
        if results:
            flush(result)
        bits = result.view(np.uint32)
        if wave.full:
            wave.vgpr[register : register + 2] = bits
        else:
            put(wave, register, bits[0])
            put(wave, register + 1, bits[1])

    return step


def _fma(a: Reals, b: Reals, c: Reals, out: Reals) -> None:
    out[:] = fma(a, b, c)


def _rule(function: RealFunction, count: int) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        refuse(instruction, clamp="clamp")
        check_absolute(instruction, context)
        check_rounding(instruction, context.mode)
        halves = [
            [_half(instruction, source, high=high) for source in range(count)]
            for high in (False, True)
        ]
        step = _packed_step(function, halves, instruction.fields["vdst"], context.mode)
        return Compiled(step=step, cycles=_SLOW)

    return rule


RULES: dict[str, Rule] = {
    "v_pk_add_f32": _rule(np.add, 2),
    "v_pk_mul_f32": _rule(np.multiply, 2),
    "v_pk_fma_f32": _rule(_fma, 3),
}

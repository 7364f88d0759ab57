"""Conversions with a scale that is a power of two: VOP3 of CDNA4.

Source: AMD, "CDNA4 Instruction Set Architecture", chapter "Instructions", ``V_CVT_SCALEF32_*``: the
exponent field of a float32 is taken for the scale, as e8m0 of the OCP microscaling formats has it.
What becomes of results that bfloat16 has no normal number for, and of the exponent of infinity and
NaN, is not written there: these are refused.
"""

from __future__ import annotations

import numpy as np

from mlaprobe.emulator import floats
from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.operands import real, spread
from mlaprobe.emulator.program import Compiled, Context, Rule
from mlaprobe.emulator.semantics.vectors import check_absolute, first_source, put, refuse
from mlaprobe.emulator.wave import LANES, Reals, Wave

_BIAS, _INFINITE = 127, 255
"""Of the exponent field of a float32: the bias, and what infinity and NaN have there."""
_SCALES = np.append(
    np.ldexp(np.float32(1), np.arange(_INFINITE) - _BIAS), np.float32(np.nan)
).astype(np.float32)
"""The scale by the exponent field; no number for the last one."""
_LEAST_NORMAL = np.float32(2.0**-126)
_SIXTEEN, _HIGH_16 = np.uint32(16), np.uint32(0xFFFF0000)


def _to_bf16(forms: dict[str, floats.NarrowFormat]) -> Rule:
    """Two numbers of eight bits from one half of the source; operand selection says which half."""

    def rule(instruction: Instruction, context: Context) -> Compiled:
        check_absolute(instruction, context)
        refuse(instruction, omod="the output modifier", clamp="clamp", neg="neg", abs="abs")
        if instruction.fields["op_sel"] & ~1:
            raise instruction.unmodelled("operand selection of the scale has no rule here")
        source, scale = first_source(instruction, context), real(instruction, "src1")
        register, start = instruction.fields["vdst"], 2 * instruction.fields["op_sel"]
        table = floats.decode_table(forms[context.arch])

        def step(wave: Wave) -> None:
            codes = spread(source(wave)).view(np.uint8).reshape(LANES, 4)[:, start : start + 2]
            fields = spread(scale(wave).view(np.uint32)) >> np.uint32(23) & np.uint32(_INFINITE)
            values = table.take(codes)
            scaled = values * _SCALES.take(fields)[:, None]
            if _beyond(values, scaled, wave):
                raise instruction.unmodelled("a result that is no normal number has no rule here")
            bits = scaled.view(np.uint32)
            put(wave, register, bits[:, 0] >> _SIXTEEN | bits[:, 1] & _HIGH_16)

        return Compiled(step=step)

    return rule


def _beyond(values: Reals, scaled: Reals, wave: Wave) -> bool:
    """Whether a lane that is switched on has a number whose product is none that is normal."""
    size = np.abs(scaled)
    normal = (size >= _LEAST_NORMAL) & (size < np.inf) | (values == 0) & (size == 0)
    beyond = np.isfinite(values) & ~normal
    if not np.count_nonzero(beyond):
        return False
    return bool(np.any(beyond.any(1) & wave.exec_mask))


RULES: dict[str, Rule] = {
    "v_cvt_scalef32_pk_bf16_fp8": _to_bf16(floats.FP8),
    "v_cvt_scalef32_pk_bf16_bf8": _to_bf16(floats.BF8),
}

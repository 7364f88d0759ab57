"""Vector arithmetic on float32, and conversions: VOP1, VOP2, VOP3.

Source: AMD, "CDNA3" and "CDNA4 Instruction Set Architecture", chapter "Instructions", sections on
these formats. Transcendental instructions of the hardware are accurate to about one unit in the
last place, see ``arithmetic.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from mlaprobe.emulator import arithmetic, floats
from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.modes import FloatMode, flushed
from mlaprobe.emulator.operands import SIGN, RealSource, Source, fixed_row, modified, real, spread
from mlaprobe.emulator.program import Compiled, Context, Rule
from mlaprobe.emulator.semantics.real_steps import RealFunction, real_step
from mlaprobe.emulator.semantics.vectors import (
    SECOND,
    check_absolute,
    check_modifiers,
    first_real,
    first_source,
    lanewise,
    operand,
    put,
    refuse,
    step_of,
    target,
)
from mlaprobe.emulator.wave import LANES, Reals, Row, Wave

_SLOW = 16
"""Cycles of instructions at a quarter of the rate."""


class Extreme(Protocol):
    """The smaller or larger of two numbers."""

    def __call__(self, a: Reals, b: Reals, *, ieee: bool) -> Reals:
        """``ieee``: whether a signalling NaN wins and becomes quiet."""


def _minimum(a: Reals, b: Reals, *, ieee: bool) -> Reals:
    return -arithmetic.maximum(-a, -b, ieee=ieee)


def _into(function: Callable[..., Reals]) -> RealFunction:
    """A function that puts its result where the last argument says."""

    def store(*arguments: Reals) -> None:
        *sources, out = arguments
        out[:] = function(*sources)

    return store


_BELOW = np.uint64((1 << 29) - 1)
"""The bits of a double below those of a float32."""
_HALF = np.uint64(1 << 28)
"""The same bits of a number half way between two float32."""

_TRANSCENDENTAL: dict[str, RealFunction] = {
    "v_exp_f32": _into(arithmetic.exp2),
    "v_log_f32": _into(arithmetic.log2),
    "v_rcp_f32": _into(arithmetic.reciprocal),
    "v_rcp_iflag_f32": _into(arithmetic.reciprocal),
    "v_sqrt_f32": lambda a, out: np.sqrt(a, out=out),
    # By way of doubles: two roundings of float32 can be more than one unit off.
    "v_rsq_f32": _into(lambda a: np.divide(1.0, np.sqrt(a, dtype=np.float64))),
}
"""A quarter of the rate; subnormals count as zero whatever the mode says."""

_UNARY: dict[str, RealFunction] = {
    "v_floor_f32": lambda a, out: np.floor(a, out=out),
    "v_ceil_f32": lambda a, out: np.ceil(a, out=out),
    "v_trunc_f32": lambda a, out: np.trunc(a, out=out),
    "v_rndne_f32": lambda a, out: np.rint(a, out=out),
}

_BINARY: dict[str, RealFunction] = {
    "v_add_f32": np.add,
    "v_sub_f32": np.subtract,
    "v_subrev_f32": lambda a, b, out: np.subtract(b, a, out=out),
    "v_mul_f32": np.multiply,
}

_EXTREMES: dict[str, tuple[Extreme, int]] = {
    "v_max_f32": (arithmetic.maximum, 2),
    "v_min_f32": (_minimum, 2),
    "v_max3_f32": (arithmetic.maximum, 3),
    "v_min3_f32": (_minimum, 3),
}
"""What is applied to two numbers, and to its result and the third; with the number of sources."""


def check_rounding(instruction: Instruction, mode: FloatMode) -> None:
    """Raises where the kernel rounds other than to nearest even."""
    if mode.round_32:
        raise instruction.unmodelled("rounding other than to nearest even has no rule")


def _compiled(
    instruction: Instruction,
    context: Context,
    function: RealFunction,
    count: int,
    mode: FloatMode,
    cycles: int = 4,
) -> Compiled:
    sources, rows = [first_real(instruction, context)], []
    names = ("src0", SECOND.get(instruction.format, ""), "src2")[:count]
    for name in names:
        if name != "src0":
            sources.append(real(instruction, name, context.index_mode))
        plain = instruction.dpp is None and not modified(instruction, name)
        rows.append(fixed_row(instruction, name, context.index_mode) if plain else None)
    out = target(instruction, context)
    return Compiled(
        step=real_step(function, tuple(sources), tuple(rows), out, mode, context),
        cycles=cycles,
        lanewise=lanewise(instruction, context, function, names, mode),
    )


def _rule(function: RealFunction, count: int) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        check_modifiers(instruction, real=True)
        check_rounding(instruction, context.mode)
        return _compiled(instruction, context, function, count, context.mode)

    return rule


def fused(mode: FloatMode) -> RealFunction:
    """``a * b + c`` with one rounding."""
    if not mode.flush_results:
        return _into(arithmetic.fma)

    def multiply_add(a: Reals, b: Reals, c: Reals, out: Reals) -> None:
        product = np.multiply(a, b, dtype=np.float64)
        total = np.add(product, c)
        # The product is exact. Rounding the sum twice differs from rounding it once only where
        # the first makes it half way between two float32; subnormals become zero either way.
        if np.count_nonzero(total.view(np.uint64) & _BELOW == _HALF):
            out[:] = arithmetic.fma(a, b, c)
        else:
            out[:] = total

    return multiply_add


def _fused(instruction: Instruction, context: Context) -> Compiled:
    return _rule(fused(context.mode), 3)(instruction, context)


def _transcendental(function: RealFunction) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        check_modifiers(instruction, real=True)
        check_rounding(instruction, context.mode)
        mode = replace(context.mode, flush_inputs=True, flush_results=True)
        return _compiled(instruction, context, function, 1, mode, cycles=_SLOW)

    return rule


def _extreme(function: Extreme, count: int) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        ieee = context.mode.ieee
        largest = function is arithmetic.maximum
        quick, lesser = (np.maximum, SIGN) if largest else (np.minimum, np.uint32(0))

        def two(a: Reals, b: Reals, out: Reals) -> None:
            out[:] = function(a, b, ieee=ieee)

        def three(a: Reals, b: Reals, c: Reals, out: Reals) -> None:
            result = quick(quick(a, b), c)
            # Where a NaN or the lesser zero may be there, it matters which one.
            right = (result == result) & (result.view(np.uint32) != lesser)
            if np.count_nonzero(right) != result.size:
                result = function(function(a, b, ieee=ieee), c, ieee=ieee)
            out[:] = result

        return _rule(two if count == 2 else three, count)(instruction, context)

    return rule


def _fused_into(instruction: Instruction, context: Context) -> Compiled:
    """``v_fmac_f32``: the destination is the addend."""
    check_modifiers(instruction, real=True)
    check_rounding(instruction, context.mode)
    check_absolute(instruction, context)
    register = instruction.fields["vdst"]
    a = first_real(instruction, context)
    b = real(instruction, SECOND[instruction.format])
    sources: tuple[RealSource, ...] = (a, b, lambda wave: wave.floats[register])
    rows = (None, None, register)
    step = real_step(fused(context.mode), sources, rows, register, context.mode, context)
    return Compiled(step=step)


def _to_float(a: Row, out: Row) -> None:
    out.view(np.float32)[:] = a


def _signed_to_float(a: Row, out: Row) -> None:
    out.view(np.float32)[:] = a.view(np.int32)


def _to_unsigned(a: Row, out: Row) -> None:
    out[:] = arithmetic.u32_from_f32(a.view(np.float32))


def _to_signed(a: Row, out: Row) -> None:
    values = np.nan_to_num(a.view(np.float32).astype(np.float64), nan=0.0)
    out.view(np.int32)[:] = np.clip(values, -(1 << 31), (1 << 31) - 1).astype(np.int32)


_CONVERSIONS: dict[str, Callable[[Row, Row], None]] = {
    "v_cvt_f32_u32": _to_float,
    "v_cvt_f32_i32": _signed_to_float,
    "v_cvt_u32_f32": _to_unsigned,
    "v_cvt_i32_f32": _to_signed,
}


def _conversion(function: Callable[[Row, Row], None]) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        check_modifiers(instruction, real=False)
        check_rounding(instruction, context.mode)
        source = operand(instruction, "src0", context)
        return Compiled(
            step=step_of(function, (source,), target(instruction, context)),
            lanewise=lanewise(instruction, context, function, ("src0",)),
        )

    return rule


def _flushing(source: RealSource, mode: FloatMode) -> Source:
    """The bits of a float32 source in all lanes, subnormals as the mode says."""
    if mode.flush_inputs:
        return lambda wave: spread(flushed(source(wave)).view(np.uint32))
    return lambda wave: spread(source(wave).view(np.uint32))


def _pack_bf16(instruction: Instruction, context: Context) -> Compiled:
    check_modifiers(instruction, real=True)
    check_absolute(instruction, context)
    check_rounding(instruction, context.mode)
    low = _flushing(real(instruction, "src0"), context.mode)
    high = _flushing(real(instruction, "src1"), context.mode)
    register, saturate = instruction.fields["vdst"], context.mode.saturate

    def step(wave: Wave) -> None:
        put(wave, register, floats.pack_bf16(low(wave), high(wave), saturate=saturate))

    return Compiled(step=step)


def _pack_fp8(forms: dict[str, floats.NarrowFormat]) -> Rule:
    """Two numbers to one half of the destination; operand selection says which half."""

    def rule(instruction: Instruction, context: Context) -> Compiled:
        if instruction.fields["op_sel"] & 7:
            raise instruction.unmodelled("operand selection of a source has no rule here")
        refuse(instruction, omod="the output modifier", clamp="clamp")
        check_absolute(instruction, context)
        check_rounding(instruction, context.mode)
        low, high = real(instruction, "src0"), real(instruction, "src1")
        register, form = instruction.fields["vdst"], forms[context.arch]
        upper, saturate = instruction.fields["op_sel"] >> 3, context.mode.saturate
        keep = np.uint32(0xFFFF if upper else 0xFFFF_0000)
        shift = np.uint32(16 if upper else 0)

        def step(wave: Wave) -> None:
            first, second = spread(low(wave).view(np.uint32)), spread(high(wave).view(np.uint32))
            codes = floats.pack_narrow(first, second, form, saturate=saturate)
            put(wave, register, wave.rows[register] & keep | codes << shift)

        return Compiled(step=step)

    return rule


_WORD_SELECT = {4: 0, 5: 16, 6: 0}
"""The bit at which SDWA's WORD_0, WORD_1 and DWORD start."""


def _unpack_fp8(forms: dict[str, floats.NarrowFormat]) -> Rule:
    """Two numbers of eight bits from one half of the source; SDWA says which half."""

    def rule(instruction: Instruction, context: Context) -> Compiled:
        check_absolute(instruction, context)
        start = 0
        if instruction.sdwa is not None:
            start = _selected_word(instruction)
        elif instruction.format != "VOP1" or instruction.dpp is not None:
            raise instruction.unmodelled("this encoding of the conversion has no rule")
        source = first_source(instruction, context)
        register = instruction.fields["vdst"]
        table = floats.decode_table(forms[context.arch]).view(np.uint32)

        def step(wave: Wave) -> None:
            codes = spread(source(wave)).view(np.uint8).reshape(LANES, 4)
            low, high = table.take(codes[:, start]), table.take(codes[:, start + 1])
            put(wave, register, low)
            put(wave, register + 1, high)

        return Compiled(step=step)

    return rule


def _selected_word(instruction: Instruction) -> int:
    """The byte at which the half that SDWA selects starts.

    The destination is two whole registers whatever ``dst_sel`` says.
    """
    sdwa = instruction.sdwa
    assert sdwa is not None
    if any(sdwa[name] for name in ("clamp", "omod", "src0_sext", "src0_neg", "src0_abs")):
        raise instruction.unmodelled("these modifiers of SDWA have no rule")
    if sdwa["src0_sel"] not in _WORD_SELECT:
        raise instruction.unmodelled("SDWA selects a byte, which has no rule here")
    return _WORD_SELECT[sdwa["src0_sel"]] // 8


RULES: dict[str, Rule] = {
    **{name: _rule(function, 1) for name, function in _UNARY.items()},
    **{name: _rule(function, 2) for name, function in _BINARY.items()},
    **{name: _transcendental(function) for name, function in _TRANSCENDENTAL.items()},
    **{name: _extreme(*entry) for name, entry in _EXTREMES.items()},
    **{name: _conversion(function) for name, function in _CONVERSIONS.items()},
    "v_fma_f32": _fused,
    "v_fmac_f32": _fused_into,
    "v_cvt_pk_bf16_f32": _pack_bf16,
    "v_cvt_pk_fp8_f32": _pack_fp8(floats.FP8),
    "v_cvt_pk_bf8_f32": _pack_fp8(floats.BF8),
    "v_cvt_pk_f32_fp8": _unpack_fp8(floats.FP8),
    "v_cvt_pk_f32_bf8": _unpack_fp8(floats.BF8),
}

"""Scalar arithmetic: SOP1, SOP2, SOPK, SOPC.

Source: AMD, "CDNA3 Instruction Set Architecture", chapter "Instructions", sections on these
formats.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TypeAlias

from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.operands import (
    ScalarSource,
    scalar,
    scalar_pair,
    scalar_pair_result,
    scalar_result,
    signed,
)
from mlaprobe.emulator.program import Compiled, Context, Rule, Step
from mlaprobe.emulator.wave import EXEC, WORD, Wave

_DOUBLE = (1 << 64) - 1

Binary: TypeAlias = Callable[[int, int, int], tuple[int, int]]
"""Two operands and SCC, to a result and the new SCC."""
Logic: TypeAlias = Callable[[int, int], int]
Compare: TypeAlias = Callable[[int, int], bool]


def _fits(value: int) -> int:
    """1 where a sum of two signed words does not fit one."""
    return int(not -(1 << 31) <= value < 1 << 31)


def _subtract(a: int, b: int, borrow: int) -> tuple[int, int]:
    return a - b - borrow, int(b + borrow > a)


def _add_signed(a: int, b: int, scc: int) -> tuple[int, int]:
    total = signed(a) + signed(b)
    return total, _fits(total)


def _subtract_signed(a: int, b: int, scc: int) -> tuple[int, int]:
    total = signed(a) - signed(b)
    return total, _fits(total)


def _add(a: int, b: int, carry: int) -> tuple[int, int]:
    total = a + b + carry
    return total, total >> 32


def _chosen(first: Compare) -> Binary:
    """The operand that the comparison prefers; SCC says whether it is the first."""

    def choose(a: int, b: int, scc: int) -> tuple[int, int]:
        taken = first(a, b)
        return (a if taken else b), int(taken)

    return choose


def _signed(compare: Compare) -> Compare:
    return lambda a, b: compare(signed(a), signed(b))


def _shift_add(bits: int) -> Binary:
    def add(a: int, b: int, scc: int) -> tuple[int, int]:
        total = (a << bits) + b
        return total, int(total > WORD)

    return add


def _logic(function: Logic) -> Binary:
    """SCC says whether the result is not 0."""

    def apply(a: int, b: int, scc: int) -> tuple[int, int]:
        result = function(a, b) & WORD
        return result, int(result != 0)

    return apply


def _quiet(function: Logic) -> Binary:
    """SCC stays as it is."""
    return lambda a, b, scc: (function(a, b), scc)


def _bit_field(a: int, b: int) -> int:
    return a >> (b & 31) & (1 << (b >> 16 & 0x7F)) - 1


_BINARY: dict[str, Binary] = {
    "s_add_u32": lambda a, b, scc: _add(a, b, 0),
    "s_sub_u32": lambda a, b, scc: _subtract(a, b, 0),
    "s_addc_u32": _add,
    "s_subb_u32": _subtract,
    "s_add_i32": _add_signed,
    "s_sub_i32": _subtract_signed,
    "s_min_i32": _chosen(_signed(operator.lt)),
    "s_min_u32": _chosen(operator.lt),
    "s_max_i32": _chosen(_signed(operator.gt)),
    "s_max_u32": _chosen(operator.gt),
    "s_cselect_b32": lambda a, b, scc: (a if scc else b, scc),
    "s_and_b32": _logic(operator.and_),
    "s_or_b32": _logic(operator.or_),
    "s_xor_b32": _logic(operator.xor),
    "s_andn2_b32": _logic(lambda a, b: a & ~b),
    "s_orn2_b32": _logic(lambda a, b: a | ~b),
    "s_lshl_b32": _logic(lambda a, b: a << (b & 31)),
    "s_lshr_b32": _logic(lambda a, b: a >> (b & 31)),
    "s_ashr_i32": _logic(lambda a, b: signed(a) >> (b & 31)),
    "s_bfe_u32": _logic(_bit_field),
    "s_bfm_b32": _quiet(lambda a, b: ((1 << (a & 31)) - 1) << (b & 31)),
    "s_mul_i32": _quiet(operator.mul),
    "s_mul_hi_u32": _quiet(lambda a, b: a * b >> 32),
    "s_mul_hi_i32": _quiet(lambda a, b: signed(a) * signed(b) >> 32),
    "s_lshl1_add_u32": _shift_add(1),
    "s_lshl2_add_u32": _shift_add(2),
    "s_lshl3_add_u32": _shift_add(3),
    "s_lshl4_add_u32": _shift_add(4),
    "s_pack_ll_b32_b16": _quiet(lambda a, b: a & 0xFFFF | (b & 0xFFFF) << 16),
    "s_pack_lh_b32_b16": _quiet(lambda a, b: a & 0xFFFF | b & 0xFFFF_0000),
    "s_pack_hh_b32_b16": _quiet(lambda a, b: a >> 16 | b & 0xFFFF_0000),
}

_PAIR_LOGIC: dict[str, Logic] = {
    "s_and_b64": operator.and_,
    "s_or_b64": operator.or_,
    "s_xor_b64": operator.xor,
    "s_andn2_b64": lambda a, b: a & ~b,
    "s_orn2_b64": lambda a, b: a | ~b,
}

_UNARY: dict[str, tuple[Callable[[int], int], bool]] = {
    # Whether SCC says that the result is not 0.
    "s_mov_b32": (lambda a: a, False),
    "s_not_b32": (lambda a: ~a & WORD, True),
    "s_brev_b32": (lambda a: int(f"{a:032b}"[::-1], 2), False),
    "s_bcnt1_i32_b32": (lambda a: a.bit_count(), True),
    "s_ff1_i32_b32": (lambda a: (a & -a).bit_length() - 1 if a else WORD, False),
    "s_flbit_i32_b32": (lambda a: 32 - a.bit_length() if a else WORD, False),
    "s_sext_i32_i8": (lambda a: (a & 0xFF ^ 0x80) - 0x80, False),
    "s_sext_i32_i16": (lambda a: (a & 0xFFFF ^ 0x8000) - 0x8000, False),
}

_COMPARE: dict[str, Compare] = {
    "eq": operator.eq,
    "lg": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}


def _binary(function: Binary) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        a, b = scalar(instruction, "ssrc0"), scalar(instruction, "ssrc1")
        put = scalar_result(instruction)

        def step(wave: Wave) -> None:
            result, wave.scc = function(a(wave), b(wave), wave.scc)
            put(wave, result)

        return Compiled(step=step)

    return rule


def _pair_logic(function: Logic) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        a, b = scalar_pair(instruction, "ssrc0"), scalar_pair(instruction, "ssrc1")
        put = scalar_pair_result(instruction)

        def step(wave: Wave) -> None:
            result = function(a(wave), b(wave)) & _DOUBLE
            wave.scc = int(result != 0)
            put(wave, result)

        return Compiled(step=step)

    return rule


def _unary(function: Callable[[int], int], tests: bool) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        a, put = scalar(instruction, "ssrc0"), scalar_result(instruction)

        def step(wave: Wave) -> None:
            result = function(a(wave))
            if tests:
                wave.scc = int(result & WORD != 0)
            put(wave, result)

        return Compiled(step=step)

    return rule


def _move_pair(instruction: Instruction, context: Context) -> Compiled:
    a, put = scalar_pair(instruction, "ssrc0"), scalar_pair_result(instruction)
    return Compiled(step=lambda wave: put(wave, a(wave)))


def _save_exec(function: Logic) -> Rule:
    """The destination gets EXEC; EXEC gets the function of the source and EXEC."""

    def rule(instruction: Instruction, context: Context) -> Compiled:
        a, put = scalar_pair(instruction, "ssrc0"), scalar_pair_result(instruction)

        def step(wave: Wave) -> None:
            before = wave.sgpr[EXEC] | wave.sgpr[EXEC + 1] << 32
            after = function(a(wave), before) & _DOUBLE
            put(wave, before)
            wave.sgpr[EXEC], wave.sgpr[EXEC + 1] = after & WORD, after >> 32
            wave.refresh_exec()
            wave.scc = int(after != 0)

        return Compiled(step=step)

    return rule


def _compare(compare: Compare, *, is_signed: bool) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        a, b = scalar(instruction, "ssrc0"), scalar(instruction, "ssrc1")
        return Compiled(step=_comparing(a, b, _signed(compare) if is_signed else compare))

    return rule


def _comparing(a: ScalarSource, b: ScalarSource, compare: Compare) -> Step:
    def step(wave: Wave) -> None:
        wave.scc = int(compare(a(wave), b(wave)))

    return step


def _bit_compare(expected: int) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        a, b = scalar(instruction, "ssrc0"), scalar(instruction, "ssrc1")
        return Compiled(step=_comparing(a, b, lambda x, y: x >> (y & 31) & 1 == expected))

    return rule


def _constant(instruction: Instruction, *, is_signed: bool = True) -> int:
    value = instruction.fields["simm16"]
    return value - (1 << 16) if is_signed and value >> 15 else value


def _constant_compare(compare: Compare, *, is_signed: bool) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        a = scalar(instruction, "sdst")
        constant = _constant(instruction, is_signed=is_signed) & WORD
        used = _signed(compare) if is_signed else compare
        return Compiled(step=_comparing(a, lambda wave: constant, used))

    return rule


def _move_constant(instruction: Instruction, context: Context) -> Compiled:
    put, constant = scalar_result(instruction), _constant(instruction)
    return Compiled(step=lambda wave: put(wave, constant))


def _conditional_move_constant(instruction: Instruction, context: Context) -> Compiled:
    put, constant = scalar_result(instruction), _constant(instruction)

    def step(wave: Wave) -> None:
        if wave.scc:
            put(wave, constant)

    return Compiled(step=step)


def _add_constant(instruction: Instruction, context: Context) -> Compiled:
    a, put, constant = (
        scalar(instruction, "sdst"),
        scalar_result(instruction),
        _constant(instruction),
    )

    def step(wave: Wave) -> None:
        total = signed(a(wave)) + constant
        wave.scc = _fits(total)
        put(wave, total)

    return Compiled(step=step)


def _multiply_constant(instruction: Instruction, context: Context) -> Compiled:
    a, put, constant = (
        scalar(instruction, "sdst"),
        scalar_result(instruction),
        _constant(instruction),
    )
    return Compiled(step=lambda wave: put(wave, a(wave) * constant))


RULES: dict[str, Rule] = {
    **{name: _binary(function) for name, function in _BINARY.items()},
    **{name: _pair_logic(function) for name, function in _PAIR_LOGIC.items()},
    **{name: _unary(*entry) for name, entry in _UNARY.items()},
    **{
        f"s_cmp_{name}_{kind}32": _compare(compare, is_signed=kind == "i")
        for name, compare in _COMPARE.items()
        for kind in "iu"
    },
    **{
        f"s_cmpk_{name}_{kind}32": _constant_compare(compare, is_signed=kind == "i")
        for name, compare in _COMPARE.items()
        for kind in "iu"
    },
    "s_mov_b64": _move_pair,
    "s_and_saveexec_b64": _save_exec(operator.and_),
    "s_or_saveexec_b64": _save_exec(operator.or_),
    "s_andn2_saveexec_b64": _save_exec(lambda a, b: a & ~b),
    "s_bitcmp0_b32": _bit_compare(0),
    "s_bitcmp1_b32": _bit_compare(1),
    "s_movk_i32": _move_constant,
    "s_cmovk_i32": _conditional_move_constant,
    "s_addk_i32": _add_constant,
    "s_mulk_i32": _multiply_constant,
}

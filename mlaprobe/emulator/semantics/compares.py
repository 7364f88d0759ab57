"""Vector comparisons: VOPC, and VOP3 with its opcodes.

Source: AMD, "CDNA3 Instruction Set Architecture", chapter "Instructions", section "VOPC". A lane
that is switched off gets 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from mlaprobe.emulator.arithmetic import classes
from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.modes import flushed
from mlaprobe.emulator.operands import RealSource, Source, real, scalar_destination, vector
from mlaprobe.emulator.program import Compiled, Context, Rule, Step
from mlaprobe.emulator.semantics.vectors import SECOND, check_modifiers, first_real, first_source
from mlaprobe.emulator.wave import EXEC, LANES, VCC, Mask, Reals, Row, Wave

Compare: TypeAlias = "Callable[[Row, Row], Mask]"
RealCompare: TypeAlias = "Callable[[Reals, Reals], Mask]"

_EXPONENT = np.uint32(0x7F80_0000)
_SIGN_BIT, _ONE = np.uint32(31), np.uint32(1)
_NORMAL = np.uint32(1 << 3 | 1 << 8)
_NEGATIVE, _POSITIVE = np.uint32(3), np.uint32(8)

_ORDERED: dict[str, RealCompare] = {
    "eq": np.equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_REAL: dict[str, RealCompare] = {
    **_ORDERED,
    "lg": lambda a, b: (a < b) | (a > b),
    "o": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "u": lambda a, b: np.isnan(a) | np.isnan(b),
    "nge": lambda a, b: ~(a >= b),
    "nlg": lambda a, b: ~((a < b) | (a > b)),
    "ngt": lambda a, b: ~(a > b),
    "nle": lambda a, b: ~(a <= b),
    "neq": lambda a, b: ~(a == b),
    "nlt": lambda a, b: ~(a < b),
}
_INTEGER: dict[str, Callable[..., Mask]] = {**_ORDERED, "ne": np.not_equal}


def _signed(compare: Callable[..., Mask]) -> Compare:
    return lambda a, b: compare(a.view(np.int32), b.view(np.int32))


def _result(instruction: Instruction) -> int:
    """The pair of scalar registers that gets the mask."""
    if instruction.format != "VOP3":
        return VCC
    return scalar_destination(instruction, "vdst", words=2)


def _writing(test: Callable[[Wave], Mask], register: int, *, to_exec: bool = False) -> Step:
    def step(wave: Wave) -> None:
        mask = test(wave)
        if len(mask) != LANES:
            mask = mask.repeat(LANES)
        if not wave.full:
            mask = mask & wave.exec_mask
        wave.set_pair(register, mask)
        if to_exec:
            wave.set_pair(EXEC, mask)

    return step


def _integer(compare: Compare, *, to_exec: bool) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        check_modifiers(instruction, real=False)
        a: Source = first_source(instruction, context)
        b = vector(instruction, SECOND[instruction.format], context.index_mode)
        step = _writing(
            lambda wave: compare(a(wave), b(wave)), _result(instruction), to_exec=to_exec
        )
        return Compiled(step=step)

    return rule


def _testing(
    compare: RealCompare, a: RealSource, b: RealSource, context: Context
) -> Callable[[Wave], Mask]:
    """A comparison, in which subnormal numbers count as zero if the mode says so."""
    if not context.mode.flush_inputs:
        return lambda wave: compare(a(wave), b(wave))
    subnormals = context.subnormals((LANES,), parts=2)

    def test(wave: Wave) -> Mask:
        first, second = a(wave), b(wave)
        if subnormals.among(first.view(np.uint32), second.view(np.uint32)):
            return compare(flushed(first), flushed(second))
        return compare(first, second)

    return test


def _real(compare: RealCompare, *, to_exec: bool) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        check_modifiers(instruction, real=True)
        a = first_real(instruction, context)
        b = real(instruction, SECOND[instruction.format], context.index_mode)
        test = _testing(compare, a, b, context)
        return Compiled(step=_writing(test, _result(instruction), to_exec=to_exec))

    return rule


def _is_class(bits: Row, tested: Row) -> Mask:
    """Whether each number is of a class that is tested for."""
    exponents = bits & _EXPONENT
    if np.count_nonzero(exponents) == len(bits) == np.count_nonzero(exponents != _EXPONENT):
        # All are normal: of class 3 or 8.
        if np.count_nonzero(tested & _NORMAL == _NORMAL) == len(tested):
            return np.ones(len(bits), np.bool_)
        shift = np.where(bits >> _SIGN_BIT, _NEGATIVE, _POSITIVE)
        found: Row = tested >> shift & _ONE
    else:
        found = classes(bits) & tested
    return np.not_equal(found, 0)


def _class(*, to_exec: bool) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        check_modifiers(instruction, real=True)
        a = first_real(instruction, context)
        b = vector(instruction, SECOND[instruction.format], context.index_mode)
        step = _writing(
            lambda wave: _is_class(a(wave).view(np.uint32), b(wave)),
            _result(instruction),
            to_exec=to_exec,
        )
        return Compiled(step=step)

    return rule


def _rules(prefix: str, *, to_exec: bool) -> dict[str, Rule]:
    rules: dict[str, Rule] = {f"{prefix}_class_f32": _class(to_exec=to_exec)}
    for name, compare in _INTEGER.items():
        rules[f"{prefix}_{name}_u32"] = _integer(compare, to_exec=to_exec)
        rules[f"{prefix}_{name}_i32"] = _integer(_signed(compare), to_exec=to_exec)
    for name, test in _REAL.items():
        rules[f"{prefix}_{name}_f32"] = _real(test, to_exec=to_exec)
    return rules


RULES: dict[str, Rule] = {
    **_rules("v_cmp", to_exec=False),
    **_rules("v_cmpx", to_exec=True),
}

"""What vector instructions have in common: sources with DPP, the destination under EXEC."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.operands import RealSource, Source, real, register_row, spread, vector
from mlaprobe.emulator.program import Context, Step
from mlaprobe.emulator.wave import LANES, Row, Wave

Unary: TypeAlias = Callable[[Row, Row], object]
"""A source, and where the result goes."""
Binary: TypeAlias = Callable[[Row, Row, Row], object]
Ternary: TypeAlias = Callable[[Row, Row, Row, Row], object]
Lanes: TypeAlias = npt.NDArray[np.intp]

SECOND = {"VOP2": "vsrc1", "VOPC": "vsrc1", "VOP3": "src1", "VOP3SD": "src1"}
"""The field of the second source by format."""
_LANE = np.arange(LANES)
_ALL = 15
_QUAD_PERMUTE_END = 0x100
_ROW_BROADCAST = 0x150


def refuse(instruction: Instruction, **zero: str) -> None:
    """Raises where a field that there is no rule for is set: keyword by field, with its name."""
    for name, called in zero.items():
        if instruction.fields.get(name):
            raise instruction.unmodelled(f"{called} has no rule here")


def check_modifiers(instruction: Instruction, *, real: bool, dpp: bool = True) -> None:
    """Raises where an instruction has a modifier that the common rules do not carry out.

    :raises UnmodelledError: output modifier, clamp, operand selection, SDWA; ``neg`` and ``abs``
        of what is no float; DPP where ``dpp`` is false.
    """
    if instruction.sdwa is not None:
        raise instruction.unmodelled("SDWA has no rule here")
    if instruction.dpp is not None and not dpp:
        raise instruction.unmodelled("DPP has no rule here")
    refuse(instruction, omod="the output modifier", clamp="clamp", op_sel="operand selection")
    if not real:
        refuse(instruction, neg="neg", abs="abs")


def check_absolute(instruction: Instruction, context: Context) -> None:
    """Raises where registers are relative to M0 and the instruction has no rule for that."""
    if context.index_mode:
        raise instruction.unmodelled("registers relative to M0 have no rule here")


def _dpp_lanes(instruction: Instruction) -> Lanes:
    """The lane that each lane reads."""
    dpp = instruction.dpp
    assert dpp is not None
    if any(dpp[name] for name in ("src0_neg", "src0_abs", "src1_neg", "src1_abs")):
        raise instruction.unmodelled("neg and abs of DPP have no rule")
    if dpp["row_mask"] != _ALL or dpp["bank_mask"] != _ALL:
        raise instruction.unmodelled("a row mask or bank mask of DPP has no rule")
    control = dpp["dpp_ctrl"]
    if control < _QUAD_PERMUTE_END:
        return (_LANE & ~3) + (control >> 2 * (_LANE & 3) & 3)
    if _ROW_BROADCAST <= control < _ROW_BROADCAST + 16:
        return (_LANE & ~15) + (control & 15)
    raise instruction.unmodelled(f"the DPP control {control:#x} has no rule")


def first_source(instruction: Instruction, context: Context) -> Source:
    """The first source, permuted where the instruction has DPP."""
    plain = vector(instruction, "src0", context.index_mode)
    if instruction.dpp is None:
        return plain
    lanes = _dpp_lanes(instruction)

    def permuted(wave: Wave) -> Row:
        if not wave.full:
            raise instruction.unmodelled("DPP with lanes switched off has no rule")
        return spread(plain(wave)).take(lanes)

    return permuted


def first_real(instruction: Instruction, context: Context) -> RealSource:
    """The same as float32, with the modifiers of VOP3."""
    if instruction.dpp is None:
        return real(instruction, "src0", context.index_mode)
    permuted = first_source(instruction, context)
    return lambda wave: permuted(wave).view(np.float32)


def destination(instruction: Instruction, context: Context) -> Callable[[Wave], Row]:
    """The row of the destination register."""
    row = register_row(instruction, "vdst", context.index_mode)
    register = instruction.fields["vdst"]
    if not context.index_mode & 8:
        return lambda wave: wave.rows[register]
    return lambda wave: wave.rows[row(wave)]


def unary_step(function: Unary, a: Source, out: Callable[[Wave], Row]) -> Step:
    """Applies a function of one source where EXEC is set."""
    scratch = np.empty(LANES, np.uint32)

    def step(wave: Wave) -> None:
        if wave.full:
            function(a(wave), out(wave))
        else:
            function(a(wave), scratch)
            np.copyto(out(wave), scratch, where=wave.exec_mask)

    return step


def binary_step(function: Binary, a: Source, b: Source, out: Callable[[Wave], Row]) -> Step:
    """Applies a function of two sources where EXEC is set."""
    scratch = np.empty(LANES, np.uint32)

    def step(wave: Wave) -> None:
        if wave.full:
            function(a(wave), b(wave), out(wave))
        else:
            function(a(wave), b(wave), scratch)
            np.copyto(out(wave), scratch, where=wave.exec_mask)

    return step


def ternary_step(
    function: Ternary, a: Source, b: Source, c: Source, out: Callable[[Wave], Row]
) -> Step:
    """Applies a function of three sources where EXEC is set."""
    scratch = np.empty(LANES, np.uint32)

    def step(wave: Wave) -> None:
        if wave.full:
            function(a(wave), b(wave), c(wave), out(wave))
        else:
            function(a(wave), b(wave), c(wave), scratch)
            np.copyto(out(wave), scratch, where=wave.exec_mask)

    return step


def put(wave: Wave, register: int, values: Row) -> None:
    """Writes values to a register where EXEC is set."""
    if wave.full:
        wave.rows[register][:] = values
    else:
        np.copyto(wave.rows[register], values, where=wave.exec_mask)

"""What vector instructions have in common: sources with DPP, the destination under EXEC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.fusion.lanewise import Kind, Lanewise
from mlaprobe.emulator.fusion.lanewise import Source as LaneSource
from mlaprobe.emulator.modes import FloatMode, is_subnormal
from mlaprobe.emulator.operands import (
    FIRST_VGPR,
    SCALARS,
    RealSource,
    Source,
    fixed_number,
    fixed_row,
    fixed_value,
    modified,
    real,
    register_row,
    spread,
    vector,
)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """A source, and what of it is known before the instruction is executed."""

    source: Source
    """What the source is when the instruction is executed."""
    row: int | None = None
    """The vector register that it always is."""
    number: Row | None = None
    """The number that it always is."""


def operand(instruction: Instruction, name: str, context: Context) -> Operand:
    """A source by its field; the first one with DPP where the instruction has it."""
    if name == "src0" and instruction.dpp is not None:
        return Operand(source=first_source(instruction, context))
    return Operand(
        source=vector(instruction, name, context.index_mode),
        row=fixed_row(instruction, name, context.index_mode),
        number=fixed_number(instruction, name),
    )


def lanewise(
    instruction: Instruction,
    context: Context,
    function: Callable[..., object],
    names: tuple[str, ...],
    mode: FloatMode | None = None,
) -> Lanewise | None:
    """The instruction as one that does the same in every lane, or ``None`` where it is none.

    ``mode`` says what becomes of subnormal numbers, where the function is one of float32.
    """
    sources = [_lane_source(instruction, name) for name in names]
    known = tuple(source for source in sources if source is not None)
    if len(known) < len(names) or instruction.dpp is not None or context.index_mode:
        return None
    inputs = mode is not None and mode.flush_inputs
    if inputs and any(s.kind is Kind.NUMBER and is_subnormal(s.value) for s in known):
        return None
    return Lanewise(
        name=instruction.mnemonic,
        function=function,
        sources=known,
        out=instruction.fields["vdst"],
        real=mode is not None,
        flush_inputs=inputs,
        flush_results=mode is not None and mode.flush_results,
    )


def _lane_source(instruction: Instruction, name: str) -> LaneSource | None:
    code = instruction.fields[name] if name != "vsrc1" else instruction.fields[name] + FIRST_VGPR
    if modified(instruction, name):
        return None
    if code >= FIRST_VGPR:
        return LaneSource(Kind.ROW, code - FIRST_VGPR)
    if code < SCALARS:
        return LaneSource(Kind.SCALAR, code)
    number = fixed_value(instruction, name)
    return None if number is None else LaneSource(Kind.NUMBER, number)


Target: TypeAlias = "int | Callable[[Wave], int]"
"""The row of the destination, or what says it when the instruction is executed."""


def target(instruction: Instruction, context: Context) -> Target:
    """The destination of a vector instruction."""
    fixed = fixed_row(instruction, "vdst", context.index_mode)
    return register_row(instruction, "vdst", context.index_mode) if fixed is None else fixed


def step_of(function: Callable[..., object], sources: tuple[Operand, ...], out: Target) -> Step:
    """Applies a function of rows, of which the last is where the result goes, where EXEC is set."""
    if isinstance(out, int):
        quick = _quick_step(function, sources, out)
        if quick is not None:
            return quick
    return _any_step(function, sources, out)


def _any_step(function: Callable[..., object], sources: tuple[Operand, ...], out: Target) -> Step:
    scratch = np.empty(LANES, np.uint32)
    rows = tuple(source.source for source in sources)

    def step(wave: Wave) -> None:
        row = wave.rows[out if isinstance(out, int) else out(wave)]
        if wave.full:
            function(*[source(wave) for source in rows], row)
        else:
            function(*[source(wave) for source in rows], scratch)
            np.copyto(row, scratch, where=wave.exec_mask)

    return step


def _quick_step(
    function: Callable[..., object], sources: tuple[Operand, ...], out: int
) -> Step | None:
    """The same for sources that are frequent: registers, or a number and a register."""
    masked = _any_step(function, sources, out)
    registers = [source.row for source in sources]
    if len(sources) == 1:
        return _quick_unary(function, sources[0], out, masked)
    second, last = registers[1], registers[-1]
    if second is None or last is None:
        return None
    first, number = sources[0].row, sources[0].number
    if len(sources) == 2 and first is not None:

        def two(wave: Wave) -> None:
            if wave.full:
                rows = wave.rows
                function(rows[first], rows[second], rows[out])
            else:
                masked(wave)

        return two
    if len(sources) == 2 and number is not None:

        def number_and_row(wave: Wave) -> None:
            if wave.full:
                rows = wave.rows
                function(number, rows[second], rows[out])
            else:
                masked(wave)

        return number_and_row
    return None


def _quick_unary(
    function: Callable[..., object], source: Operand, out: int, masked: Step
) -> Step | None:
    row, number = source.row, source.number
    if row is not None:

        def one(wave: Wave) -> None:
            if wave.full:
                rows = wave.rows
                function(rows[row], rows[out])
            else:
                masked(wave)

        return one
    if number is not None:

        def constant(wave: Wave) -> None:
            if wave.full:
                function(number, wave.rows[out])
            else:
                masked(wave)

        return constant
    return None


def put(wave: Wave, register: int, values: Row) -> None:
    """Writes values to a register where EXEC is set."""
    if wave.full:
        wave.rows[register][:] = values
    else:
        np.copyto(wave.rows[register], values, where=wave.exec_mask)


def move(a: Row, out: Row) -> None:
    """Copies a source."""
    out[:] = a

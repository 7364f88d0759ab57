"""Source and destination operands of instructions as functions of a wave.

Codes of sources: AMD, "CDNA3 Instruction Set Architecture", chapter "Scalar ALU Operations", table
of scalar data operands, and chapter "Vector ALU Operations", table of instruction operands.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np

from mlaprobe.emulator.decoding import LITERAL, Instruction
from mlaprobe.emulator.wave import ACCUMULATION, EXEC, LANES, M0, WORD, Reals, Row, Wave

ScalarSource: TypeAlias = Callable[[Wave], int]
ScalarResult: TypeAlias = Callable[[Wave, int], None]
Source: TypeAlias = Callable[[Wave], Row]
RealSource: TypeAlias = Callable[[Wave], Reals]

FIRST_VGPR = 256
SCC_SOURCE = 253
SCALARS = 128
"""Codes below name scalar registers."""
_HALVES = {
    240: 0x3F000000,
    241: 0xBF000000,
    242: 0x3F800000,
    243: 0xBF800000,
    244: 0x40000000,
    245: 0xC0000000,
    246: 0x40800000,
    247: 0xC0800000,
    248: 0x3E22F983,
}
"""0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi) as float32."""
SIGN = np.uint32(0x8000_0000)
MAGNITUDE = np.uint32(0x7FFF_FFFF)
_INDEX_FIELDS = {"src0": 1, "src1": 2, "vsrc1": 2, "src2": 4, "vdst": 8}
"""Bits of the mode of ``s_set_gpr_idx_on`` by the field that becomes relative."""


def inline_constant(code: int) -> int | None:
    """The 32 bits of an inline constant, or ``None`` for another code."""
    if 128 <= code <= 192:
        return code - 128
    if 193 <= code <= 208:
        return 192 - code & WORD
    return _HALVES.get(code)


def signed(value: int) -> int:
    """A word of 32 bits as a two's complement number."""
    return value - (1 << 32) if value >> 31 else value


def scalar(instruction: Instruction, name: str) -> ScalarSource:
    """A scalar source of 32 bits."""
    code = instruction.fields[name]
    if code < SCALARS:
        return lambda wave: wave.sgpr[code]
    if code == SCC_SOURCE:
        return lambda wave: wave.scc
    constant = instruction.literal if code == LITERAL else inline_constant(code)
    if constant is None:
        raise instruction.unmodelled(f"the scalar source {code} has no rule")
    value = constant
    return lambda wave: value


def scalar_pair(instruction: Instruction, name: str) -> ScalarSource:
    """A scalar source of 64 bits; an inline integer is sign-extended."""
    code = instruction.fields[name]
    if code < SCALARS - 1:
        return lambda wave: wave.sgpr[code] | wave.sgpr[code + 1] << 32
    if not 128 <= code <= 208:
        raise instruction.unmodelled(f"the 64-bit scalar source {code} has no rule")
    value = (code - 128 if code <= 192 else 192 - code) & (1 << 64) - 1
    return lambda wave: value


def scalar_destination(instruction: Instruction, name: str, words: int = 1) -> int:
    """The first of so many scalar registers.

    :raises UnmodelledError: there are not so many from there on.
    """
    register = instruction.fields[name]
    if register + words > SCALARS:
        raise instruction.unmodelled("the destination is no scalar register")
    return register


def scalar_result(instruction: Instruction, name: str = "sdst") -> ScalarResult:
    """A scalar destination of 32 bits; what is written is cut to 32 bits."""
    register = scalar_destination(instruction, name)
    if register not in (EXEC, EXEC + 1):

        def put(wave: Wave, value: int) -> None:
            wave.sgpr[register] = value & WORD

        return put

    def put_exec(wave: Wave, value: int) -> None:
        wave.sgpr[register] = value & WORD
        wave.refresh_exec()

    return put_exec


def scalar_pair_result(instruction: Instruction, name: str = "sdst") -> ScalarResult:
    """A scalar destination of 64 bits."""
    register = scalar_destination(instruction, name, words=2)

    def put(wave: Wave, value: int) -> None:
        wave.sgpr[register] = value & WORD
        wave.sgpr[register + 1] = value >> 32 & WORD
        if register == EXEC:
            wave.refresh_exec()

    return put


def register_row(instruction: Instruction, name: str, mode: int) -> Callable[[Wave], int]:
    """The row of a vector register; relative to M0 where the mode says so."""
    code = instruction.fields[name]
    base = code if name in ("vdst", "vsrc1") else code - FIRST_VGPR
    if not mode & _INDEX_FIELDS[name]:
        return lambda wave: base

    def row(wave: Wave) -> int:
        index = base + (wave.sgpr[M0] & 0xFF)
        if index >= ACCUMULATION:
            raise instruction.unmodelled(f"the relative register v{index} does not exist")
        return index

    return row


def vector(instruction: Instruction, name: str, mode: int = 0, *, high: bool = False) -> Source:
    """A vector source of 32 bits: 64 lanes, or one number that all share.

    With ``high``, the upper half of a source of 64 bits. The result is valid until the next call.
    """
    code = instruction.fields[name] if name != "vsrc1" else instruction.fields[name] + FIRST_VGPR
    step = 1 if high else 0
    if code >= FIRST_VGPR:
        base = code - FIRST_VGPR + step
        if not mode & _INDEX_FIELDS[name]:
            return lambda wave: wave.rows[base]
        row = register_row(instruction, name, mode)
        return lambda wave: wave.rows[row(wave) + step]
    if code < SCALARS:
        register = code + step
        cell = np.empty(1, np.uint32)

        def shared(wave: Wave) -> Row:
            cell[0] = wave.sgpr[register]
            return cell

        return shared
    constant = instruction.literal if code == LITERAL else inline_constant(code)
    if constant is None:
        raise instruction.unmodelled(f"the vector source {code} has no rule")
    row_of_it = _constant(constant)
    return lambda wave: row_of_it


@cache
def _constant(value: int) -> Row:
    """One number for all lanes; it is not to be written."""
    row: Row = np.full(1, value, np.uint32)
    row.flags.writeable = False
    return row


def fixed_row(instruction: Instruction, name: str, mode: int = 0) -> int | None:
    """The row of an operand that is always the same vector register, or ``None``."""
    code = instruction.fields[name]
    if mode & _INDEX_FIELDS[name]:
        return None
    if name in ("vdst", "vsrc1"):
        return code
    return code - FIRST_VGPR if code >= FIRST_VGPR else None


def fixed_value(instruction: Instruction, name: str) -> int | None:
    """The 32 bits that a source always is, or ``None``."""
    code = instruction.fields[name]
    if name == "vsrc1":
        return None
    return instruction.literal if code == LITERAL else inline_constant(code)


def fixed_number(instruction: Instruction, name: str) -> Row | None:
    """A source that is always the same number, or ``None``."""
    value = fixed_value(instruction, name)
    return None if value is None else _constant(value)


def real(instruction: Instruction, name: str, mode: int = 0, *, high: bool = False) -> RealSource:
    """A vector source as float32, with the modifiers ``neg`` and ``abs`` of VOP3."""
    code = instruction.fields[name] if name != "vsrc1" else instruction.fields[name] + FIRST_VGPR
    negate, absolute = _modifiers(instruction, name)
    if code >= FIRST_VGPR and not mode & _INDEX_FIELDS[name] and not (negate or absolute):
        base = code - FIRST_VGPR + (1 if high else 0)
        return lambda wave: wave.floats[base]
    plain = vector(instruction, name, mode, high=high)
    if not (negate or absolute):
        return lambda wave: plain(wave).view(np.float32)
    keep = MAGNITUDE if absolute else np.uint32(WORD)
    flip = SIGN if negate else np.uint32(0)
    return lambda wave: ((plain(wave) & keep) ^ flip).view(np.float32)


def modified(instruction: Instruction, name: str) -> bool:
    """Whether a source has ``neg`` or ``abs``."""
    return any(_modifiers(instruction, name))


def _modifiers(instruction: Instruction, name: str) -> tuple[bool, bool]:
    if instruction.format not in ("VOP3", "VOP3SD") or not name.startswith("src"):
        return False, False
    bit = 1 << int(name[-1])
    fields = instruction.fields
    return bool(fields["neg"] & bit), bool(fields.get("abs", 0) & bit)


def spread(row: Row) -> Row:
    """A source as an array of 64 lanes."""
    return row if len(row) == LANES else row.repeat(LANES)

"""Instructions as text, the way LLVM's disassembler prints them.

A branch shows the signed number of words that it jumps over, as LLVM's assembler reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mlaprobe.emulator.decoding import Instruction, decode
from mlaprobe.emulator.errors import UnmodelledError
from mlaprobe.emulator.formats import opcodes
from mlaprobe.emulator.printers import LONG_LITERAL, PRINTERS
from mlaprobe.kernels.codeobject import CodeObject


class InstructionSite:
    """Where memory is accessed: an instruction, disassembled only when somebody looks."""

    __slots__ = ("_instruction", "offset")

    def __init__(self, instruction: Instruction) -> None:
        self._instruction = instruction
        self.offset = instruction.offset

    @property
    def text(self) -> str:
        """The instruction as text."""
        return text(self._instruction)


def site_of(instruction: Instruction) -> InstructionSite:
    """The instruction as the place of an access."""
    return InstructionSite(instruction)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One instruction of a code object."""

    offset: int
    """The address of its first byte in the loaded image."""
    encoding: tuple[int, ...]
    """Its words of 32 bits."""
    mnemonic: str
    """Without the suffix of the encoding; empty where no instruction has this encoding."""
    text: str
    """The whole instruction."""


def disassemble(code: CodeObject) -> Iterator[Line]:
    """The instructions of a code object, in order; a word that is none is a line of its own."""
    at = code.text_start
    while at < code.text_end:
        try:
            instruction = decode(code.image, at, code.arch)
        except UnmodelledError:
            word = int.from_bytes(code.image[at : at + 4], "little")
            yield Line(offset=at, encoding=(word,), mnemonic="", text=f".long {word:#010x}")
            at += 4
            continue
        yield Line(
            offset=at,
            encoding=instruction.encoding,
            mnemonic=instruction.mnemonic,
            text=text(instruction),
        )
        at += instruction.size


def mnemonics(code: CodeObject) -> frozenset[str]:
    """The mnemonics that occur in a code object."""
    return frozenset(line.mnemonic for line in disassemble(code) if line.mnemonic)


def text(instruction: Instruction) -> str:
    """The instruction as LLVM's disassembler prints it."""
    operands, modifiers = PRINTERS[instruction.format](instruction)
    name = instruction.mnemonic + _suffix(instruction)
    return " ".join([name, *([", ".join(operands)] if operands else []), *modifiers])


_UNSUFFIXED = frozenset({"v_nop", "v_readfirstlane_b32", "v_swap_b32", "v_accvgpr_mov_b32"})
_SHORT_FORMATS = ("VOP1", "VOP2", "VOPC")


def _suffix(instruction: Instruction) -> str:
    """Which of several encodings an instruction has."""
    name = instruction.mnemonic
    if name in _UNSUFFIXED or name.startswith(LONG_LITERAL):
        return ""
    if instruction.format in _SHORT_FORMATS:
        if instruction.dpp is not None:
            return "_dpp"
        return "_e32" if instruction.sdwa is None else "_sdwa"
    if instruction.format in ("VOP3", "VOP3SD"):
        # The instructions that only one arch has are among those of gfx950.
        tables = opcodes("gfx950")
        short = any(name in tables[fmt].values() for fmt in _SHORT_FORMATS)
        return "_e64" if short else ""
    return ""

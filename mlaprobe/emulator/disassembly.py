"""Instructions as text, the way LLVM prints them."""

from __future__ import annotations

from mlaprobe.emulator.decoding import Instruction


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


def text(instruction: Instruction) -> str:
    """The instruction as LLVM's disassembler prints it."""
    return instruction.mnemonic

"""Why a run of the engine ended without a result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownInstruction:
    """An instruction, or a use of one, for which the engine has no rule."""

    mnemonic: str
    """Empty where the encoding belongs to no known instruction."""
    offset: int
    """The address of its first byte in the loaded image."""
    encoding: tuple[int, ...]
    """Its words of 32 bits."""
    reason: str
    """What about it has no rule."""

    def __str__(self) -> str:
        words = " ".join(f"{word:08x}" for word in self.encoding)
        return f"{self.mnemonic or 'unknown encoding'} at {self.offset:#x} ({words}): {self.reason}"


class UnmodelledError(Exception):
    """Ends a run at an instruction without a rule; stays inside the engine."""

    def __init__(
        self, *, mnemonic: str, offset: int, encoding: tuple[int, ...], reason: str
    ) -> None:
        self.instruction = UnknownInstruction(
            mnemonic=mnemonic, offset=offset, encoding=encoding, reason=reason
        )
        super().__init__(str(self.instruction))


class BudgetExhausted(Exception):
    """Ends a run that has executed as many instructions as it may; stays inside the engine."""

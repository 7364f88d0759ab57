"""What a load writes to registers when it arrives."""

from __future__ import annotations

import numpy as np

from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.wave import Mask, Row, Wave


class RegisterArrival:
    """The result of a load, on its way to vector registers."""

    __slots__ = ("_found", "_on", "_out", "end", "first", "instruction")

    def __init__(
        self, wave: Wave, instruction: Instruction, first: int, found: Row, on: Mask | None
    ) -> None:
        self.instruction = instruction
        """The load."""
        self.first = first
        """The first row that it writes."""
        self.end = first + len(found)
        """The row behind the last."""
        self._out = wave.vgpr[first : self.end]
        self._found = found
        self._on = on

    @property
    def rows(self) -> int:
        """The rows that it writes, as bits of a number."""
        return (1 << self.end) - (1 << self.first)

    def __call__(self) -> None:
        """Writes the result, where EXEC was set when the load was issued."""
        if self._on is None:
            self._out[:] = self._found
        else:
            np.copyto(self._out, self._found, where=self._on)

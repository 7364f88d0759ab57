"""One wave, and single instructions for it: encodings as LLVM's assembler makes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from mlaprobe.emulator.decoding import Instruction, decode
from mlaprobe.emulator.floats import Bits
from mlaprobe.emulator.memory import Memory
from mlaprobe.emulator.modes import FloatMode
from mlaprobe.emulator.program import Compiled, Context, compiled_rule
from mlaprobe.emulator.schedules import Arrival, Order, Schedule
from mlaprobe.emulator.semantics import RULES
from mlaprobe.emulator.traffic import Traffic
from mlaprobe.emulator.wave import EXEC, WORD, Wave

ENCODINGS = Path(__file__).with_name("encodings.txt")
LANES = range(64)
AT_ONCE = Schedule(name="at-once", order=Order.SERIAL, arrival=Arrival.AT_ONCE)
EXACT = FloatMode(round_32=0, flush_inputs=False, flush_results=False, saturate=False)
FLUSHING = FloatMode(round_32=0, flush_inputs=True, flush_results=True, saturate=False)
SATURATING = FloatMode(round_32=0, flush_inputs=False, flush_results=False, saturate=True)


@cache
def encodings() -> dict[str, bytes]:
    """Encodings by the instruction's text."""
    found = {}
    for line in ENCODINGS.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            words, text = line[:18].split(), line[18:]
            found[text] = b"".join(int(word, 16).to_bytes(4, "little") for word in words)
    return found


def decoded(text: str, arch: str = "gfx950", offset: int = 0) -> Instruction:
    """An instruction, decoded from its encoding, at an address."""
    return decode(bytes(offset) + encodings()[text], offset, arch)


@dataclass(slots=True, kw_only=True)
class Lone:
    """A wave that is alone with its registers, its LDS and some memory."""

    arch: str = "gfx950"
    """Whose instructions it executes."""
    mode: FloatMode = EXACT
    """How it computes with floats."""
    schedule: Schedule = AT_ONCE
    """When loads arrive."""
    memory: Memory = field(default_factory=Memory)
    """What it loads from."""
    wave: Wave = field(init=False)
    """The wave; its registers hold garbage at first."""
    index_mode: int = 0
    """Which operands are relative to M0."""

    def __post_init__(self) -> None:
        rng = np.random.default_rng(1)
        lds = rng.integers(0, 1 << 32, 4096, dtype=np.uint32)
        traffic = Traffic(self.schedule, wide_lds=self.arch != "gfx942")
        self.wave = Wave(0, 0, lds, traffic, self.memory, rng)

    def compiled(self, text: str, offset: int = 0) -> Compiled:
        """The instruction of that text, ready to be executed."""
        context = Context(arch=self.arch, mode=self.mode, index_mode=self.index_mode)
        return compiled_rule(RULES, decoded(text, self.arch, offset), context)

    def run(self, text: str, offset: int = 0) -> Compiled:
        """Executes the instruction of that text, which lies at an address."""
        compiled = self.compiled(text, offset)
        with np.errstate(all="ignore"):
            compiled.step(self.wave)
        return compiled

    def set(self, register: int, values: int | list[int] | Bits) -> None:
        """Sets a vector register (256 and more: accumulation registers) in all lanes."""
        self.wave.rows[register][:] = values

    def get(self, register: int) -> list[int]:
        """The lanes of a vector register."""
        return [int(value) for value in self.wave.rows[register]]

    def switch(self, lanes: int) -> None:
        """Switches on the lanes whose bits are set, and no others."""
        self.wave.sgpr[EXEC], self.wave.sgpr[EXEC + 1] = lanes & WORD, lanes >> 32
        self.wave.refresh_exec()

    def pair(self, register: int) -> int:
        """The 64 bits of two scalar registers."""
        return self.wave.sgpr[register] | self.wave.sgpr[register + 1] << 32

    def set_pair(self, register: int, value: int) -> None:
        """Sets the 64 bits of two scalar registers."""
        self.wave.sgpr[register], self.wave.sgpr[register + 1] = value & WORD, value >> 32

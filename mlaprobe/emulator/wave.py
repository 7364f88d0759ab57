"""The state of one wave: registers, masks, and what is still on its way to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mlaprobe.emulator.matrix import RegisterFile

LANES = 64
"""Lanes of a wave."""
WORD = 0xFFFF_FFFF
VCC, M0, EXEC = 106, 124, 126
"""The numbers of special scalar registers; VCC and EXEC are pairs."""
ACCUMULATION = 256
"""The row of the first accumulation register; before it are the 256 vector registers."""

LDS_UNITS: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.uint32),
    2: np.dtype(np.uint64),
    4: np.dtype(np.complex128),
}
"""Something that numpy moves as a whole, by its size in words."""

if TYPE_CHECKING:
    from mlaprobe.emulator.memory import Memory
    from mlaprobe.emulator.program import Segment
    from mlaprobe.emulator.traffic import Traffic

Row: TypeAlias = npt.NDArray[np.uint32]
Reals: TypeAlias = npt.NDArray[np.float32]
Mask: TypeAlias = npt.NDArray[np.bool_]
Landing: TypeAlias = tuple[float, "Callable[[], None] | None"]
"""When something arrives, and what it does then."""

NEVER = float("inf")


class Wave:
    """One wave of 64 lanes."""

    __slots__ = (
        "clock",
        "done",
        "due",
        "exec_mask",
        "executed",
        "file",
        "floats",
        "full",
        "index_mode",
        "lds",
        "lds_landings",
        "lds_units",
        "masks",
        "matrix_free",
        "memory",
        "memory_landings",
        "number",
        "pc",
        "rows",
        "scc",
        "segment",
        "sgpr",
        "traffic",
        "vgpr",
    )

    number: int
    """Its place in the workgroup."""
    pc: int
    """The address of the next instruction, while a segment is not half executed."""
    vgpr: Row
    """Vector registers, then accumulation registers; what is in them at first is garbage."""
    file: RegisterFile
    """The same as matrix instructions read them."""
    rows: list[Row]
    """The same, each register."""
    floats: list[Reals]
    """The same, each register as float32."""
    sgpr: list[int]
    """Scalar registers, the special ones included."""
    full: bool
    """Whether every lane is on."""
    masks: dict[int, tuple[int, int, Mask]]
    """Masks by the scalar pair that they were last written to, with the two words."""
    index_mode: int
    """Which operands ``s_set_gpr_idx_on`` makes relative to M0."""
    lds: Row
    """The LDS of the workgroup, as words."""
    lds_units: dict[int, npt.NDArray[Any]]
    """The same in units of 1, 2 or 4 words that numpy moves as a whole."""
    traffic: Traffic
    """What is on its way in the workgroup."""
    memory: Memory
    """The address space of the launch."""
    segment: Segment | None
    """Where it stopped: the segment whose last instruction is yet to be executed."""
    clock: float
    """Its time, in cycles."""
    matrix_free: float
    """When the matrix core takes the next instruction."""
    lds_landings: deque[Landing]
    """What LDS and scalar loads still have to write."""
    memory_landings: deque[Landing]
    """The same for loads from memory; stores are among them without an effect."""
    due: float
    """When the first of the landings in registers is."""
    executed: int
    """Instructions so far."""

    def __init__(
        self,
        number: int,
        entry: int,
        lds: Row,
        traffic: Traffic,
        memory: Memory,
        rng: np.random.Generator,
    ) -> None:
        self.number = number
        self.pc = entry
        self.vgpr = rng.integers(0, 1 << 32, (512, LANES), dtype=np.uint32)
        self.file = RegisterFile(self.vgpr)
        self.rows = list(self.vgpr)
        self.floats = list(self.vgpr.view(np.float32))
        self.sgpr = [int(word) for word in rng.integers(0, 1 << 32, 128)]
        self.sgpr[EXEC] = self.sgpr[EXEC + 1] = WORD
        self.scc = 0
        self.exec_mask: Mask = np.ones(LANES, np.bool_)
        self.full = True
        self.masks = {}
        self.index_mode = 0
        self.lds = lds
        self.lds_units = {words: lds.view(unit) for words, unit in LDS_UNITS.items()}
        self.traffic = traffic
        self.memory = memory
        self.segment = None
        self.clock = self.matrix_free = 0.0
        self.lds_landings, self.memory_landings = deque(), deque()
        self.due = NEVER
        self.done = False
        self.executed = 0

    def set_pair(self, register: int, mask: Mask) -> None:
        """Writes a mask to a pair of scalar registers."""
        low, high = np.packbits(mask, bitorder="little").view(np.uint32).tolist()
        self.sgpr[register] = low
        self.sgpr[register + 1] = high
        if register == EXEC:
            self.refresh_exec()
        else:
            self.masks[register] = (low, high, mask)

    def pair(self, register: int) -> Mask:
        """The mask in a pair of scalar registers."""
        low, high = self.sgpr[register], self.sgpr[register + 1]
        known = self.masks.get(register)
        if known is not None and known[0] == low and known[1] == high:
            return known[2]
        mask = lanes_of(low | high << 32)
        self.masks[register] = (low, high, mask)
        return mask

    def refresh_exec(self) -> None:
        """Takes over what was written to EXEC."""
        value = self.sgpr[EXEC] | self.sgpr[EXEC + 1] << 32
        self.exec_mask = lanes_of(value)
        self.full = value == (1 << LANES) - 1


def lanes_of(value: int) -> Mask:
    """The lanes whose bit is set, as an array of 64."""
    raw = np.frombuffer(value.to_bytes(8, "little"), np.uint8)
    return np.unpackbits(raw, bitorder="little").view(np.bool_)

"""What became of an emulated launch."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlaprobe.core.accuracy import Error
from mlaprobe.core.enums import Standing as Standing
from mlaprobe.core.shape import Kernel
from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.padding import Padding
from mlaprobe.emulator.memory import OutsideAccess
from mlaprobe.emulator.races import Race
from mlaprobe.stages.kernelargs import ArgumentBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The same launch again, with another schedule or other garbage."""

    schedule: str
    seed: int
    """Of the garbage in registers, LDS and memory."""
    same: bool
    """Whether every bit of the result is as in the first run."""
    passed: bool
    """Whether the result is right."""
    plausible: bool
    """Whether hardware may run like that."""
    zeros: bool = False
    """Whether zeros were in those arguments that the host stores nothing in, and no garbage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulated:
    """An emulated launch, and what is to be said of it."""

    batch: Batch
    """As the caller has it."""
    padding: Padding
    standing: Standing
    message: str | None = None
    """Why nothing was run, or why that is not known."""
    place: tuple[str, int] | None = None
    """The file and line that the message is about."""
    kernel: Kernel | None = None
    blob: str | None = None
    """The git blob id of the code object."""
    block: ArgumentBlock | None = field(default=None, repr=False)
    """What the kernel was launched with."""
    grid: tuple[int, int, int] | None = None
    """Workgroups."""
    metadata: str | None = None
    """What made the work metadata; ``None`` where there is none."""
    merged: str | None = None
    """The function of AITER's whose merge was computed here; ``None`` where none is called."""
    returned: bool = False
    """Whether the result is what AITER's function returns, which leaves the output alone."""
    error: Error | None = None
    wrong: tuple[int, ...] = ()
    """The requests whose result is not right, by their place in the batch."""
    outside: tuple[OutsideAccess, ...] = ()
    instructions: int = 0
    checks: tuple[Check, ...] = ()
    races: tuple[Race, ...] = ()
    """Where the result depends on timing: uses of registers that a load is still on its way to."""

    @property
    def passed(self) -> bool:
        """Whether the result is right, and nothing is known against the launch."""
        return self.standing is Standing.PASSED

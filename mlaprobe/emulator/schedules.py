"""When waves run and when what they loaded arrives.

Hardware runs the waves of a workgroup at once, and a load arrives some time after it was issued. A
kernel that is right waits for what it uses, and then the order cannot matter; some kernels are
right only under timing that the hardware has. A schedule is one way it could go.

None of the numbers of a clock is measured. They are of the order of what is published of such GPUs,
and were chosen so that the decode kernels which AITER ships agree with attention in float32. A
result under the plausible schedule says that a kernel is right under a plausible timing, not that
it is free of races.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlaprobe.core.enums import TextEnum


class Order(TextEnum):
    """Which wave of a workgroup goes on."""

    CLOCK = "clock"
    """The one whose clock is behind."""
    LOCKSTEP = "lockstep"
    """The one that has executed the fewest instructions."""
    SERIAL = "serial"
    """The first one, until it waits at a barrier or ends; then the next."""


class Arrival(TextEnum):
    """When what an instruction loads gets to its registers or to LDS."""

    CLOCK = "clock"
    """When the clock says so, or the wave has waited for it."""
    AT_ONCE = "at once"
    """When the instruction is executed."""
    AT_WAIT = "at wait"
    """When the wave waits for it, as late as that is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """A rough clock in cycles of one SIMD, with one wave per SIMD. Nothing here is measured."""

    lds_latency: int = 100
    """From an LDS access to its arrival. Chosen: from 90 to 160 all kernels agree, at 80 one fp8
    kernel of gfx950 does not."""
    lds_words_per_cycle: float = 4
    """How many words a lane gets from LDS in a cycle, on gfx950; a quarter of it on gfx942. Chosen:
    at half of it one bf16 kernel does not agree."""
    scalar_latency: int = 200
    """From a scalar load to its arrival. Chosen: kernels wait for all of them, so it decides
    nothing."""
    memory_latency: int = 700
    """From a load from memory to its arrival. Chosen, of the order of published latencies."""
    memory_interval: int = 16
    """Between the arrivals of two memory instructions of a workgroup. Chosen likewise."""
    wake_up: int = 12
    """From the arrival of what a wave waits for to its next instruction. Chosen: some matrix
    instructions need what a wait just before them does not cover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One way in which the waves of a workgroup can run."""

    name: str
    """What output calls it."""
    order: Order = Order.CLOCK
    """Which wave goes on."""
    arrival: Arrival = Arrival.CLOCK
    """When loads arrive. Only the clock's order can say that the clock says so."""
    clock: Clock = Clock()
    """The clock."""

    PLAUSIBLE: ClassVar[Schedule]
    """The default."""

    def __post_init__(self) -> None:
        if self.arrival is Arrival.CLOCK and self.order is not Order.CLOCK:
            raise ValueError("loads can arrive by the clock only where waves run by the clock")


Schedule.PLAUSIBLE = Schedule(name="plausible")
EARLY = Schedule(name="early", clock=Clock(lds_latency=90, memory_latency=400))
LATE = Schedule(name="late", clock=Clock(lds_latency=160, memory_latency=1500))
AT_ONCE = Schedule(name="clock-at-once", arrival=Arrival.AT_ONCE)
AT_WAIT = Schedule(name="clock-at-wait", arrival=Arrival.AT_WAIT)

SWEEP = (
    Schedule(name="lds-latency-90", clock=Clock(lds_latency=90)),
    Schedule(name="lds-latency-110", clock=Clock(lds_latency=110)),
    Schedule(name="lds-latency-130", clock=Clock(lds_latency=130)),
    Schedule(name="lds-latency-160", clock=Clock(lds_latency=160)),
    Schedule(name="memory-latency-400", clock=Clock(memory_latency=400)),
    Schedule(name="memory-latency-1500", clock=Clock(memory_latency=1500)),
    EARLY,
    LATE,
)
"""Other timings as plausible as the default."""

ADVERSARIAL = (
    AT_ONCE,
    AT_WAIT,
    Schedule(name="lockstep-at-once", order=Order.LOCKSTEP, arrival=Arrival.AT_ONCE),
    Schedule(name="lockstep-at-wait", order=Order.LOCKSTEP, arrival=Arrival.AT_WAIT),
    Schedule(name="serial-at-once", order=Order.SERIAL, arrival=Arrival.AT_ONCE),
    Schedule(name="serial-at-wait", order=Order.SERIAL, arrival=Arrival.AT_WAIT),
)
"""Timings that no hardware has and that a kernel which waits for what it uses gets through."""

SCHEDULES = {s.name: s for s in (Schedule.PLAUSIBLE, *SWEEP, *ADVERSARIAL)}
"""Every named schedule."""

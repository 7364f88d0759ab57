"""What is on its way in a workgroup: loads from LDS and memory, until they arrive."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from mlaprobe.emulator.arrivals import RegisterArrival
from mlaprobe.emulator.schedules import Arrival, Schedule
from mlaprobe.emulator.wave import NEVER, Landing, Wave

_MOST_MEMORY = 63
"""Memory operations that a wave can have under way: its counter has six bits."""
_MOST_LDS = 15
"""LDS and scalar operations that a wave can have under way: its counter has four bits."""

Arriving: TypeAlias = Callable[[], None]


class Traffic:
    """Loads and stores of the waves of a workgroup that have not arrived.

    The effect on registers belongs to the wave; the effect of loads into LDS to all.
    """

    def __init__(self, schedule: Schedule, *, wide_lds: bool) -> None:
        self._clock = schedule.clock
        self._at_once = schedule.arrival is Arrival.AT_ONCE
        self._timed = schedule.arrival is Arrival.CLOCK
        self._words_per_cycle = schedule.clock.lds_words_per_cycle if wide_lds else 1.0
        self.wait_shows = schedule.arrival is Arrival.AT_WAIT
        """Whether waiting writes to LDS."""
        self._lds_free = 0.0
        self._memory_free = 0.0
        self._lds_writes: deque[tuple[float, Arriving]] = deque()

    def issue_lds(self, wave: Wave, words: int, arriving: Arriving | None) -> None:
        """Starts an LDS operation of ``words`` words per lane. ``arriving`` writes its result to
        registers; a store has none."""
        if self._at_once:
            if arriving is not None:
                arriving()
            return
        due = NEVER
        if self._timed:
            start = max(self._lds_free, wave.clock + self._clock.lds_latency)
            due = self._lds_free = start + 2 * words / self._words_per_cycle
        self._queue(wave, wave.lds_landings, (due, arriving), _MOST_LDS, self._clock.wake_up)

    def issue_scalar(self, wave: Wave, arriving: Arriving) -> None:
        """Starts a scalar load."""
        if self._at_once:
            arriving()
            return
        due = NEVER
        if self._timed:
            due = wave.clock + self._clock.scalar_latency
        self._queue(wave, wave.lds_landings, (due, arriving), _MOST_LDS, self._clock.wake_up)

    def issue_memory(
        self, wave: Wave, arriving: Arriving | None, *, into_lds: bool = False
    ) -> None:
        """Starts an operation on memory. ``arriving`` writes its result to registers, or to LDS; a
        store has none."""
        if self._at_once:
            if arriving is not None:
                arriving()
            return
        due = NEVER
        if self._timed:
            soonest = wave.clock + self._clock.memory_latency
            due = self._memory_free = max(self._memory_free + self._clock.memory_interval, soonest)
            if into_lds and arriving is not None:
                self._lds_writes.append((due, arriving))
                arriving = None
        self._queue(wave, wave.memory_landings, (due, arriving), _MOST_MEMORY, 0)

    def wait(self, wave: Wave, memory: int, lds: int) -> None:
        """Lets a wave wait until it has at most so many operations under way."""
        self._shorten(wave, wave.memory_landings, memory, 0)
        self._shorten(wave, wave.lds_landings, lds, self._clock.wake_up)

    def land(self, wave: Wave, clock: float) -> None:
        """Lets arrive in registers what is due."""
        for queue in (wave.memory_landings, wave.lds_landings):
            while queue and queue[0][0] <= clock:
                arriving = queue.popleft()[1]
                if arriving is not None:
                    arriving()
        self._next_due(wave)

    @staticmethod
    def spares(wave: Wave, clock: float, rows: int) -> bool:
        """Whether what is due by then leaves some rows, which are bits of a number, as they are."""
        for queue in (wave.memory_landings, wave.lds_landings):
            for due, arriving in queue:
                if due > clock:
                    break
                if arriving is None:
                    continue
                if not isinstance(arriving, RegisterArrival) or arriving.rows & rows:
                    return False
        return True

    def settle(self, clock: float) -> None:
        """Lets arrive in LDS what is due."""
        writes = self._lds_writes
        while writes and writes[0][0] <= clock:
            writes.popleft()[1]()

    def _queue(
        self, wave: Wave, queue: deque[Landing], landing: Landing, most: int, wake_up: int
    ) -> None:
        queue.append(landing)
        if landing[0] < wave.due:
            wave.due = landing[0]
        self._shorten(wave, queue, most, wake_up)

    def _shorten(self, wave: Wave, queue: deque[Landing], most: int, wake_up: int) -> None:
        """Lets a wave wait until so many landings are left in a queue."""
        if len(queue) <= most:
            return
        while len(queue) > most:
            due, arriving = queue.popleft()
            if arriving is not None:
                arriving()
            if self._timed and due > wave.clock:
                wave.clock = due + wake_up
        self._next_due(wave)

    @staticmethod
    def _next_due(wave: Wave) -> None:
        memory, lds = wave.memory_landings, wave.lds_landings
        due = memory[0][0] if memory else NEVER
        if lds and lds[0][0] < due:
            due = lds[0][0]
        wave.due = due

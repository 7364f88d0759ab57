"""One workgroup: its waves, their LDS, and the order in which things happen in it."""

from __future__ import annotations

import numpy as np

from mlaprobe.emulator.errors import BudgetExhausted
from mlaprobe.emulator.memory import Memory
from mlaprobe.emulator.program import Effect, Program, Segment
from mlaprobe.emulator.schedules import Order, Schedule
from mlaprobe.emulator.traffic import Traffic
from mlaprobe.emulator.wave import EXEC, LANES, NEVER, WORD, Wave
from mlaprobe.kernels.codeobject import KernelDescriptor


class Workgroup:
    """The waves of one workgroup."""

    def __init__(
        self,
        program: Program,
        kernel: KernelDescriptor,
        schedule: Schedule,
        memory: Memory,
        rng: np.random.Generator,
    ) -> None:
        self._program = program
        self._order = schedule.order
        self.traffic = Traffic(schedule, wide_lds=program.code.arch != "gfx942")
        words = (kernel.lds_bytes + 15) // 16 * 4
        lds = rng.integers(0, 1 << 32, words, dtype=np.uint32)
        count = (kernel.workgroup_size + LANES - 1) // LANES
        self.waves = [Wave(n, kernel.entry, lds, self.traffic, memory, rng) for n in range(count)]

    def start(self, kernel: KernelDescriptor, arguments: int, ids: tuple[int, int, int]) -> None:
        """Sets the registers that a kernel finds set: the address of its arguments, the ids of the
        workgroup, the number of the lane."""
        passed = [i for i, wanted in zip(ids, kernel.workgroup_ids, strict=True) if wanted]
        for wave in self.waves:
            wave.sgpr[0], wave.sgpr[1] = arguments & WORD, arguments >> 32
            for n, i in enumerate(passed):
                wave.sgpr[kernel.user_sgprs + n] = i
            first = wave.number * LANES
            wave.rows[0][:] = np.arange(first, first + LANES, dtype=np.uint32)
            active = min(max(kernel.workgroup_size - first, 0), LANES)
            lanes = (1 << active) - 1
            wave.sgpr[EXEC], wave.sgpr[EXEC + 1] = lanes & WORD, lanes >> 32
            wave.refresh_exec()

    @property
    def executed(self) -> int:
        """Instructions of all waves so far."""
        return sum(wave.executed for wave in self.waves)

    def run(self, budget: int) -> None:
        """Runs all waves to their end.

        :raises UnmodelledError: an instruction without a rule was reached.
        :raises BudgetExhausted: more than ``budget`` instructions were executed.
        """
        live = list(self.waves)
        while live:
            ready = [wave for wave in live if not wave.at_barrier]
            if not ready:
                latest = max(wave.clock for wave in live)
                for wave in live:
                    wave.at_barrier, wave.clock = False, latest
                ready = live
            wave = min(ready, key=self._progress)
            others = (self._progress(other) for other in ready if other is not wave)
            self._advance(wave, min(others, default=NEVER), budget)
            if wave.done:
                live.remove(wave)
            if self.executed > budget:
                raise BudgetExhausted

    def _progress(self, wave: Wave) -> float:
        """How far a wave is, in what the schedule orders them by."""
        if self._order is Order.CLOCK:
            return wave.clock
        return wave.executed if self._order is Order.LOCKSTEP else wave.number

    def _advance(self, wave: Wave, limit: float, budget: int) -> None:
        """Runs a wave until another that has come less far could notice it."""
        program, serial = self._program, self._order is Order.SERIAL
        while True:
            segment = wave.segment
            if segment is None:
                segment = program.segment(wave.pc, wave.index_mode)
                self._private(wave, segment)
            last = segment.last
            effect = last.effect
            if effect is Effect.SHARED and not serial and self._progress(wave) > limit:
                wave.segment = segment
                return
            wave.segment = None
            if effect is Effect.SHARED:
                self.traffic.settle(wave.clock)
            if wave.clock >= wave.due:
                self.traffic.land(wave, wave.clock)
            wave.pc, wave.index_mode = segment.end, segment.mode
            wave.executed += 1
            last.step(wave)
            wave.clock += last.cycles
            if effect is Effect.BARRIER:
                wave.at_barrier = True
                return
            if effect is Effect.END:
                wave.done = True
                return
            if wave.executed > budget:
                raise BudgetExhausted

    def _private(self, wave: Wave, segment: Segment) -> None:
        """Executes what only the wave itself notices."""
        clock, due = wave.clock, wave.due
        for step, cycles, matrix in segment.steps:
            if matrix:
                if wave.matrix_free > clock:
                    clock = wave.matrix_free
                wave.matrix_free = clock + matrix
            if clock >= due:
                self.traffic.land(wave, clock)
                due = wave.due
            step(wave)
            clock += cycles
        wave.clock = clock
        wave.executed += len(segment.steps)

"""One workgroup: its waves, their LDS, and the order in which things happen in it."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import numpy as np

from mlaprobe.emulator.errors import BudgetExhausted
from mlaprobe.emulator.fusion.pieces import Piece
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
        self._progress: Callable[[Wave], float] = attrgetter(
            "clock" if schedule.order is Order.CLOCK else "executed"
        )
        """How far a wave is, in what the schedule orders them by."""
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
            latest = max(wave.clock for wave in live)
            for wave in live:
                wave.clock = latest
            self._until_barrier(list(live), budget)
            live = [wave for wave in live if not wave.done]

    def _until_barrier(self, ready: list[Wave], budget: int) -> None:
        """Runs waves until each is at a barrier or has ended."""
        progress, serial = self._progress, self._order is Order.SERIAL
        left = budget - self.executed
        while ready:
            first, least, limit = ready[0], NEVER, NEVER
            if not serial:
                for wave in ready:
                    far = progress(wave)
                    if far < least:
                        first, least, limit = wave, far, least
                    elif far < limit:
                        limit = far
            before = first.executed
            if self._advance(first, limit, budget):
                ready.remove(first)
            left -= first.executed - before
            if left < 0:
                raise BudgetExhausted

    def _advance(self, wave: Wave, limit: float, budget: int) -> bool:
        """Runs a wave until another that has come less far could notice it, or until it is at a
        barrier or has ended: says whether it is that."""
        program, traffic, progress = self._program, self.traffic, self._progress
        wait_shows = traffic.wait_shows
        while True:
            segment = wave.segment
            if segment is None:
                segment = program.segment(wave.pc, wave.index_mode)
                self._private(wave, segment)
                if wave.executed > budget:
                    raise BudgetExhausted
            last = segment.last
            effect = last.effect
            if effect is Effect.SHARED or (wait_shows and effect is Effect.WAIT):
                if progress(wave) > limit:
                    wave.segment = segment
                    return False
                traffic.settle(wave.clock)
            wave.segment = None
            if wave.clock >= wave.due:
                traffic.land(wave, wave.clock)
            wave.pc, wave.index_mode = segment.end, segment.mode
            wave.executed += 1
            last.step(wave)
            wave.clock += last.cycles
            if effect is Effect.BARRIER:
                return True
            if effect is Effect.END:
                wave.done = True
                return True

    def _private(self, wave: Wave, segment: Segment) -> None:
        """Executes what only the wave itself notices."""
        if not segment.count:
            return
        wave.executed += segment.count
        clock = wave.clock
        if segment.plain and clock + segment.cycles <= wave.due:
            for plain in segment.plain:
                plain(wave)
            wave.clock = clock + segment.cycles
            return
        for piece in segment.pieces:
            if not piece.fused or not self._fused(wave, piece):
                self._one_by_one(wave, piece)

    def _fused(self, wave: Wave, piece: Piece) -> bool:
        """Executes a piece with instructions together, unless something arrives meanwhile in a
        register that they use: says whether it did."""
        if wave.clock >= wave.due:
            self.traffic.land(wave, wave.clock)
        last = wave.clock + piece.head
        if last >= wave.due and not self.traffic.spares(wave, last, piece.rows):
            return False
        for step in piece.fused:
            step(wave)
        # What was spared lands before the next instruction.
        wave.clock += piece.cycles
        return True

    def _one_by_one(self, wave: Wave, piece: Piece) -> None:
        clock, due = wave.clock, wave.due
        for step, cycles, matrix in piece.parts:
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

"""A launch run again: with other garbage, under other schedules, and watched for uses of registers
that a load is still on its way to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mlaprobe.emulation.launch import Change, Prepared, Result, execute
from mlaprobe.emulation.outcome import Check
from mlaprobe.emulation.results.judging import Judge, Judged
from mlaprobe.emulator.races import Race, Watch
from mlaprobe.emulator.schedules import ADVERSARIAL, AT_WAIT, Schedule

FIRST_SEED = 1
"""Of the garbage in the first run."""
IMPLAUSIBLE = frozenset(schedule.name for schedule in ADVERSARIAL)
"""The names of schedules that no hardware has."""


class Reruns:
    """Runs of one launch, one after another."""

    def __init__(
        self,
        ready: Prepared,
        judge: Judge,
        finished: Callable[[Result], bool],
        *,
        budget: int,
        change: Change | None = None,
    ) -> None:
        """
        Args:
            finished: whether a run came to its end.
            budget: instructions that each may take.
            change: changes the argument block, for runs that have to go wrong.
        """
        self._ready = ready
        self._judge = judge
        self._finished = finished
        self._budget = budget
        self._change = change
        self._watch: Watch | None = None
        """That of the first run in which loads arrived when they were waited for."""

    def checks(
        self, first: Judged, again: tuple[tuple[Schedule, int], ...]
    ) -> tuple[tuple[Check, ...], tuple[Race, ...]]:
        """The launch that gave ``first``, again; and the uses of registers that its result hangs
        on, where it is another under another schedule.

        Args:
            again: schedules, and seeds of the garbage.
        """
        checks = [self._check(first, schedule, seed) for schedule, seed in again]
        checks += [self._check(first, Schedule.PLAUSIBLE, seed) for seed in _unclear(checks)]
        right = first.passed and all(check.same for check in checks)
        if self._ready.launched.block.uninitialised and not right:
            checks.append(self._check(first, Schedule.PLAUSIBLE, FIRST_SEED, zeros=True))
        return tuple(checks), self._races(first, checks)

    def _check(self, first: Judged, schedule: Schedule, seed: int, *, zeros: bool = False) -> Check:
        result = self._run(schedule, seed, zeros=zeros)
        found = self._judge.judged(result)
        return Check(
            schedule=schedule.name,
            seed=seed,
            same=first.same_bits(found, lse=self._ready.call.values.batch.lse),
            passed=found.passed and self._finished(result),
            plausible=schedule.name not in IMPLAUSIBLE,
            zeros=zeros,
        )

    def _run(self, schedule: Schedule, seed: int, *, zeros: bool = False) -> Result:
        watch = Watch() if schedule.name == AT_WAIT.name else None
        if watch is not None:
            self._watch = self._watch or watch
        return execute(
            self._ready,
            schedule=schedule,
            seed=seed,
            budget=self._budget,
            change=self._change,
            unset=bytes if zeros else None,
            watch=watch,
        )

    def _races(self, first: Judged, checks: list[Check]) -> tuple[Race, ...]:
        plain = Schedule.PLAUSIBLE.name
        if all(check.same for check in checks if check.schedule != plain):
            return ()
        if self._watch is None:
            self._run(AT_WAIT, FIRST_SEED)
        return self._watch.races if self._watch is not None else ()


def _unclear(checks: list[Check]) -> Iterator[int]:
    """Seeds with which the result was another under another schedule only: it may hang on the
    garbage or on the schedule."""
    plain = {check.seed for check in checks if check.schedule == Schedule.PLAUSIBLE.name}
    seeds = {check.seed for check in checks if not check.same} - plain - {FIRST_SEED}
    return iter(sorted(seeds))

"""Which head counts and query lengths one stage refuses.

Most are refused, and on few paths: a question that takes the path of one that was asked before is
refused like it, whatever its numbers are, and need not be asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.shape import DecodeShape, StageName, StageOutcome, Status

if TYPE_CHECKING:
    from mlaprobe.stages.environment.solved import Leaf, Solved
    from mlaprobe.stages.instantiate import PathSummary

STAGES = (StageName.SIZING, StageName.PLANNER, StageName.DISPATCHER)
"""The stages that refuse a shape by its numbers, by a check that is read off the path."""


class Refusals:
    """The refusals of one stage of one source, other things being equal."""

    def __init__(
        self,
        solve: Callable[[str, DecodeShape], Solved[StageOutcome]],
        stage: str,
        setting: DecodeShape,
    ) -> None:
        """
        Args:
            solve: asks a stage for a shape.
            stage: one of ``STAGES``.
            setting: a shape with what is equal. Its planner is told no other numbers.
        """
        self._solve = solve
        self._stage = stage
        self._setting = setting
        self._last: Leaf | None = None
        self._known: dict[PathSummary, StageOutcome | None] = cache(Cache.REFUSALS)
        """By path: the refusal; ``None``: it refuses nothing."""

    def refusal(self, heads: int, qlen: int) -> StageOutcome | None:
        """How the stage refuses: its outcome without message and evidence, ``None`` where it does
        not refuse, or that is not known.

        Raises:
            SourceError: a file cannot be read.
        """
        found = None if self._last is None else self._last.other(heads=heads, qlen=qlen)
        if found is not None and found.run in self._known:
            return self._known[found.run]
        shape = replace(self._setting, num_heads=heads, qlen=qlen)
        solved = self._solve(self._stage, shape)
        refusal, leaf = _refusal(solved.answer), solved.leaf
        if leaf is not None:
            self._last = leaf
            # Several paths may agree for one number and not for another.
            if leaf.run.constant or leaf.run.paths == 1:
                self._known[leaf.run] = refusal
        return refusal


def _refusal(outcome: StageOutcome) -> StageOutcome | None:
    if outcome.status != Status.REJECTED:
        return None
    return StageOutcome(stage=outcome.stage, status=outcome.status, failure=outcome.failure)

"""Entry points that launch kernels of their own: what they refuse, and which kernel they launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from mlaprobe.core.shape import DecodeShape, Status, altered
from mlaprobe.evaluator.engine.runs import Outcome
from mlaprobe.evaluator.symbolic.symbols import joined
from mlaprobe.rulefiles.operations import Entry
from mlaprobe.stages.base import undecided
from mlaprobe.stages.dispatching.dispatched import Dispatched
from mlaprobe.stages.environment.outside import assumptions
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.kernellaunch import Launches, check_and_launch, judged, launched
from mlaprobe.stages.operations.functions import EntryStage, Read
from mlaprobe.stages.operations.triton import Needed, written_in


class LaunchStage(EntryStage):
    """The entry point of an operation that launches its kernels itself."""

    exported = False

    def __init__(self, session: SourceSession, entry: Entry) -> None:
        """Raises ``Absent`` where the source has none."""
        super().__init__(session, entry)
        self._needed = Needed(session, self._function.file)

    def _reader(self, question: DecodeShape) -> Read:
        return partial(self._read, question.dtype)

    def _on_entry(self) -> Callable[..., Any]:
        return Launches(self.session).called

    def _read(
        self, dtype: str, outcomes: tuple[Outcome, ...], inputs: Mapping[str, Any]
    ) -> Dispatched:
        found = judged(self.session, self.name, outcomes, check_and_launch)
        if found.status == Status.ACCEPTED and dtype not in (self.entry.dtypes or (dtype,)):
            found = undecided(self.name, self._unchecked(dtype))
        if found.status != Status.ACCEPTED:
            return Dispatched(outcome=found)
        kernels = launched(outcomes)
        names = ", ".join(dict.fromkeys(kernel.name for kernel in kernels))
        notes = [
            *found.notes,
            *assumptions(outcomes[0]),
            joined(["launches ", names, "; what the compiler takes of it was not evaluated"]),
            *_by_batch(outcomes),
            *self._needed.notes(kernels),
        ]
        outcome = altered(
            found,
            status=Status.NATIVE,
            final_heads=inputs["heads"],
            entry=written_in(kernels),
            notes=tuple(notes),
        )
        return Dispatched(outcome=outcome, entry=names)

    def _unchecked(self, dtype: str) -> str:
        known = ", ".join(self.entry.dtypes or ())
        return f"{self.entry.name} does not check {dtype}; AITER documents and tests {known}"


def _by_batch(outcomes: tuple[Outcome, ...]) -> tuple[str, ...]:
    """Whether paths that differ in the batch size launch other kernels, in words: they hold for
    every size."""
    paths = [path for path in outcomes if path.kind == "returned"]
    follows = any(u.free == "batch" for path in paths for u, _ in path.decisions)
    differ = len({launched([path]) for path in paths}) > 1
    return ("which of them run may depend on the number of requests",) if follows and differ else ()

"""One AITER source, ready to decide shapes.

The stages answer in call order; what the dispatcher passes is what the host gets, and what the
planner folded is what the dispatcher must have folded.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.elsewhere import SetElsewhere
from mlaprobe.core.needs import Need
from mlaprobe.core.reducers import ReduceHeads
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Operation,
    StageName,
    StageOutcome,
    Verdict,
    reshaped,
)
from mlaprobe.deciding import known
from mlaprobe.deciding.needs import Asking
from mlaprobe.deciding.opened import ORDER, OpenedStages
from mlaprobe.deciding.operation_chain import by_route
from mlaprobe.deciding.operations import EntryPoint, decode_plan
from mlaprobe.deciding.pipeline import judge
from mlaprobe.errors import MlaprobeError, UsageError
from mlaprobe.rulefiles.operations import Entry, entry_of, of_decode
from mlaprobe.sources import Source, open_source, require_aiter
from mlaprobe.stages.base import Faulted, Stage, faulted
from mlaprobe.stages.dispatching.dispatched import Dispatched
from mlaprobe.stages.instantiate import Deferred, Solved

if TYPE_CHECKING:
    from mlaprobe.core.behaviour import Numbering
    from mlaprobe.core.grid import Grid


class Capability(OpenedStages, ReduceHeads):
    """What one AITER source does with MLA decode. Threads may share one."""

    def __init__(self, source: Source, elsewhere: SetElsewhere | None = None) -> None:
        """
        Args:
            elsewhere: what modules of the source set of each other, where that was found before.

        Raises:
            SourceError: the source has no stage of the decode, or is nested too deeply.
        """
        super().__init__(source, elsewhere)
        self._decisions: dict[DecodeShape, Decision] = cache(Cache.DECISIONS)
        self._entries: dict[str, EntryPoint] = {}

    @classmethod
    def open(cls, source: str = "installed") -> Capability:
        """The capability of ``installed``, a directory, an archive or ``REPO@REV``.

        Raises:
            SourceError: the source cannot be read, is no AITER, or too old (its subclasses).
        """
        opened = open_source(source)
        require_aiter(opened)
        return cls(opened)

    @property
    def capability(self) -> Capability:
        """Itself, which reads the source."""
        return self

    def forget(self) -> None:
        """Lets go of remembered answers, which a pass over a whole grid needs once."""
        self._decisions.clear()
        self.asking.forget()
        for stage in self.stages:
            stage.forget()
        for entry in self._entries.values():
            entry.forget()

    # --- deciding --------------------------------------------------------------------------------

    def decide(self, shape: DecodeShape) -> Decision:
        """What happens to a shape; errata applied. Threads may call it at the same time.

        Raises:
            SourceError: a file cannot be read.
        """
        kept = self._decisions.get(shape)
        if kept is None:
            with self.session.exclusive:
                kept = self._decisions.get(shape) or self._decided(shape)
        return kept

    def verdicts(self, setting: DecodeShape, heads: Sequence[int]) -> list[Verdict]:
        """What becomes of a setting at some head counts; its own means nothing.

        Raises:
            SourceError: a file cannot be read.
        """
        return [self.decide(reshaped(setting, num_heads=count)).verdict for count in heads]

    def _decided(self, shape: DecodeShape) -> Decision:
        """A new answer. One that cost a fault of mlaprobe's own is not kept."""
        try:
            found = by_route(self.decide, shape) or self._with_reports(self.judge(shape))
        except MlaprobeError:
            raise
        except Exception as error:
            why = faulted("decision", error)
            return Decision(shape=shape, verdict=Verdict.UNKNOWN, message=why.message)
        if not any(isinstance(outcome, Faulted) for _, outcome in found.stages):
            self._decisions[shape] = found
        return found

    def _with_reports(self, decision: Decision) -> Decision:
        place = self.place
        blob_of = self.source.blob
        return known.apply(decision, release=place.release, how=place.how, blob_of=blob_of)

    @cached_property
    def asking(self) -> Asking:
        """Finds what launches need."""
        return Asking(self)

    def records_needs(self, shape: DecodeShape) -> bool:
        """Whether it can be asked what a launch needs."""
        return True

    def needs(self, shape: DecodeShape) -> tuple[Need, ...]:
        """What a launch needs, found by asking; nothing where it does not run. Threads may call it
        at the same time.

        Raises:
            SourceError: a file cannot be read.
        """
        return self.asking.needs(shape)

    def judge(self, shape: DecodeShape) -> Decision:
        """The decision without errata.

        Raises:
            UsageError: the operation has no argument for something that the shape says.
        """
        if shape.op is not Operation.DECODE:
            found = by_route(self.judge, shape)
            return found or self.entry_point(entry_of(shape)).judge(shape)
        return judge(self, shape)

    def entry_point(self, entry: Entry) -> EntryPoint:
        """An entry point of an operation besides decode."""
        with self.session.exclusive:
            found = self._entries.get(entry.key)
            if found is None:
                found = self._entries[entry.key] = EntryPoint(self.session, entry, self)
            return found

    def launch(self, shape: DecodeShape) -> Dispatched:
        """What the dispatcher does, with the call that it makes."""
        return self._dispatch(shape).answer

    def _dispatch(self, shape: DecodeShape) -> Solved[Dispatched]:
        if self.dispatcher is None:
            return Solved(Dispatched(outcome=self._lacking.outcome(StageName.DISPATCHER)))
        return self.dispatcher.solve(shape)

    def called(self, shape: DecodeShape, launch: Dispatched) -> StageOutcome:
        """The host, with what the dispatcher passes it."""
        return self.solve_called(shape, launch).answer

    def solve_called(self, shape: DecodeShape, launch: Dispatched) -> Solved[StageOutcome]:
        """The same, with how it was come to."""
        host = self.host
        if host is None:
            return Solved(self._lacking.outcome(StageName.HOST))
        compiled = launch.outcome.entry != "asm"
        called = partial(host.called, shape.arch, shape.env, entry=launch.entry, compiled=compiled)

        def ask(given: Deferred, decided: Mapping[Hashable, int]) -> Solved[StageOutcome]:
            return called(given, decided=decided)

        with self.session.exclusive:
            return launch.calls.settled(launch.given, ask)

    def solve_decode_plan(
        self, name: str, shape: DecodeShape, told: Mapping[str, Any]
    ) -> Solved[StageOutcome]:
        """Sizing or planner of a decode for the shape of another operation, which tells the planner
        some more."""
        stage = self.sizing if name == StageName.SIZING else self.planner
        if stage is None:
            return Solved(self._lacking.outcome(name))
        return decode_plan(stage, shape, told)

    def reduced(self, shape: DecodeShape, launch: Dispatched) -> StageOutcome:
        """The reducer, with what the dispatcher passes it."""
        if self.reducer is None:
            return self._lacking.outcome(StageName.REDUCER)
        pair = self.reducer.pair(launch.reduced_heads(shape), launch.partial_dim)
        return self.reducer.decide(pair)

    # --- one stage alone -------------------------------------------------------------------------

    def ask(self, stage: str, shape: DecodeShape, *, head_dim: int | None = None) -> StageOutcome:
        """One stage, uncomposed, over its own inputs.

        Raises:
            UsageError: there is no stage of that name.
        """
        return self.solve(stage, shape, head_dim=head_dim).answer

    def solve(
        self, stage: str, shape: DecodeShape, *, head_dim: int | None = None
    ) -> Solved[StageOutcome]:
        """The same, with how the stage came to it."""
        of_decode(shape)
        if stage == StageName.DISPATCHER:
            found = self._dispatch(shape)
            return Solved(found.answer.outcome, found.leaf)
        if stage == StageName.REDUCER:
            if self.reducer is None:
                return Solved(self._lacking.outcome(stage))
            return self.reducer.solve(self.reducer.pair(shape.num_heads, head_dim))
        stages: Mapping[str, Stage[Any, StageOutcome] | None] = {
            StageName.PLANNER: self.planner,
            StageName.SIZING: self.sizing,
            StageName.HOST: self.host,
            StageName.GLUON: self.gluon,
        }
        if stage not in stages:
            names = ", ".join(name for name in ORDER if name != StageName.TABLE)
            raise UsageError(f"unknown stage {str(stage)!r}", hint=f"use one of {names}")
        asked: Any = stages[stage]
        if asked is None:
            return Solved(self._lacking.outcome(stage))
        return asked.solve(asked.question(shape))  # type: ignore[no-any-return]

    def behaviour_rows(self, part: Grid, numbering: Numbering) -> None:
        """``None``: a source has no table of its answers."""

    def reducer_pair(self, heads: int, head_dim: int) -> StageOutcome:
        """What the reducer says to a head count and a head dimension."""
        if self.reducer is None:
            return self._lacking.outcome(StageName.REDUCER)
        return self.reducer.decide((heads, head_dim))

    def reducer_rows(self, heads: Sequence[int]) -> Iterator[tuple[int, int, StageOutcome]]:
        """The reducer's answer for every head count and every head_dim that its router names."""
        if self.reducer is None:
            return
        for count in heads:
            for dim in self.reducer.head_dims:
                yield count, dim, self.reducer.decide((count, dim))

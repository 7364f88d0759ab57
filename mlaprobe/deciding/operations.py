"""The operations of one AITER source besides decode, by their entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Dtype,
    Operation,
    StageName,
    StageOutcome,
    altered,
)
from mlaprobe.deciding.lacking import Lacking
from mlaprobe.deciding.operation_chain import judge_operation
from mlaprobe.rulefiles.operations import Entry
from mlaprobe.stages.base import Stage
from mlaprobe.stages.dispatching.dispatched import Dispatched
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.instantiate import Solved
from mlaprobe.stages.operations.functions import EntryStage, PlannerStage, SizingStage
from mlaprobe.stages.operations.launching import LaunchStage
from mlaprobe.stages.planner import Planner
from mlaprobe.stages.sizing import Sizing

Asked = Stage[DecodeShape, StageOutcome]


class Beyond(Protocol):
    """The stages that all operations of a source share."""

    @property
    def has_tables(self) -> bool:
        """Whether the source has a kernel table."""

    def solve_called(self, shape: DecodeShape, launch: Dispatched) -> Solved[StageOutcome]:
        """The host, with what the entry point passes it."""

    def solve_decode_plan(
        self, name: str, shape: DecodeShape, told: Mapping[str, Any]
    ) -> Solved[StageOutcome]:
        """Sizing or planner of a decode, the planner told some more."""

    def reduced(self, shape: DecodeShape, launch: Dispatched) -> StageOutcome:
        """The reducer, with what the entry point passes it."""


class EntryPoint:
    """One entry point of an operation, with what is called before and after it."""

    def __init__(self, session: SourceSession, entry: Entry, beyond: Beyond) -> None:
        self.entry = entry
        self._session = session
        self._beyond = beyond
        self._lacking = Lacking()
        kind: Callable[..., LaunchStage | EntryStage]
        kind = LaunchStage if entry.launches else EntryStage
        self.dispatcher = self._lacking.opened(StageName.DISPATCHER, partial(kind, session, entry))
        self.planned = dict(self._planned())
        """The stages before it, ``None`` for one that the source lacks."""

    def _planned(self) -> Iterator[tuple[str, Asked | None]]:
        entry = self.entry
        for name, function in (
            (StageName.SIZING, entry.sizing),
            (StageName.PLANNER, entry.planner),
        ):
            if function is not None:
                kind: Callable[..., Asked]
                kind = SizingStage if name is StageName.SIZING else PlannerStage
                yield (
                    name,
                    self._lacking.opened(name, partial(kind, self._session, entry, function)),
                )

    def forget(self) -> None:
        """Lets go of remembered answers."""
        for stage in (self.dispatcher, *self.planned.values()):
            if stage is not None:
                stage.forget()

    def judge(self, shape: DecodeShape) -> Decision:
        """The decision on a shape, errata apart."""
        return judge_operation(self, shape)

    # --- links of the chain ----------------------------------------------------------------------

    @property
    def has_tables(self) -> bool:
        """Whether the source has a kernel table."""
        return self._beyond.has_tables

    @property
    def launches(self) -> bool:
        """Whether the entry point launches kernels of its own."""
        return self.entry.launches

    def plans(self, shape: DecodeShape) -> Iterator[tuple[str, StageOutcome]]:
        """The stages before the entry point."""
        return ((name, self.solve_plan(name, shape).answer) for name in self.entry.planned)

    def solve_plan(self, name: str, shape: DecodeShape) -> Solved[StageOutcome]:
        """One of them, with how it was come to."""
        told = self.entry.planned_as_decode
        if told is not None:
            return self._beyond.solve_decode_plan(name, shape, told)
        stage = self.planned[name]
        if stage is None:
            return Solved(self._lacking.outcome(name))
        return stage.solve(shape)

    def launch(self, shape: DecodeShape) -> Dispatched:
        """What the entry point does, with the calls that it makes."""
        return self.solve_launch(shape).answer

    def solve_launch(self, shape: DecodeShape) -> Solved[Dispatched]:
        """The same, with how it was come to."""
        if self.dispatcher is None:
            return Solved(Dispatched(outcome=self._lacking.outcome(StageName.DISPATCHER)))
        return self.dispatcher.solve(shape)

    def called(self, shape: DecodeShape, launch: Dispatched) -> StageOutcome:
        """The host, with what the entry point passes it."""
        return self.solve_called(shape, launch).answer

    def solve_called(self, shape: DecodeShape, launch: Dispatched) -> Solved[StageOutcome]:
        """The same, with how it was come to."""
        return self._beyond.solve_called(shape, launch)

    def reduced(self, shape: DecodeShape, launch: Dispatched) -> StageOutcome:
        """The reducer, with what the entry point passes it."""
        return self._beyond.reduced(shape, launch)


def decode_plan(
    stage: Sizing | Planner, shape: DecodeShape, told: Mapping[str, Any]
) -> Solved[StageOutcome]:
    """Sizing or planner of a decode, for the shape of another operation; ``told`` is what a rule
    file says that the planner is told besides."""
    decode = altered(shape, op=Operation.DECODE)
    if isinstance(stage, Sizing):
        return stage.solve(stage.question(decode))
    given: dict[str, Any] = dict(told)
    if "rope_dtype" in given:
        given["rope_dtype"] = Dtype.of(given["rope_dtype"])
    return stage.solve(replace(stage.question(decode), **given))

"""The operations of one AITER source besides decode, by their entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol, TypeVar

from mlaprobe.core.launch import Launch
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Failure,
    StageName,
    StageOutcome,
    Status,
    Verdict,
)
from mlaprobe.deciding.compose import absent, compose
from mlaprobe.deciding.pipeline import not_evaluated, table_outcome
from mlaprobe.rulefiles.operations import Entry
from mlaprobe.stages.base import Absent, Stage
from mlaprobe.stages.dispatched import Dispatched
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.operations.functions import EntryStage, PlannerStage, SizingStage

Asked = Stage[DecodeShape, StageOutcome]
T = TypeVar("T")


class Beyond(Protocol):
    """The stages that all operations of a source share."""

    @property
    def has_tables(self) -> bool:
        """Whether the source has a kernel table."""

    def called(self, shape: DecodeShape, launch: Dispatched) -> StageOutcome:
        """The host, with what the entry point passes it."""

    def reduced(self, shape: DecodeShape, launch: Dispatched) -> StageOutcome:
        """The reducer, with what the entry point passes it."""


class EntryPoint:
    """One entry point of an operation, with what is called before and after it."""

    def __init__(self, session: SourceSession, entry: Entry, beyond: Beyond) -> None:
        self.entry = entry
        self._session = session
        self._beyond = beyond
        self._missing: dict[str, str] = {}
        self.dispatcher = self._opened(StageName.DISPATCHER, lambda: EntryStage(session, entry))
        self.planned = tuple(self._planned())

    def _planned(self) -> Iterator[tuple[str, Asked | None]]:
        entry = self.entry
        for name, function in (
            (StageName.SIZING, entry.sizing),
            (StageName.PLANNER, entry.planner),
        ):
            if function is not None:
                kind: Callable[..., Asked]
                kind = SizingStage if name is StageName.SIZING else PlannerStage
                yield name, self._opened(name, partial(kind, self._session, entry, function))

    def _opened(self, name: str, make: Callable[[], T]) -> T | None:
        try:
            return make()
        except Absent as why:
            self._missing[name] = str(why)
            return None

    @property
    def stage_status(self) -> tuple[tuple[str, str, str], ...]:
        """(stage, ``present`` or ``absent``, a remark) of the functions that are its own."""
        names = (StageName.DISPATCHER, *(name for name, _ in self.planned))
        return tuple(
            (n, Status.ABSENT if n in self._missing else Status.PRESENT, self._missing.get(n, ""))
            for n in names
        )

    def forget(self) -> None:
        """Lets go of remembered answers."""
        for stage in (self.dispatcher, *(stage for _, stage in self.planned)):
            if stage is not None:
                stage.forget()

    def launch(self, shape: DecodeShape) -> Dispatched:
        """What the entry point does, with the calls that it makes."""
        if self.dispatcher is None:
            why = self._missing[StageName.DISPATCHER]
            return Dispatched(outcome=absent(StageName.DISPATCHER, why))
        return self.dispatcher.decide(shape)

    def judge(self, shape: DecodeShape) -> Decision:
        """The decision on a shape, errata apart."""
        launch = self.launch(shape)
        if launch.outcome.status == Status.ABSENT:
            return _missing(shape, launch.outcome)
        stages = [(name, self._ask(name, stage, shape)) for name, stage in self.planned]
        stages.append((StageName.DISPATCHER, launch.outcome))
        stages.extend(self._downstream(shape, launch))
        return compose(
            shape,
            tuple(stages),
            missing_entry=launch.missing,
            fails_after=launch.fails_after,
            notes=tuple(_notes(launch)),
        )

    def _ask(self, name: str, stage: Asked | None, shape: DecodeShape) -> StageOutcome:
        return absent(name, self._missing[name]) if stage is None else stage.decide(shape)

    def _downstream(
        self, shape: DecodeShape, launch: Dispatched
    ) -> Iterator[tuple[str, StageOutcome]]:
        """Host, kernel table and reducer, where the entry point calls them."""
        entry = launch.outcome.entry
        if entry is None:
            return
        if entry == "asm":
            host = self._beyond.called(shape, launch)
            yield StageName.HOST, host
            tables = self._beyond.has_tables
            yield StageName.TABLE, table_outcome(host, shape.arch, has_tables=tables)
        else:
            yield from not_evaluated(entry)
        if launch.partial_heads is not None or launch.merged is not None:
            yield StageName.REDUCER, self._beyond.reduced(shape, launch)


def _missing(shape: DecodeShape, outcome: StageOutcome) -> Decision:
    """A caller of a release without the function gets an exception."""
    return Decision(
        shape=shape,
        verdict=Verdict.REJECTED,
        failure=Failure.EXCEPTION,
        stage=StageName.DISPATCHER,
        message=f"AttributeError: this AITER has no such function: {outcome.message}",
        stages=((StageName.DISPATCHER, outcome),),
    )


def _notes(launch: Launch) -> Iterator[str]:
    entry = launch.outcome.entry
    if entry not in (None, "asm") and not launch.missing:
        yield f"reaches {launch.entry} ({entry}), whose own checks were not evaluated"

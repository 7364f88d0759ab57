"""One AITER source, ready to decide shapes.

The stages answer in call order; what the dispatcher passes is what the host gets, and what the
planner folded is what the dispatcher must have folded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.inputs import is_arch
from mlaprobe.core.needs import Need
from mlaprobe.core.reducers import ReduceHeads
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Operation,
    Route,
    StageName,
    StageOutcome,
    Status,
    Verdict,
)
from mlaprobe.deciding import known
from mlaprobe.deciding.compose import absent
from mlaprobe.deciding.needs import Asking
from mlaprobe.deciding.operation_chain import by_route
from mlaprobe.deciding.operations import EntryPoint, decode_plan
from mlaprobe.deciding.pipeline import judge
from mlaprobe.errors import MlaprobeError, SourceError, UsageError
from mlaprobe.rulefiles.operations import Entry, entry_of, of_decode
from mlaprobe.sources import Source, open_source, require_aiter
from mlaprobe.sources.release_place import ReleasePlace, place_of
from mlaprobe.stages.base import Absent, Faulted, Stage, faulted
from mlaprobe.stages.dispatching.dispatched import Dispatched
from mlaprobe.stages.dispatching.dispatcher import Dispatcher
from mlaprobe.stages.environment.kernels import Tables
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.gluon import Gluon
from mlaprobe.stages.host import Host
from mlaprobe.stages.instantiate import Deferred, Solved
from mlaprobe.stages.planner import Planner
from mlaprobe.stages.reducer import Reducer
from mlaprobe.stages.sizing import Sizing

if TYPE_CHECKING:
    from mlaprobe.core.behaviour import Numbering
    from mlaprobe.core.grid import Grid

T = TypeVar("T")
_ORDER = (
    *(StageName.PLANNER, StageName.SIZING, StageName.DISPATCHER, StageName.HOST),
    *(StageName.TABLE, StageName.REDUCER, StageName.GLUON),
)
"""The order in which the stages of a source are listed."""


class Capability(ReduceHeads):
    """What one AITER source does with MLA decode. Threads may share one."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SourceSession(source)
        self._decisions: dict[DecodeShape, Decision] = cache(Cache.DECISIONS)
        self._missing: dict[str, str] = {}
        """Why the source has no such stage, by its name."""
        self._entries: dict[str, EntryPoint] = {}
        with self.session.exclusive:
            try:
                self._open_stages()
            except RecursionError:
                raise SourceError(
                    f"{source.label} is nested too deeply to be read from here",
                    hint="open it where less of the stack is in use",
                ) from None
        if not self.stages:
            raise SourceError(
                f"{source.label} has no stage of AITER's MLA decode",
                hint="name a complete AITER checkout, wheel or REPO@REV",
            )

    @classmethod
    def open(cls, source: str = "installed") -> Capability:
        """The capability of ``installed``, a directory, an archive or ``REPO@REV``.

        Raises:
            SourceError: the source cannot be read, is no AITER, or too old (its subclasses).
        """
        opened = open_source(source)
        require_aiter(opened)
        return cls(opened)

    # --- stages ----------------------------------------------------------------------------------

    def _open_stages(self) -> None:
        session = self.session
        self.tables = Tables(session)
        self.planner = self._opened(StageName.PLANNER, lambda: Planner(session))
        self.sizing = self._opened(StageName.SIZING, lambda: Sizing(session))
        self.dispatcher = self._opened(StageName.DISPATCHER, lambda: Dispatcher(session))
        self.host = self._opened(StageName.HOST, lambda: Host(session, self.tables))
        self.reducer = self._opened(StageName.REDUCER, lambda: Reducer(session))
        self.gluon = self._opened(StageName.GLUON, lambda: Gluon(session))

    def _opened(self, name: str, make: Callable[[], T]) -> T | None:
        """A stage, ``None`` where the source has none."""
        try:
            return make()
        except Absent as why:
            self._missing[name] = str(why)
            return None

    @property
    def stages(self) -> tuple[Stage[Any, Any], ...]:
        """The stages that the source has."""
        stages = (self.planner, self.sizing, self.dispatcher, self.host, self.reducer, self.gluon)
        return tuple(stage for stage in stages if stage is not None)

    def _absent(self, stage: str) -> StageOutcome:
        return absent(stage, self._missing[stage])

    # --- facts -----------------------------------------------------------------------------------

    @property
    def release(self) -> str | None:
        """The release of the source, where that is known."""
        return self.source.release

    @cached_property
    def archs(self) -> tuple[str, ...]:
        """The archs that the source ships MLA kernels for."""
        return tuple(filter(is_arch, self.tables.archs))

    @property
    def stage_status(self) -> tuple[tuple[str, str, str], ...]:
        """(stage, ``present`` or ``absent``, a remark)."""
        rows: list[tuple[str, str, str]] = []
        tables = self.tables.modules
        table = ", ".join(tables) if tables else "kernels are named in the host code"
        for name in _ORDER:
            is_table = name == StageName.TABLE
            there = bool(tables) if is_table else name not in self._missing
            text = table if is_table else self._missing.get(name, "")
            rows.append((name, Status.PRESENT if there else Status.ABSENT, text))
        return tuple(rows)

    @property
    def capability(self) -> Capability:
        """Itself, which reads the source."""
        return self

    @property
    def knobs(self) -> tuple[str, ...]:
        """Environment variables that the deciding code has read so far."""
        return self.session.knobs

    def knobs_read(self, shape: DecodeShape) -> frozenset[str] | None:
        """Those that may have been read for a shape that has been decided: on its arch, with its
        environment. Any other changes nothing of its answer."""
        return self.session.knobs_in((shape.arch, shape.env))

    def has_route(self, route: Route) -> bool:
        """Whether the source has a route at all."""
        return self.gluon is not None if route is Route.GLUON else self.dispatcher is not None

    def source_text(self, file: str) -> str | None:
        """The text of a file of the source."""
        return self.session.text(file)

    def nearest_rows(
        self, arch: str, key: tuple[tuple[str, Any], ...], limit: int = 3
    ) -> tuple[tuple[str, str, int, tuple[str, ...]], ...]:
        """Rows of the kernel table that come closest to a key: (text, file, line, columns that
        differ)."""
        wanted = {k: v for k, v in key if isinstance(v, (int, str))}
        for table in self.tables.modules.values():
            if set(wanted) <= set(table.columns):
                near = table.nearest(arch, wanted, limit)
                return tuple((n.row.text, n.row.file, n.row.line, n.differs) for n in near)
        return ()

    def forget(self) -> None:
        """Lets go of remembered answers, which a pass over a whole grid needs once."""
        self._decisions.clear()
        self.asking.forget()
        for stage in self.stages:
            stage.forget()
        for entry in self._entries.values():
            entry.forget()

    def close(self) -> None:
        """Let go of the source."""
        self.source.close()

    def __enter__(self) -> Capability:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
    def place(self) -> ReleasePlace:
        """The release that errata are looked up for, also where the source is none."""
        return place_of(self.source)

    @cached_property
    def erratum_release(self) -> str | None:
        """The source's own release, or the one with the same files."""
        return None if self.place.how else self.place.release

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

    @property
    def has_tables(self) -> bool:
        """Whether the source has a kernel table."""
        return bool(self.tables.modules)

    def takes(self, role: str) -> bool:
        """Whether the dispatcher has a parameter of that meaning."""
        return self.dispatcher is not None and self.dispatcher.takes(role)

    def planner_takes(self, role: str) -> bool:
        """Whether the planner has a parameter of that meaning, or a map that may hold it."""
        planner = self.planner
        return planner is not None and (planner.takes(role) or planner.takes("options"))

    def launch(self, shape: DecodeShape) -> Dispatched:
        """What the dispatcher does, with the call that it makes."""
        return self._dispatch(shape).answer

    def _dispatch(self, shape: DecodeShape) -> Solved[Dispatched]:
        if self.dispatcher is None:
            return Solved(Dispatched(outcome=self._absent(StageName.DISPATCHER)))
        return self.dispatcher.solve(shape)

    def called(self, shape: DecodeShape, launch: Dispatched) -> StageOutcome:
        """The host, with what the dispatcher passes it."""
        return self.solve_called(shape, launch).answer

    def solve_called(self, shape: DecodeShape, launch: Dispatched) -> Solved[StageOutcome]:
        """The same, with how it was come to."""
        host = self.host
        if host is None:
            return Solved(self._absent(StageName.HOST))
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
        return Solved(self._absent(name)) if stage is None else decode_plan(stage, shape, told)

    def reduced(self, shape: DecodeShape, launch: Dispatched) -> StageOutcome:
        """The reducer, with what the dispatcher passes it."""
        if self.reducer is None:
            return self._absent(StageName.REDUCER)
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
                return Solved(self._absent(stage))
            return self.reducer.solve(self.reducer.pair(shape.num_heads, head_dim))
        stages: Mapping[str, Stage[Any, StageOutcome] | None] = {
            StageName.PLANNER: self.planner,
            StageName.SIZING: self.sizing,
            StageName.HOST: self.host,
            StageName.GLUON: self.gluon,
        }
        if stage not in stages:
            names = ", ".join(name for name in _ORDER if name != StageName.TABLE)
            raise UsageError(f"unknown stage {str(stage)!r}", hint=f"use one of {names}")
        asked: Any = stages[stage]
        if asked is None:
            return Solved(self._absent(stage))
        return asked.solve(asked.question(shape))  # type: ignore[no-any-return]

    def behaviour_rows(self, part: Grid, numbering: Numbering) -> None:
        """``None``: a source has no table of its answers."""

    def reducer_pair(self, heads: int, head_dim: int) -> StageOutcome:
        """What the reducer says to a head count and a head dimension."""
        if self.reducer is None:
            return self._absent(StageName.REDUCER)
        return self.reducer.decide((heads, head_dim))

    def reducer_rows(self, heads: Sequence[int]) -> Iterator[tuple[int, int, StageOutcome]]:
        """The reducer's answer for every head count and every head_dim that its router names."""
        if self.reducer is None:
            return
        for count in heads:
            for dim in self.reducer.head_dims:
                yield count, dim, self.reducer.decide((count, dim))

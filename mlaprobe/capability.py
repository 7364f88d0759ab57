"""One AITER source, ready to decide shapes.

The stages are asked in call order; what the dispatcher passes is what the host gets, and what the
planner folded is what the dispatcher must have folded.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from mlaprobe import errata
from mlaprobe.chain import Launch, judge
from mlaprobe.compose import absent
from mlaprobe.errors import SourceError, UsageError
from mlaprobe.inputs import is_arch
from mlaprobe.refusals import Refusals
from mlaprobe.shape import (
    SAME,
    Decision,
    DecodeShape,
    Dtype,
    Route,
    StageOutcome,
)
from mlaprobe.sources import Source, open_source, require_aiter
from mlaprobe.stages.base import Absent
from mlaprobe.stages.dispatched import Dispatched
from mlaprobe.stages.dispatcher import Dispatcher
from mlaprobe.stages.gluon import Gluon, GluonQuestion
from mlaprobe.stages.host import Host
from mlaprobe.stages.hostcall import HostQuestion
from mlaprobe.stages.instantiate import Deferred
from mlaprobe.stages.kernels import Tables
from mlaprobe.stages.planner import Planner, PlannerQuestion
from mlaprobe.stages.reducer import Reducer
from mlaprobe.stages.sizing import Sizing, SizingQuestion
from mlaprobe.stages.world import World

DECODE_STAGES = ("sizing", "planner", "dispatcher", "host", "kernel table", "reducer")
"""The stages of the asm route in call order."""


def probe(source: str = "installed") -> Capability:
    """The capability of a source: ``installed``, a directory, an archive or ``REPO@REV``.

    Raises:
        SourceError: the source cannot be read, is no AITER, or too old (its subclasses).
    """
    opened = open_source(source)
    require_aiter(opened)
    return Capability(opened)


class Capability:
    """What one AITER source does with MLA decode."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.world = World(source)
        self.tables = Tables(self.world)
        self._decisions: dict[DecodeShape, Decision] = {}
        self._missing: dict[str, str] = {}
        if len(self._absent_stages()) == 6:
            raise SourceError(
                f"{source.label} has no stage of AITER's MLA decode",
                hint="name a complete AITER checkout, wheel or REPO@REV",
            )

    def _absent_stages(self) -> tuple[str, ...]:
        stages = (self.planner, self.sizing, self.dispatcher, self.host, self.reducer, self.gluon)
        return tuple(str(s) for s in stages if s is None) or ()

    # --- stages ----------------------------------------------------------------------------------

    def _open(self, name: str, make: Any) -> Any:
        try:
            return make()
        except Absent as why:
            self._missing[name] = str(why)
            return None

    @cached_property
    def planner(self) -> Planner | None:
        """The planner, ``None`` where the source has none."""
        return self._open("planner", lambda: Planner(self.world))  # type: ignore[no-any-return]

    @cached_property
    def sizing(self) -> Sizing | None:
        """The sizing function."""
        return self._open("sizing", lambda: Sizing(self.world))  # type: ignore[no-any-return]

    @cached_property
    def dispatcher(self) -> Dispatcher | None:
        """The dispatcher."""
        return self._open("dispatcher", lambda: Dispatcher(self.world))  # type: ignore[no-any-return]

    @cached_property
    def host(self) -> Host | None:
        """The host dispatch."""
        return self._open("host", lambda: Host(self.world, self.tables))  # type: ignore[no-any-return]

    @cached_property
    def reducer(self) -> Reducer | None:
        """The reducer."""
        return self._open("reducer", lambda: Reducer(self.world))  # type: ignore[no-any-return]

    @cached_property
    def gluon(self) -> Gluon | None:
        """The gluon route."""
        return self._open("gluon", lambda: Gluon(self.world))  # type: ignore[no-any-return]

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
        """(stage, ``present`` or ``absent``, what there is to say)."""
        rows: list[tuple[str, str, str]] = []
        for name in ("planner", "sizing", "dispatcher", "host", "reducer", "gluon"):
            there = getattr(self, name) is not None
            rows.append((name, "present" if there else "absent", self._missing.get(name, "")))
        tables = self.tables.modules
        text = ", ".join(tables) if tables else "kernels are named in the host code"
        rows.insert(4, ("kernel table", "present" if tables else "absent", text))
        return tuple(rows)

    @property
    def knobs(self) -> tuple[str, ...]:
        """Environment variables that the deciding code has asked for so far."""
        return self.world.knobs

    def has_route(self, route: Route) -> bool:
        """Whether the source has a route at all."""
        return self.gluon is not None if route is Route.GLUON else self.dispatcher is not None

    def source_text(self, file: str) -> str | None:
        """The text of a file of the source."""
        return self.world.text(file)

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
        """Lets go of remembered answers: whoever asks everything once needs none of them twice."""
        self._decisions.clear()
        stages = (self.planner, self.sizing, self.dispatcher, self.host, self.gluon)
        for stage in stages:
            if stage is not None:
                stage._known.clear()

    def close(self) -> None:
        """Let go of the source."""
        self.source.close()

    def __enter__(self) -> Capability:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- deciding --------------------------------------------------------------------------------

    def decide(self, shape: DecodeShape) -> Decision:
        """What happens to a shape; errata applied."""
        known = self._decisions.get(shape)
        if known is None:
            known = errata.apply(self.judge(shape), release=self.erratum_release)
            self._decisions[shape] = known
        return known

    @cached_property
    def erratum_release(self) -> str | None:
        """The release that errata are looked up for: the source's own, or the one with the same
        files."""
        return errata.release_of(self.source)

    def judge(self, shape: DecodeShape) -> Decision:
        """What the source alone says of a shape."""
        return judge(self, shape)

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

    def launch(self, shape: DecodeShape) -> Launch:
        """What the dispatcher does, with the call that it makes."""
        found = self._dispatch(shape)
        return Launch(
            outcome=found.outcome,
            entry=found.entry,
            missing=found.missing,
            fails_after=found.fails_after,
            call=found,
        )

    def _dispatch(self, shape: DecodeShape) -> Dispatched:
        if self.dispatcher is None:
            return Dispatched(outcome=absent("dispatcher", self._missing["dispatcher"]))
        return self.dispatcher.decide(shape)

    def called(self, shape: DecodeShape, launch: Launch) -> StageOutcome:
        """The host, with what the dispatcher passes it."""
        if self.host is None:
            return absent("host", self._missing["host"])
        assert isinstance(launch.call, Dispatched)
        called = partial(self.host.called, shape.arch, shape.env, entry=launch.entry)

        def ask(given: Deferred, decided: Mapping[Hashable, int]) -> StageOutcome:
            self.world.forget_leaf()
            return called(given, decided=decided)

        return launch.call.calls.settled(launch.call.given, ask)

    def reduced(self, shape: DecodeShape, launch: Launch) -> StageOutcome:
        """The reducer, with what the dispatcher passes it."""
        if self.reducer is None:
            return absent("reducer", self._missing["reducer"])
        return self.reducer.decide(reduced_heads(shape, launch))

    # --- one stage alone -------------------------------------------------------------------------

    def ask(self, stage: str, shape: DecodeShape, *, head_dim: int | None = None) -> StageOutcome:
        """One stage, uncomposed, over its own inputs.

        Raises:
            UsageError: there is no stage of that name.
        """
        asked = {
            "planner": self._ask_planner,
            "sizing": self._ask_sizing,
            "dispatcher": lambda s: self._dispatch(s).outcome,
            "host": self._ask_host,
            "gluon": self._ask_gluon,
        }
        if stage == "reducer":
            if self.reducer is None:
                return absent("reducer", self._missing["reducer"])
            return self.reducer.decide(shape.num_heads, head_dim)
        if stage not in asked:
            raise UsageError(
                f"unknown stage {stage!r}", hint="use one of " + ", ".join((*asked, "reducer"))
            )
        return asked[stage](shape)

    def refusals(self, stage: str, setting: DecodeShape) -> Refusals:
        """Which head counts and query lengths a stage refuses: sizing, planner or dispatcher."""
        return Refusals(self.world, self.ask, stage, setting)

    def reducer_rows(self, heads: Sequence[int]) -> Iterator[tuple[int, int, StageOutcome]]:
        """The reducer's answer for every head count and every head_dim that its router names."""
        if self.reducer is None:
            return
        for count in heads:
            for dim in self.reducer.head_dims:
                yield count, dim, self.reducer.decide(count, dim)

    def _ask_planner(self, shape: DecodeShape) -> StageOutcome:
        if self.planner is None:
            return absent("planner", self._missing["planner"])
        told = shape.planner
        qlen = _told(told.qlen, shape.qlen)
        return self.planner.decide(
            PlannerQuestion(
                arch=shape.arch,
                q_dtype=_told(told.q_dtype, shape.q_dtype),
                kv_dtype=_told(told.kv_dtype, shape.kv_dtype),
                num_heads=_told(told.num_heads, shape.num_heads),
                qlen=qlen,
                uniform_qlen=_told(told.uniform_qlen, qlen),
                causal=shape.causal,
                page_size=shape.page_size,
                cp_round_robin=_told(told.cp_round_robin, shape.cp_round_robin),
                fast_mode=told.fast_mode,
                intra_batch_mode=told.intra_batch_mode,
                max_split_per_batch=told.max_split_per_batch,
                env=shape.env,
            )
        )

    def _ask_sizing(self, shape: DecodeShape) -> StageOutcome:
        if self.sizing is None:
            return absent("sizing", self._missing["sizing"])
        told = shape.planner
        q_dtype: Dtype | None = _told(told.q_dtype, shape.q_dtype)
        kv_dtype: Dtype | None = _told(told.kv_dtype, shape.kv_dtype)
        return self.sizing.decide(
            SizingQuestion(
                arch=shape.arch,
                q_dtype=q_dtype or shape.q_dtype,
                kv_dtype=kv_dtype or shape.kv_dtype,
                num_heads=_told(told.num_heads, shape.num_heads),
                qlen=_told(told.qlen, shape.qlen),
                batch=shape.batch,
                fast_mode=told.fast_mode,
                intra_batch_mode=told.intra_batch_mode,
                max_split_per_batch=told.max_split_per_batch,
                env=shape.env,
            )
        )

    def _ask_host(self, shape: DecodeShape) -> StageOutcome:
        if self.host is None:
            return absent("host", self._missing["host"])
        return self.host.decide(
            HostQuestion(
                arch=shape.arch,
                q_dtype=shape.q_dtype,
                kv_dtype=shape.kv_dtype,
                num_heads=shape.num_heads,
                qlen=shape.qlen,
                persistent=shape.persistent,
                lse=shape.lse,
                causal=shape.causal,
                cp_round_robin=shape.cp_round_robin,
                page_size=shape.page_size,
                env=shape.env,
            )
        )

    def _ask_gluon(self, shape: DecodeShape) -> StageOutcome:
        if self.gluon is None:
            return absent("gluon", self._missing.get("gluon", "there is no gluon file"))
        return self.gluon.decide(
            GluonQuestion(
                arch=shape.arch,
                q_dtype=shape.q_dtype,
                kv_dtype=shape.kv_dtype,
                num_heads=shape.num_heads,
                qlen=shape.qlen,
                lse=shape.lse,
                batch=shape.batch,
                env=shape.env,
            )
        )


def _told(value: Any, otherwise: Any) -> Any:
    return otherwise if value is SAME else value


def reduced_heads(shape: DecodeShape, launch: Launch) -> int:
    """The head count of the partial results that the dispatcher hands to the reducer."""
    assert isinstance(launch.call, Dispatched)
    return launch.call.partial_heads or launch.outcome.final_heads or shape.num_heads

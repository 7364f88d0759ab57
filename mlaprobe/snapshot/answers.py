"""A snapshot as something that answers, like a live source on its grid.

A snapshot holds the source's own answers. Errata are applied to each decision, so that a changed
rule changes no snapshot.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mlaprobe.core.axes import OMITTED
from mlaprobe.core.behaviour import behaviour_of
from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.needs import Need
from mlaprobe.core.reducers import ReduceHeads
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Operation,
    PlannerCall,
    Route,
    StageName,
    StageOutcome,
    Status,
    Verdict,
    reshaped,
)
from mlaprobe.deciding import known
from mlaprobe.deciding.operation_chain import by_route
from mlaprobe.deciding.pipeline import judge
from mlaprobe.errors import UsageError
from mlaprobe.rulefiles import errata
from mlaprobe.rulefiles.operations import Entry, entry_of, of_decode
from mlaprobe.snapshot.file import MISFITS, Contents, damaged
from mlaprobe.snapshot.needs import NEEDS, RecordedNeeds
from mlaprobe.snapshot.operations import OPERATIONS, RecordedEntry
from mlaprobe.snapshot.stages import OUTSIDE_TEXT, STAGES, Stages, UnknownBatchError, outside

if TYPE_CHECKING:
    from mlaprobe.core.behaviour import Numbering, Row
    from mlaprobe.core.grid import Grid
    from mlaprobe.snapshot.tabled import Tabled

OUTSIDE = "snapshot"
"""The ``stage`` of a decision about a shape that the snapshot does not hold."""
NOT_TAKEN = "it was taken without; ask the AITER itself, --aiter PATH@REVISION, or take it anew"
"""Why an operation is not held."""
_NO_CALL = PlannerCall()


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotInfo:
    """Where a snapshot is, and what it was taken of."""

    label: str
    kind: str
    """``release`` for a bundled one, else ``snapshot``."""
    release: str | None
    commit: str | None
    location: str
    same_content: tuple[str, ...] = ()
    """Every release with this content, for a bundled one."""


class Snapshot(ReduceHeads):
    """Answers without any AITER source."""

    def __init__(self, contents: Contents, *, label: str, release: str | None = None) -> None:
        """Raises ``SnapshotError`` where something is missing in the contents."""
        try:
            self._fill(contents, label, release)
        except MISFITS:
            raise damaged(contents.name) from None

    def _fill(self, contents: Contents, label: str, release: str | None) -> None:
        data = contents.data
        releases: Mapping[str, str] = data.get("releases", {})
        self._contents = contents
        self.source = SnapshotInfo(
            label=label,
            kind="snapshot" if release is None else "release",
            release=release or data["release"],
            commit=releases.get(release, data["commit"]) if release else data["commit"],
            location=contents.name,
            same_content=tuple(releases),
        )
        self.stage_status: tuple[tuple[str, str, str], ...] = tuple(
            (StageName(stage), Status(status), text) for stage, status, text in data["stages"]
        )
        """Stage, ``present`` or ``absent``, and a remark."""
        self.scope = contents.scope
        self.archs = contents.scope.archs
        self.erratum_release: str | None = release or data["same_files_as"]
        self._release, self._how = self.erratum_release, ""
        if self.erratum_release is None and data.get("place"):
            self._release, self._how = data["place"]
        self._blobs: Mapping[str, str] = data["blobs"]
        self._knobs = frozenset(data["knobs"])
        self._stages = Stages(contents)
        self._entries: dict[Entry, RecordedEntry] = {}
        self._decisions: dict[DecodeShape, Decision] = cache(Cache.DECISIONS)

    @property
    def knobs(self) -> tuple[str, ...]:
        """Environment variables that the deciding code reads."""
        return tuple(sorted(self._knobs))

    def knobs_read(self, shape: DecodeShape) -> None:
        """Which of them were read for one shape is not recorded."""

    session = capability = None
    """A snapshot holds no source."""

    def takes(self, role: str) -> bool:
        """Whether the dispatcher may have a parameter of that meaning: not known from a
        snapshot."""
        return True

    def has_route(self, route: Route) -> bool:
        """Whether the source has a route at all."""
        stage = StageName.GLUON if route is Route.GLUON else StageName.DISPATCHER
        return any(row[:2] == (stage, Status.PRESENT) for row in self.stage_status)

    def source_text(self, file: str) -> str | None:
        """A snapshot holds no source."""
        return None

    def nearest_rows(
        self, arch: str, key: tuple[tuple[str, Any], ...], limit: int = 3
    ) -> tuple[tuple[str, str, int, tuple[str, ...]], ...]:
        """A snapshot holds no kernel table."""
        return ()

    @property
    def release(self) -> str | None:
        """The release that the snapshot is of, where that is known."""
        return self.source.release

    def forget(self) -> None:
        """Lets go of remembered answers."""
        self._decisions.clear()

    def close(self) -> None:
        """Nothing is held open."""

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- deciding --------------------------------------------------------------------------------

    def decide(self, shape: DecodeShape) -> Decision:
        """What happens to a shape; errata applied. UNKNOWN, with ``OUTSIDE`` as its stage, for a
        shape that the snapshot does not hold.

        Raises:
            SnapshotError: the snapshot is damaged.
        """
        kept = self._decisions.get(shape)
        if kept is None:
            entry = _entry_of(shape)
            if entry is None or entry.route is None:
                found, blob_of = self._judged(shape, entry), self._blobs.get
                kept = known.apply(found, release=self._release, how=self._how, blob_of=blob_of)
            else:
                kept = by_route(self.decide, shape)
                assert kept is not None
            self._decisions[shape] = kept
        return kept

    def verdicts(self, setting: DecodeShape, heads: Sequence[int]) -> list[Verdict]:
        """What becomes of a setting at some head counts; its own means nothing.

        Raises:
            SnapshotError: the snapshot is damaged.
        """
        found: dict[Hashable, Verdict] = {}
        told = []
        for count, key in zip(heads, self._told_apart(setting, heads), strict=True):
            if key not in found:
                found[key] = self.decide(reshaped(setting, num_heads=count)).verdict
            told.append(found[key])
        return told

    def _told_apart(self, setting: DecodeShape, heads: Sequence[int]) -> Sequence[Hashable]:
        """For each head count something that is the same only where the verdict is: the count
        itself where that may depend on more of it than the records say."""
        entry = _entry_of(setting)
        usual = setting.batch is None and setting.num_kv_heads is None
        if entry is None or entry.route is not None or not usual:
            return heads
        if not self.scope.head_at.keys() >= set(heads) or self.decide(setting).stage == OUTSIDE:
            return heads
        met = [
            erratum.pattern
            for erratum in errata.avoided(self._release)
            if erratum.pattern.matches_but_for_numbers(setting)
        ]
        try:
            names = self._entry(entry).told_apart(setting, heads)
        except MISFITS:
            raise damaged(self._contents.name) from None
        return [
            (name, *(pattern.names(count, setting.qlen) for pattern in met))
            for count, name in zip(heads, names, strict=True)
        ]

    def judge(self, shape: DecodeShape) -> Decision:
        """The decision without errata."""
        return by_route(self.judge, shape) or self._judged(shape, _entry_of(shape))

    def _judged(self, shape: DecodeShape, entry: Entry | None) -> Decision:
        """The same for a shape that is answered by its own stages."""
        why = self.scope.outside(shape, self._knobs)
        if why is None and entry is not None:
            why = self._operation_outside(entry, shape)
        if why is None:
            try:
                if entry is not None:
                    return self._entry(entry).judge(shape)
                return judge(self._stages, shape)
            except UnknownBatchError:
                why = f"batch {shape.batch} (how the answer depends on the batch is not known)"
            except MISFITS:
                raise damaged(self._contents.name) from None
        return Decision(
            shape=shape,
            verdict=Verdict.UNKNOWN,
            stage=OUTSIDE,
            message=OUTSIDE_TEXT + why,
        )

    def _operation_outside(self, entry: Entry, shape: DecodeShape) -> str | None:
        """What is not held of another operation, in words."""
        held = entry in self._entries or entry.key in self._contents.data.get(OPERATIONS, {})
        if not held:
            return f"the operation {shape.op} by {entry.name} ({NOT_TAKEN})"
        return self._entry(entry).outside(shape)

    def _entry(self, entry: Entry) -> RecordedEntry:
        found = self._entries.get(entry)
        if found is None:
            found = self._entries[entry] = RecordedEntry(self._contents, self._stages, entry)
        return found

    def records_needs(self, shape: DecodeShape) -> bool:
        """Whether what a launch needs is recorded: that of the usual ones, in a snapshot that was
        made with it."""
        needs = self._needs
        outside = self.scope.outside(shape, self._knobs) is not None
        return needs is not None and not outside and needs.holds(shape)

    def needs(self, shape: DecodeShape) -> tuple[Need, ...]:
        """What a launch needs, where that is recorded; nothing where it does not run.

        Raises:
            UsageError: it is not recorded.
            SnapshotError: the snapshot is damaged.
        """
        needs = self._needs
        if needs is None or not self.records_needs(shape):
            raise UsageError("the snapshot does not record what this launch needs")
        try:
            return needs.needs(shape)
        except MISFITS:
            raise damaged(self._contents.name) from None

    @cached_property
    def _needs(self) -> RecordedNeeds | None:
        if NEEDS not in self._contents.data:
            return None
        try:
            return RecordedNeeds(self._contents, self.decide, self.erratum_release)
        except MISFITS:
            raise damaged(self._contents.name) from None

    def behaviour_rows(self, part: Grid, numbering: Numbering) -> list[Row] | None:
        """The behaviours of a part of a grid (``sides.parts``), a row for each head count; ``None``
        where each shape has to be decided for itself.

        Raises:
            SnapshotError: the snapshot is damaged.
        """
        if part.op is not Operation.DECODE:
            return None
        if self._has_cells(part) and self._outside(part) is not None:
            unknown = numbering.number(behaviour_of(self.decide(next(part.shapes()))))
            return [(unknown,) * (len(part.qlens) * len(part.lse))] * len(part.heads)
        return self.held_rows(part, numbering)

    def held_rows(self, part: Grid, numbering: Numbering) -> list[Row] | None:
        """The same; ``None`` also where the snapshot does not hold the part."""
        unset = part.batches == part.kv_cache_sizes == part.kv_splits == (None,)
        usual = unset and part.sparse == (False,) and part.planner in (_NO_CALL, OMITTED)
        usual = usual and part.op is Operation.DECODE
        if not (usual and self._has_cells(part)) or self._outside(part) is not None:
            return None
        try:
            return self._tabled.rows(part, numbering)
        except MISFITS:
            raise damaged(self._contents.name) from None

    def _has_cells(self, part: Grid) -> bool:
        heads, qlens = self.scope.head_at.keys(), self.scope.qlen_at.keys()
        return heads >= set(part.heads) and qlens >= set(part.qlens)

    def _outside(self, part: Grid) -> str | None:
        """What of a part is not on the grid, whatever the cell."""
        return self.scope.outside(next(part.shapes()), self._knobs)

    @cached_property
    def _tabled(self) -> Tabled:
        from mlaprobe.snapshot.tabled import Tabled

        avoided = errata.avoided(self._release)
        return Tabled(self._stages, self.scope, self._contents.kernels, self.decide, avoided)

    def ask(self, stage: str, shape: DecodeShape, *, head_dim: int | None = None) -> StageOutcome:
        """One stage alone.

        Raises:
            UsageError: there is no stage of that name.
            SnapshotError: the snapshot is damaged.
        """
        of_decode(shape)
        if stage == StageName.REDUCER:
            return self._stages.reducer(shape.num_heads, head_dim)
        if stage not in STAGES:
            raise UsageError(
                f"unknown stage {stage!r}",
                hint="use one of " + ", ".join((*STAGES, StageName.REDUCER)),
            )
        why = self.scope.outside(_asked_alone(stage, shape), self._knobs)
        if why is None:
            try:
                return self._stages.ask(stage, shape)
            except UnknownBatchError:
                why = f"batch {shape.batch}"
            except MISFITS:
                raise damaged(self._contents.name) from None
        return outside(stage, why)

    @property
    def head_dims(self) -> tuple[int, ...]:
        """The head dimensions of the reducer, the decode's first."""
        return self._stages.head_dims

    def reducer_pair(self, heads: int, head_dim: int) -> StageOutcome:
        """What the reducer says to a head count and a head dimension."""
        return self._stages.reducer(heads, head_dim)

    def reducer_rows(self, heads: Sequence[int]) -> Iterator[tuple[int, int, StageOutcome]]:
        """The reducer's answer for head counts and every head_dim that its router names."""
        if (StageName.REDUCER, Status.PRESENT) not in [row[:2] for row in self.stage_status]:
            return
        for count in heads:
            for dim in sorted(self.head_dims):
                yield count, dim, self._stages.reducer(count, dim)


def _entry_of(shape: DecodeShape) -> Entry | None:
    """The function that answers for a shape, ``None`` for a decode."""
    return None if shape.op is Operation.DECODE else entry_of(shape)


def _asked_alone(stage: str, shape: DecodeShape) -> DecodeShape:
    """A shape reduced to the fields that concern one stage alone."""
    if stage in (StageName.PLANNER, StageName.SIZING):
        return replace(shape, persistent=True)
    intra = stage == StageName.DISPATCHER and shape.planner.intra_batch_mode
    return replace(shape, planner=PlannerCall(intra_batch_mode=intra))

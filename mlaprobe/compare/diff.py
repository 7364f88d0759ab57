"""The differences between two sources, as a caller notices them.

What is compared are the behaviours of the same shapes. Source that was moved, renamed
or reformatted behaves as before and gives nothing. Where both fail, nobody runs what is compared,
and how it fails is only counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mlaprobe.compare import sides
from mlaprobe.compare.sides import Comparable, Request, parts, shape_in, side_of
from mlaprobe.core.axes import AXES, Region, cell_of, order_values, regions
from mlaprobe.core.behaviour import Behaviour, Numbering, Row, behaviour_of
from mlaprobe.core.boxes import Cell
from mlaprobe.core.enums import TextEnum
from mlaprobe.core.grid import Grid
from mlaprobe.core.needs import Need
from mlaprobe.core.protocols import SourceInfo
from mlaprobe.core.reasons import deciding_clause
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Evidence,
    Operation,
    PlannerCall,
    Route,
    StageName,
    Status,
    Verdict,
)
from mlaprobe.snapshot import OUTSIDE, OUTSIDE_TEXT


class Kind(TextEnum):
    """The consequence of a change for a caller; the worst first."""

    BREAKS = "breaks"
    """It ran, and does not any more, or not rightly."""
    SLOWER = "slower"
    """It reads the KV cache more often."""
    NEEDS = "needs"
    """It runs as before, if the caller does something that was not needed."""
    UNKNOWN = "unknown"
    """One of the sources could not be followed."""
    GAINS = "gains"
    """It did not run, and does."""
    FASTER = "faster"
    """It reads the KV cache less often."""
    RELAXED = "relaxed"
    """It runs as before, and something is not needed any more."""
    KERNEL = "kernel"
    """As before, by another kernel."""
    FILE = "file"
    """As before, by the same kernel, whose code object is another file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PadChange:
    """What the resolver would launch a shape with, before and after."""

    num_heads: int
    old: int
    new: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Shapes for which the same thing became different."""

    kind: Kind
    region: Region
    old: Behaviour
    """Of the witness, as all that follows."""
    new: Behaviour
    witness: DecodeShape
    """The plainest of the shapes."""
    old_decision: Decision
    new_decision: Decision
    old_clause: Evidence | None
    """The clause that decided in the old source."""
    new_clause: Evidence | None
    pad: PadChange | None = None
    """``None`` for a shape that the resolver is not about."""
    deployments: tuple[str, ...] = ()
    """The names of the deployments that launch one of the shapes."""
    need: Need | None = None
    """What came or went, for a requirement."""

    @property
    def words(self) -> str:
        """From what to what."""
        if self.need is not None:
            how = "is" if self.kind is Kind.NEEDS else "was"
            now = "needs" if self.kind is Kind.NEEDS else "no longer needs"
            need = self.need
            return f"{now}: {need.text} (with {need.change} it {how} {need.outcome})"
        if self.kind is Kind.KERNEL:
            return f"{self.new.words}, by another kernel"
        if self.kind is Kind.FILE:
            return f"{self.new.words}, the kernel's file replaced"
        sides = (self.old, self.old_decision), (self.new, self.new_decision)
        return " -> ".join(_said(behaviour.words, decision) for behaviour, decision in sides)

    @property
    def message(self) -> str:
        """The change in one line."""
        return f"{self.region.description}: {self.words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Everything that differs between two sources."""

    old: SourceInfo
    new: SourceInfo
    changes: tuple[Change, ...]
    """The worst first."""
    shapes: int
    """The number of shapes that were compared."""
    fails_otherwise: int
    """The number of shapes that fail in both, in another way."""
    unknown: int
    """The number of shapes whose answer is unknown in the new source."""
    deployments: tuple[str, ...] = ()
    """The deployments that it is restricted to; empty: it is not."""
    needs_unrecorded: int = 0
    """The number of shapes whose needs are not recorded in one of the sources."""
    needs_unknown: int = 0
    """How often a need is not known in one of the sources."""
    pads: tuple[tuple[str, PadChange], ...] = ()
    """Deployments for which another head count is to be launched."""

    def of(self, *kinds: Kind) -> tuple[Change, ...]:
        """The changes of some kinds."""
        return tuple(change for change in self.changes if change.kind in kinds)


def _said(words: str, decision: Decision) -> str:
    """An answer in words; where a side has no answer at all, with what it lacks."""
    why = None
    if decision.stage == OUTSIDE:
        why = (decision.message or "").removeprefix(OUTSIDE_TEXT)
    elif not decision.verdict.runs and decision.stage is not None:
        outcome = decision.outcome(decision.stage)
        lacks = outcome is not None and outcome.status == Status.ABSENT
        why = outcome.message if outcome is not None and lacks else None
    return f"{words} ({why})" if why else words


def kind_of(old: Behaviour, new: Behaviour) -> Kind | None:
    """What a change of behaviour means; ``None`` where no caller notices one."""
    if old == new:
        return None
    if Verdict.UNKNOWN in (old.verdict, new.verdict):
        return None if old.verdict is new.verdict else Kind.UNKNOWN
    if not (old.verdict.runs or new.verdict.runs):
        return None
    if not new.verdict.runs:
        return Kind.BREAKS
    if not old.verdict.runs:
        return Kind.GAINS
    if old == replace(new, files=old.files):
        return Kind.FILE if new.replaces(old) else None
    if old.passes == new.passes:
        return Kind.KERNEL
    return Kind.SLOWER if new.passes > old.passes else Kind.FASTER


class Comparing:
    """Both sources, and the differences between them so far."""

    def __init__(self, old: Comparable, new: Comparable) -> None:
        self.old, self.new = side_of(old), side_of(new)
        self._numbering = Numbering()
        self.groups: dict[tuple[Kind, str, str], list[Cell]] = {}
        self.shapes = self.fails_otherwise = self.unknown = 0
        self._unknown_in: dict[Row, int] = {}

    def ask_grid(self, grid: Grid, step: Callable[[], None]) -> None:
        """Compares the shapes of a grid. A refusal that looks at few fields of a shape is evaluated
        once, for all shapes that share them."""
        numbering = self._numbering
        for group in parts(grid):
            found = [
                (part, self.old.rows(part, numbering), self.new.rows(part, numbering, step))
                for part in group
            ]
            for at, heads in enumerate(grid.heads):
                self._row(heads, [(part, old[at], new[at]) for part, old, new in found])

    def _row(self, heads: int, found: Sequence[tuple[Grid, Row, Row]]) -> None:
        """Keeps what differs for one head count of one arch and pair of dtypes."""
        for _, _, new in found:
            self.shapes += len(new)
            self.unknown += self._unknowns(new)
        if all(old == new for _, old, new in found):
            return
        first, wide = found[0][0], len(found[0][0].lse)
        for at, qlen in enumerate(first.qlens):
            for part, old, new in found:
                for place, lse in enumerate(part.lse, at * wide):
                    if old[place] != new[place]:
                        cell = cell_of(shape_in(part, heads, qlen, lse))
                        self._differs(cell, old[place], new[place])

    def _unknowns(self, row: Row) -> int:
        """How many behaviours of a row are unknown."""
        found = self._unknown_in.get(row)
        if found is None:
            verdicts = [self._numbering.by_number[number].verdict for number in row]
            found = self._unknown_in[row] = verdicts.count(Verdict.UNKNOWN)
        return found

    def _differs(self, cell: Cell, old_number: int, new_number: int) -> Kind | None:
        old, new = self._numbering.by_number[old_number], self._numbering.by_number[new_number]
        kind = kind_of(old, new)
        if kind is not None:
            self.groups.setdefault((kind, old.words, new.words), []).append(cell)
        elif not old.verdict.runs:
            self.fails_otherwise += 1
        return kind

    def ask(self, shape: DecodeShape) -> Kind | None:
        """Compares one shape."""
        self.shapes += 1
        old, new = (side.ask(sides.behaviour, shape) for side in (self.old, self.new))
        self.unknown += new.verdict is Verdict.UNKNOWN
        number = self._numbering.number
        return None if old == new else self._differs(cell_of(shape), number(old), number(new))

    def changes(self, values: Sequence[Sequence[Any]]) -> tuple[Change, ...]:
        """The differences, grouped, the worst first. ``values`` holds every compared value of each
        axis."""
        kinds = list(Kind)
        groups = sorted(self.groups.items(), key=lambda item: kinds.index(item[0][0]))
        found = [
            (kind, region) for (kind, _, _), cells in groups for region in regions(cells, values)
        ]
        self.new.ahead(_witnessed(region.first for _, region in found))
        return tuple(self._change(kind, region) for kind, region in found)

    def _change(self, kind: Kind, region: Region) -> Change:
        witness = region.first
        old, new = (side.ask(sides.decide, witness) for side in (self.old, self.new))
        stage = deciding_stage(old, new)
        return Change(
            kind=kind,
            region=region,
            old=behaviour_of(old),
            new=behaviour_of(new),
            witness=witness,
            old_decision=old,
            new_decision=new,
            old_clause=clause(old, stage),
            new_clause=clause(new, stage),
            pad=self.pads(witness, (witness.qlen,)) if _padded(witness) else None,
        )

    def result(self, changes: tuple[Change, ...], **more: Any) -> Comparison:
        """The comparison with its changes; ``more`` has what is known of deployments."""
        return Comparison(
            old=self.old.source,
            new=self.new.source,
            changes=changes,
            shapes=self.shapes,
            fails_otherwise=self.fails_otherwise,
            unknown=self.unknown,
            **more,
        )

    def pads(self, shape: DecodeShape, qlens: tuple[int, ...]) -> PadChange:
        """What the resolver would launch a shape with in either source."""
        old, new = (side.ask(sides.pad, shape, qlens) for side in (self.old, self.new))
        return PadChange(num_heads=shape.num_heads, old=old, new=new)


def _witnessed(witnesses: Iterable[DecodeShape]) -> Iterator[Request]:
    """The requests about the witnesses of changes."""
    for shape in witnesses:
        yield sides.decide, (shape,)
        if _padded(shape):
            yield sides.pad, (shape, (shape.qlen,))


def _padded(shape: DecodeShape) -> bool:
    """Whether the resolver is about a shape."""
    usual = shape.route is Route.ASM and shape.planner == PlannerCall()
    return usual and shape.op is Operation.DECODE


def deciding_stage(old: Decision, new: Decision) -> str | None:
    """The stage at which two decisions part: the one that fails, or the first that answers
    otherwise."""
    for decision in (new, old):
        if decision.verdict is Verdict.INCOHERENT:
            return StageName.PLANNER  # found at the dispatcher, and mostly decided here
        if not decision.verdict.runs:
            return decision.stage
    for stage, outcome in old.stages:
        other = new.outcome(stage)
        if other is not None and (outcome.status, outcome.fold, outcome.qlen_fold) != (
            *(other.status, other.fold, other.qlen_fold),
        ):
            return stage
    return StageName.HOST


def clause(decision: Decision, stage: str | None) -> Evidence | None:
    """The clause or table row by which a stage decided; where it has none, what decided at all."""
    # The rows of the kernel table are what the host found; an erratum is about what runs.
    named = StageName.HOST if stage in (StageName.TABLE, "errata") else stage
    outcome = decision.outcome(named) if named else None
    if outcome is None or not outcome.evidence:
        return deciding_clause(decision)
    rows = [each for each in outcome.evidence if each.stage == StageName.TABLE]
    return rows[0] if rows else outcome.evidence[-1]


def compare(
    old: Comparable,
    new: Comparable,
    grids: Iterable[Grid],
    *,
    step: Callable[[], None] = lambda: None,
) -> Comparison:
    """What differs between two sources on some grids. ``step`` is called now and then.

    Raises:
        SourceError: a file cannot be read.
    """
    comparing, grids = Comparing(old, new), tuple(grids)
    comparing.new.ahead(
        (sides.numbered_rows, (part,)) for grid in grids for some in parts(grid) for part in some
    )
    for grid in grids:
        comparing.ask_grid(grid, step)
    return comparing.result(comparing.changes(axis_values(grids)))


def axis_values(grids: Iterable[Grid]) -> tuple[tuple[Any, ...], ...]:
    """For each axis every value that some grids have."""
    values: list[list[Any]] = [[] for _ in AXES]
    for grid in grids:
        for found, more in zip(values, grid.axes, strict=True):
            found.extend(more)
    return tuple(order_values(axis, found) for axis, found in zip(AXES, values, strict=True))

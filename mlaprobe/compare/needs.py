"""What launches need of the new source and not of the old one, or the other way round.

Looked at are shapes that run in both, called as usual. A source that is read is asked for each of
them, which takes longer than all else of a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from mlaprobe.compare import sides
from mlaprobe.compare.diff import Change, Comparison, Kind, axis_values
from mlaprobe.compare.sides import Comparable, ComparisonSide, side_of
from mlaprobe.core.axes import Region, cell_of, regions
from mlaprobe.core.behaviour import behaviour_of
from mlaprobe.core.boxes import Cell
from mlaprobe.core.grid import Grid
from mlaprobe.core.needs import Consequence, Need
from mlaprobe.core.shape import DecodeShape, Evidence, PlannerCall, Route

Found = Mapping[str, Consequence]
"""By the ids of needs what comes of doing otherwise."""
_USUAL_CALL = PlannerCall()


class ComparingNeeds:
    """The requirements that came or went between two sources, so far."""

    def __init__(self, old: Comparable, new: Comparable) -> None:
        self._old, self._new = side_of(old), side_of(new)
        self._groups: dict[tuple[Kind, str], list[Cell]] = {}
        self.unrecorded = self.unknown = 0

    def ask(self, shape: DecodeShape) -> None:
        """Compares the needs of one shape."""
        if not all(side.ask(sides.runs, shape) for side in (self._old, self._new)):
            return
        old, new = (_found(side, shape) for side in (self._old, self._new))
        if old is None or new is None:
            self.unrecorded += 1
            return
        for name in dict.fromkeys((*old, *new)):
            before, after = old.get(name), new.get(name)
            if Consequence.UNKNOWN in (before, after):
                self.unknown += before is not after
            elif before is None or after is None:
                kind = Kind.NEEDS if before is None else Kind.RELAXED
                self._groups.setdefault((kind, name), []).append(cell_of(shape))

    def changes(self, grids: Iterable[Grid]) -> tuple[Change, ...]:
        """The requirements that came, then those that went, by regions of shapes."""
        values, kinds = axis_values(grids), list(Kind)
        groups = sorted(self._groups.items(), key=lambda item: kinds.index(item[0][0]))
        return tuple(
            self._change(kind, name, region)
            for (kind, name), cells in groups
            for region in regions(cells, values)
        )

    def _change(self, kind: Kind, name: str, region: Region) -> Change:
        witness = region.first
        old, new = (side.ask(sides.decide, witness) for side in (self._old, self._new))
        side = self._new if kind is Kind.NEEDS else self._old
        need = next(each for each in side.ask(sides.needs, witness) or () if each.id == name)
        clause = _clause(need)
        return Change(
            kind=kind,
            region=region,
            old=behaviour_of(old),
            new=behaviour_of(new),
            witness=witness,
            old_decision=old,
            new_decision=new,
            old_clause=clause if kind is Kind.RELAXED else None,
            new_clause=clause if kind is Kind.NEEDS else None,
            need=replace(need, evidence=()),
        )


def _found(side: ComparisonSide, shape: DecodeShape) -> Found | None:
    needs = side.ask(sides.needed, shape)
    return None if needs is None else dict(needs)


def _clause(need: Need) -> Evidence | None:
    """The clause that decides, where one is at hand."""
    return need.evidence[-1] if need.evidence else None


def with_needs(
    comparison: Comparison,
    old: Comparable,
    new: Comparable,
    shapes: Iterable[DecodeShape],
    grids: Iterable[Grid],
    step: Callable[[], None] = lambda: None,
) -> Comparison:
    """A comparison with the requirements that came or went, for those of some shapes that are
    called as usual.

    Args:
        grids: what the shapes are of.

    Raises:
        SourceError: a file cannot be read.
    """
    comparing = ComparingNeeds(old, new)
    for shape in shapes:
        if shape.route is Route.ASM and shape.planner == _USUAL_CALL:
            comparing.ask(shape)
            step()
    kinds = list(Kind)
    changes = (*comparison.changes, *comparing.changes(grids))
    return replace(
        comparison,
        changes=tuple(sorted(changes, key=lambda change: kinds.index(change.kind))),
        needs_unrecorded=comparing.unrecorded,
        needs_unknown=comparing.unknown,
    )

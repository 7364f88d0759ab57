"""What the launches of a snapshot need, while it is made.

It is found for the usual launches: every head count and query length that runs, at the first page
size, with a causal mask. What errata add is left to whoever reads it. Evidence is left out, and
messages of outcomes that say it all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mlaprobe.core.needs import Consequence, Need
from mlaprobe.deciding.capability import Capability
from mlaprobe.rulefiles.variations import variations
from mlaprobe.snapshot.asking import shapes
from mlaprobe.snapshot.lookup import NONE
from mlaprobe.snapshot.scope import Scope
from mlaprobe.snapshot.tables import NOTHING, Table
from mlaprobe.snapshot.writing import compact, named

_WORDLESS = frozenset(
    (
        *(Consequence.NO_KERNEL, Consequence.AMBIGUOUS, Consequence.INCOHERENT),
        *(Consequence.OTHER_FOLD, Consequence.OTHER_KERNEL),
    )
)
Row = tuple[Any, ...]


def row_of(need: Need) -> Row:
    """A need as a snapshot holds it."""
    return (
        need.id,
        need.outcome.value,
        None if need.failure is None else need.failure.value,
        None if need.stage is None else str(need.stage),
        None if need.outcome in _WORDLESS else need.message,
    )


class NeedTable(Table):
    """The needs of every cell: its planes name sets of needs."""

    def __init__(self, axes: Sequence[tuple[str, Sequence[Any]]]) -> None:
        super().__init__(axes)
        self.sets: dict[tuple[Row, ...], int] = {}
        """The needs of a cell, by place."""

    def fill(self, capability: Capability, scope: Scope, setting: tuple[Any, ...]) -> None:
        """The plane of a setting."""
        known = dict(zip((name for name, _ in self.axes), setting, strict=True))
        make = shapes(scope, {**known, "page_size": scope.page_sizes[0]})
        plane: list[int] = []
        for cell in scope.cells():
            needs = capability.asking.by_source(make(*cell))
            at = NOTHING
            if needs is not None:
                at = self.sets.setdefault(tuple(map(row_of, needs)), len(self.sets))
            plane.append(at)
        self.planes[setting] = plane

    def written(self) -> tuple[dict[str, Any], Mapping[int, str]]:
        """The section that says what the planes name, and the names of sets by place."""
        rows = sorted({compact(row) for each in self.sets for row in each})
        names = dict(zip(rows, named(rows), strict=True))
        sets = [" ".join(names[compact(row)] for row in each) for each in self.sets]
        keys = named(sets)
        section = {
            "tried": {each.id: each.digest for each in variations()},
            "records": {names[row]: json.loads(row) for row in rows},
            "sets": dict(sorted(zip(keys, sets, strict=True))),
        }
        return section, {**dict(enumerate(keys)), NOTHING: NONE}

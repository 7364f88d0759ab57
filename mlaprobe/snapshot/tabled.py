"""The behaviours of whole rows of shapes, without composing each answer.

What a caller notices of an answer depends on the gist of its stages' records (not on messages and
evidence) and on little else: whether planner and dispatcher launch the same head count, which
record of the reducer it leads to, and which errata mean the shape. Cells that agree in all of that
are answered alike, whatever their head count and whichever snapshot they are of, so one of them is
composed and stands for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from mlaprobe.core.behaviour import Numbering, Row, behaviour_of
from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.grid import Grid
from mlaprobe.core.shape import Decision, DecodeShape, Kernel, Route
from mlaprobe.rulefiles.errata import Erratum
from mlaprobe.snapshot.cells import Plane
from mlaprobe.snapshot.lookup import NONE
from mlaprobe.snapshot.phrases import number
from mlaprobe.snapshot.records import Record, Values, failure_of
from mlaprobe.snapshot.scope import Scope
from mlaprobe.snapshot.stages import Stages, words_of

Names = tuple[str, ...]
"""The names of a cell's records, or of one stage's for a row of cells."""
OUTSIDE = ""
"""Stands for the reducer's record of a head count that the snapshot does not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gist:
    """What a behaviour can depend on, of one record."""

    fields: Hashable
    """All but the numbers."""
    final_heads: int | str | None
    """Maybe the name of a variable (see ``phrases``); so is the next."""
    reduces: int | str | None


class Tabled:
    """The behaviours of one snapshot."""

    def __init__(
        self,
        stages: Stages,
        scope: Scope,
        kernels: Mapping[str, Kernel],
        decide: Callable[[DecodeShape], Decision],
        errata: tuple[Erratum, ...],
    ) -> None:
        """
        Args:
            decide: composes one answer, errata applied.
            errata: all that can change a verdict.
        """
        self.stages = stages
        self.scope = scope
        self.errata = errata
        self.known: dict[Hashable, Row | None] = cache(Cache.ROWS)
        """Rows of behaviours by what they depend on; ``None``: on the head count as well."""
        self._kernels = kernels
        self._decide = decide
        self._numbering: Numbering | None = None
        self._gists: dict[str, _Gist] = cache(Cache.ROWS)

    def rows(self, part: Grid, numbering: Numbering) -> list[Row]:
        """The behaviours of a part of a grid that lies in the scope.

        Raises:
            LookupError, TypeError, ValueError, AttributeError: the snapshot is damaged.
        """
        if numbering is not self._numbering:  # its numbers are others
            self._numbering = numbering
            self.known.clear()
        by_lse = [_Rows(self, part, lse).all() for lse in part.lse]
        if len(by_lse) == 1:
            return by_lse[0]
        joined = lru_cache(maxsize=None)(_joined)  # equal rows are one object
        return [joined(rows) for rows in zip(*by_lse, strict=True)]

    def number(self, key: Hashable, shape: Callable[[], DecodeShape]) -> int:
        """The number of a cell's behaviour; ``shape`` makes one that stands for all like it."""
        assert self._numbering is not None
        found = self._numbering.alike.get(key)
        if found is None:
            behaviour = behaviour_of(self._decide(shape()))
            found = self._numbering.alike[key] = self._numbering.number(behaviour)
        return found

    def gist(self, name: str) -> _Gist:
        """The gist of the record of that name."""
        found = self._gists.get(name)
        if found is None:
            found = self._gists[name] = self._gist(self.stages.table("dispatcher").unset(name))
        return found

    def _gist(self, record: Record) -> _Gist:
        kernels = tuple(self._kernels[name] for name in record.get("kernels", "").split())
        loaded = tuple((k.symbol, k.co_present, k.has_symbol, k.blob, k.lds) for k in kernels)
        return _Gist(
            fields=(
                failure_of(record),
                *(record.get(name) for name in _TELLING),
                *(name in record for name in ("key", "fails_after", "misfit")),
                loaded,
            ),
            final_heads=record.get("final_heads"),
            reduces=record.get("reduces"),
        )


_TELLING = (
    *("status", "fold", "qlen_fold", "persistent", "entry", "missing"),
    "unwritten_lse",
)
"""The fields of a record that a behaviour can depend on as they are."""


def _joined(rows: tuple[Row, ...]) -> Row:
    """Rows without and with the LSE as one."""
    return tuple(number for cell in zip(*rows, strict=True) for number in cell)


class _Rows:
    """The rows of one part of a grid, with or without the LSE."""

    def __init__(self, tabled: Tabled, part: Grid, lse: bool) -> None:
        self._tabled = tabled
        self._stages = tabled.stages
        self._scope = tabled.scope
        self._part = part
        first = self._first = next(replace(part, lse=(lse,)).shapes())
        self._mode = (part.route, part.persistent[0], part.qlens)
        self._planes = [self._plane(stage, first) for stage in self._asked()]
        self._reducer: Plane | None = None
        if part.route is Route.ASM:
            dim = {"head_dim": str(self._stages.head_dims[0])}
            self._reducer = self._stages.table("reducer").plane(dim)
        numbered = (e for e in tabled.errata if e.pattern.matches_but_for_numbers(first))
        self._errata = tuple(numbered)

    def _shape(self, heads: int, qlen: int) -> DecodeShape:
        return replace(self._first, num_heads=heads, qlen=qlen)

    def _asked(self) -> Sequence[str]:
        if self._part.route is Route.GLUON:
            return ("gluon",)
        return ("dispatcher", "called", "host", "planner", "sizing")[: 5 if self._mode[1] else 3]

    def _plane(self, name: str, shape: DecodeShape) -> Plane:
        table = self._stages.table(name, "host" if name == "called" else None)
        return table.plane(words_of(name, shape))

    def all(self) -> list[Row]:
        """The rows, in the order of the head counts."""
        return [self._row(heads) for heads in self._part.heads]

    def _row(self, heads: int) -> Row:
        at = self._scope.head_at[heads]
        met = tuple(self._met(heads, qlen) for qlen in self._part.qlens) if self._errata else ()
        names = [plane[at] for plane in self._planes]
        key: Hashable = (self._mode, *names, self._reduced(heads), met)
        known = self._tabled.known
        if key in known:
            found = known[key]
            if found is not None:
                return found
            key = (key, heads)
            if (found := known.get(key)) is not None:
                return found
        row, follows = self._made(heads, names, met)
        if follows:
            known[key] = None
            key = (key, heads)
        known[key] = row
        return row

    def _met(self, heads: int, qlen: int) -> tuple[str, ...]:
        """The errata that mean a cell."""
        return tuple(e.id for e in self._errata if e.pattern.names(heads, qlen))

    def _reduced(self, heads: int) -> str:
        """The name of the reducer's record of a head count."""
        if self._reducer is None:
            return OUTSIDE
        at = self._stages.table("reducer").head_at.get(heads)
        return OUTSIDE if at is None else self._reducer[at][0]

    def _made(self, heads: int, names: list[Names], met: Sequence[Any]) -> tuple[Row, bool]:
        """A row, and whether it follows the head count in another way than by its records."""
        row, follows = [], False
        mode = (*self._mode[:2], self._stages.has_tables)
        for turn, qlen in enumerate(self._part.qlens):
            at = self._scope.qlen_at[qlen]
            cell = [self._tabled.gist(name[at]) for name in names if name[at] != NONE]
            rest, by_heads = self._numbers(heads, qlen, cell)
            follows = follows or by_heads
            key = (mode, *(each.fields for each in cell), rest, met[turn] if met else ())
            row.append(self._tabled.number(key, lambda qlen=qlen: self._shape(heads, qlen)))  # type: ignore[misc]
        return tuple(row), follows

    def _numbers(self, heads: int, qlen: int, cell: Sequence[_Gist]) -> tuple[Hashable, bool]:
        """What the numbers in a cell's records lead to: the reducer's record, and whether planner
        and dispatcher launch the same; and whether that was seen for this head count only."""
        if self._part.route is Route.GLUON:
            return (), False

        def valued(written: int | str) -> int:
            if not isinstance(written, str):
                return written
            return number(written, Values(self._shape(heads, qlen), heads, qlen))

        dispatched = cell[0]
        reduces, final = dispatched.reduces, dispatched.final_heads
        follows = isinstance(reduces, str) and reduces != "heads"
        name = self._reduced(heads if reduces in (None, "heads") else valued(reduces))
        reduced = name if name == OUTSIDE else self._tabled.gist(name).fields
        if not self._mode[1]:
            return reduced, follows
        planned = cell[-2].final_heads
        if planned == final or planned is None or final is None:
            return (reduced, planned == final), follows
        return (reduced, valued(planned) == valued(final)), True

"""A table of heads by query lengths, fitted to a width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from mlaprobe.core.numbers import ranges
from mlaprobe.output.cells import Cell
from mlaprobe.output.style import Line, Span, line

INDENT = "  "
GAPS = ("  ", " ")
"""Between columns: the first that leaves room enough."""
HEAD = "heads"
MOST_LABEL = 11
"""Head counts that answer alike share a line as long as their label is no wider."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells by head counts and query lengths; a line or column may stand for several of either."""

    columns: tuple[tuple[int, ...], ...]
    rows: tuple[tuple[tuple[int, ...], tuple[Cell, ...]], ...]

    def merged(self) -> Table:
        """Neighbouring columns that are the same throughout, as one."""
        by_column = list(zip(*(cells for _, cells in self.rows), strict=True))
        groups = [
            [at for at, _ in group]
            for _, group in groupby(enumerate(by_column), key=lambda pair: pair[1])
        ]
        return Table(
            tuple(tuple(q for at in group for q in self.columns[at]) for group in groups),
            tuple(
                (heads, tuple(cells[group[0]] for group in groups)) for heads, cells in self.rows
            ),
        )

    def part(self, start: int, stop: int) -> Table:
        """Some of the columns."""
        return Table(
            self.columns[start:stop],
            tuple((heads, cells[start:stop]) for heads, cells in self.rows),
        )

    @property
    def labels(self) -> list[str]:
        """What stands before the rows."""
        return [ranges(heads) for heads, _ in self.rows]

    @property
    def titles(self) -> list[str]:
        """What stands above the columns."""
        names = [ranges(qlens) for qlens in self.columns]
        return [f"qlen {names[0]}", *names[1:]]


def table_of(rows: Iterable[tuple[int, tuple[Cell, ...]]], qlens: Sequence[int]) -> Table:
    """The table of a block, with neighbouring head counts that answer alike in one row."""
    grouped: list[tuple[tuple[int, ...], tuple[Cell, ...]]] = []
    for heads, cells in rows:
        if grouped and grouped[-1][1] == cells:
            together = (*grouped[-1][0], heads)
            if len(ranges(together)) <= MOST_LABEL:
                grouped[-1] = (together, cells)
                continue
        grouped.append(((heads,), cells))
    return Table(tuple((qlen,) for qlen in qlens), tuple(grouped))


def _text(cell: Cell, short: bool) -> str:
    return cell.short if short else cell.long


def _widths(table: Table, *, short: bool) -> list[int]:
    return [
        max(len(title), *(len(_text(cells[at], short)) for _, cells in table.rows))
        for at, title in enumerate(table.titles)
    ]


def _label_width(table: Table) -> int:
    return max(len(HEAD), *map(len, table.labels))


def width_of(table: Table, *, short: bool, gap: str = GAPS[-1]) -> int:
    """How wide a table is."""
    columns = sum(width + len(gap) for width in _widths(table, short=short))
    return len(INDENT) + _label_width(table) + columns


def fits(table: Table, width: int) -> bool:
    """Whether long words fit, if need be with columns merged."""
    return width_of(table.merged(), short=False) <= width


def render(table: Table, width: int, *, short: bool, merge: bool = False) -> list[Line]:
    """The table's lines: columns merged where that is wished for or they do not fit, and broken
    into several tables only where that does not help."""
    if merge or width_of(table, short=short) > width:
        table = table.merged()
    lines: list[Line] = []
    start = 0
    while start < len(table.columns):
        stop = len(table.columns)
        while stop > start + 1 and width_of(table.part(start, stop), short=short) > width:
            stop -= 1
        lines += _lines(table.part(start, stop), width, short=short)
        start = stop
    return lines


def _lines(table: Table, width: int, *, short: bool) -> list[Line]:
    roomy = width_of(table, short=short, gap=GAPS[0]) <= width
    gap = GAPS[0] if roomy else GAPS[-1]
    label_width, widths = _label_width(table), _widths(table, short=short)
    header = INDENT + HEAD.rjust(label_width)
    for title, room in zip(table.titles, widths, strict=True):
        header += gap + title.ljust(room)
    lines = [line(Span(header, "dim"))]
    for label, (_, cells) in zip(table.labels, table.rows, strict=True):
        spans = [Span(INDENT + label.rjust(label_width))]
        for cell, room in zip(cells, widths, strict=True):
            text = _text(cell, short)
            spans += [Span(gap), Span(text, cell.style), Span(" " * (room - len(text)))]
        lines.append(tuple(spans))
    return lines

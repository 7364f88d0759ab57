"""The kernel table: CSV files beside the code objects, as AITER's generator turns them into a map.

The rules are those of ``hsa/codegen.py`` (four distinct texts from v0.1.10.post1 to v0.1.20.post1
that differ in comments only, as far as one file name per module is concerned). It reads the
``.csv`` files of every arch, joins those of one name, fills what is missing and writes a C++
header with one ``std::unordered_map`` per file name, which the host code searches. So one bad file
breaks the build for every arch. This module knows CSV and that map, not what the columns mean.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from mlaprobe.kernels.csvtext import UnreadableError
from mlaprobe.kernels.tablefile import (
    ARCH,
    CO,
    NAME,
    TableFile,
    TableProblem,
    column_type,
    group_problems,
    number,
    read_table_file,
    word,
)

Value = int | str


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of the map: a kernel and the key that it answers to."""

    arch: str
    line: int
    """1-based line in its file."""
    file: str
    """The table's path in AITER's repository layout."""
    fields: Mapping[str, Value] = field(hash=False)
    """Every column but the names, as the C++ struct holds it. All rows have the same columns."""
    name: str
    """The kernel's symbol."""
    co: str
    """The code object's path in AITER's repository layout."""
    text: str
    """The line as it stands in the file."""
    problem: str | None = None
    """Why this row cannot be relied on, or ``None``."""
    group: str = ""
    """The map that the row is in: the file's name up to its first dot."""


@dataclass(frozen=True, slots=True)
class LostRow:
    """A row that is not in the map, because an earlier one of its arch has the same name."""

    row: TableRow
    winner: TableRow


@dataclass(frozen=True, slots=True)
class NearRow:
    """A row that does not match, and the columns in which it differs from what was wanted."""

    row: TableRow
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KernelTable:
    """The maps of one AITER source. Rows of one key stay apart: which runs is arbitrary."""

    rows: tuple[TableRow, ...] = ()
    """The rows that are in the map, in file order."""
    lost: tuple[LostRow, ...] = ()
    columns: tuple[str, ...] = ()
    """The columns of any file, in order of appearance, without the names and the arch."""
    problems: tuple[TableProblem, ...] = ()
    """Where one concerns an arch (see :meth:`problem`), every row of it has a problem too."""
    _by_arch: Mapping[str, tuple[TableRow, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_arch: dict[str, list[TableRow]] = {}
        for row in self.rows:
            by_arch.setdefault(row.arch, []).append(row)
        frozen = MappingProxyType({arch: tuple(rows) for arch, rows in by_arch.items()})
        object.__setattr__(self, "_by_arch", frozen)

    @property
    def archs(self) -> tuple[str, ...]:
        """The archs that have a row."""
        return tuple(self._by_arch)

    def of_arch(self, arch: str) -> tuple[TableRow, ...]:
        """The rows of one arch."""
        return self._by_arch.get(arch, ())

    def only(self, group: str) -> KernelTable:
        """The one map that is named after the files ``group.csv``; problems stay."""
        return replace(
            self,
            rows=tuple(row for row in self.rows if row.group == group),
            lost=tuple(lost for lost in self.lost if lost.row.group == group),
        )

    def problem(self, arch: str) -> TableProblem | None:
        """The first reason why an arch's rows, and that there are no others, is not known."""
        return next((p for p in self.problems if p.arch in (None, arch)), None)

    def select(self, arch: str, /, **fields: Value) -> tuple[TableRow, ...]:
        """Every row of the arch with these values. Rows that have a problem are among them.

        Raises:
            KeyError: a column that no file has. C++ that asks for it would not compile, so that
                "no row" would be a wrong answer.
        """
        for name in fields:
            if name not in self.columns:
                raise KeyError(name)
        wanted = fields.items()
        return tuple(row for row in self.of_arch(arch) if wanted <= row.fields.items())

    def nearest(
        self, arch: str, wanted: Mapping[str, Value], limit: int = 3
    ) -> tuple[NearRow, ...]:
        """The rows of the arch that come closest: fewest differing columns first, then the
        smallest numeric distance, then file order."""

        def gap(row: TableRow, name: str) -> int:
            have, want = row.fields.get(name), wanted[name]
            return abs(have - want) if isinstance(have, int) and isinstance(want, int) else 0

        ranked = []
        for order, row in enumerate(self.of_arch(arch)):
            differs = tuple(n for n, value in wanted.items() if row.fields.get(n) != value)
            rank = (len(differs), sum(gap(row, name) for name in differs), order)
            ranked.append((rank, NearRow(row, differs)))
        ranked.sort(key=lambda pair: pair[0])
        return tuple(near for _, near in ranked[:limit])


def read_tables(
    files: Iterable[tuple[str, str, str | bytes]], *, strip_comments: bool
) -> KernelTable:
    """The maps that AITER builds from the tables of one module.

    Args:
        files: arch, path in AITER's repository layout (``hsa/ARCH/MODULE/.../NAME.csv``) and
            content. Give those of all archs: the columns of one file depend on the others.
        strip_comments: whether the generator drops comments (``csvtext.comment_rule``).

    Whatever the content is, nothing is raised: what AITER would fail on, or read in an arbitrary
    way, becomes a problem of the table.
    """
    problems: list[TableProblem] = []
    good: list[TableFile] = []
    for arch, path, text in files:
        if any(part.startswith(".") for part in path.split("/")):
            continue  # the generator's glob does not see hidden files
        try:
            good.append(read_table_file(arch, path, text, strip_comments=strip_comments))
        except UnreadableError as error:
            problem = TableProblem(error.message, None, path, error.line, error.text)
            problems.append(problem)
    problems += group_problems(good)
    numeric: dict[str, bool] = {}
    for column in dict.fromkeys(name for file in good for name in file.columns if name != ARCH):
        numeric[column], unclear = column_type(column, good)
        if unclear is not None:
            problems.append(unclear)
    columns = {name: kind for name, kind in numeric.items() if name not in (NAME, CO)}
    rows = [row for file in good for row in _rows(file, columns, good)]
    for row in rows:
        if row.problem is not None:
            problems.append(TableProblem(row.problem, row.arch, row.file, row.line, row.text))
    kept, lost = _as_map(rows, problems)
    return _marked(KernelTable(tuple(kept), tuple(lost), tuple(columns), tuple(problems)))


def _rows(
    file: TableFile, columns: Mapping[str, bool], files: Iterable[TableFile]
) -> Iterator[TableRow]:
    """The rows of one file, each with its own problem where it has one."""
    joined = {name for other in files if other.group == file.group for name in other.columns}
    read: dict[str, list[tuple[Value, str | None]]] = {}
    for name, is_number in columns.items():
        if is_number:
            read[name] = [number(cell) for cell in file.cells(name)]
        elif name in joined:
            read[name] = [word(cell) for cell in file.cells(name)]
        else:
            read[name] = [("", None)] * len(file.body)
    read[NAME] = [word(cell) for cell in file.cells(NAME)]
    read[CO] = [word(cell) for cell in file.cells(CO)]
    folder = posixpath.dirname(file.path)
    for at, record in enumerate(file.body):
        problem = next((f"{name}: {why[at][1]}" for name, why in read.items() if why[at][1]), None)
        yield TableRow(
            arch=file.arch,
            line=record.line,
            file=file.path,
            fields=MappingProxyType({name: read[name][at][0] for name in columns}),
            name=str(read[NAME][at][0]),
            co=f"{folder}/{read[CO][at][0]}",
            text=record.text,
            problem=problem,
            group=file.group,
        )


def _as_map(
    rows: list[TableRow], problems: list[TableProblem]
) -> tuple[list[TableRow], list[LostRow]]:
    """The rows that an ``unordered_map`` keyed by arch and name keeps: the first of each key."""
    kept: dict[tuple[str, str], TableRow] = {}
    lost: list[LostRow] = []
    for row in rows:
        winner = kept.setdefault((row.group, row.arch + row.name), row)
        if winner is row:
            continue
        lost.append(LostRow(row, winner))
        if winner.file != row.file:
            message = (
                f"{row.name} stands in {winner.file} as well: which row counts depends on the "
                "order of the directory"
            )
            problems.append(TableProblem(message, row.arch, row.file, row.line, row.text))
    return list(kept.values()), lost


def _marked(table: KernelTable) -> KernelTable:
    """Every row of an arch that has a problem with that problem, lest a caller overlooks it."""
    if not table.problems:
        return table
    whole = {arch: table.problem(arch) for arch in {row.arch for row in table.rows}}

    def mark(row: TableRow) -> TableRow:
        problem = whole.get(row.arch)
        if row.problem is not None or problem is None:
            return row
        return replace(row, problem=problem.message)

    return replace(
        table,
        rows=tuple(mark(row) for row in table.rows),
        lost=tuple(LostRow(mark(lost.row), mark(lost.winner)) for lost in table.lost),
    )

"""One file of the kernel table as typed columns, the way AITER's generator types them.

The generator (``hsa/codegen.py``) reads each file with pandas, joins the files of one name and
writes every value into a C++ struct, whose member is an int or a string by the column's first
value. What it would fail on, or what its compiler would, is a problem here.
"""

from __future__ import annotations

import keyword
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from mlaprobe.kernels.csvtext import Record, UnreadableError, records

NAME, CO, ARCH = "knl_name", "co_name", "arch"
"""The columns that a table must have, and the one that the generator adds."""

_MISSING = frozenset({"", "NULL", "null", "None", "NaN", "-NaN", "nan", "-nan", "NA", "<NA>"}) | {
    "#N/A",
    "#N/A N/A",
    "#NA",
    "N/A",
    "n/a",
    "1.#IND",
    "-1.#IND",
    "1.#QNAN",
    "-1.#QNAN",
}
"""What pandas reads as "no value" (``read_csv``'s documentation, ``na_values``)."""
_BOOLEANS = frozenset({"True", "TRUE", "true", "False", "FALSE", "false"})
"""Alone in a column these are neither: the member becomes an int and the value a string."""
_NUMBER = re.compile(
    r"[ \t]*[+-]?(?:[0-9]{1,18}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*"
    r"|[ \t]*[+-]?inf(?:inity)?[ \t]*",
    re.IGNORECASE,
)
"""More digits than fit 64 bits are text to pandas 2 and a number to pandas 3."""
_INT_MAX = 2**31 - 1
_MOST_CELLS = 2_000_000
"""A bound on the work. Real tables have below a thousand."""


@dataclass(frozen=True, slots=True)
class TableProblem:
    """Why nothing is known about the kernels of an arch."""

    message: str
    arch: str | None = None
    """The arch concerned; ``None``: every arch, because AITER's build of the map fails."""
    file: str | None = None
    line: int | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class TableFile:
    """One file, checked for what the generator demands of it alone."""

    arch: str
    path: str
    columns: Mapping[str, int]
    """Where each column stands, in the header's order."""
    body: tuple[Record, ...]

    @property
    def group(self) -> str:
        """The map that the file goes into, together with those of the same name."""
        return posixpath.basename(self.path).split(".")[0]

    @property
    def folder(self) -> str:
        """Its directory below the arch."""
        return posixpath.dirname(self.path).partition(f"{self.arch}/")[2]

    def cells(self, column: str) -> Iterator[str]:
        """A column, top to bottom; a row that ends before it has an empty cell there, as has
        every row of a file without that column."""
        at = self.columns.get(column, len(self.columns))
        for record in self.body:
            yield record.cells[at] if at < len(record.cells) else ""

    def problem(self, message: str, row: int) -> TableProblem:
        """A problem of one row that stops the generator or its compiler."""
        record = self.body[row]
        return TableProblem(message, None, self.path, record.line, record.text)


def read_table_file(arch: str, path: str, text: str | bytes, *, strip_comments: bool) -> TableFile:
    """One table.

    Raises:
        UnreadableError: AITER's generator fails on it, shifts its columns, or writes a struct
            that does not compile.
    """
    head, *body = records(text, strip_comments=strip_comments)
    columns: dict[str, int] = {}
    for at, name in enumerate(head.cells):
        # the generator reads values as attributes of a named tuple
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
            raise UnreadableError(f"{name!r} cannot name a column", head.line, head.text)
        if name in columns:
            raise UnreadableError(f"the column {name} is repeated", head.line, head.text)
        if name == "path":  # a parameter of the generated macro
            raise UnreadableError(f"the column name {name} is taken", head.line, head.text)
        columns[name] = at
    for name in (NAME, CO):
        if name not in columns:
            raise UnreadableError(f"the table has no column {name}", head.line, head.text)
    if len(columns) * len(body) > _MOST_CELLS:
        raise UnreadableError("the table is too large to be one")
    for record in body:
        # pandas: an error, or, in the first row, all columns shifted to the left
        if len(record.cells) > len(columns):
            message = f"the row has {len(record.cells)} fields, the header {len(columns)}"
            raise UnreadableError(message, record.line, record.text)
    file = TableFile(arch, path, columns, tuple(body))
    if not f"cfg_{file.group}".isidentifier():
        raise UnreadableError(f"{file.group!r} cannot name a map")
    return file


def group_problems(files: Iterable[TableFile]) -> Iterator[TableProblem]:
    """What is wrong with the files of one name together."""
    groups: dict[str, list[TableFile]] = {}
    for file in files:
        groups.setdefault(file.group, []).append(file)
    for group, members in groups.items():
        if not any(file.body for file in members):
            yield TableProblem("the table has no row", file=members[0].path)
        if len({file.folder for file in members}) > 1:
            # all code objects are looked for in the folder of the file that was read last
            yield TableProblem(
                f"the tables named {group} lie in different folders: which one holds their code "
                "objects depends on the order of the directory",
                file=members[-1].path,
            )


def column_type(column: str, files: Collection[TableFile]) -> tuple[bool, TableProblem | None]:
    """Whether a column is an int in the generated struct, and why that is not known.

    AITER decides by the first row of all joined files, whose order is the directory's. So only a
    column that holds the one or the other throughout has a type that is known, or compiles.
    """
    first: bool | None = None
    odd: tuple[TableFile, int, str] | None = None
    empty: tuple[TableFile, int] | None = None
    groups = {file.group for file in files if column in file.columns}
    for file in files:
        if file.group not in groups:
            continue  # filled to suit
        for row, cell in enumerate(file.cells(column)):
            if cell in _MISSING:
                empty = empty or (file, row)
                continue
            is_number = _NUMBER.fullmatch(cell) is not None
            first = is_number if first is None else first
            if is_number is not first or cell in _BOOLEANS:
                odd = odd or (file, row, cell)
    numeric = first is not False
    if odd is not None:
        file, row, cell = odd
        return numeric, file.problem(
            f"{column}: {cell!r} leaves open whether the column is a number", row
        )
    if empty is not None and not numeric:
        # pandas 3 raises, pandas 2 writes a 0 where the struct has a string
        return numeric, empty[0].problem(f"{column}: a row has no value", empty[1])
    return numeric, None


def number(cell: str) -> tuple[int, str | None]:
    """The int that is written for a cell of a numeric column, and what is wrong with it.

    ``int(value)`` is written only for what prints as digits with at most one dot, so 1.0 and 1.5
    are 1, and a negative value becomes a string that does not compile.
    """
    if cell in _MISSING:
        return 0, None
    if cell.isascii() and cell.isdigit() and len(cell) < 10:
        return int(cell), None
    if not _NUMBER.fullmatch(cell):
        return 0, f"{cell!r} is no number"
    value = float(cell)
    if str(value).replace(".", "", 1).isdigit() and value <= _INT_MAX:
        return int(value), None
    return 0, f"{cell.strip()} does not become an int"


def word(cell: str) -> tuple[str, str | None]:
    """The string that is written for a cell of a text column, and what is wrong with it."""
    if cell in _MISSING:
        return cell, "no value"
    if _NUMBER.fullmatch(cell) or cell.replace(".", "", 1).isdigit():
        return cell, f"{cell!r} is written as a number"
    if any(c in cell for c in '"\\\n'):
        return cell, f"{cell!r} does not fit a C++ literal"
    return cell, None

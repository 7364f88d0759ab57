"""Facts about the kernel tables: rows that are lost, alike, without a file, or out of reach."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from mlaprobe.core.shape import Evidence, StageName
from mlaprobe.deciding.capability import Capability
from mlaprobe.findings.facts import Fact
from mlaprobe.findings.facts.reach import Reach
from mlaprobe.kernels import TableRow

STAGE = StageName.TABLE


def place(row: TableRow) -> Evidence:
    """Where a row stands."""
    return Evidence(stage=STAGE, file=row.file, line=row.line, text=" ".join(row.text.split()))


def key_words(row: TableRow) -> str:
    """The key of a row in one line."""
    return " ".join(f"{name}={value}" for name, value in row.fields.items())


def row_facts(
    capability: Capability, archs: Collection[str], reach: Reach | None, *, calls: bool = True
) -> Iterator[Fact]:
    """Every row of every table, of some archs.

    Args:
        reach: finds out which of them a call can reach; ``None``: it is not computed.
        calls: whether also by calls of the dispatcher.
    """
    for module, table in capability.tables.modules.items():
        alike: dict[tuple[Any, ...], list[TableRow]] = {}
        for row in (row for row in table.rows if row.arch in archs):
            key = (row.group, row.arch, *row.fields.items())
            alike.setdefault(key, []).append(row)
            yield _row(capability, module, row, reach, calls)
        for rows in alike.values():
            if len(rows) > 1:
                yield _alike(module, rows)
        for lost in (lost for lost in table.lost if lost.row.arch in archs):
            yield _fact(module, lost.row, (lost.row, lost.winner), winner=lost.winner.line)


def _fact(module: str, row: TableRow, places: tuple[TableRow, ...], **values: Any) -> Fact:
    found = tuple(map(place, places))
    return Fact(
        about="row",
        values={
            "module": module,
            "arch": row.arch,
            "kernel": row.name,
            "file": row.file,
            "line": row.line,
            "co": row.co,
            "key": key_words(row),
            "columns": dict(row.fields),
            "problem": row.problem,
            **{"alike": None, "winner": None, "present": None, "defined": None, "by_host": None},
            "by_call": None,
            **values,
        },
        proof=lambda: found,
        identity=f"{module} {row.arch} {row.name} {row.co}",
    )


def _row(
    capability: Capability, module: str, row: TableRow, reach: Reach | None, calls: bool
) -> Fact:
    below = row.co.split("/", 2)[2]
    kernel = capability.tables.kernel(row.arch, row.name, below)
    known = reach if reach is not None and reach.knows(module, row) else None
    return _fact(
        module,
        row,
        (row,),
        present=kernel.co_present,
        defined=kernel.has_symbol,
        by_host=None if known is None else known.by_host(row),
        by_call=known.by_call(row) if known is not None and calls else None,
    )


def _alike(module: str, rows: list[TableRow]) -> Fact:
    """Rows of one lookup key: which of them a call gets depends on the order of a hash map."""
    names = ", ".join(row.name for row in rows)
    pairs = sorted((name, value) for name, value in rows[0].fields.items() if value)
    fact = _fact(module, rows[0], tuple(rows), alike=names)
    return Fact(
        about="row",
        values=fact.values,
        proof=fact.proof,
        # Columns that a release has more or less of are 0 where they say nothing.
        identity=f"{module} {rows[0].arch} " + " ".join(f"{n}={v}" for n, v in pairs),
    )

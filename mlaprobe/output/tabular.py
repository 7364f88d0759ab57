"""Rows as JSON lines, JSON, CSV or Markdown, one piece at a time: no table is held whole."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from mlaprobe.output.escape import markdown, markdown_code, printable
from mlaprobe.output.rows import Row, flat, to_json


def jsonl(rows: Iterable[Row]) -> Iterator[str]:
    """One object per line."""
    for row in rows:
        yield to_json(row) + "\n"


def json_array(rows: Iterable[Row], head: Row) -> Iterator[str]:
    """One object: the fields of the head (at least one), then ``rows``, a row per line."""
    yield to_json(head)[:-1] + ',"rows":['
    separator = "\n"
    for row in rows:
        yield separator + to_json(row)
        separator = ",\n"
    yield "\n]}\n"


def csv_lines(rows: Iterable[Row]) -> Iterator[str]:
    """RFC 4180 with LF line ends. Lists and objects are JSON in their cell."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    columns: list[str] = []
    for row in rows:
        cells = flat(row)
        if not columns:
            columns = list(cells)
            writer.writerow(columns)
        writer.writerow([_csv_cell(cells.get(name)) for name in columns])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (bool, dict, list)):
        return to_json(value)
    return printable(str(value))


def _words(value: Any) -> str:
    if value is None or value == [] or value == {}:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return markdown_code(" ".join(f"{name}={item}" for name, item in value.items()))
    return markdown(str(value))


def _kernels(row: Row) -> str:
    return "<br>".join(markdown_code(kernel["symbol"]) for kernel in row.get("kernels", ()))


def _reason(row: Row) -> str:
    """The clause that decided last, and its place."""
    evidence = row.get("evidence")
    if not evidence:
        return ""
    last = evidence[-1]
    return f"{markdown_code(last['text'])} {markdown(last['file'])}:{last['line']}"


_CELLS: Mapping[str, Callable[[Row], str]] = {
    "dtype": lambda row: f"{row['q_dtype']}/{row['kv_dtype']}",
    "kernels": _kernels,
    "evidence": _reason,
}
_TITLES = {"num_heads": "heads", "evidence": "decided by"}
_DECISION = (
    *("arch", "dtype", "num_heads", "qlen", "lse", "persistent", "causal", "cp_round_robin"),
    *("batch", "page_size", "verdict", "fold", "qlen_fold", "failure", "kernels", "evidence"),
)


def markdown_table(rows: Iterable[Row]) -> Iterator[str]:
    """A Markdown table: of decisions with the columns that people read, else of every field."""
    names: tuple[str, ...] = ()
    for row in rows:
        cells = flat(row)
        if not names:
            names = titles = tuple(cells)
            if "verdict" in row:
                names = _DECISION
                titles = tuple(_TITLES.get(name, name.replace("_", " ")) for name in names)
            yield "| " + " | ".join(titles) + " |\n"
            yield "|" + " --- |" * len(names) + "\n"
        texts = (_CELLS[name](cells) if name in _CELLS else _words(cells[name]) for name in names)
        yield "| " + " | ".join(texts) + " |\n"


def table_text(format: str, rows: Iterable[Row], head: Row) -> Iterator[str]:
    """Rows in one of the formats ``jsonl``, ``json``, ``csv``, ``markdown``."""
    if format == "json":
        return json_array(rows, head)
    return {"jsonl": jsonl, "csv": csv_lines, "markdown": markdown_table}[format](rows)

"""The least head count that an operation runs with: pure functions from data to text."""

from __future__ import annotations

from mlaprobe.core.numbers import ranges
from mlaprobe.core.protocols import SourceInfo
from mlaprobe.output import SCHEMA
from mlaprobe.output.commands import in_words
from mlaprobe.output.report import LEAST_WIDTH, MOST_WIDTH, where_found
from mlaprobe.output.report_data import source_row
from mlaprobe.output.rows import decision_row, picked, to_json
from mlaprobe.output.style import Line, paragraph
from mlaprobe.padding.operations import LeastCount
from mlaprobe.padding.verdicts import why_not


def least_lines(source: SourceInfo, found: LeastCount, *, width: int) -> list[Line]:
    """The least head count that runs, and why the shape's own does not."""
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    shape, own = found.shape, found.own
    answer = "nothing up to 256 heads runs"
    if found.undecided and not found.runs:
        answer = "nothing up to 256 heads is known to run"
    elif found.num_heads is not None:
        answer = f"launch {found.num_heads} heads"
    what = f"{shape.op}, {shape.arch} {shape.dtype}, {shape.num_heads} heads"
    lines = paragraph(f"{what}: {answer}", width, style="title")
    question = f"qlen {ranges(found.qlens)}, {in_words(shape, defaults=True)}"
    lines += paragraph(question, width, first="  ", style="dim")
    lines += [*paragraph(where_found(source), width, first="  ", style="dim"), ()]
    if found.num_heads != shape.num_heads:
        lines += paragraph(f"{shape.num_heads} heads: {why_not(own)}", width, first="  why     ")
    if found.taken is not None:
        text = f"{found.num_heads} heads: {found.taken.verdict}"
        lines += paragraph(text, width, first="  launch  ")
    if found.runs and found.undecided:
        lines += paragraph("a lower count may run: it is not known", width, first="  note: ")
    return lines


def least_json(source: SourceInfo, found: LeastCount) -> str:
    """The same as one JSON object."""
    row = {
        "schema": SCHEMA,
        "source": source_row(source),
        **picked(found, ("shape", "runs", "undecided")),
        "qlens": list(found.qlens),
        "padded_num_heads": found.num_heads,
        "own": decision_row(found.own),
        "taken": None if found.taken is None else decision_row(found.taken),
    }
    return to_json(row) + "\n"

"""Deployments in an operation besides decode: pure functions from data to text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from mlaprobe.core.protocols import SourceInfo
from mlaprobe.core.shape import Operation
from mlaprobe.output import SCHEMA
from mlaprobe.output.cells import WORDS
from mlaprobe.output.escape import markdown
from mlaprobe.output.models_text import fitting
from mlaprobe.output.report import LEAST_WIDTH, MOST_WIDTH, where_found
from mlaprobe.output.report_data import source_row
from mlaprobe.output.rows import Row, picked
from mlaprobe.output.style import Line, Span, broken, line, paragraph
from mlaprobe.reports.operation_models import Launched
from mlaprobe.reports.operations import Missing
from mlaprobe.rulefiles.models import Deployment

_HEAD = f"  {'heads':>5} {'itself':<12}{'launch':<12}"
_REST = " " * 6


def launch_lines(
    source: SourceInfo, op: Operation, found: Sequence[Launched | Missing], *, width: int
) -> list[Line]:
    """A line for each head count: what becomes of it, the least that runs, and whose it is."""
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    lines = paragraph(where_found(source), width, style="dim")
    held = [each for each in found if isinstance(each, Launched)]
    lacks = [each for each in found if isinstance(each, Missing)]
    for each in lacks:
        lines += [(), *paragraph(f"{op} by {each.entry.name}: {each.why}", width)]
    if not held:
        return lines if lacks else [*lines, (), *paragraph(f"{op}: {_NOTHING}", width)]
    for title, rows in groupby(held, key=_title):
        lines += [(), *broken(line(Span(title, "title")), width, rest=_REST)]
        lines.append(line(Span(_HEAD.rstrip(), "dim")))
        lines += [_row(each, width) for each in rows]
    lines += [(), *paragraph(_LEGEND, width, style="dim")]
    return lines


_NOTHING = "no head count runs there"
_LEGEND = (
    "itself: what happens to these heads at qlen 1; launch: the least head count from there on "
    "that runs, to which query heads are padded."
)


def _title(each: Launched) -> str:
    shape = each.least.shape
    return f"{shape.arch} {shape.dtype}  {each.entry.op} by {each.entry.name}"


def _row(each: Launched, width: int) -> Line:
    own = each.least.own.verdict
    head, verdict = f"  {each.least.shape.num_heads:>5} ", f"{own:<12}"
    launch = f"{_launch(each):<12}"
    room = width - len(head + verdict + launch)
    names = fitting(list(map(_whose, each.deployments)), room)
    return line(head, Span(verdict, WORDS[own].style), launch, Span(names, "dim"))


def _launch(each: Launched) -> str:
    if each.least.num_heads is None:
        return "not known" if each.least.undecided else "none works"
    return f"{each.least.num_heads}{' or less' if each.least.undecided else ''}"


def _whose(deployment: Deployment) -> str:
    return f"{deployment.model.name} TP{deployment.tp}"


def launch_rows(found: Sequence[Launched | Missing]) -> list[Row]:
    """The same for programs, a row for each deployment."""
    return [
        {
            "op": each.entry.op.value,
            "function": each.entry.name,
            "model": deployment.model.id,
            "tp": deployment.tp,
            **picked(each.least.shape, ("arch", "q_dtype", "kv_dtype", "num_heads", "persistent")),
            "verdict": each.least.own.verdict.value,
            "padded_num_heads": each.least.num_heads,
            "undecided": each.least.undecided,
        }
        for each in found
        if isinstance(each, Launched)
        for deployment in each.deployments
    ]


def launch_head(source: SourceInfo) -> Row:
    """What a JSON object of these rows begins with."""
    return {"schema": SCHEMA, "source": source_row(source)}


def launch_markdown(found: Sequence[Launched | Missing]) -> str:
    """A Markdown table, a row for each deployment."""
    names = ("model", "tp", "function", "arch", "dtype", "heads", "itself", "launch")
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    for each in found:
        if isinstance(each, Missing):
            continue
        shape = each.least.shape
        own = (shape.arch, shape.dtype, shape.num_heads, each.least.own.verdict, _launch(each))
        for deployment in each.deployments:
            cells = (deployment.model.name, deployment.tp, each.entry.name, *own)
            lines.append(f"| {' | '.join(markdown(str(cell)) for cell in cells)} |")
    return "\n".join(lines) + "\n"

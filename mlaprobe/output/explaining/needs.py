"""What launches need, found by asking, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator

from mlaprobe.core.needs import Consequence, Need
from mlaprobe.core.shape import Failure
from mlaprobe.output.escape import printable
from mlaprobe.output.explaining.excerpts import excerpt_lines
from mlaprobe.output.style import Line, Span, line, paragraph
from mlaprobe.reports.explanation import Explanation

_MOST_EXCERPTS = 2
"""Clauses that are shown of one need."""
_WORDS = {
    Consequence.OTHER_FOLD: "folds otherwise",
    Consequence.OTHER_KERNEL: "runs on another kernel",
    Consequence.OTHER_METADATA: "gets other metadata, of which nothing more is evaluated",
    Consequence.UNKNOWN: "NOT KNOWN",
}
_FAILURES = {
    None: "",
    Failure.EXCEPTION: ", with an exception",
    Failure.ABORT: ", and the process aborts",
}


def consequence(need: Need) -> str:
    """What becomes of the launch otherwise, in one line."""
    text = _WORDS.get(need.outcome, need.outcome.value)
    by = f" by {need.stage}" if need.stage and need.outcome not in _WORDS else ""
    why = f": {need.message}" if need.message else ""
    return printable(f"{text}{by}{_FAILURES[need.failure]}{why}")


def needs_lines(found: Explanation, width: int) -> Iterator[Line]:
    """What the launch needs, where that was wanted."""
    if found.needs is None and found.needs_missing is None:
        return
    yield ()
    yield line(Span("What the launch needs, found by changing one thing at a time", "title"))
    if found.needs_missing is not None:
        yield from paragraph(found.needs_missing, width, first="  ")
        return
    if not found.needs:
        yield from paragraph("nothing that was tried makes a difference", width, first="  ")
    for shown in found.needs or ():
        need = shown.need
        yield from paragraph(printable(need.text), width, first="  - ")
        style = "unknown" if need.outcome is Consequence.UNKNOWN else ""
        text = f"with {printable(need.change)}: {consequence(need)}"
        yield from paragraph(text, width, first="    ", style=style)
        for excerpt in shown.excerpts[:_MOST_EXCERPTS]:
            yield from excerpt_lines(excerpt, width)

"""Clauses of a source with their places, as a person reads them."""

from __future__ import annotations

from mlaprobe.output.escape import printable
from mlaprobe.output.style import Line, Span, line
from mlaprobe.reports.explanation import Excerpt


def place_of(excerpt: Excerpt) -> str:
    """File and line."""
    evidence = excerpt.evidence
    return printable(f"{evidence.file}:{evidence.line}")


def excerpt_lines(excerpt: Excerpt, width: int) -> list[Line]:
    """A clause's place, its line and a caret; the clause itself where the line is not at hand."""
    evidence = excerpt.evidence
    number = str(evidence.line)
    margin = " " * len(number)
    lines = [line(f"  {margin}--> ", Span(place_of(excerpt), "place"))]
    text, column = (evidence.text, None) if excerpt.text is None else _dedent(excerpt)
    room = width - len(margin) - 6
    if column is not None and column > room * 2 // 3:  # what the caret is under stays in sight
        cut = column - room // 3
        text, column = "..." + text[cut:], column - cut + 3
    if len(text) > room:
        text = text[: room - 3] + "..."
    lines.append(line(Span(f"   {number} | ", "dim"), text))
    if column is not None:
        lines.append(line(Span(f"   {margin} | ", "dim"), " " * column, Span("^", "caret")))
    return lines


def _dedent(excerpt: Excerpt) -> tuple[str, int | None]:
    """The line without its indentation, harmless, and where the clause starts in it."""
    raw = excerpt.text or ""
    body = raw.lstrip(" \t")
    start = max(0, excerpt.evidence.column - 1 - (len(raw) - len(body)))
    before, after = body[:start].replace("\t", " "), body[start:].replace("\t", " ")
    text = printable(before) + printable(after)
    return text, len(printable(before)) if start <= len(body) else None

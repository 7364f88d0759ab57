"""What an engine decides by hand, judged, as a person reads it and for programs: pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from mlaprobe.audit.claims import Agreement, Audited
from mlaprobe.core.protocols import SourceInfo
from mlaprobe.output import SCHEMA
from mlaprobe.output.report import LEAST_WIDTH, MOST_WIDTH
from mlaprobe.output.report_data import source_row
from mlaprobe.output.rows import to_json
from mlaprobe.output.style import Line, Span, broken, line, paragraph

_STYLES = {
    Agreement.AGREES: "native",
    Agreement.DISAGREES: "fail",
    Agreement.UNKNOWN: "unknown",
    Agreement.NOT_JUDGED: "dim",
}


def audit(engine: str, source: SourceInfo, found: Sequence[Audited], *, width: int) -> list[Line]:
    """The places that are judged, then those that are not."""
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    lines: list[Line] = []
    judged = [each for each in found if each.agreement is not Agreement.NOT_JUDGED]
    for each in judged:
        lines += _judged(each, width)
    others = [each for each in found if each.agreement is Agreement.NOT_JUDGED]
    if others:
        lines += [(), line(Span("Not judged: no rule says what these claim", "title"))]
        for each in others:
            lines += paragraph(f"{_place(each)} {each.place.text}", width, first="  ", style="dim")
    lines += [()] if found else []
    counts = Counter(each.agreement for each in found)
    parts = [f"{counts[kind]} {_PLURAL[kind]}" for kind in Agreement if counts[kind]]
    text = f"{engine} against {source.label}: {', '.join(parts) or 'nothing is decided by hand'}"
    return lines + paragraph(text, width, style="title")


_PLURAL = {
    Agreement.AGREES: "agree",
    Agreement.DISAGREES: "do not agree",
    Agreement.UNKNOWN: "not known",
    Agreement.NOT_JUDGED: "not judged",
}


def _judged(each: Audited, width: int) -> list[Line]:
    rule = each.place.rule
    head = line(Span(each.agreement.ljust(10), _STYLES[each.agreement]), _place(each))
    lines = broken(head, width, rest=" " * 10)
    if rule is not None:
        lines += paragraph(f"{rule.text}: {each.place.text}", width, first="  ")
    for text in each.texts:
        lines += paragraph(text, width, first="    ", style="place")
    return lines


def _place(each: Audited) -> str:
    name = each.place.name
    shown = f" {name}" if name.isidentifier() else ""
    return f"{each.place.file}:{each.place.line}{shown}"


def audit_json(engine: str, source: SourceInfo, found: Sequence[Audited]) -> str:
    """The same as JSON."""
    head = {"schema": SCHEMA, "engine": engine, "source": source_row(source)}
    return to_json({**head, "places": [_row(each) for each in found]}) + "\n"


def _row(each: Audited) -> dict[str, Any]:
    place = each.place
    return {
        "file": place.file,
        "line": place.line,
        "name": place.name,
        "text": place.text,
        "rule": None if place.rule is None else place.rule.id,
        "agreement": each.agreement.value,
        "differences": list(each.texts),
    }

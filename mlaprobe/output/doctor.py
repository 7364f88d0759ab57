"""A checkup, as a person reads it and for programs: pure functions."""

from __future__ import annotations

import json

from mlaprobe.output import SCHEMA, commands
from mlaprobe.output.report import LEAST_WIDTH, MOST_WIDTH
from mlaprobe.output.rows import Row, picked
from mlaprobe.output.style import Line, Span, labelled, line, paragraph
from mlaprobe.system.doctor.model import Check, Checkup, Severity

_STYLES = {
    Severity.FAULT: "wrong",
    Severity.WARNING: "fail",
    Severity.NOTE: "dim",
    Severity.OK: "native",
}
_ROOM = max(map(len, Severity)) + 2


def doctor(found: Checkup, *, width: int, spec: str) -> list[Line]:
    """All checks, and last what there is to do.

    Args:
        width: columns of the terminal.
        spec: how the user named the source, for commands to copy.
    """
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    lines: list[Line] = []
    for check in found.checks:
        lines += _check(check, width)
    lines.append(())
    return lines + _summary(found, width, spec)


def _check(check: Check, width: int) -> list[Line]:
    mark = Span(check.severity.ljust(_ROOM), _STYLES[check.severity])
    lines = labelled((mark,), f"{check.topic}: {check.found}", width)
    if check.how:
        lines += paragraph(check.how, width, first=" " * (_ROOM + 2), style="place")
    for each in check.more:
        lines += paragraph(each, width, first=" " * (_ROOM + 2), style="dim")
    return lines


def _summary(found: Checkup, width: int, spec: str) -> list[Line]:
    """Advice, the most urgent first, and whether the main job can run."""
    lines: list[Line] = []
    advised = [check for severity in Severity for check in found.of(severity) if check.advice]
    if advised:
        lines.append(line(Span("To do", "title")))
    for check in advised:
        lines += paragraph(f"{check.topic}: {check.advice}", width, first="  - ")
        if check.shape is not None:
            lines.append(line("    ", Span(commands.explain(check.shape, spec), "command")))
    lines += [()] if advised else []
    sentence = "mlaprobe works here" if found.works else "mlaprobe cannot do its main job here"
    warnings = len(found.of(Severity.WARNING))
    more = f", with {warnings} warning{'' if warnings == 1 else 's'}" if warnings else ""
    return [*lines, *paragraph(sentence + more, width, style="title" if found.works else "wrong")]


def doctor_json(found: Checkup) -> str:
    """The same as one JSON object."""
    data = {
        "schema": SCHEMA,
        "works": found.works,
        "checks": [_row(check) for check in found.checks],
    }
    return json.dumps(data, indent=2, default=str) + "\n"


def _row(check: Check) -> Row:
    return {
        "topic": check.topic,
        "standing": check.severity,
        **picked(check, ("found", "how", "more", "advice", "shape", "detail")),
    }

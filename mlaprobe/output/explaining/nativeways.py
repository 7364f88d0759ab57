"""Other native ways, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable

from mlaprobe.output.rows import Row, picked, plain
from mlaprobe.output.style import Line, Span, line, paragraph
from mlaprobe.reports.nativeways import NativeWay
from mlaprobe.rulefiles.speed import Between


def native_way_lines(ways: Iterable[NativeWay], width: int) -> list[Line]:
    """What else is native, and which is faster as far as that is known."""
    lines: list[Line] = []
    for way in ways:
        lines += [] if lines else [(), line(Span("Native too", "title"))]
        lines += paragraph(f"{_name(way)}: {_speed(way)}", width, first="  ")
        for known in way.known:
            lines += [line("    ", Span(address, "place")) for address in known.reference]
    return lines


def native_way_rows(ways: Iterable[NativeWay]) -> list[Row]:
    """The same as JSON."""
    return [
        {
            "between": plain(way.between),
            **picked(way.decision, ("shape", "verdict")),
            "known": [picked(known, ("text", "reference")) for known in way.known],
        }
        for way in ways
    ]


def _name(way: NativeWay) -> str:
    shape = way.decision.shape
    if way.between is Between.ROUTE:
        return f"the {shape.route} route"
    return "with work metadata" if shape.persistent else "without work metadata"


def _speed(way: NativeWay) -> str:
    return "; ".join(known.text for known in way.known) or "which is faster is not known"

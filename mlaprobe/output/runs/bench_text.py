"""What a bench measured, as a person reads it: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mlaprobe.decode.bench import Outcome, Point, Variant
from mlaprobe.decode.crossover import Crossover, crossovers
from mlaprobe.output.style import Line, Span, line, paragraph

_HEAD = ("dtype", "qlen", "batch", "KV tokens", "heads", "stay", "us", "", "pad", "us", "", "gain")
_RIGHT = frozenset({1, 2, 3, 4, 6, 9, 11})


def bench(
    points: Sequence[Point],
    left: int,
    environment: Mapping[str, Any],
    profiles: Sequence[str],
    *,
    width: int,
) -> list[Line]:
    """The measured table, the crossovers, what was not measured, and the profiles' files.

    Args:
        left: cases that a deadline kept from being measured.
    """
    lines = paragraph(headline(environment), width, style="title")
    lines += paragraph(_method(environment), width, style="dim")
    measured = [point for point in points if point.status == Outcome.MEASURED]
    if measured:
        lines += [(), *_table(measured)]
    lines += _crossovers(crossovers(points), width)
    lines += _rest(points, left, width)
    if profiles:
        lines.append(())
    for file in profiles:
        lines += paragraph(f"profile: {file}", width, style="place")
    return lines


def headline(around: Mapping[str, Any]) -> str:
    """On what it was measured, and what was carried out."""
    return (
        f"{around['device']} ({around['ran_on']}), decisions for {around['arch']}: "
        f"{around['aiter']}"
    )


def _method(around: Mapping[str, Any]) -> str:
    speed = around.get("read_bytes_per_second")
    read = f" The device reads {speed / 1e12:.2f} TB/s." if speed else ""
    return (
        "Median microseconds, caches cold, with half the distance between the quartiles; staying "
        "and padding in turn. pad includes copying the query." + read + " Absolute figures hold "
        "for this device only."
    )


def _table(points: Sequence[Point]) -> list[Line]:
    gains = [_gain(point) for point in points]
    rows = [_HEAD, *(_row(point, gain) for point, gain in zip(points, gains, strict=True))]
    styles = ["title", *("native" if gain is not None and gain >= 0 else "" for gain in gains)]
    wide = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = []
    for row, style in zip(rows, styles, strict=True):
        cells = [
            cell.rjust(room) if column in _RIGHT else cell.ljust(room)
            for column, (cell, room) in enumerate(zip(row, wide, strict=True))
        ]
        lines.append(line(Span("  ".join(cells), style)))
    return lines


def _gain(point: Point) -> float | None:
    """What padding saves of the time, in percent; ``None`` where it was not timed against
    staying."""
    stay, pad = point.form(Variant.STAY), point.form(Variant.PAD)
    if stay is None or pad is None:
        return None
    return 100 * (1 - pad.us / stay.us)


def _row(point: Point, gain: float | None) -> tuple[str, ...]:
    case = point.case
    return (
        f"{case.q_dtype}/{case.kv_dtype}",
        str(case.qlen),
        str(case.batch),
        str(case.kv_len),
        str(case.heads),
        *_form(point, Variant.STAY),
        *_form(point, Variant.PAD),
        "" if gain is None else f"{gain:+.0f} %",
    )


def _form(point: Point, name: str) -> tuple[str, str, str]:
    """What is launched, its time and its spread."""
    form = next((each for each in point.forms if each.name == name), None)
    if form is None:
        return "", "", ""
    what = f"{form.launched}" + (f" fold {form.fold}" if form.fold > 1 else "")
    if form.timing is None:
        return f"{what} {form.verdict}", "", ""
    spread = (form.timing.high_us - form.timing.low_us) / 2
    return what, f"{form.timing.us:.1f}", f"± {spread:.1f}"


def _crossovers(found: Sequence[Crossover], width: int) -> Iterator[Line]:
    if found:
        yield from ((), line(Span("Where padding is faster", "title")))
    for each in found:
        yield from paragraph(_crossover(each), width, first="  ")


def _crossover(found: Crossover) -> str:
    many = f", qlen {found.qlen}" if found.qlen > 1 else ""
    what = (
        f"{found.q_dtype}/{found.kv_dtype}, batch {found.batch}{many}: {found.heads} heads as "
        f"{found.launched} instead of folded {found.fold}: "
    )
    if found.loses is None:
        return what + f"at every KV length that was measured, from {found.wins} on"
    if found.wins is None:
        return what + f"at none, up to {found.loses} KV tokens"
    return f"{what}from between {found.loses} and {found.wins} KV tokens on, about {found.about}"


def _rest(points: Iterable[Point], left: int, width: int) -> list[Line]:
    lines: list[Line] = []
    for point in points:
        if point.status != Outcome.MEASURED:
            case = point.case
            text = (
                f"{point.status}: {case.q_dtype}/{case.kv_dtype} qlen {case.qlen} batch "
                f"{case.batch} KV tokens {case.kv_len} heads {case.heads}: {point.reason}"
            )
            lines += paragraph(text, width, style="fail")
    if left:
        sentence = f"{left} cases were not reached: the same command goes on with them"
        lines += paragraph(sentence, width, style="unknown")
    return [(), *lines] if lines else []

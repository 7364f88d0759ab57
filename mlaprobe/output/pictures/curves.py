"""Curves of a time over a length, both on logarithmic scales: fold against pad."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from mlaprobe.output.pictures.svg import CHARACTER, LINE, MARGIN, hint, length, picture, tag, words

WIDTH, HEIGHT = 300, 190
"""Of a panel's drawing, in pixels."""
LEFT, RIGHT, TOP, BOTTOM = 58, 18, 44, 44
"""Around it."""
MOST_ACROSS = 3
_NEAR = 46
"""Ticks closer than this, in pixels, are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One measurement."""

    x: float
    y: float
    """The median."""
    low: float
    high: float
    """Its spread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Measurements that belong together."""

    name: str
    style: str
    """``fold`` or ``pad``."""
    points: tuple[Point, ...]
    """By ascending x."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One drawing."""

    title: str
    curves: tuple[Curve, ...]
    crossover: float | None = None
    """The x from which on padding wins, where the curves cross."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """A whole picture."""

    title: str
    remarks: tuple[str, ...]
    """Lines below the title: on what it was measured."""
    x_title: str
    y_title: str
    panels: tuple[Panel, ...]


def curves(found: Curves) -> str:
    """The picture."""
    across = min(MOST_ACROSS, max(1, len(found.panels)))
    wide, high = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM
    head = MARGIN + LINE * (1 + len(found.remarks))
    body = [words(found.title, MARGIN, MARGIN + 12, "title")]
    for at, remark in enumerate(found.remarks):
        body.append(words(remark, MARGIN, MARGIN + 12 + LINE * (at + 1), "soft"))
    for at, panel in enumerate(found.panels):
        x, y = (at % across) * wide, head + (at // across) * high
        inside = "".join(_panel(panel, found))
        body.append(tag("g", inside, transform=f"translate({x:.0f} {y:.0f})"))
    rows = ceil(len(found.panels) / across)
    texts = (found.title, *found.remarks)
    room = max(length(text) * 1.15 for text in texts) + 2 * MARGIN
    return picture(max(wide * across, room), head + rows * high + MARGIN, found.title, body)


class _Scale:
    """A logarithmic scale from values to pixels."""

    def __init__(self, values: Sequence[float], start: float, stop: float) -> None:
        self.low, self.high = min(values), max(values)
        if self.low == self.high:
            self.low, self.high = self.low / 2, self.high * 2
        self._start, self._stop = start, stop

    def __call__(self, value: float) -> float:
        share = log10(value / self.low) / log10(self.high / self.low)
        return self._start + (self._stop - self._start) * share


def _panel(panel: Panel, found: Curves) -> Iterator[str]:
    points = [point for curve in panel.curves for point in curve.points]
    yield words(panel.title, LEFT, 18)
    if not points:
        yield words("nothing was measured", LEFT, TOP + HEIGHT / 2, "soft")
        return
    x = _Scale([point.x for point in points], LEFT, LEFT + WIDTH)
    y = _Scale([v for p in points for v in (p.low, p.high)], TOP + HEIGHT - 6, TOP + 6)
    yield from _axes(x, y, sorted({point.x for point in points}), found)
    if panel.crossover is not None and x.low <= panel.crossover <= x.high:
        at = x(panel.crossover)
        yield tag("line", x1=at, x2=at, y1=TOP, y2=TOP + HEIGHT, class_="crossover")
        yield words(f"pad from {short(panel.crossover, base=1024)}", at + 5, TOP + 14, "soft small")
    for number, curve in enumerate(panel.curves):
        yield from _curve(curve, x, y)
        yield from _key(curve, number, sum(len(c.name) + 6 for c in panel.curves[:number]))


def _axes(x: _Scale, y: _Scale, seen: Sequence[float], found: Curves) -> Iterator[str]:
    foot = TOP + HEIGHT
    for value in _decades(y.low, y.high):
        at = y(value)
        yield tag("line", x1=LEFT, x2=LEFT + WIDTH, y1=at, y2=at, class_="grid")
        yield words(short(value), LEFT - 6, at + 4, "end soft small")
    last = -_NEAR * 1.0
    for value in seen:
        at = x(value)
        if at - last < _NEAR:
            continue
        last = at
        yield tag("line", x1=at, x2=at, y1=foot, y2=foot + 4, class_="axis")
        yield words(short(value, base=1024), at, foot + 16, "middle soft small")
    yield tag("path", d=f"M{LEFT} {TOP}V{foot}H{LEFT + WIDTH}", class_="axis")
    yield words(found.x_title, LEFT + WIDTH / 2, foot + 34, "middle soft small")
    yield words(found.y_title, LEFT - 6, TOP - 8, "end soft small")


def _curve(curve: Curve, x: _Scale, y: _Scale) -> Iterator[str]:
    for point in curve.points:
        at = x(point.x)
        ends = {"x1": at, "x2": at, "y1": y(point.low), "y2": y(point.high)}
        yield tag("line", class_=f"spread {curve.style}", **ends)
    path = "L".join(f"{x(p.x):.1f} {y(p.y):.1f}" for p in curve.points)
    yield tag("path", d=f"M{path}", class_=f"line {curve.style}")
    for point in curve.points:
        title = hint(f"{curve.name} at {short(point.x, base=1024)}: {point.y:.1f}")
        place = {"cx": x(point.x), "cy": y(point.y), "r": 3}
        yield tag("circle", title, class_=f"{curve.style}-mark", **place)


def _key(curve: Curve, number: int, before: int) -> Iterator[str]:
    """The curve's name and how it is drawn."""
    start = LEFT + before * CHARACTER
    yield tag("line", x1=start, x2=start + 22, y1=30, y2=30, class_=f"line {curve.style}")
    yield tag("circle", cx=start + 11, cy=30, r=3, class_=f"{curve.style}-mark")
    yield words(curve.name, start + 28, 34, "small")


def _decades(low: float, high: float) -> Iterator[float]:
    """Round values of a range: 1, 2 and 5 times powers of ten."""
    for power in range(floor(log10(low)), ceil(log10(high)) + 1):
        for factor in (1, 2, 5):
            value = factor * 10.0**power
            if low <= value <= high:
                yield value


def short(value: float, base: int = 1000) -> str:
    """A number in few characters: ``16k``, ``2M``."""
    for power, letter in ((2, "M"), (1, "k")):
        if value >= base**power and value % base**power == 0:
            return f"{value / base**power:.0f}{letter}"
    return f"{value:g}"

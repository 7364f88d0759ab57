"""What a bench measured, as a picture: fold against pad over the KV length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from mlaprobe.decode.bench import Form, Point, Variant
from mlaprobe.decode.crossover import Crossover, crossovers
from mlaprobe.output.pictures.curves import Curve, Curves, Panel, curves
from mlaprobe.output.pictures.curves import Point as Mark
from mlaprobe.output.runs.bench_text import headline


def bench_svg(points: Sequence[Point], environment: Mapping[str, Any]) -> str:
    """A panel for each head count, dtype pair, query length and batch that was timed both ways."""
    panels = tuple(_panel(found, points) for found in crossovers(points))
    return curves(
        Curves(
            title="MLA decode: folded against padded",
            remarks=(headline(environment), _method(points)),
            x_title="KV tokens per request",
            y_title="us",
            panels=panels or (Panel(title="nothing folds", curves=()),),
        )
    )


def _method(points: Sequence[Point]) -> str:
    timed = [form.timing for point in points for form in point.forms if form.timing is not None]
    cold = ", caches cold" if timed and all(timing.cold for timing in timed) else ""
    return f"Medians and quartiles{cold}. Absolute figures hold for this device only."


def _panel(found: Crossover, points: Sequence[Point]) -> Panel:
    """The curves of the cases that a crossover is of."""
    same = attrgetter("heads", "q_dtype", "kv_dtype", "qlen", "batch")
    cases = [point for point in points if same(point.case) == same(found)]
    cases.sort(key=lambda point: point.case.kv_len)
    qlen = f", qlen {found.qlen}" if found.qlen > 1 else ""
    return Panel(
        title=f"{found.heads} heads, {found.q_dtype}/{found.kv_dtype}{qlen}, batch {found.batch}",
        curves=(
            _curve(f"fold {found.fold}", Variant.STAY, "fold", cases),
            _curve(f"pad {found.launched}", Variant.PAD, "pad", cases),
        ),
        crossover=found.about,
    )


def _curve(name: str, variant: Variant, style: str, points: Sequence[Point]) -> Curve:
    marks = (_mark(point.case.kv_len, point.form(variant)) for point in points)
    return Curve(name=name, style=style, points=tuple(mark for mark in marks if mark is not None))


def _mark(kv_len: int, form: Form | None) -> Mark | None:
    if form is None or form.timing is None:
        return None
    timing = form.timing
    return Mark(x=kv_len, y=timing.us, low=timing.low_us, high=timing.high_us)

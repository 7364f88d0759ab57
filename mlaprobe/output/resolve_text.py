"""Plans as a person reads them: pure functions from data to lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from mlaprobe.core.axes import describe_call
from mlaprobe.core.needs import Need
from mlaprobe.core.numbers import ranges
from mlaprobe.core.protocols import SourceInfo
from mlaprobe.output.cells import WORDS
from mlaprobe.output.commands import explain
from mlaprobe.output.escape import printable
from mlaprobe.output.explaining.emulated import emulation_lines
from mlaprobe.output.explaining.nativeways import native_way_lines
from mlaprobe.output.explaining.needs import consequence
from mlaprobe.output.report import LEAST_WIDTH, MOST_WIDTH, where_found
from mlaprobe.output.style import Line, Span, broken, line, paragraph
from mlaprobe.padding.doubt import Doubt
from mlaprobe.padding.plan import PadPlan, Way
from mlaprobe.reports.emulated import emulations
from mlaprobe.reports.nativeways import NativeWay
from mlaprobe.rulefiles.requirements import Setting

_MOST_REASONS = 12
"""Different reasons that are shown; the rest are counted."""


def resolve(
    source: SourceInfo,
    plan: PadPlan,
    *,
    width: int,
    doubt: Doubt | None = None,
    ways: Sequence[NativeWay] = (),
    spec: str = "",
) -> list[Line]:
    """A plan: the answer, why, what it gains, what it needs, and what was not taken. One that does
    not run is no launch: then what would run, and what is in the way of knowing.

    Args:
        ways: what else is native of its shortest query.
        spec: the source as commands name it.
    """
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    lines = [*_headline(plan, width), *(() if plan.runs else _ways(plan, width))]
    lines += paragraph(where_found(source), width, first="  ", style="dim")
    lines += [(), *paragraph(plan.reason, width, first="  why     ")]
    if plan.runs:
        lines += _gain(plan, width)
        lines += _padding(plan, width)
        lines += _needs(plan, width)
        found = [known for decision in plan.decisions for known in emulations(decision)]
        lines += emulation_lines(found, width)
    elif doubt is not None:
        lines += _in_doubt(doubt, width, spec)
    lines += _rejected(plan, width)
    if plan.notes:
        lines.append(())
    for note in plan.notes:
        lines += paragraph(note, width, first="  note: ")
    return [*lines, *native_way_lines(ways, width)]


def _headline(plan: PadPlan, width: int) -> list[Line]:
    what = f"{plan.arch} {plan.q_dtype}/{plan.kv_dtype}, {plan.num_heads} heads"
    answer, _, verdict = plan.answer.rpartition(" ")
    headline = line(
        Span(f"{what}: ", "title"),
        f"{answer} ",
        Span(verdict, WORDS[plan.verdict].style),
    )
    question = [
        f"qlen {ranges(plan.qlens)}",
        f"{'with' if plan.lse else 'without'} log-sum-exp",
        "" if plan.persistent else "non-persistent",
        f"mode {plan.mode}",
        describe_call(plan.decisions[0].shape.planner),
    ]
    return [
        *broken(headline, width, rest="  "),
        *paragraph(", ".join(filter(None, question)), width, first="  ", style="dim"),
    ]


def _ways(plan: PadPlan, width: int) -> Iterator[Line]:
    """What would run instead."""
    ways = [f"{_changed(way)}: {way.num_heads} heads, {way.verdict}" for way in plan.ways]
    for text in ways or ["nothing near by is known to run"]:
        yield from paragraph(text, width, first="  instead ")


def _changed(way: Way) -> str:
    """What is different, in words and as an option."""
    if way.what == "persistent":
        flag = "" if way.value else "no-"
        return f"{'with' if way.value else 'without'} work metadata (--{flag}persistent)"
    if way.what == "planner":
        return "with the planner told what is launched (no --planner)"
    if way.what == "lse":
        return "without the log-sum-exp (--no-lse)"
    if way.what == "qlens":
        assert isinstance(way.value, tuple)
        return f"at query length {ranges(way.value)} (--qlens {ranges(way.value)})"
    name = way.what.replace("_", "-")
    return f"with {way.what.replace('_', ' ')} {way.value} (--{name} {way.value})"


def _in_doubt(doubt: Doubt, width: int, spec: str) -> Iterator[Line]:
    """What is in the way of knowing, what the nearest release says, and what to do."""
    if doubt.place is not None:
        text = f"{doubt.place.file}:{doubt.place.line}: {doubt.place.text}"
        yield from paragraph(text, width, first="  where   ")
    if doubt.there is not None:
        text = f"{doubt.release}, of which {doubt.differing} files differ: {doubt.there.answer}"
        yield from paragraph(text, width, first="  nearest ")
    command = explain(doubt.decision.shape, spec)
    text = f"launch nothing by this plan; {command} shows the whole chain"
    if doubt.outside:
        text = (
            "name the AITER itself (--aiter REPO@REV, a directory or a wheel): a snapshot holds "
            "the usual questions only"
        )
    yield from paragraph(text, width, first="  to do   ")


def _gain(plan: PadPlan, width: int) -> list[Line]:
    if plan.cost_ratio is None or not plan.pads:
        return []
    several = f", summed over {len(plan.qlens)} query lengths" if len(plan.qlens) > 1 else ""
    change = f"{plan.cost_ratio - 1:+.1%}"
    if plan.cost_us is None or plan.stay_us is None:
        # Borrowed: microseconds of another GPU are no estimate for this one.
        text = f"{plan.cost_ratio:.2f}x the time of the unpadded count{several} ({change})"
        origin = f"a ratio borrowed from {plan.cost_name}"
        return paragraph(f"{text}; {origin}", width, first="  cost    ")
    text = f"{plan.cost_us:.1f} us a launch{several}"
    if plan.stay_us != plan.cost_us:
        text += f", instead of {plan.stay_us:.1f} us ({change})"
    return paragraph(f"{text}; an estimate from {plan.cost_name}", width, first="  cost    ")


def _padding(plan: PadPlan, width: int) -> Iterator[Line]:
    if plan.pads:
        text = f"{plan.num_heads} heads to {plan.padded_num_heads}, by {plan.strategy}"
        yield from paragraph(text, width, first="  pad     ")
    for qlen, kernel in zip(plan.qlens, plan.kernel_qlens, strict=True):
        if qlen != kernel:
            text = f"queries of {qlen} to {kernel} rows, zero rows in front"
            yield from paragraph(text, width, first="  rows    ")


def _needs(plan: PadPlan, width: int) -> Iterator[Line]:
    needs = plan.needs
    if needs:
        yield from ((), line(Span("  The launch needs", "title")))
    effective = plan.settings
    for need in needs:
        values = [
            f"{name}={_value(value)}"
            for name, value in need.settings
            if effective.get(name, value) == value or need is plan.launch[-1]
        ]
        if need.settings and not values:  # replaced by a later need
            continue
        text = f"{', '.join(values)}: {need.text}" if values else need.text
        otherwise = f"; with {need.change}: {consequence(need)}" if isinstance(need, Need) else ""
        yield from paragraph(printable(text + otherwise), width, first="    ")


def _value(value: Setting) -> str:
    return f"each of {ranges(value)}" if isinstance(value, tuple) else str(value)


def _rejected(plan: PadPlan, width: int) -> Iterator[Line]:
    if plan.rejected:
        yield from ((), line(Span("  Not taken", "title")))
    groups = [(why, list(each)) for why, each in groupby(plan.rejected, attrgetter("reason"))]
    for reason, each in groups[:_MOST_REASONS]:
        counts = ranges([rejected.num_heads for rejected in each])
        yield from paragraph(reason, width, first=f"    {counts:>7}  ")
    if len(groups) > _MOST_REASONS:
        rest = sum(len(each) for _, each in groups[_MOST_REASONS:])
        text = f"and {rest} more: --format json has all"
        yield from paragraph(text, width, first=" " * 13, style="dim")

"""Plans as a person reads them: pure functions from data to lines."""

from __future__ import annotations

from itertools import groupby

from mlaprobe.interface import SourceInfo
from mlaprobe.launch import Setting
from mlaprobe.output.cells import WORDS
from mlaprobe.output.escape import printable
from mlaprobe.output.report import LEAST_WIDTH, MOST_WIDTH, where_found
from mlaprobe.output.style import Line, Span, broken, line, paragraph, ranges
from mlaprobe.padplan import PadPlan, Rejected

_EMPTY: Line = ()
_MOST_REASONS = 12
"""Different reasons that are shown; the rest are counted."""


def resolve(source: SourceInfo, plan: PadPlan, *, width: int) -> list[Line]:
    """A plan: the answer, why, what it gains, what it needs, and what was not taken."""
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    lines = [*_headline(plan, width)]
    lines += paragraph(where_found(source), width, first="  ", style="dim")
    lines += [_EMPTY, *paragraph(printable(plan.reason), width, first="  why     ")]
    lines += _gain(plan, width)
    lines += _padding(plan, width)
    lines += _needs(plan, width)
    lines += _rejected(plan, width)
    if plan.notes:
        lines.append(_EMPTY)
    for note in plan.notes:
        lines += paragraph(printable(note), width, first="  note: ")
    return lines


def _headline(plan: PadPlan, width: int) -> list[Line]:
    what = f"{plan.arch} {plan.q_dtype}/{plan.kv_dtype}, {plan.num_heads} heads"
    how = f"launch {plan.padded_num_heads} heads on the {plan.route} route, "
    asked = f"qlen {ranges(plan.qlens)}, {'with' if plan.lse else 'without'} log-sum-exp, "
    said = line(
        Span(printable(f"{what}: "), "title"),
        how,
        Span(plan.verdict.value, WORDS[plan.verdict].style),
    )
    return [
        *broken(said, width, rest="  "),
        *paragraph(f"{asked}mode {plan.mode}", width, first="  ", style="dim"),
    ]


def _gain(plan: PadPlan, width: int) -> list[Line]:
    gain = plan.expected_gain
    if plan.cost_us is None or not plan.pads:
        return []
    text = f"{plan.cost_us:.1f} us a launch"
    if len(plan.qlens) > 1:
        text += f", summed over {len(plan.qlens)} query lengths"
    if gain is not None and plan.stay_us != plan.cost_us and plan.stay_us is not None:
        text += f", instead of {plan.stay_us:.1f} us ({-gain:+.1%})"
    return paragraph(f"{text}; an estimate from {plan.cost_name}", width, first="  cost    ")


def _padding(plan: PadPlan, width: int) -> list[Line]:
    lines: list[Line] = []
    if plan.pads:
        text = f"{plan.num_heads} heads to {plan.padded_num_heads}, by {plan.strategy}"
        lines += paragraph(text, width, first="  pad     ")
    for qlen, kernel in zip(plan.qlens, plan.kernel_qlens, strict=True):
        if qlen != kernel:
            text = f"queries of {qlen} to {kernel} rows, zero rows in front"
            lines += paragraph(text, width, first="  rows    ")
    return lines


def _needs(plan: PadPlan, width: int) -> list[Line]:
    if not plan.launch:
        return []
    lines: list[Line] = [_EMPTY, line(Span("  The launch needs", "title"))]
    effective = plan.settings
    for need in plan.launch:
        values = [
            f"{name}={_value(value)}"
            for name, value in need.settings
            if effective[name] == value or need is plan.launch[-1]
        ]
        if need.settings and not values:  # replaced by a later need
            continue
        text = f"{', '.join(values)}: {need.text}" if values else need.text
        lines += paragraph(printable(text), width, first="    ")
    return lines


def _value(value: Setting) -> str:
    if isinstance(value, tuple):
        return f"each of {ranges(value)}"
    return str(value)


def _rejected(plan: PadPlan, width: int) -> list[Line]:
    if not plan.rejected:
        return []
    lines: list[Line] = [_EMPTY, line(Span("  Not taken", "title"))]
    groups = [(reason, list(each)) for reason, each in groupby(plan.rejected, _reason)]
    for reason, each in groups[:_MOST_REASONS]:
        counts = ranges([rejected.num_heads for rejected in each])
        lines += paragraph(printable(reason), width, first=f"    {counts:>7}  ")
    if len(groups) > _MOST_REASONS:
        rest = sum(len(each) for _, each in groups[_MOST_REASONS:])
        text = f"and {rest} more: --format json has all"
        lines += paragraph(text, width, first=" " * 13, style="dim")
    return lines


def _reason(rejected: Rejected) -> str:
    return rejected.reason

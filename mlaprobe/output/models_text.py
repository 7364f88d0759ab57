"""Deployments as a person reads them: pure functions from data to lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from mlaprobe.core.numbers import ranges
from mlaprobe.core.protocols import SourceInfo
from mlaprobe.core.shape import Decision, Route, Verdict
from mlaprobe.output.cells import WORDS
from mlaprobe.output.escape import markdown
from mlaprobe.output.report import LEAST_WIDTH, MOST_WIDTH, where_found
from mlaprobe.output.style import Line, Span, broken, line, paragraph
from mlaprobe.reports.deployments import Assessment

_Key = TypeVar("_Key")
_LEAST_NAMES = 24
"""Columns that deployments need beside their numbers; with fewer they get a line of their own."""


def models(source: SourceInfo, found: Sequence[Assessment], *, width: int) -> list[Line]:
    """All deployments, one line per shape: what happens to its head count itself, the one to
    launch and what happens to that, and the expected gain."""
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    lines = paragraph(where_found(source), width, style="dim")
    for (arch, dtype), group in _by(found, _pair):
        lines += [(), line(Span(f"{arch} {dtype}", "title"))]
        inside = [each for each in group if each.deployment.model.outside is None]
        lines += _table([same for _, same in _by(inside, _launch)], width)
        lines += _outside([each for each in group if each.deployment.model.outside], width)
    lines += [(), *_legend(width)]
    return lines


def _pair(each: Assessment) -> tuple[str, str]:
    return each.padded.arch, f"{each.padded.q_dtype}/{each.padded.kv_dtype}"


def _shape(each: Assessment) -> tuple[int, tuple[int, ...], bool]:
    return each.padded.num_heads, each.padded.qlens, each.padded.lse


def _by(
    found: Sequence[Assessment], key: Callable[[Assessment], _Key]
) -> Iterable[tuple[_Key, list[Assessment]]]:
    """Groups in the order in which each first appears."""
    groups: dict[_Key, list[Assessment]] = {}
    for each in found:
        groups.setdefault(key(each), []).append(each)
    return groups.items()


def words(each: Assessment) -> str:
    """What happens without padding to a native count: ``FOLDED by 6``."""
    return _outcome(each.verdict, each.as_is.decisions)


def own_words(each: Assessment) -> str:
    """What happens to the head count itself."""
    return _outcome(each.own.verdict, each.own.decisions)


def _outcome(verdict: Verdict, decisions: Sequence[Decision]) -> str:
    """A verdict with how often the KV cache is read, at the worst of the query lengths."""
    if verdict is Verdict.FOLDED:
        return f"FOLDED by {max(d.fold * d.qlen_fold for d in decisions)}"
    return str(verdict)


def target(each: Assessment) -> str:
    """What to launch: ``64``, ``8 gluon``, or that nothing helps."""
    padded = each.padded
    if not padded.verdict.runs:
        return "none works"
    return f"{padded.padded_num_heads}" + (" gluon" if padded.route is Route.GLUON else "")


def launched(each: Assessment) -> str:
    """What to launch and what happens to it: ``16: NATIVE``."""
    text = target(each)
    if not each.padded.verdict.runs:
        return text
    return f"{text}: {_outcome(each.padded.verdict, each.padded.decisions)}"


def gain(each: Assessment) -> str:
    """The expected change of the time: ``-50.9%``; empty where nothing changes."""
    saved = each.padded.expected_gain
    if saved is None or each.padded.padded_num_heads == each.as_is.padded_num_heads:
        return ""
    return f"{-saved:+.1%}"


def where(each: Assessment) -> str:
    """A deployment in short: ``Kimi-K3 TP8 DCP4``."""
    deployment = each.deployment
    text = f"{deployment.model.name} TP{deployment.tp}"
    return f"{text} DCP{deployment.dcp}" if deployment.dcp > 1 else text


def _heads(same: Sequence[Assessment]) -> str:
    return ranges(sorted({each.padded.num_heads for each in same}))


def _table(rows: Sequence[list[Assessment]], width: int) -> list[Line]:
    """One row for all deployments that launch the same."""
    if not rows:
        return []
    room = max(5, *(len(_heads(same)) for same in rows))
    head = f"  {'heads':>{room}} {'qlen':<5} {'lse':<4}{'itself':<14}{'launch':<17}{'gain':<8}"
    lines = broken(line(Span(head.rstrip(), "dim")), width, rest=_REST)
    for same in rows:
        lines += _row(same, room, width)
    return lines


_REST = " " * 6


def _row(same: list[Assessment], heads: int, width: int) -> list[Line]:
    first = same[0]
    _, qlens, lse = _shape(first)
    head = f"  {_heads(same):>{heads}} {ranges(qlens):<5} {'yes' if lse else 'no':<4}"
    verdict, rest = f"{own_words(first):<14}", f"{launched(first):<17}{gain(first):<8}"
    names = [where(each) for each in same]
    room = width - len(head + verdict + rest)
    numbers = (Span(head), Span(verdict, WORDS[first.own.verdict].style), Span(rest))
    if room >= _LEAST_NAMES:
        return [line(*numbers, Span(fitting(names, room), "dim"))]
    shown = fitting(names, width - len(_REST))
    return [*broken(line(*numbers), width, rest=_REST), line(_REST, Span(shown, "dim"))]


def fitting(names: Sequence[str], room: int) -> str:
    """As many names as there is room for, and how many more there are."""
    for count in range(len(names), 0, -1):
        more = f", +{len(names) - count}" if count < len(names) else ""
        text = ", ".join(names[:count]) + more
        if len(text) <= room:
            return text
    return f"{len(names)} deployment" + ("" if len(names) == 1 else "s")


def _launch(each: Assessment) -> tuple[object, ...]:
    """What rows are one row by: troubled shapes are shown apart, healthy ones by their target."""
    _, qlens, lse = _shape(each)
    apart = None if each.verdict is Verdict.NATIVE else each.padded.num_heads
    return each.trouble, qlens, lse, launched(each), each.verdict, own_words(each), apart


def _outside(found: list[Assessment], width: int) -> Iterator[Line]:
    for name, group in groupby(found, lambda each: each.deployment.model.name):
        reason = next(group).deployment.model.outside
        yield from paragraph(f"{name}: {reason}", width, first="  ", style="fail")


def _legend(width: int) -> list[Line]:
    return paragraph(
        "itself: what happens to these heads without any padding; launch: what mode auto takes; "
        "gain: the estimated change of the kernel's time against heads rounded up to a multiple of "
        "16; DCP gathers heads and needs the log-sum-exp.",
        width,
        style="dim",
    )


def models_markdown(found: Sequence[Assessment]) -> str:
    """All deployments as a Markdown table, a row each."""
    lines = [
        "| model | tp | dcp | draft | arch | dtype | heads | itself | launch | gain |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for each in found:
        arch, dtype = _pair(each)
        outside = each.deployment.model.outside
        launch = each.deployment
        shape = (launch.model.name, launch.tp, launch.dcp, launch.draft, arch, dtype)
        result = ("outside", "", "") if outside else (own_words(each), launched(each), gain(each))
        cells = (*shape, each.padded.num_heads, *result)
        lines.append("| " + " | ".join(markdown(str(cell)) for cell in cells) + " |")
    return "\n".join(lines) + "\n"

"""Findings and changes as a person reads them in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from mlaprobe.compare.diff import Kind
from mlaprobe.compare.results import UNKNOWN, Results, counted
from mlaprobe.core.shape import Evidence
from mlaprobe.findings.model import Finding, Level
from mlaprobe.output import commands
from mlaprobe.output.escape import printable
from mlaprobe.output.report import LEAST_WIDTH, MOST_WIDTH, where_found
from mlaprobe.output.style import Line, Span, line, paragraph

_STYLES = {Level.ERROR: "wrong", Level.WARNING: "fail", Level.NOTE: "dim"}
_MOST = 12
"""Findings of one rule that are shown; the rest are counted, unless all are wanted."""

_LEAST_TEXT = 8
"""Columns below which a clause is not worth beginning."""


def results_lines(
    results: Results, *, width: int, specs: dict[str, str], every: bool = False
) -> list[Line]:
    """Everything, the worst first.

    Args:
        specs: how each source was named on the command line, for commands to copy.
        every: whether to show every finding, however many there are of a rule.
    """
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    lines = list(_head(results, width))
    spec = specs.get("new") or specs.get("source") or ""
    most = len(results.everything) if every else _MOST
    for title, found in (("", results.changes), (_new_title(results), results.findings)):
        if title and found:
            lines += [(), line(Span(title, "title"))]
        for rule, group in groupby(found, key=lambda each: (each.level.rank, each.rule.id)):
            lines += _rule(results, rule[1], list(group), width, most, spec)
    lines += _tail(results, width)
    return lines


def _new_title(results: Results) -> str:
    return "" if results.command == "findings" else "Findings that the old source does not have"


def _head(results: Results, width: int) -> Iterator[Line]:
    for name, source in results.sources:
        label = "" if name == "source" else f"{name}  "
        yield from paragraph(f"{label}{where_found(source)}", width, style="title")


def _rule(
    results: Results, rule_id: str, found: list[Finding], width: int, most: int, spec: str
) -> Iterator[Line]:
    rule = found[0].rule
    yield ()
    count = "" if len(found) == 1 else f" ({len(found)})"
    head = f"{found[0].level} {rule_id}{count}: {rule.title}"
    yield from paragraph(head, width, style=_STYLES[found[0].level])
    yield from paragraph(rule.why, width, first="  ", style="dim")
    yield from paragraph(f"do: {rule.fix}", width, first="  ", style="dim")
    for each in found[:most]:
        yield from _finding(results, each, width, spec)
    if len(found) > most:
        yield line(Span(f"  and {len(found) - most} more: --all shows them", "dim"))


def _finding(results: Results, finding: Finding, width: int, spec: str) -> Iterator[Line]:
    mark = "x " if results.fails(finding) else "- "
    yield from paragraph(finding.message, width, first=f"  {mark}")
    if finding.waiver is not None:
        yield from paragraph(f"waived: {finding.waiver}", width, first="      ")
    detail = finding.detail
    if "class" in detail:
        yield from _sides(finding, width)
    elif finding.location is not None:
        yield _place("    --> ", finding.location, width)
    if detail.get("deployments"):
        names = ", ".join(detail["deployments"])
        yield from paragraph(f"hits: {names}", width, first="      ", style="fail")
    if finding.shape is not None and spec:
        command = commands.explain(finding.shape, spec)
        asked = " --needs" if detail.get("class") == Kind.NEEDS else ""
        yield line("      ", Span(command + asked, "command"))


def _sides(finding: Finding, width: int) -> Iterator[Line]:
    detail = finding.detail
    for name in ("old", "new"):
        clause: Evidence | None = detail[f"{name}_evidence"]
        if clause is not None:
            yield _place(f"      {name} ", clause, width)
    pad = detail["pad_target"]
    if pad is not None and pad["old"] != pad["new"]:
        yield line(f"      pad target: {pad['old']} -> {pad['new']} heads")


def _place(first: str, place: Evidence, width: int) -> Line:
    where = printable(f"{place.file}:{place.line}")
    room = width - len(first) - len(where) - 2
    text = printable(place.text)
    if len(text) > room:
        text = text[: room - 3] + "..." if room >= _LEAST_TEXT else ""
    return line(first, Span(where, "place"), "  ", Span(text, "dim"))


def _tail(results: Results, width: int) -> Iterator[Line]:
    yield ()
    for remark in results.remarks:
        yield from paragraph(remark, width, first="note: ")
    reasons = dict.fromkeys(why for _, why in results.skipped)
    for why in reasons:
        rules = ", ".join(rule for rule, reason in results.skipped if reason == why)
        yield from paragraph(f"not checked: {rules}: {why}", width, style="unknown")
    yield from paragraph(summary(results), width, style="title")


def summary(results: Results) -> str:
    """The results in one line."""
    if results.command == "findings":
        return _counted(results.findings, "finding") or "nothing was found"
    counts = [
        f"{sum(each.rule.id == rule.id for each in results.changes)} {rule.id}"
        for rule in results.rules
        if any(each.rule.id == rule.id for each in results.changes)
    ]
    sentence = ", ".join(counts) or "no change of behaviour"
    shapes = results.detail.get("shapes")
    text = f"{sentence}, in {counted(shapes, 'shape')}" if shapes is not None else sentence
    return f"{text}: {_outcome(results)}" if results.command == "check" else text


def _outcome(results: Results) -> str:
    """What a check comes to: its exit code in words."""
    failing = sum(map(results.fails, results.changes))
    if failing:
        return f"{failing} of them {'fails' if failing == 1 else 'fail'} the check"
    if any(map(results.fails, results.findings)):
        return "the check fails for a waiver that has expired"
    if results.detail.get("exit_code") == UNKNOWN:
        return "the check cannot tell, because something that it needs is not known"
    return "the check passes"


def _counted(found: tuple[Finding, ...], what: str) -> str:
    parts = []
    for level in Level:
        count = sum(each.level is level for each in found)
        if count:
            parts.append(f"{count} {level}{'' if count == 1 else 's'}")
    return ", ".join(parts)

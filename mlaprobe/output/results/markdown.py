"""Findings and changes for a document, or the summary of a job."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from mlaprobe.compare.results import Results
from mlaprobe.core.shape import Evidence
from mlaprobe.findings.model import Finding
from mlaprobe.output.escape import markdown, markdown_code
from mlaprobe.output.report import where_found
from mlaprobe.output.results.text import summary


def results_markdown(results: Results) -> str:
    """A heading, a table for each rule, and what the rule means."""
    return "\n".join(_lines(results)) + "\n"


def _lines(results: Results) -> Iterator[str]:
    yield f"## mlaprobe {results.command}"
    yield ""
    for name, source in results.sources:
        yield f"- {name}: {markdown(where_found(source))}"
    yield ""
    yield f"**{markdown(summary(results))}**"
    for found in (results.changes, results.findings):
        for _, group in groupby(found, key=lambda each: (each.level.rank, each.rule.id)):
            yield from _rule(results, list(group))
    if results.deployments:
        yield from _deployments(results)
    remarks = [
        *results.remarks,
        *(f"{rule} was not checked: {why}" for rule, why in results.skipped),
    ]
    if remarks:
        yield ""
        yield from (f"- {markdown(remark)}" for remark in remarks)


def _rule(results: Results, found: list[Finding]) -> Iterator[str]:
    rule = found[0].rule
    changes = "class" in found[0].detail
    yield ""
    yield f"### {found[0].level} {markdown(rule.id)}: {markdown(rule.title)}"
    yield ""
    yield f"{markdown(rule.why)} {markdown(rule.fix)}"
    yield ""
    if changes:
        yield "| | change | old | new | pad target | deployments |"
        yield "| --- | --- | --- | --- | --- | --- |"
    else:
        yield "| | finding | where |"
        yield "| --- | --- | --- |"
    for each in found:
        mark = "waived" if each.waiver is not None else "fails" if results.fails(each) else ""
        text = markdown(each.message)
        if each.waiver is not None:
            text += f"<br>waived: {markdown(each.waiver)}"
        cells = _change(each) if changes else [_place(each.location)]
        yield f"| {' | '.join([mark, text, *cells])} |"


def _change(finding: Finding) -> list[str]:
    detail = finding.detail
    pad = detail["pad_target"]
    return [
        _place(detail["old_evidence"]),
        _place(detail["new_evidence"]),
        "" if pad is None else f"{pad['old']} -> {pad['new']}".replace("->", "→"),
        ", ".join(map(markdown, finding.deployments)),
    ]


def _place(place: Evidence | None) -> str:
    if place is None:
        return ""
    return f"{markdown(place.file)}:{place.line}<br>{markdown_code(place.text)}"


def _deployments(results: Results) -> Iterator[str]:
    by_fingerprint = {each.fingerprint: each for each in results.changes}
    yield ""
    yield "| deployment | |"
    yield "| --- | --- |"
    for name, hits in results.deployments:
        found = [by_fingerprint[each] for each in hits if each in by_fingerprint]
        failing = any(map(results.fails, found))
        rules = ", ".join(dict.fromkeys(each.rule.id for each in found)) or "no change"
        yield f"| {markdown(name)} | {'**' + rules + '**' if failing else rules} |"

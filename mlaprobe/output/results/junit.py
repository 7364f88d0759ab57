"""Findings and changes as JUnit XML, which every CI server shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from mlaprobe.compare.results import Results
from mlaprobe.findings.model import Finding
from mlaprobe.output.escape import printable


def junit(results: Results) -> str:
    """One suite: a case per rule, and a case per deployment."""
    cases = [*_rules(results), *_deployments(results)]
    failures = sum("<failure" in case for case in cases)
    skipped = sum("<skipped" in case for case in cases)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="{skipped}"'
    name = quoteattr(f"mlaprobe {results.command}")
    return "".join(
        (
            '<?xml version="1.0" encoding="UTF-8"?>\n',
            f'<testsuites name={name} {counts} time="0">\n',
            f'<testsuite name={name} {counts} time="0">\n',
            *cases,
            "</testsuite>\n</testsuites>\n",
        )
    )


def _rules(results: Results) -> Iterator[str]:
    skipped = dict(results.skipped)
    rules = {rule.id: rule for rule in results.rules}
    rules |= {each.rule.id: each.rule for each in results.everything}
    for rule in rules.values():
        found = [each for each in results.everything if each.rule.id == rule.id]
        inside = _failures(results, found) + _output(each for each in found)
        if rule.id in skipped:
            inside = f"<skipped message={_attribute(skipped[rule.id])}/>\n"
        yield _case(f"mlaprobe.{results.command}", f"{rule.id}: {rule.title}", inside)


def _deployments(results: Results) -> Iterator[str]:
    for name, hits in results.deployments:
        found = [each for each in results.changes if each.fingerprint in hits]
        inside = _failures(results, found) + _output(found)
        yield _case(f"mlaprobe.{results.command}.deployments", name, inside)


def _case(group: str, name: str, inside: str) -> str:
    head = f'<testcase classname={_attribute(group)} name={_attribute(name)} time="0"'
    return f"{head}>\n{inside}</testcase>\n" if inside else f"{head}/>\n"


def _failures(results: Results, found: Iterable[Finding]) -> str:
    failing = [each for each in found if results.fails(each)]
    if not failing:
        return ""
    text = "\n".join(map(_lines, failing))
    message, kind = _attribute(failing[0].message), _attribute(failing[0].rule.id)
    return f"<failure message={message} type={kind}>{_text(text)}</failure>\n"


def _output(found: Iterable[Finding]) -> str:
    lines = [each.message + (f" (waived: {each.waiver})" if each.waiver else "") for each in found]
    return f"<system-out>{_text(chr(10).join(lines))}</system-out>\n" if lines else ""


def _lines(finding: Finding) -> str:
    places = [f"  {each.file}:{each.line}: {each.text}" for each in finding.evidence]
    return "\n".join((finding.message, *places))


def _text(text: str) -> str:
    # XML has no way to write most control characters.
    return escape("\n".join(map(printable, text.split("\n"))))


def _attribute(text: str) -> str:
    return quoteattr(printable(text))

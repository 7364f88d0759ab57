"""Findings and changes as annotations of GitHub Actions: commands in a job's log."""

from __future__ import annotations

from mlaprobe.compare.results import Results
from mlaprobe.findings.model import Finding, Level
from mlaprobe.output.escape import printable

_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def github(results: Results) -> str:
    """One line per finding. One that is waived is a notice."""
    return "".join(_annotation(each) for each in results.everything)


def _annotation(finding: Finding) -> str:
    command = _COMMANDS[Level.NOTE if finding.waiver else finding.level]
    properties = {"title": f"{finding.rule.id}: {finding.rule.title}"}
    place, text = finding.location, finding.message
    if place is not None:
        properties |= {"file": place.file, "line": str(place.line), "col": str(place.column)}
        text += f"\n{place.file}:{place.line}: {place.text}"
    if finding.deployments:
        text += f"\nhits: {', '.join(finding.deployments)}"
    if finding.waiver:
        text += f"\nwaived: {finding.waiver}"
    named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{command} {named}::{_data(text)}\n"


def _data(text: str) -> str:
    """The text of a command: what would end it, or start an escape, is escaped."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return printable(escaped)


def _property(text: str) -> str:
    """A property of a command, in which ``:`` and ``,`` have a meaning too."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")

"""The results of a command, in the form that every output takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlaprobe.compare.diff import Change, Comparison, Kind
from mlaprobe.core.behaviour import Behaviour
from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.protocols import SourceInfo
from mlaprobe.findings.engine import Findings
from mlaprobe.findings.model import Finding, Level, Rule
from mlaprobe.rulefiles.loader import load_rules
from mlaprobe.rulefiles.parts import unique_by_id
from mlaprobe.rulefiles.schema import Record, Text

_ENTRY = Record(
    required={
        "id": Text(choices=tuple(map(str, Kind))),
        "title": Text(),
        "level": Text(choices=tuple(map(str, Level))),
        "why": Text(),
        "fix": Text(),
    }
)
SCHEMA = Record(required={"changes": unique_by_id(_ENTRY)})

CLEAN, FAILED, UNKNOWN = 0, 10, 11
"""What a check comes to, as the exit codes of the command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Findings or changes, and the sources that they are about."""

    command: str
    """The command that gives them."""
    sources: tuple[tuple[str, SourceInfo], ...]
    """What each source is to the command (``source``; ``old`` and ``new``), and the source."""
    rules: tuple[Rule, ...]
    """Everything that was checked."""
    changes: tuple[Finding, ...] = ()
    """Differences between two sources, the worst first."""
    findings: tuple[Finding, ...] = ()
    """Findings inside one source, the worst first."""
    failing: frozenset[str] = frozenset()
    """Fingerprints of findings and changes that make the command fail."""
    skipped: tuple[tuple[str, str], ...] = ()
    """Rules that could not be checked, and why."""
    deployments: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Deployments that were looked at, and the fingerprints of what hits each."""
    remarks: tuple[str, ...] = ()
    """Further facts, in sentences."""
    detail: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Further facts for programs."""

    @property
    def everything(self) -> tuple[Finding, ...]:
        """Changes, then findings."""
        return (*self.changes, *self.findings)

    def fails(self, finding: Finding) -> bool:
        """Whether something makes the command fail."""
        return finding.waiver is None and finding.fingerprint in self.failing


@cached(Cache.RULES)
def change_rules() -> Mapping[Kind, Rule]:
    """The classes of changes: ``rules/changes.yaml``."""
    entries = load_rules("changes", SCHEMA)["changes"]
    return {Kind(entry["id"]): Rule.of(entry) for entry in entries}


def change_finding(change: Change, waiver: str | None = None) -> Finding:
    """A change as a finding: it is where the new source decides, and rests on both sides."""
    rule = change_rules()[change.kind]
    clauses = (change.new_clause, change.old_clause)
    return Finding(
        rule=rule,
        level=rule.level,
        message=change.message,
        shape=change.witness,
        region=change.region,
        evidence=tuple(clause for clause in clauses if clause is not None),
        identity=_identity(change),
        detail=_change_detail(change),
        waiver=waiver,
    )


def _identity(change: Change) -> str:
    need = "" if change.need is None else f" {change.need.id}"
    return f"{change.witness} {change.old.words} {change.new.words}{need}"


def _change_detail(change: Change) -> dict[str, Any]:
    pad = change.pad
    return {
        "class": change.kind.value,
        "old": _behaviour(change.old),
        "new": _behaviour(change.new),
        "old_evidence": change.old_clause,
        "new_evidence": change.new_clause,
        "pad_target": None if pad is None else {"old": pad.old, "new": pad.new},
        "deployments": list(change.deployments),
        **({} if change.need is None else {"need": change.need.id}),
    }


def _behaviour(behaviour: Behaviour) -> dict[str, Any]:
    row = {name: getattr(behaviour, name) for name in ("verdict", "fold", "qlen_fold", "failure")}
    return {**row, "kernels": list(behaviour.kernels), "files": list(behaviour.files)}


def compared(comparison: Comparison, findings: tuple[Finding, ...] = ()) -> Results:
    """A comparison's results."""
    changes = tuple(map(change_finding, comparison.changes))
    hits = (
        (name, tuple(c.fingerprint for c in changes if name in c.deployments))
        for name in comparison.deployments
    )
    return Results(
        command="compare",
        sources=(("old", comparison.old), ("new", comparison.new)),
        rules=tuple(change_rules().values()),
        changes=changes,
        findings=findings,
        deployments=tuple(hits),
        remarks=tuple(_remarks(comparison)),
        detail={
            "shapes": comparison.shapes,
            "fails_otherwise": comparison.fails_otherwise,
            "unknown": comparison.unknown,
            "pad_targets": [
                {"deployment": name, "num_heads": pad.num_heads, "old": pad.old, "new": pad.new}
                for name, pad in comparison.pads
            ],
        },
    )


def _remarks(comparison: Comparison) -> Iterator[str]:
    for name, pad in comparison.pads:
        yield f"{name}: the resolver pads {pad.num_heads} heads to {pad.new}, before to {pad.old}"
    if comparison.fails_otherwise:
        verb = "fails" if comparison.fails_otherwise == 1 else "fail"
        yield f"{counted(comparison.fails_otherwise, 'shape')} {verb} in both, in another way"
    if comparison.needs_unrecorded:
        what = counted(comparison.needs_unrecorded, "shape")
        yield f"what {what} need is not recorded in one of the sources, and was not compared"
    if comparison.needs_unknown:
        times = counted(comparison.needs_unknown, "need")
        yield f"{times} known in one of the sources only"
    if comparison.unknown:
        verb = "is" if comparison.unknown == 1 else "are"
        yield f"{counted(comparison.unknown, 'shape')} {verb} not known in the new source"


def found(findings: Findings, rules: tuple[Rule, ...], fail_on: Level | None) -> Results:
    """The results of looking into one source. ``fail_on`` is the mildest level that fails."""
    bad = findings.at_least(fail_on) if fail_on is not None else ()
    return Results(
        command="findings",
        sources=(("source", findings.source),),
        rules=rules,
        findings=findings.findings,
        failing=frozenset(each.fingerprint for each in bad),
        skipped=findings.skipped,
        detail={"unknown": findings.unknown},
    )


def counted(number: int, what: str) -> str:
    """A number of things: ``1 shape``, ``2 shapes``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"

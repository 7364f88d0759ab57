"""Findings and changes as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
from urllib.parse import quote

from mlaprobe.compare.results import Results
from mlaprobe.core.releases import distribution_version
from mlaprobe.core.shape import Evidence
from mlaprobe.findings.model import Finding, Level, Rule
from mlaprobe.output.rows import Row, plain

SCHEMA_URI = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
FINGERPRINT = "mlaprobe/cell/v1"
ROOT = "AITER"
"""What the paths are relative to: AITER's own repository, not the one that is checked."""
_LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "note"}


def sarif(results: Results) -> str:
    """One run."""
    used = {each.rule.id for each in results.everything}
    rules = {rule.id: rule for rule in results.rules}
    rules |= {each.rule.id: each.rule for each in results.everything}
    order = {rule: at for at, rule in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "mlaprobe",
                "version": distribution_version("mlaprobe") or "0",
                "rules": [_rule(rule) for rule in rules.values()],
            }
        },
        "originalUriBaseIds": {
            ROOT: {"description": {"text": "The root of AITER's source, as its repository has it"}}
        },
        "results": [_result(each, order) for each in results.everything],
        "columnKind": "unicodeCodePoints",
        "properties": {"command": results.command, "rulesWithResults": sorted(used)},
    }
    log = {"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1) + "\n"


def _rule(rule: Rule) -> Row:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": _LEVELS[rule.level]},
    }


def _result(finding: Finding, order: dict[str, int]) -> Row:
    row: Row = {
        "ruleId": finding.rule.id,
        "ruleIndex": order[finding.rule.id],
        "level": _LEVELS[finding.level],
        "message": {"text": _message(finding)},
        "partialFingerprints": {FINGERPRINT: finding.fingerprint},
    }
    if finding.evidence:
        row["locations"] = [_location(finding.evidence[0])]
    if finding.evidence[1:]:
        others = enumerate(finding.evidence[1:], 1)
        row["relatedLocations"] = [{"id": at, **_location(each)} for at, each in others]
    if finding.waiver is not None:
        row["suppressions"] = [{"kind": "external", "justification": finding.waiver}]
    properties: Row = {}
    if finding.shape is not None:
        properties["shape"] = plain(finding.shape)
    if finding.deployments:
        properties["deployments"] = list(finding.deployments)
    if properties:
        row["properties"] = properties
    return row


def _message(finding: Finding) -> str:
    """What code scanning shows of it: the properties are for programs."""
    if not finding.deployments:
        return finding.message
    return f"{finding.message} (hits {', '.join(finding.deployments)})"


def _location(evidence: Evidence) -> Row:
    uri = quote(evidence.file.encode("utf-8", "surrogateescape"), safe="/._-~+")
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri, "uriBaseId": ROOT},
            "region": {
                "startLine": max(1, evidence.line),
                "startColumn": max(1, evidence.column),
                "snippet": {"text": evidence.text},
            },
        },
        "message": {"text": f"{evidence.stage}: {evidence.text}"},
    }

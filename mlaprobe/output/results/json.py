"""Findings and changes for programs: the format ``json-v1``, as ``json-v1.schema.json`` says."""

from __future__ import annotations

import json
from typing import Any

from mlaprobe.compare.results import Results
from mlaprobe.core.shape import Evidence
from mlaprobe.findings.model import Finding, Rule
from mlaprobe.output import SCHEMA
from mlaprobe.output.report_data import source_row
from mlaprobe.output.rows import Row, evidence_row, shape_row


def json_v1(results: Results) -> str:
    """One object, readable in a diff."""
    row: Row = {
        "schema": SCHEMA,
        "command": results.command,
        **{name: source_row(source) for name, source in results.sources},
    }
    if results.command != "findings":
        row["changes"] = [_change(results, each) for each in results.changes]
    row["findings"] = [_finding(results, each) for each in results.findings]
    row["rules"] = [_rule(rule) for rule in results.rules]
    row["skipped"] = [{"rule": rule, "reason": why} for rule, why in results.skipped]
    if results.deployments:
        row["deployments"] = [
            {"name": name, "hit_by": list(hits)} for name, hits in results.deployments
        ]
    row |= results.detail
    return json.dumps(row, indent=1, default=str) + "\n"


def _rule(rule: Rule) -> Row:
    return {
        "id": rule.id,
        "title": rule.title,
        "level": rule.level.value,
        "why": rule.why,
        "fix": rule.fix,
    }


def _finding(results: Results, finding: Finding) -> Row:
    place = finding.location
    return {
        "rule": finding.rule.id,
        "level": finding.level.value,
        "message": finding.message,
        "shape": None if finding.shape is None else shape_row(finding.shape),
        "shapes": None if finding.region is None else finding.region.row,
        "location": None if place is None else evidence_row(place),
        "evidence": [evidence_row(each) for each in finding.evidence],
        "fingerprint": finding.fingerprint,
        "fails": results.fails(finding),
        "waived": finding.waiver,
    }


def _change(results: Results, finding: Finding) -> Row:
    detail = {name: _plain(value) for name, value in finding.detail.items()}
    return {**_finding(results, finding), **detail}


def _plain(value: Any) -> Any:
    return evidence_row(value) if isinstance(value, Evidence) else value

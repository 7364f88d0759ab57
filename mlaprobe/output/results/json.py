"""Findings and changes for programs: the format ``json-v1``, as ``json-v1.schema.json`` says."""

from __future__ import annotations

import json

from mlaprobe.compare.results import Results
from mlaprobe.findings.model import Finding
from mlaprobe.output import SCHEMA
from mlaprobe.output.report_data import source_row
from mlaprobe.output.rows import Row, picked, plain


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
    row["rules"] = [picked(rule, ("id", "title", "level", "why", "fix")) for rule in results.rules]
    row["skipped"] = [{"rule": rule, "reason": why} for rule, why in results.skipped]
    if results.deployments:
        row["deployments"] = [
            {"name": name, "hit_by": list(hits)} for name, hits in results.deployments
        ]
    row |= results.detail
    return json.dumps(row, indent=1, default=str) + "\n"


def _finding(results: Results, finding: Finding) -> Row:
    return {
        "rule": finding.rule.id,
        **picked(finding, ("level", "message", "shape")),
        "shapes": None if finding.region is None else finding.region.row,
        **picked(finding, ("location", "evidence", "fingerprint")),
        "fails": results.fails(finding),
        "waived": finding.waiver,
    }


def _change(results: Results, finding: Finding) -> Row:
    detail = {name: plain(value) for name, value in finding.detail.items()}
    return {**_finding(results, finding), **detail}

"""Everything that the HTML report shows, as JSON values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from mlaprobe.compare.results import Results
from mlaprobe.core.numbers import Interner
from mlaprobe.core.protocols import SourceInfo
from mlaprobe.findings.model import Finding
from mlaprobe.output import SCHEMA, commands
from mlaprobe.output.escape import printable
from mlaprobe.output.html.answers import NONE, Shared, fixed_words, map_data
from mlaprobe.output.models_text import gain, target, words
from mlaprobe.output.operations import function_texts, overview_texts, variable_texts
from mlaprobe.output.report import where_found
from mlaprobe.output.results.text import summary
from mlaprobe.reports.deployments import Assessment
from mlaprobe.reports.survey import Survey


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a report is about."""

    survey: Survey
    spec: str
    """How the user named the source, for commands to copy."""
    banner: str = ""
    """What to know before anything else."""
    assessments: tuple[Assessment, ...] = ()
    findings: Results | None = None
    """What does not fit together inside the source; ``None`` where it was not looked for."""
    changes: Results | None = None
    """What differs from another source; ``None`` where none was named."""
    before: Survey | None = None
    """The same survey of that other source."""


def page_data(page: Page) -> dict[str, Any]:
    """The data of the page."""
    shared = Shared()
    fixed, options = fixed_words(page.survey)
    data = {
        "schema": SCHEMA,
        "version": version("mlaprobe"),
        "banner": printable(page.banner),
        "op": page.survey.grid.op.value,
        "functions": list(map(printable, function_texts(page.survey.grid))),
        "source": _source(page.survey, page.survey.source),
        "before": None if page.before is None else where_found(page.before.source),
        "spec": " ".join(commands.source_words(page.spec)),
        "fixed": fixed,
        "options": options,
        "map": map_data(page.survey, shared, page.before),
        "deployments": _deployments(page.assessments, shared),
        "operations": list(map(printable, overview_texts(page.survey.operations))),
        "variables": list(variable_texts(page.survey.variables)),
        "findings": None if page.findings is None else _results(page.findings, shared, page),
        "changes": None if page.changes is None else _results(page.changes, shared, page),
    }
    return {**data, **shared.data}


def _source(survey: Survey, source: SourceInfo) -> dict[str, Any]:
    return {
        "title": where_found(source),
        "location": printable(source.location),
        "commit": None if source.commit is None else printable(source.commit),
        "stages": [[printable(part) for part in row] for row in survey.stage_status],
        "knobs": [printable(knob) for knob in survey.knobs],
    }


def _deployments(found: Iterable[Assessment], shared: Shared) -> dict[str, Any]:
    """The deployments, which launch each makes, and for each arch and pair of dtypes what becomes
    of every launch."""
    launches: Interner[tuple[int, tuple[int, ...], bool, str | None]] = Interner()
    places: set[tuple[str, int, int, int, int]] = set()
    pairs: dict[str, dict[int, list[Any]]] = {}
    for each in found:
        deployment, padded = each.deployment, each.padded
        outside = deployment.model.outside
        launch = launches.number((padded.num_heads, padded.qlens, padded.lse, outside))
        name = printable(deployment.model.name)
        places.add((name, deployment.tp, deployment.dcp, deployment.draft, launch))
        pair = printable(f"{padded.arch} {padded.q_dtype}/{padded.kv_dtype}")
        pairs.setdefault(pair, {})[launch] = [
            shared.text(each.verdict),
            each.fold,
            shared.text(words(each)),
            shared.text(target(each)),
            shared.text(gain(each)),
            shared.text(padded.reason),
        ]
    return {
        "places": sorted(places),
        "launches": [
            [heads, list(qlens), int(lse), outside]
            for heads, qlens, lse, outside in launches.by_number
        ],
        "pairs": {pair: [rows[at] for at in sorted(rows)] for pair, rows in pairs.items()},
    }


def _results(results: Results, shared: Shared, page: Page) -> dict[str, Any]:
    """Findings or changes, by their rules."""
    everything = results.changes if results.command == "compare" else results.findings
    kinds = {each.rule.id: each.rule for each in everything}
    return {
        "sources": [[name, where_found(source)] for name, source in results.sources],
        "summary": summary(results),
        "remarks": list(map(printable, results.remarks)),
        "skipped": [[rule, printable(why)] for rule, why in results.skipped],
        "rules": {
            rule.id: [rule.id, rule.title, printable(rule.why), printable(rule.fix)]
            for rule in kinds.values()
        },
        "found": [_finding(each, shared, page) for each in everything],
    }


def _finding(finding: Finding, shared: Shared, page: Page) -> list[Any]:
    detail = finding.detail
    if "old_evidence" in detail:
        sides = [("old", detail["old_evidence"]), ("new", detail["new_evidence"])]
        clauses = [[name, shared.clause(c)] for name, c in sides if c is not None]
    else:
        clauses = [["", shared.clause(c)] for c in dict.fromkeys(finding.evidence)]
    pad = detail.get("pad_target")
    padded = pad is not None and pad["old"] != pad["new"]
    return [
        finding.rule.id,
        finding.level.value,
        shared.text(finding.message),
        clauses,
        f"pad target: {pad['old']} -> {pad['new']} heads" if pad and padded else "",
        shared.text(commands.explain(finding.shape, page.spec)) if finding.shape else NONE,
    ]

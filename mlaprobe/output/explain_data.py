"""One shape explained, for programs."""

from __future__ import annotations

from mlaprobe.core.shape import Decision, StageOutcome
from mlaprobe.output import SCHEMA
from mlaprobe.output.emulated import emulation_rows
from mlaprobe.output.report_data import source_row
from mlaprobe.output.rows import Row, decision_row, evidence_row, kernel_row, key_row, to_json
from mlaprobe.reports.explanation import Excerpt, Explanation


def explain_json(found: Explanation) -> str:
    """The explanation as one JSON object: the row of ``table``, and what led to it."""
    decision = found.decision
    excerpts = dict(found.excerpts)
    row = {
        "schema": SCHEMA,
        "source": source_row(found.source),
        **decision_row(decision),
        "decided_by": decision.stage,
        "message": decision.message,
        "chain": [
            _stage_row(outcome, excerpts.get(stage, ())) for stage, outcome in decision.stages
        ],
        "emulated": emulation_rows(decision),
        "nearest_rows": [
            {"text": text, "file": file, "line": line, "differs": list(differs)}
            for text, file, line, differs in found.nearest
        ],
        "reducer_heads": None if found.reducer_heads is None else list(found.reducer_heads),
        "knobs": [
            {"name": knob.name, "value": knob.value, **_result(knob.decision)}
            for knob in found.knobs
        ],
        "knobs_tried": list(found.knobs_tried),
        "knobs_unanswered": list(found.knobs_unanswered),
        "alternatives": [
            {"differs": each.what, **_result(each.decision)} for each in found.alternatives
        ],
    }
    return to_json(row) + "\n"


def _result(decision: Decision) -> Row:
    row = decision_row(decision)
    return {name: row[name] for name in ("shape", "verdict", "fold", "qlen_fold", "failure")}


def _stage_row(outcome: StageOutcome, excerpts: tuple[Excerpt, ...]) -> Row:
    failure = outcome.failure
    return {
        "stage": outcome.stage,
        "status": outcome.status,
        "fold": outcome.fold,
        "qlen_fold": outcome.qlen_fold,
        "final_heads": outcome.final_heads,
        "persistent": outcome.persistent,
        "entry": outcome.entry,
        "failure": None if failure is None else failure.value,
        "message": outcome.message,
        "key": key_row(outcome.key),
        "kernels": [
            {**kernel_row(kernel), "has_symbol": kernel.has_symbol} for kernel in outcome.kernels
        ],
        "sizes": None if outcome.sizes is None else dict(outcome.sizes),
        "notes": list(outcome.notes),
        "evidence": [
            {**evidence_row(each.evidence), "column": each.evidence.column, "source": each.text}
            for each in excerpts
        ],
    }

"""One shape explained, for programs."""

from __future__ import annotations

from mlaprobe.core.shape import Decision, StageOutcome
from mlaprobe.output import SCHEMA
from mlaprobe.output.explaining.emulated import emulation_rows
from mlaprobe.output.explaining.nativeways import native_way_rows
from mlaprobe.output.report_data import source_row
from mlaprobe.output.rows import Row, decision_row, need_row, picked, plain, to_json
from mlaprobe.reports.explanation import Excerpt, Explanation, ShownNeed


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
        "reducer_heads": plain(found.reducer_heads),
        "knobs": [
            {**picked(knob, ("name", "value")), **_result(knob.decision)} for knob in found.knobs
        ],
        **picked(found, ("knobs_tried", "knobs_unanswered")),
        "alternatives": [
            {"differs": each.what, **_result(each.decision)} for each in found.alternatives
        ],
        "needs": None if found.needs is None else [_need_row(each) for each in found.needs],
        "needs_missing": found.needs_missing,
        "native_ways": native_way_rows(found.native_ways),
    }
    return to_json(row) + "\n"


def _need_row(shown: ShownNeed) -> Row:
    return {**need_row(shown.need), "evidence": _evidence_rows(shown.excerpts)}


def _result(decision: Decision) -> Row:
    return picked(decision, ("shape", "verdict", "fold", "qlen_fold", "failure"))


_OUTCOME = (
    *("stage", "status", "fold", "qlen_fold", "final_heads", "persistent", "entry", "failure"),
    *("message", "key", "kernels", "sizes", "notes"),
)


def _stage_row(outcome: StageOutcome, excerpts: tuple[Excerpt, ...]) -> Row:
    row = picked(outcome, _OUTCOME)
    for shown, kernel in zip(row["kernels"], outcome.kernels, strict=True):
        shown["has_symbol"] = kernel.has_symbol
    row["evidence"] = _evidence_rows(excerpts)
    return row


def _evidence_rows(excerpts: tuple[Excerpt, ...]) -> list[Row]:
    return [
        {**plain(each.evidence), "column": each.evidence.column, "source": each.text}
        for each in excerpts
    ]

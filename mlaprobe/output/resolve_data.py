"""Plans and deployments for programs: pure functions from data to JSON values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlaprobe.core.protocols import SourceInfo
from mlaprobe.core.shape import PlannerCall
from mlaprobe.output import SCHEMA
from mlaprobe.output.emulated import emulation_rows
from mlaprobe.output.report_data import source_row
from mlaprobe.output.rows import Row, decision_row, to_json
from mlaprobe.padding.plan import PadPlan, Rejected, Way
from mlaprobe.reports.deployments import Assessment
from mlaprobe.rulefiles.requirements import LaunchNeed


def plan_json(source: SourceInfo, plan: PadPlan) -> str:
    """A plan as one JSON object."""
    return to_json({"schema": SCHEMA, "source": source_row(source), **plan_row(plan)}) + "\n"


def plan_row(plan: PadPlan) -> Row:
    """The fields of a plan."""
    return {
        "num_heads": plan.num_heads,
        "padded_num_heads": plan.padded_num_heads,
        "route": plan.route.value,
        "strategy": plan.strategy.value,
        "mode": plan.mode.value,
        "persistent": plan.persistent,
        "runs": plan.runs,
        "undecided": list(plan.undecided),
        "ways": [_way(each) for each in plan.ways],
        "nearest": None if plan.source is None else plan.source.nearest,
        "verdict": plan.verdict.value,
        "reason": plan.reason,
        "arch": plan.arch,
        "q_dtype": plan.q_dtype.value,
        "kv_dtype": plan.kv_dtype.value,
        "lse": plan.lse,
        "qlens": list(plan.qlens),
        "kernel_qlens": list(plan.kernel_qlens),
        "cost_us": plan.cost_us,
        "stay_us": plan.stay_us,
        "cost_ratio": plan.cost_ratio,
        "expected_gain": plan.expected_gain,
        "cost_measured_on": plan.cost_name,
        "rejected": [_rejected(each) for each in plan.rejected],
        "launch": [_need(each) for each in plan.launch],
        "settings": plan.settings,
        "notes": list(plan.notes),
        "decisions": [decision_row(decision) for decision in plan.decisions],
        "emulated": [emulation_rows(decision) for decision in plan.decisions],
    }


def _rejected(rejected: Rejected) -> Row:
    return {
        "num_heads": rejected.num_heads,
        "reason": rejected.reason,
        "verdict": None if rejected.verdict is None else rejected.verdict.value,
        "qlen": rejected.qlen,
    }


def _way(way: Way) -> Row:
    return {
        "what": way.what,
        "value": _value(way.value),
        "num_heads": way.num_heads,
        "verdict": way.verdict.value,
    }


def _need(need: LaunchNeed) -> Row:
    return {
        "id": need.id,
        "text": need.text,
        "settings": dict(need.settings),
        "reference": list(need.reference),
    }


def assessment_rows(assessments: Iterable[Assessment]) -> Iterator[Row]:
    """One row per deployment, arch and dtype pair."""
    for each in assessments:
        deployment, padded = each.deployment, each.padded
        yield {
            "model": deployment.model.id,
            "name": deployment.model.name,
            "also": list(deployment.model.also),
            "tp": deployment.tp,
            "dcp": deployment.dcp,
            "draft": deployment.draft,
            "arch": padded.arch,
            "q_dtype": padded.q_dtype.value,
            "kv_dtype": padded.kv_dtype.value,
            "num_heads": padded.num_heads,
            "lse": padded.lse,
            "qlens": list(padded.qlens),
            "outside": deployment.model.outside,
            "own_verdict": each.own.verdict.value,
            "verdict": each.verdict.value,
            "fold": each.fold,
            "failure": each.failure,
            "padded_num_heads": padded.padded_num_heads,
            "route": padded.route.value,
            "padded_verdict": padded.verdict.value,
            "expected_gain": padded.expected_gain,
            "reason": padded.reason,
        }


def _value(value: object) -> object:
    if isinstance(value, PlannerCall):
        return {}  # nothing that differs from the launch
    return list(value) if isinstance(value, tuple) else value

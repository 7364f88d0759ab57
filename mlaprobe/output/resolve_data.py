"""Plans and deployments for programs: pure functions from data to JSON values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlaprobe.core.protocols import SourceInfo
from mlaprobe.output import SCHEMA
from mlaprobe.output.explaining.emulated import emulation_rows
from mlaprobe.output.explaining.nativeways import native_way_rows
from mlaprobe.output.report_data import source_row
from mlaprobe.output.rows import Row, decision_row, need_row, picked, plain, to_json
from mlaprobe.padding.plan import PadPlan
from mlaprobe.reports.deployments import Assessment
from mlaprobe.reports.nativeways import NativeWay


def plan_json(source: SourceInfo, plan: PadPlan, ways: Iterable[NativeWay] = ()) -> str:
    """A plan as one JSON object, with what else is native of its shortest query."""
    head = {"schema": SCHEMA, "source": source_row(source)}
    return to_json({**head, **plan_row(plan), "native_ways": native_way_rows(ways)}) + "\n"


_LAUNCH = (
    *("num_heads", "padded_num_heads", "route", "strategy", "mode", "persistent", "runs"),
    *("undecided", "ways"),
)
_WHY = (
    *("verdict", "reason", "arch", "q_dtype", "kv_dtype", "lse", "qlens", "kernel_qlens"),
    *("cost_us", "stay_us", "cost_ratio", "expected_gain"),
)


_NEED = ("id", "text", "settings", "reference")


def plan_row(plan: PadPlan) -> Row:
    """The fields of a plan."""
    return {
        **picked(plan, _LAUNCH),
        "nearest": None if plan.source is None else plan.source.nearest,
        **picked(plan, _WHY),
        "cost_measured_on": plan.cost_name,
        **picked(plan, ("rejected", "settings", "notes")),
        "launch": [picked(need, _NEED) for need in plan.launch],
        "needs": None if plan.asked is None else [need_row(need) for need in plan.asked],
        "decisions": [decision_row(decision) for decision in plan.decisions],
        "emulated": [emulation_rows(decision) for decision in plan.decisions],
    }


def assessment_rows(assessments: Iterable[Assessment]) -> Iterator[Row]:
    """One row per deployment, arch and dtype pair."""
    for each in assessments:
        deployment, padded = each.deployment, each.padded
        yield {
            "model": deployment.model.id,
            **picked(deployment.model, ("name", "also")),
            **picked(deployment, ("tp", "dcp", "draft")),
            **picked(padded, ("arch", "q_dtype", "kv_dtype", "num_heads", "lse", "qlens")),
            "outside": deployment.model.outside,
            "own_verdict": plain(each.own.verdict),
            **picked(each, ("verdict", "fold", "failure")),
            **picked(padded, ("padded_num_heads", "route")),
            "padded_verdict": plain(padded.verdict),
            **picked(padded, ("expected_gain", "reason")),
        }

"""Decode runs for programs: pure functions from data to JSON values."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from mlaprobe.core.protocols import Answers, SourceInfo
from mlaprobe.output import SCHEMA
from mlaprobe.output.report_data import source_row, stage_rows
from mlaprobe.output.resolve_data import plan_row
from mlaprobe.output.rows import Row, shape_row, to_json

if TYPE_CHECKING:
    from mlaprobe.core.accuracy import Error
    from mlaprobe.decode.environment import Environment
    from mlaprobe.decode.launched import Launched
    from mlaprobe.decode.problem import Problem
    from mlaprobe.decode.running import Run
    from mlaprobe.decode.selftest import Report, Result
    from mlaprobe.decode.support import Agreement


def decode_json(
    source: SourceInfo, run: Run, unpadded: Run | str | None, around: Environment
) -> str:
    """A run as one JSON object; ``unpadded``: the run to compare it with, or why there is none."""
    row: Row = {
        "schema": SCHEMA,
        "source": source_row(source),
        **run_row(run),
        "surroundings": environment_row(around),
    }
    if isinstance(unpadded, str):
        row["unpadded"] = {"message": unpadded}
    elif unpadded is not None:
        row["unpadded"] = run_row(unpadded)
        row["winner"] = winner(run, unpadded)
    return to_json(row) + "\n"


def winner(run: Run, unpadded: Run) -> str | None:
    """``pad`` or ``fold``, whichever is faster; ``None`` where neither was timed, or where the
    middle halves of their times overlap."""
    ours, theirs = run.timing, unpadded.timing
    if ours is None or theirs is None:
        return None
    if ours.high_us < theirs.low_us:
        return "pad"
    return "fold" if theirs.high_us < ours.low_us else None


def run_row(run: Run) -> Row:
    """The fields of a run."""
    return {
        "backend": run.backend,
        "passed": run.passed,
        "passed_over": list(run.passed_over),
        "problem": problem_row(run.problem),
        "plan": plan_row(run.plan),
        "fold": run.fold,
        "predicted_kernels": list(run.predicted),
        "launched": _launched(run.launched),
        "error": error_row(run.error),
        "timing": None if run.timing is None else asdict(run.timing),
        "kv_bytes_per_second": run.bandwidth,
        "read_bytes_per_second": run.read_bandwidth,
        "share_of_read_bandwidth": run.share,
    }


def problem_row(problem: Problem) -> Row:
    """The fields of a problem."""
    return {
        "arch": problem.arch,
        "num_heads": problem.num_heads,
        "q_dtype": problem.q_dtype.value,
        "kv_dtype": problem.kv_dtype.value,
        "batch": problem.batch,
        "kv_lens": list(problem.kv_lens),
        "qlen": problem.qlen,
        "page_size": problem.page_size,
        "lse": problem.lse,
        "causal": problem.causal,
        "persistent": problem.persistent,
        "sm_scale": problem.sm_scale,
        "scales": list(problem.scales),
        "kv_bytes": problem.kv_bytes,
        "device": problem.device,
    }


def error_row(error: Error) -> Row:
    """The fields of an error."""
    return {
        "passed": error.passed,
        "complaints": list(error.complaints),
        "max_abs": error.max_abs,
        "relative_rmse": error.rmse,
        "cosine": error.cosine,
        "beyond_tolerance": error.beyond,
        "values": error.values,
        "non_finite": error.non_finite,
        "lse_max_abs": error.lse_max_abs,
        "tolerance": asdict(error.tolerance),
    }


def _launched(launched: Launched | None) -> Row | None:
    if launched is None:
        return None
    return {
        "kernels": list(launched.kernels),
        "predicted": list(launched.predicted),
        "as_predicted": launched.as_predicted,
    }


def environment_row(around: Environment) -> Row:
    """The environment of a run."""
    return {**asdict(around), "environment": dict(around.environment)}


def selftest_json(answers: Answers, report: Report) -> str:
    """A self-test as one JSON object, indented: people attach it to reports."""
    return json.dumps(selftest_row(answers, report), indent=1) + "\n"


def selftest_row(answers: Answers, report: Report) -> Row:
    """The fields of a self-test."""
    return {
        "schema": SCHEMA,
        "source": source_row(answers.source),
        "stages": stage_rows(answers.stage_status),
        "arch": report.arch,
        "passed": report.passed,
        "surroundings": environment_row(report.environment),
        "results": [_result(result) for result in report.results],
        "agreement": _agreement(report.agreement),
        "agreement_problem": report.agreement_problem,
    }


def _result(result: Result) -> Row:
    return {
        "id": result.test.id,
        "standing": result.outcome.value,
        "message": result.message,
        "plan": None if result.plan is None else plan_row(result.plan),
        "run": None if result.run is None else run_row(result.run),
    }


def _agreement(found: Agreement | None) -> Row | None:
    if found is None:
        return None
    return {
        "asked": found.asked,
        "failures": list(found.failures),
        "disagreements": [
            {
                "shape": shape_row(each.shape),
                "field": each.field,
                "aiter": each.aiter,
                "mlaprobe": each.mlaprobe,
            }
            for each in found.disagreements
        ],
    }

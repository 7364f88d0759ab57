"""Decode runs for programs: pure functions from data to JSON values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mlaprobe.core.protocols import Answers, SourceInfo
from mlaprobe.output import SCHEMA
from mlaprobe.output.report_data import source_row, stage_rows
from mlaprobe.output.resolve_data import plan_row
from mlaprobe.output.rows import Row, picked, plain, to_json

if TYPE_CHECKING:
    from mlaprobe.core.accuracy import Error
    from mlaprobe.decode.environment import Environment
    from mlaprobe.decode.problem import Problem
    from mlaprobe.decode.running import Run
    from mlaprobe.decode.selftest import Report, Result


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
        **picked(run, ("backend", "passed", "passed_over")),
        "problem": problem_row(run.problem),
        "plan": plan_row(run.plan),
        "fold": run.fold,
        "predicted_kernels": list(run.predicted),
        "launched": _optional(run.launched, ("kernels", "predicted", "as_predicted")),
        "error": error_row(run.error),
        "timing": plain(run.timing),
        "kv_bytes_per_second": run.bandwidth,
        "read_bytes_per_second": run.read_bandwidth,
        "share_of_read_bandwidth": run.share,
    }


_PROBLEM = (
    *("arch", "num_heads", "q_dtype", "kv_dtype", "batch", "kv_lens", "qlen", "page_size", "lse"),
    *("causal", "persistent", "sm_scale", "scales", "kv_bytes", "device"),
)


def problem_row(problem: Problem) -> Row:
    """The fields of a problem."""
    return picked(problem, _PROBLEM)


def error_row(error: Error, *, emulated: bool = False) -> Row:
    """The fields of an error; of an emulated launch also what nothing was written to."""
    return {
        **picked(error, ("passed", "complaints", "max_abs")),
        "relative_rmse": error.rmse,
        "cosine": error.cosine,
        "beyond_tolerance": error.beyond,
        **picked(error, ("values", "non_finite")),
        **(picked(error, ("unwritten", "lse_unwritten")) if emulated else {}),
        **picked(error, ("lse_max_abs", "tolerance")),
    }


def _optional(thing: object, names: tuple[str, ...]) -> Row | None:
    return None if thing is None else picked(thing, names)


def environment_row(around: Environment) -> Row:
    """The environment of a run."""
    return {**plain(around), "environment": dict(around.environment)}


def selftest_json(answers: Answers, report: Report) -> str:
    """A self-test as one JSON object, indented: people attach it to reports."""
    return json.dumps(selftest_row(answers, report), indent=1) + "\n"


def selftest_row(answers: Answers, report: Report) -> Row:
    """The fields of a self-test."""
    return {
        "schema": SCHEMA,
        "source": source_row(answers.source),
        "stages": stage_rows(answers.stage_status),
        **picked(report, ("arch", "passed")),
        "surroundings": environment_row(report.environment),
        "results": [_result(result) for result in report.results],
        "agreement": _optional(report.agreement, ("asked", "failures", "disagreements")),
        "agreement_problem": report.agreement_problem,
    }


def _result(result: Result) -> Row:
    return {
        "id": result.test.id,
        "standing": result.outcome,
        "message": result.message,
        "plan": None if result.plan is None else plan_row(result.plan),
        "run": None if result.run is None else run_row(result.run),
    }

"""Emulated launches for programs: pure functions from data to JSON values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlaprobe.core.protocols import SourceInfo
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.output import SCHEMA
from mlaprobe.output.report_data import source_row
from mlaprobe.output.resolve_data import plan_row
from mlaprobe.output.rows import Row, picked, plain, to_json
from mlaprobe.output.runs.decode_data import error_row, problem_row
from mlaprobe.stages.environment.placed import Placed

if TYPE_CHECKING:
    from mlaprobe.decode.problem import Problem
    from mlaprobe.decode.selftest_emulated import EmulatedTest
    from mlaprobe.emulation.outcome import Emulated
    from mlaprobe.padding.plan import PadPlan
    from mlaprobe.stages.kernelargs import Slot


def emulated_json(source: SourceInfo, problem: Problem, plan: PadPlan, run: Emulated) -> str:
    """An emulated decode as one JSON object."""
    row: Row = {
        "schema": SCHEMA,
        "source": source_row(source),
        "backend": "emulate",
        "passed": run.passed,
        "problem": problem_row(problem),
        "plan": plan_row(plan),
        **emulated_row(run),
    }
    return to_json(row) + "\n"


def emulated_row(run: Emulated) -> Row:
    """The fields of an emulated launch."""
    kernel, block = run.kernel, run.block
    return {
        **picked(run, ("standing", "message")),
        "kernel": None if kernel is None else picked(kernel, ("symbol", "co")),
        "blob": run.blob,
        **picked(run.padding, ("heads", "qlen")),
        "grid": plain(run.grid),
        "arguments": [] if block is None else [_slot(slot) for slot in block.slots],
        "argument_bytes": None if block is None else block.size,
        **picked(run, ("metadata", "merged", "instructions")),
        "error": None if run.error is None else error_row(run.error, emulated=True),
        "wrong_requests": list(run.wrong),
        **picked(run, ("outside", "checks", "races")),
    }


def _slot(slot: Slot) -> Row:
    value = slot.value
    if isinstance(value, Placed):
        shown: object = f"{value.name} {list(value.shape)} {value.dtype}"
    else:
        shown = None if isinstance(value, Unknown) else value
    return {
        "name": slot.name,
        "offset": slot.offset,
        "bytes": slot.size,
        "value": shown,
        "uninitialised": slot.uninitialised,
    }


def selftest_json(source: SourceInfo, arch: str, results: Sequence[EmulatedTest]) -> str:
    """A self-test as one JSON object, indented: people attach it to reports."""
    rows = [
        {
            "id": each.test.id,
            "problem": problem_row(each.problem),
            "plan": plan_row(each.plan),
            "message": each.message,
            "run": None if each.run is None else emulated_row(each.run),
        }
        for each in results
    ]
    ran = [each.run for each in results if each.run is not None]
    row = {
        "schema": SCHEMA,
        "source": source_row(source),
        "backend": "emulate",
        "arch": arch,
        "passed": bool(ran) and all(run.passed for run in ran),
        "results": rows,
    }
    return json.dumps(row, indent=1) + "\n"

"""The rows of the machine interface: exactly the fields that it lists, in its order."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Evidence,
    Kernel,
    PlannerCall,
    StageName,
    StageOutcome,
)

Row = dict[str, Any]

_ENCODER = json.JSONEncoder(separators=(",", ":"), default=str)


def to_json(value: object) -> str:
    """One line of JSON, in ASCII, so that nothing in it can be taken for anything else."""
    return _ENCODER.encode(value)


def shape_row(shape: DecodeShape) -> Row:
    """The fields of a shape."""
    return {
        "arch": shape.arch,
        "q_dtype": shape.q_dtype.value,
        "kv_dtype": shape.kv_dtype.value,
        "num_heads": shape.num_heads,
        "qlen": shape.qlen,
        "lse": shape.lse,
        "persistent": shape.persistent,
        "causal": shape.causal,
        "cp_round_robin": shape.cp_round_robin,
        "batch": shape.batch,
        "page_size": shape.page_size,
        "route": shape.route.value,
        "env": dict(shape.env),
        "planner": planner_row(shape.planner),
    }


def planner_row(call: PlannerCall) -> Row:
    """What the planner is told otherwise: only the fields that are not as usual."""
    return {name: plain(value) for name, value in call.overrides.items()}


def kernel_row(kernel: Kernel) -> Row:
    """One kernel that would be launched."""
    return {
        "symbol": kernel.symbol,
        "co": kernel.co,
        "co_present": kernel.co_present,
        "blob": kernel.blob,
        "lds": kernel.lds,
    }


def evidence_row(evidence: Evidence) -> Row:
    """One place in AITER's source."""
    return {
        "stage": evidence.stage,
        "file": evidence.file,
        "line": evidence.line,
        "text": evidence.text,
    }


def key_row(key: tuple[tuple[str, Any], ...] | None) -> Row | None:
    """A looked-up key by the table's own column names."""
    return None if key is None else {name: plain(value) for name, value in key}


def plain(value: Any) -> Any:
    """Enumeration members as their values; the rest as it is."""
    return value.value if isinstance(value, Enum) else value


def decision_row(decision: Decision) -> Row:
    """The row of ``table`` for one shape."""
    return {
        "shape": shape_row(decision.shape),
        "verdict": decision.verdict.value,
        "fold": decision.fold,
        "qlen_fold": decision.qlen_fold,
        "failure": plain(decision.failure),
        "kernels": [kernel_row(kernel) for kernel in decision.kernels],
        "key": key_row(decision.key),
        "stages": {name: outcome.status for name, outcome in decision.stages},
        "notes": list(decision.notes),
        "evidence": [evidence_row(evidence) for evidence in decision.evidence],
    }


def _asked(shape: DecodeShape) -> Row:
    return {
        "arch": shape.arch,
        "q_dtype": shape.q_dtype.value,
        "kv_dtype": shape.kv_dtype.value,
        "num_heads": shape.num_heads,
        "qlen": shape.qlen,
    }


def _folds(shape: DecodeShape, outcome: StageOutcome) -> Row:
    return {
        **_asked(shape),
        "status": outcome.status,
        "fold": outcome.fold,
        "qlen_fold": outcome.qlen_fold,
        "final_heads": outcome.final_heads,
    }


def _dispatcher(shape: DecodeShape, outcome: StageOutcome) -> Row:
    return {
        **_folds(shape, outcome),
        "persistent": outcome.persistent,
        "entry": outcome.entry,
    }


def _host(shape: DecodeShape, outcome: StageOutcome) -> Row:
    return {
        **_asked(shape),
        "persistent": shape.persistent,
        "lse": shape.lse,
        "causal": shape.causal,
        "cp_round_robin": shape.cp_round_robin,
        "status": outcome.status,
        "key": key_row(outcome.key),
        "kernels": [kernel_row(kernel) for kernel in outcome.kernels],
        "message": outcome.message,
    }


def _sizing(shape: DecodeShape, outcome: StageOutcome) -> Row:
    return {
        **_asked(shape),
        "status": outcome.status,
        "message": outcome.message,
        "sizes": None if outcome.sizes is None else dict(outcome.sizes),
    }


def _gluon(shape: DecodeShape, outcome: StageOutcome) -> Row:
    return {**_asked(shape), "status": outcome.status, "message": outcome.message}


_STAGE_ROWS: dict[str, Callable[[DecodeShape, StageOutcome], Row]] = {
    StageName.PLANNER: _folds,
    StageName.SIZING: _sizing,
    StageName.DISPATCHER: _dispatcher,
    StageName.HOST: _host,
    StageName.GLUON: _gluon,
}
STAGES = (
    *(StageName.PLANNER, StageName.SIZING, StageName.DISPATCHER),
    *(StageName.HOST, StageName.REDUCER, StageName.GLUON),
)
"""The stages that ``table --stage`` prints alone."""


def stage_row(stage: str, shape: DecodeShape, outcome: StageOutcome) -> Row:
    """The row of ``table --stage`` for any stage but the reducer."""
    return _STAGE_ROWS[stage](shape, outcome)


def reducer_row(num_heads: int, head_dim: int, outcome: StageOutcome) -> Row:
    """The row of ``table --stage reducer``."""
    return {"num_heads": num_heads, "head_dim": head_dim, "status": outcome.status}


def flat(row: Mapping[str, Any]) -> Row:
    """A row without its inner shape, for formats that have columns only."""
    inner = row.get("shape")
    rest = {name: value for name, value in row.items() if name != "shape"}
    return {**inner, **rest} if isinstance(inner, Mapping) else rest

"""The rows of the machine interface: exactly the fields that it lists, in its order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

from mlaprobe.core.needs import Need
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
_HEAD = ("arch", "q_dtype", "kv_dtype", "num_heads", "qlen")
_FLAGS = ("persistent", "causal", "cp_round_robin")
_MEMORY = ("batch", "page_size", "kv_cache_bytes", "num_kv_splits", "sparse")
_FOLDS = ("status", "fold", "qlen_fold", "final_heads")
_FIELDS: Mapping[type, tuple[str, ...]] = {
    DecodeShape: (
        *(*_HEAD, "lse", *_FLAGS, *_MEMORY),
        *("route", "env", "planner", "op", "num_kv_heads"),
    ),
    Kernel: ("symbol", "co", "co_present", "blob", "lds"),
    Evidence: ("stage", "file", "line", "text"),
}
"""Classes of which a row does not have every field, or not in their order."""
_NEED = (
    *("id", "change", "text", "outcome", "failure", "stage", "message", "settings"),
    *("reference", "evidence"),
)
_PAIRS = frozenset(("env", "key", "settings", "sizes"))
"""Fields that hold pairs of a name and a value: objects in a row."""
_STAGE_ROWS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    StageName.PLANNER: (_HEAD, _FOLDS),
    StageName.SIZING: (_HEAD, ("status", "message", "sizes")),
    StageName.DISPATCHER: (_HEAD, (*_FOLDS, "persistent", "entry")),
    StageName.HOST: (
        (*_HEAD, "persistent", "lse", "causal", "cp_round_robin"),
        ("status", "key", "kernels", "message"),
    ),
    StageName.GLUON: (_HEAD, ("status", "message")),
}
"""By stage, the fields of the shape and those of the outcome."""
STAGES = (
    *(StageName.PLANNER, StageName.SIZING, StageName.DISPATCHER),
    *(StageName.HOST, StageName.REDUCER, StageName.GLUON),
)
"""The stages that ``table --stage`` prints alone."""


def to_json(value: object) -> str:
    """One line of JSON, in ASCII, so that nothing in it can be taken for anything else."""
    return _ENCODER.encode(value)


def plain(value: Any) -> Any:
    """A value as JSON has it: an enumeration's member by its text, a sequence as a list, and data
    as the row of its fields."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Sequence):
        return [plain(each) for each in value]
    if isinstance(value, PlannerCall):  # only the fields that are not as usual
        return {name: plain(override) for name, override in value.overrides.items()}
    names = _FIELDS.get(type(value)) or (is_dataclass(value) and value.__dataclass_fields__)
    return picked(value, names) if names else value


def picked(thing: object, names: Iterable[str]) -> Row:
    """Some attributes of a thing as a row, by their names and in that order."""
    row = {}
    for name in names:
        value = getattr(thing, name)
        if value is not None and not isinstance(value, (str, int, float)):
            pairs = name in _PAIRS and isinstance(value, tuple)
            value = {key: plain(each) for key, each in value} if pairs else plain(value)
        row[name] = value
    return row


def decision_row(decision: Decision) -> Row:
    """The row of ``table`` for one shape."""
    return {
        **picked(decision, ("shape", "verdict", "fold", "qlen_fold", "failure", "kernels", "key")),
        "stages": {name: outcome.status for name, outcome in decision.stages},
        **picked(decision, ("notes", "evidence")),
    }


def need_row(need: Need) -> Row:
    """What a launch needs, found by asking."""
    return picked(need, _NEED)


def stage_row(stage: str, shape: DecodeShape, outcome: StageOutcome) -> Row:
    """The row of ``table --stage`` for any stage but the reducer."""
    question, answer = _STAGE_ROWS[stage]
    return {**picked(shape, question), **picked(outcome, answer)}


def reducer_row(num_heads: int, head_dim: int, outcome: StageOutcome) -> Row:
    """The row of ``table --stage reducer``."""
    return {"num_heads": num_heads, "head_dim": head_dim, "status": outcome.status}


def flat(row: Mapping[str, Any]) -> Row:
    """A row without its inner shape, for formats that have columns only."""
    inner = row.get("shape")
    rest = {name: value for name, value in row.items() if name != "shape"}
    return {**inner, **rest} if isinstance(inner, Mapping) else rest

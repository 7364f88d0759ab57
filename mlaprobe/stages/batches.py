"""A batch size that is not known, and the text about a gate on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mlaprobe.evaluator.values import Unknown

BATCH = ("batch",)
"""The key of a batch size that the question leaves open."""


def batch_of(batch: int | None) -> int | Unknown:
    """The batch size of a question, unknown where it is left open."""
    return Unknown("the batch size", key=BATCH, free="batch") if batch is None else batch


def batch_condition(decisions: Iterable[tuple[Unknown, int]]) -> str:
    """The batch sizes of a path, by its decisions, as people write it."""
    parts = [_sizes(gate, choice == 0) for gate, choice in decisions if gate.free == "batch"]
    if not parts or "" in parts:
        return "for some batch sizes"
    return " and ".join(dict.fromkeys(parts))


def _sizes(gate: Unknown, holds: bool) -> str:
    """The batch sizes for which a gate is what it is; nothing where it is no plain comparison."""
    key = gate.key
    while isinstance(key, tuple) and len(key) == 2 and key[0] == "not":
        key, holds = key[1], not holds
    if not isinstance(key, tuple) or len(key) != 3 or key[0] != "<":
        return ""
    _, low, high = key
    if low == BATCH and _is_number(high):
        return f"below batch {high[1]}" if holds else f"from batch {high[1]} on"
    if high == BATCH and _is_number(low):
        return f"from batch {low[1] + 1} on" if holds else f"below batch {low[1] + 1}"
    return ""


def _is_number(key: Any) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and key[0] == "int"


def plus_one(batch: Any) -> Any:
    """The length of an index pointer over a batch; subtracting 1 gives the batch back."""
    if type(batch) is int:
        return batch + 1
    return _BatchPlusOne(batch)


class _BatchPlusOne(Unknown):
    """``batch + 1`` for an unset batch size."""

    __slots__ = ("batch",)

    def __init__(self, batch: Unknown) -> None:
        super().__init__(batch.reason, batch.span, key=("batch+1",), free="batch")
        self.batch = batch

    def derive(self, op: str, *operands: Any) -> Unknown:
        if op == "-" and len(operands) == 2 and operands[0] is self:
            one = operands[1]
            if type(one) is int and one == 1:
                batch: Unknown = self.batch
                return batch
        return super().derive(op, *operands)

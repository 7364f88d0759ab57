"""A batch size that is not known, and what is said of a gate on it."""

from __future__ import annotations

from typing import Any

from mlaprobe.reading.values import Unknown


def batch_condition(gate: Unknown) -> str:
    """A gate on the batch size as people write it."""
    key = gate.key
    negated = False
    while isinstance(key, tuple) and key and key[0] == "not":
        key, negated = key[1], not negated
    if isinstance(key, tuple) and len(key) == 3 and key[0] == "<":
        limit = key[2]
        if isinstance(limit, tuple) and limit[0] == "int":
            return f"from batch {limit[1]} on"
    return "for some batch sizes"


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

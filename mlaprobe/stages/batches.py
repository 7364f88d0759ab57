"""A batch size that is not known, and the text about a gate on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mlaprobe.evaluator.symbolic.symbols import same
from mlaprobe.evaluator.values import Unknown
from mlaprobe.stages.numbers import calculate, is_whole, whole_key

BATCH = ("batch",)
"""The key of a batch size that the question leaves open."""


def batch_of(batch: int | None) -> int | Unknown:
    """The batch size of a question, unknown where it is left open."""
    return Requests() if batch is None else batch


Decisions = Sequence[tuple[Unknown, int]]
"""Unknown values that a path went by, and the side that it took of each."""


def apart(one: Decisions, other: Decisions, sizes: Sequence[str] = ("batch",)) -> bool:
    """Whether a gate on a size that the question leaves open tells two paths from each other: each
    is for sizes that the other is not for. Up to where they part, paths meet the same unknowns."""
    pairs = zip(one, other, strict=False)
    parting = next((gate for (gate, side), (_, chosen) in pairs if side != chosen), None)
    taken = {(key, not holds) for key, holds in _gates(one, sizes)}
    at_gate = parting is not None and parting.free in sizes
    return at_gate or not taken.isdisjoint(_gates(other, sizes))


def _gates(decisions: Decisions, sizes: Sequence[str]) -> Iterator[tuple[Any, bool]]:
    found = ((u, choice == 0) for u, choice in decisions if u.free in sizes)
    return (_positive(u.key, holds) for u, holds in found)


def batch_condition(decisions: Decisions) -> str:
    """The batch sizes of a path, by its decisions, as people write it."""
    parts = [_sizes(gate, choice == 0) for gate, choice in decisions if gate.free == "batch"]
    if not parts or "" in parts:
        return "for some batch sizes"
    return " and ".join(dict.fromkeys(parts))


def _sizes(gate: Unknown, holds: bool) -> str:
    """The batch sizes for which a gate is what it is; nothing where it is no plain comparison."""
    key, holds = _positive(gate.key, holds)
    if not isinstance(key, tuple) or len(key) != 3 or key[0] != "<":
        return ""
    _, low, high = key
    if low == BATCH and _is_number(high):
        return f"below batch {high[1]}" if holds else f"from batch {high[1]} on"
    if high == BATCH and _is_number(low):
        return f"from batch {low[1] + 1} on" if holds else f"below batch {low[1] + 1}"
    return ""


def _positive(key: Any, holds: bool) -> tuple[Any, bool]:
    """A question by its key without the negations around it, and whether that holds."""
    while isinstance(key, tuple) and len(key) == 2 and key[0] == "not":
        key, holds = key[1], not holds
    return key, holds


def _is_number(key: Any) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and key[0] == "int"


def plus_one(batch: Any) -> Any:
    """The length of an index pointer over a batch; subtracting 1 gives the batch back."""
    return batch + 1 if type(batch) is int else batch.derive("+", batch, 1)


class Requests(Unknown):
    """``times * batch + plus`` for a batch size that is left open: sums, differences and multiples
    of the batch size stay such."""

    __slots__ = ("plus", "times")

    def __init__(self, times: Any = 1, plus: Any = 0) -> None:
        one = (type(times), type(plus)) == (int, int) and (times, plus) == (1, 0)
        key = BATCH if one else (*BATCH, whole_key(times), whole_key(plus))
        super().__init__("the batch size", key=key, free="batch")
        self.times = times
        """A number or a symbol, as is ``plus``."""
        self.plus = plus

    def derive(self, op: str, *operands: Any) -> Any:
        if len(operands) == 2:
            left, right = map(_parts, operands)
            if left is not None and right is not None:
                if op in ("==", "!=") and same(left[0], right[0]):
                    return same(left[1], right[1]) is (op == "==")
                found = _combined(op, left, right)
                if found is not None:
                    times, plus = found
                    return plus if _is_zero(times) else Requests(times, plus)
        return super().derive(op, *operands)


def _parts(value: Any) -> tuple[Any, Any] | None:
    """``times`` and ``plus`` of a number; ``None`` where it is no such number."""
    if isinstance(value, Requests):
        return value.times, value.plus
    return (0, value) if is_whole(value) else None


def _combined(op: str, left: tuple[Any, Any], right: tuple[Any, Any]) -> tuple[Any, Any] | None:
    """The parts of a result, where that is such a number whatever the batch size is."""
    if op in ("+", "-"):
        return calculate(op, left[0], right[0]), calculate(op, left[1], right[1])
    if op == "*":
        if _is_zero(left[0]):
            left, right = right, left
        if _is_zero(right[0]):
            return calculate("*", left[0], right[1]), calculate("*", left[1], right[1])
    if op == "//" and _is_zero(left[1]) and _is_zero(right[1]) and not _is_zero(right[0]):
        parts = _divided((left[0], 0), right[0])
        return None if parts is None else (0, parts[0])
    if op in ("/", "//", "c/") and _is_zero(right[0]):
        divisor = right[1]
        return None if op == "/" or _is_zero(divisor) else _divided(left, divisor)
    return None


def _divided(parts: tuple[Any, Any], divisor: Any) -> tuple[Any, Any] | None:
    """The parts of a quotient without a remainder."""
    if any(not same(calculate("%", part, divisor), 0) for part in parts):
        return None
    return calculate("//", parts[0], divisor), calculate("//", parts[1], divisor)


def _is_zero(value: Any) -> bool:
    return type(value) is int and value == 0

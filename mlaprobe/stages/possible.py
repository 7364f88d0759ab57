"""Whether a path is one for any size that the question leaves open: what a path decided about the
batch, all together, may hold of none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any

from mlaprobe.evaluator.engine.runs import Outcome
from mlaprobe.evaluator.symbolic.formulas import COMPARE, FUNCTIONS
from mlaprobe.evaluator.symbolic.symbols import ConcretizationError
from mlaprobe.evaluator.values import Unknown

Gate = tuple[Any, bool]
"""The key of a question about sizes, and the answer."""
_JOINED = ("not", "and", "or", "any", "all")
_OPERATORS = {*_JOINED, *FUNCTIONS} - {"fits", "in"}
_SMALL = range(1, 17)
_MOST = 5_000
"""Combinations of sizes that are tried."""


class _UnclearError(Exception):
    """A question that cannot be computed for a size."""


def possible(decisions: Sequence[tuple[Unknown, int]], sizes: Sequence[str]) -> bool | None:
    """Whether some sizes (the ``free`` names of them) meet all that a path decided about them:
    ``None`` where none was found that does, and there may be one. What a size is compared with and
    is not known is taken as it suits.

    Raises:
        ConcretizationError: that depends on a symbol.
    """
    gates = [(u.key, choice == 0) for u, choice in decisions if u.free in sizes]
    found = [_satisfied(part) for part in _apart(gates)]
    if False in found:
        return False
    return None if None in found else True


def _apart(gates: Sequence[Gate]) -> list[list[Gate]]:
    """Gates in groups that have nothing in common."""
    groups: list[tuple[set[Any], list[Gate]]] = []
    for gate in gates:
        atoms = set(_atoms(gate[0]))
        near = [group for group in groups if atoms & group[0]]
        groups = [group for group in groups if not atoms & group[0]]
        together = [gate, *(other for _, others in near for other in others)]
        groups.append((atoms.union(*(group[0] for group in near)), together))
    return [group for _, group in groups]


def _satisfied(gates: Sequence[Gate]) -> bool | None:
    atoms = sorted({atom for key, _ in gates for atom in _atoms(key)}, key=repr)
    numbers = {n for key, _ in gates for n in _numbers(key)}
    few = sorted(numbers)[:8]
    scaled = {n * m for n in few for m in few}  # beyond divisions and remainders
    near = {n + step for n in numbers | scaled for step in (-1, 0, 1)}
    try:
        if _met(gates, atoms, {*_SMALL, *near}):
            return True
        # between the numbers that they are compared with, sizes are all alike
        alike = len(atoms) == 1 and all(_is_linear(key) for key, _ in gates)
        return _met(gates, atoms, _bounds(numbers)) if alike else None
    except (_UnclearError, ArithmeticError, TypeError):
        return None


def _met(gates: Sequence[Gate], atoms: Sequence[Any], tried: set[int]) -> bool:
    """Whether some of these sizes meet all gates."""
    positive = sorted(size for size in tried if size > 0)
    for values in islice(product(positive, repeat=len(atoms)), _MOST):
        known = dict(zip(atoms, values, strict=True))
        if all(bool(_computed(key, known)) is holds for key, holds in gates):
            return True
    return False


def without_impossible(outcomes: tuple[Outcome, ...], sizes: Sequence[str]) -> tuple[Outcome, ...]:
    """The paths but for those that are certainly for no size."""
    return tuple(o for o in outcomes if possible(o.decisions, sizes) is not False)


def _operator(key: Any) -> str:
    return key[0] if isinstance(key, tuple) and key and isinstance(key[0], str) else ""


def _is_number(key: Any) -> bool:
    return len(key) == 2 and _operator(key) in ("int", "bool")


def _is_constant(key: Any) -> bool:
    return _is_number(key) or (len(key) == 2 and _operator(key) in ("float", "str"))


def _is_multiple(key: Any) -> bool:
    """Whether a key is one of a multiple of a size and a number (see ``Requests``)."""
    return len(key) == 3 and _operator(key) == "batch"


def _atoms(key: Any) -> Iterator[Any]:
    """The sizes in a question, and whatever else is not known there."""
    if not isinstance(key, tuple) or not key or _is_constant(key):
        return
    if _is_multiple(key):
        yield key[:1]
        yield from (atom for part in key[1:] for atom in _atoms(part))
    elif _operator(key) in _OPERATORS and len(key) > 1:
        yield from (atom for part in key[1:] for atom in _atoms(part))
    elif _operator(key) != "sym":
        yield key


def _numbers(key: Any) -> Iterator[int]:
    if isinstance(key, tuple) and key:
        if _is_number(key):
            yield int(key[1])
        for part in key[1:] if _operator(key) in _OPERATORS or _is_multiple(key) else ():
            yield from _numbers(part)


def _bounds(numbers: set[int]) -> set[int]:
    """Sizes among which there is one on each side of every bound that comparisons of multiples
    with these numbers can have."""
    differences = {n - m for n in {0, *numbers} for m in {0, *numbers}}
    bounds = {n // by for n in differences for by in {1, *map(abs, numbers)} if by}
    return {bound + step for bound in bounds for step in (-1, 0, 1, 2)}


def _computed(key: Any, known: dict[Any, int]) -> Any:
    """A question for certain sizes."""
    if not isinstance(key, tuple) or not key:
        raise _UnclearError
    if key in known:
        return known[key]
    if _operator(key) == "sym":
        raise ConcretizationError("a gate on a size that depends on a symbol")
    if _is_constant(key):
        return key[1]
    parts = [_computed(part, known) for part in key[1:]]
    if _is_multiple(key):
        return known[key[:1]] * parts[0] + parts[1]
    return _applied(_operator(key), parts)


def _applied(op: str, parts: list[Any]) -> Any:
    if op == "not" and len(parts) == 1:
        return not parts[0]
    if op in ("and", "all") and parts:
        return all(parts)
    if op in ("or", "any") and parts:
        return any(parts)
    if op in FUNCTIONS and len(parts) == 2 and op not in ("fits", "in"):
        return FUNCTIONS[op](parts[0], parts[1])
    raise _UnclearError


def _is_linear(key: Any) -> bool:
    """Whether a question is made of comparisons of one size, or a multiple, with numbers."""
    op, parts = _operator(key), key[1:]
    if op in _JOINED:
        return all(map(_is_linear, parts))
    if op not in COMPARE or len(parts) != 2 or not all(isinstance(p, tuple) for p in parts):
        return False
    numbers = [part for part in parts if _is_number(part)]
    return len(numbers) == 1 and all(len(p) == 1 or _is_multiple(p) or p in numbers for p in parts)

"""Whether what is passed to an entry point fits together.

A fold makes a query of fewer heads for more requests. What a kernel reads by request of that query
has to be for as many, and what it writes for its tokens and heads. The tensors of a call say that
by their shapes, which the dispatcher computed from the caller's own. What they hold is not looked
at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mlaprobe.evaluator.symbolic.symbols import same
from mlaprobe.evaluator.values import Unknown
from mlaprobe.rulefiles.layouts import layouts
from mlaprobe.stages.batches import Requests
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.numbers import calculate, is_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """The arguments of an entry point, and what its query is for."""

    named: Mapping[str, Any]
    """By the names of the parameters."""
    roles: Mapping[str, str]
    """What each name means."""
    query: Tensor
    fold: Any
    """How many times the caller's requests the query is for."""
    requests: int
    """The caller's requests that its tokens are for."""
    metadata: bool
    """Whether work metadata is passed."""

    def of(self, role: str) -> tuple[str, Any]:
        """The name and the value of an argument; ``None`` where there is none."""
        found = ((n, v) for n, v in self.named.items() if self.roles.get(n) == role)
        return next(found, ("", None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How the arguments of an entry point fit together."""

    misfit: str | None = None
    """How they do not; ``None``: they do."""
    obstacle: Unknown | None = None
    """Why that is not known."""


def fit_of(passed: Passed) -> Fit:
    """How the arguments fit together."""
    alone: list[str] = []
    others: list[str] = []
    for name, length, boundary in _indices(passed):
        times = _times(length, passed.requests, boundary)
        if times is None:
            if same(passed.fold, 1):
                continue
            return Fit(obstacle=_unclear(name, length))
        if not _is(times, passed.fold):
            (alone if _is(times, 1) else others).append(name)
    texts = [
        *_about(alone, "for as many requests as the caller has"),
        *_about(others, "for another number of requests"),
        *_about([*_misshapen(passed)], "for other tokens or heads"),
    ]
    return Fit(misfit=", ".join(texts) if texts else None)


def _indices(passed: Passed) -> Iterator[tuple[str, Any, int]]:
    """The index vectors that a kernel reads by request: the name, the length, and how many entries
    it has more than requests."""
    rules = layouts().data["dispatcher"]
    kinds = rules["by_request"]
    mode = "with_metadata" if passed.metadata else "without_metadata"
    if passed.of("global_indptr")[1] is not None:
        mode = "round_robin"
    for role in kinds[mode]:
        name, value = passed.of(role)
        if isinstance(value, Tensor) and len(value.shape) == 1:
            yield name, value.shape[0], int(role in rules["boundaries"])
        elif value is not None:
            yield name, value, 0


def _times(length: Any, requests: int, boundary: int) -> tuple[Any, Any] | None:
    """How many times the caller's requests a length is for, as a numerator and a denominator;
    ``None`` where that is not known."""
    if isinstance(length, Requests):
        whole = same(length.plus, boundary)
        return (length.times, 1) if whole else (0, 1)
    if is_whole(length):
        return calculate("-", length, boundary), requests
    return None


def _is(times: tuple[Any, Any], fold: Any) -> bool:
    return same(times[0], calculate("*", fold, times[1]))


def _misshapen(passed: Passed) -> Iterator[str]:
    """What is written for other tokens or heads than those of the query."""
    rules = layouts().data["dispatcher"]
    kinds = [rules["by_query"]] if passed.metadata else [rules["by_query"], rules["by_split"]]
    wanted = dict(zip(("tokens", "heads"), passed.query.shape, strict=False))
    for each in kinds:
        for role, dims in each.items():
            name, value = passed.of(role)
            for kind, at in dims.items():
                size = value.shape[at] if _has(value, at) else None
                if is_whole(size) and not same(size, wanted[kind]):
                    yield name


def _has(value: Any, dimension: int) -> bool:
    return isinstance(value, Tensor) and dimension < len(value.shape)


def _unclear(name: str, length: Any) -> Unknown:
    why = f": {length.reason}" if isinstance(length, Unknown) else ""
    span = length.span if isinstance(length, Unknown) else None
    text = f"how many requests {name} is for is not known{why}"
    return Unknown(text, span) if span is not None else Unknown(text)


def _about(names: list[str], what: str) -> Iterator[str]:
    if names:
        *rest, last = dict.fromkeys(names)
        several = f"{', '.join(rest)} and {last}" if rest else last
        yield f"{several} {'are' if rest else 'is'} {what}"

"""Claims that are one number: up to which, or from which on, something runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mlaprobe.audit.comparing import Difference, NoValueError, compared, is_count, runs
from mlaprobe.audit.rules import Claim, PlaceRule
from mlaprobe.core.protocols import LiveAnswers

MOST_QLEN = 8
STEP = 16
_BEYOND = 8
"""Head counts above the largest that are asked."""
_LARGEST = 1 << 48
"""No cache that an engine means has more bytes."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """What a number is about."""

    field: str
    """Of a shape."""
    label: str
    asked: Callable[[int], Iterable[int]]
    """The numbers that tell whether it holds."""
    claimed: Callable[[int], Iterable[int]]
    """Those that run, if it does."""
    most: int


_BOUNDS: Mapping[Claim, _Bound] = {
    Claim.SHORTEST: _Bound(
        "qlen",
        "qlen {}",
        lambda n: range(1, MOST_QLEN + 1),
        lambda n: range(n, MOST_QLEN + 1),
        MOST_QLEN,
    ),
    Claim.LEAST: _Bound(
        "num_heads", "heads {}", lambda n: range(1, n + 1), lambda n: (n,), STEP * STEP
    ),
    Claim.MOST: _Bound(
        "num_heads",
        "heads {}",
        lambda n: range(n, n + STEP * _BEYOND + 1, STEP),
        lambda n: (n,),
        STEP * STEP,
    ),
    Claim.BYTES: _Bound(
        "kv_cache_bytes",
        "a cache of {} bytes",
        lambda n: (n, n + 1),
        lambda n: (n,),
        _LARGEST,
    ),
    Claim.PAGE: _Bound("page_size", "page size {}", lambda n: {1, n}, lambda n: (n,), 1 << 16),
}


def bound(answers: LiveAnswers, rule: PlaceRule, value: Any) -> Iterator[Difference]:
    """Whether a number is the bound that it is said to be.

    Raises:
        NoValueError: it is no such number.
    """
    kind = _BOUNDS[rule.claim]
    if not is_count(value, 1, kind.most):
        raise NoValueError
    claimed = frozenset(kind.claimed(value))
    for arch in rule.archs:
        shapes = {n: rule.shape(arch, **{kind.field: n}) for n in sorted(kind.asked(value))}
        yield from compared(answers, rule, shapes, claimed, f"{kind.label} on {arch}")


def longest(answers: LiveAnswers, rule: PlaceRule, value: Any) -> Iterator[Difference]:
    """Whether queries run up to a length, and no longer ones.

    Raises:
        NoValueError: it is no length.
    """
    if not is_count(value, 0):
        raise NoValueError
    for arch in rule.archs:
        shapes = {q: rule.shape(arch, qlen=q) for q in range(1, MOST_QLEN + 1)}
        most = next((q - 1 for q in shapes if not runs(answers, rule, shapes[q])), MOST_QLEN)
        claimed = frozenset(range(1, value + 1))
        # What runs behind a gap is not what the number is about.
        asked = {q: shape for q, shape in shapes.items() if q <= max(value, most)}
        yield from compared(answers, rule, asked, claimed, "qlen {} on " + arch)

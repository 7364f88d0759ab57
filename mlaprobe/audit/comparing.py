"""What is claimed to run, against what runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mlaprobe.audit.rules import PlaceRule
from mlaprobe.core.numbers import ranges
from mlaprobe.core.protocols import LiveAnswers
from mlaprobe.core.shape import DecodeShape, Verdict

MOST = 4096
"""No head count, query length or width that an engine means is larger."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a claim does not hold, or it is not known whether it does."""

    text: str
    unknown: bool = False


class NoValueError(Exception):
    """A value is not what a claim is made of."""


def is_count(value: Any, least: int = 1, most: int = MOST) -> bool:
    """Whether a value is a whole number in some range."""
    return type(value) is int and least <= value <= most


def numbers(value: Any) -> frozenset[int]:
    """The counts in a collection.

    Raises:
        NoValueError: it is something else.
    """
    if not isinstance(value, (tuple, list, set, frozenset)) or not all(map(is_count, value)):
        raise NoValueError
    return frozenset(value)


def compared(
    answers: LiveAnswers,
    rule: PlaceRule,
    shapes: Mapping[int, DecodeShape],
    claimed: frozenset[int],
    label: str,
    *,
    unfolded: bool = False,
) -> Iterator[Difference]:
    """What is claimed to run and does not, and what runs and is left out: numbers of one verdict
    together.

    Args:
        label: what is said of numbers, with ``{}`` for these.
        unfolded: whether only what runs as it is counts, as of a rule that says so.
    """
    found: dict[tuple[str, bool], list[int]] = {}
    for number, shape in shapes.items():
        running = runs(answers, rule, shape, unfolded=unfolded)
        verdict = answers.decide(shape).verdict
        if running is None:
            found.setdefault(("not known", True), []).append(number)
        elif number in claimed and not running:
            found.setdefault((str(verdict), False), []).append(number)
        elif running and number not in claimed:
            found.setdefault((f"{verdict}, and left out", False), []).append(number)
    for (text, unknown), each in found.items():
        yield Difference(f"{label.format(ranges(each, ', '))}: {text}", unknown)


def runs(
    answers: LiveAnswers, rule: PlaceRule, shape: DecodeShape, *, unfolded: bool = False
) -> bool | None:
    """Whether a shape runs, as it is where that is claimed; ``None``: not known."""
    found = answers.decide(shape)
    if found.verdict is Verdict.UNKNOWN:
        return None
    as_it_is = found.fold == found.qlen_fold == 1
    return found.verdict.runs and (as_it_is or not (rule.unfolded or unfolded))

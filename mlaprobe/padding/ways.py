"""What would run, where what was asked for does not: the same question with one thing changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mlaprobe.core.shape import PlannerCall, Route
from mlaprobe.padding.choosing import Chooser
from mlaprobe.padding.lanes import Lane
from mlaprobe.padding.plan import Mode, Way
from mlaprobe.padding.question import Request
from mlaprobe.padding.resolver import Decider
from mlaprobe.rulefiles.cost import Profile
from mlaprobe.rulefiles.policy import policy

_MOST_QLEN = 8
"""The longest query that is tried for one that does not run."""
_PAGE_SIZES = (1, 64)


def ways(capability: Decider, request: Request, profile: Profile | None) -> tuple[Way, ...]:
    """Launches that run, of each kind of change the nearest.

    Raises:
        RuleError: the rules are wrong.
    """
    rules, found = policy(), []
    for what, values in _changes(request):
        for value in values:
            other = replace(request, **{what: value})
            lane = Lane(capability, other, rules, profile)
            part = Chooser(capability, (lane,), rules).choose().taken.parts[0]
            # A refused route falls back to the other, which is no change.
            if part.runs and (what != "route" or part.route is value):
                found.append(
                    Way(what=what, value=value, num_heads=part.num_heads, verdict=part.verdict)
                )
                break
    return tuple(found)


def _changes(request: Request) -> Iterator[tuple[str, Iterator[Any]]]:
    """Fields of a request, and other values for each, the nearest first."""
    modes = list(Mode)
    yield "mode", iter(modes[modes.index(request.mode) + 1 :])
    if request.planner != PlannerCall():
        yield "planner", iter([PlannerCall()])
    if request.persistent is not None:
        yield "persistent", iter([not request.persistent])
    if request.route is not Route.GLUON:
        yield "route", iter([Route.GLUON])
    else:
        yield "route", iter([Route.ASM])
    yield "qlens", _qlens(request.qlens)
    if request.lse:
        yield "lse", iter([False])
    yield "page_size", (size for size in _PAGE_SIZES if size != request.page_size)


def _qlens(asked: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The most of the run's query lengths, from either end; then others, the nearest first."""
    for count in range(len(asked) - 1, 0, -1):
        yield asked[:count]
        yield asked[-count:]
    if len(asked) == 1:
        others = sorted(range(1, _MOST_QLEN + 1), key=lambda q: (abs(q - asked[0]), q))
        yield from ((qlen,) for qlen in others if qlen != asked[0])

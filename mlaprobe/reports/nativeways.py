"""The other way of a shape that is native too, and what is known of the speed of the two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mlaprobe.core.protocols import Decider
from mlaprobe.core.shape import Decision, DecodeShape, Operation, PlannerCall, Route
from mlaprobe.padding.verdicts import native
from mlaprobe.rulefiles.speed import Between, KnownSpeed, known_speeds


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeWay:
    """Another native way."""

    between: Between
    """What it differs in."""
    decision: Decision
    known: tuple[KnownSpeed, ...]
    """Empty: which of the two is faster is not known."""


def native_ways(answers: Decider, decision: Decision) -> tuple[NativeWay, ...]:
    """The other ways of a native decode that are native as well; other operations have none.

    Raises:
        SourceError: a file cannot be read.
        RuleError: the rules are wrong.
    """
    if decision.shape.op is not Operation.DECODE or not native(decision):
        return ()
    found = []
    for between, other in _others(decision.shape):
        answer = answers.decide(other)
        if native(answer):
            known = known_speeds(decision.shape, between) or known_speeds(other, between)
            found.append(NativeWay(between=between, decision=answer, known=known))
    return tuple(found)


def _others(shape: DecodeShape) -> Iterator[tuple[Between, DecodeShape]]:
    """The same shape in the other mode, and by the other route."""
    if shape.route is Route.ASM:
        yield Between.MODE, replace(shape, persistent=not shape.persistent, planner=PlannerCall())
        yield Between.ROUTE, replace(shape, route=Route.GLUON, planner=PlannerCall())
    else:
        yield Between.ROUTE, replace(shape, route=Route.ASM)

"""Where it is not known whether a plan runs: the obstacle, and the plan of the nearest release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mlaprobe.core.protocols import Answers
from mlaprobe.core.shape import Decision, Evidence, Verdict
from mlaprobe.errors import SourceError
from mlaprobe.opening import bundled
from mlaprobe.padding.api import plan
from mlaprobe.padding.plan import PadPlan
from mlaprobe.snapshot import OUTSIDE
from mlaprobe.sources import Source
from mlaprobe.sources.closest_release import nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """What keeps a plan from being known."""

    decision: Decision
    """The answer that is UNKNOWN."""
    place: Evidence | None
    """Where the source could not be followed; ``None`` where that has no place."""
    release: str | None = None
    """The bundled release that the source's files are closest to."""
    differing: int = 0
    """How many of the files that decide are others there."""
    there: PadPlan | None = None
    """The plan of that release for the same question."""

    @property
    def outside(self) -> bool:
        """Whether it is the snapshot that does not hold the question."""
        return self.decision.stage == OUTSIDE


def doubt(answers: Answers, found: PadPlan, question: Mapping[str, Any]) -> Doubt | None:
    """What is in the way of a plan; ``None`` where nothing is unknown.

    Args:
        question: the arguments of ``mlaprobe.plan`` that the plan answers.
    """
    unknown = _unknown(answers, found)
    if unknown is None:
        return None
    outcome = None if unknown.stage is None else unknown.outcome(unknown.stage)
    places = () if outcome is None else tuple(outcome.evidence)
    known = Doubt(decision=unknown, place=places[-1] if places else None)
    return known if known.outside else _with_nearest(known, answers, question)


def _unknown(answers: Answers, found: PadPlan) -> Decision | None:
    """The first answer that is UNKNOWN, of the count to launch or of another that may run."""
    shapes = [replace(d.shape, num_heads=n) for n in found.undecided for d in found.decisions]
    decided = (*found.decisions, *map(answers.decide, shapes))
    return next((d for d in decided if d.verdict is Verdict.UNKNOWN), None)


def _with_nearest(known: Doubt, answers: Answers, question: Mapping[str, Any]) -> Doubt:
    source = answers.source
    if not isinstance(source, Source):
        return known
    try:
        close = nearest(source)
        if close is None or close.release not in bundled.releases():
            return known
        there = plan(**{**question, "capability": bundled.load(close.release)})
    except SourceError:  # a file that cannot be read, a release that is not there
        return known
    return replace(known, release=close.release, differing=close.differing, there=there)

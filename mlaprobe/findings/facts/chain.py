"""Facts about the stages that accept or refuse (sizing, planner, dispatcher), each by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from mlaprobe.core.axes import OMITTED, cell_of
from mlaprobe.core.protocols import LiveAnswers
from mlaprobe.core.reasons import stage_reason
from mlaprobe.core.shape import DecodeShape, Evidence, StageName, StageOutcome, Status
from mlaprobe.deciding.compose import clash
from mlaprobe.findings.facts import Fact
from mlaprobe.findings.facts.decisions import shape_values

CHAIN = (StageName.SIZING, StageName.PLANNER, StageName.DISPATCHER)
_FOLDING = attrgetter("status", "fold", "qlen_fold", "final_heads")
_ANSWER = attrgetter("status", "fold", "qlen_fold", "final_heads", "entry", "failure")


def may_take(outcome: StageOutcome) -> bool:
    """Whether planner or dispatcher accept, as far as that is known."""
    return outcome.status.taken or outcome.status == Status.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The outcomes of sizing, planner and dispatcher for one shape."""

    shape: DecodeShape
    sizing: StageOutcome
    planner: StageOutcome
    dispatcher: StageOutcome

    @property
    def outcomes(self) -> tuple[StageOutcome, ...]:
        """In call order."""
        return (self.sizing, self.planner, self.dispatcher)

    @property
    def runs(self) -> bool:
        """Whether none of the three refuses it."""
        return all(outcome.status != Status.REJECTED for outcome in self.outcomes)

    @property
    def taken(self) -> bool:
        """Whether planner or dispatcher take it, or may."""
        return may_take(self.planner) or may_take(self.dispatcher)

    def differs(self, other: Chain) -> bool:
        """Whether the same stages answer otherwise."""
        return any(
            _ANSWER(one) != _ANSWER(two)
            for one, two in zip(self.outcomes, other.outcomes, strict=True)
        )

    @property
    def clash(self) -> tuple[str, str] | None:
        """How planner and dispatcher contradict each other: the kind, and a sentence."""
        planner, dispatcher = self.planner.status, self.dispatcher.status
        if planner.taken and dispatcher == Status.REJECTED:
            return "accepts", "the planner takes it, the dispatcher refuses it"
        if planner == Status.REJECTED and dispatcher.taken:
            return "refuses", "the planner refuses it, the dispatcher takes it"
        folds = clash(self.planner, self.dispatcher)
        return None if folds is None else ("fold", folds)

    @property
    def fact(self) -> Fact:
        """The fact that rules look at."""
        clash = self.clash
        refused = self.sizing.status == Status.REJECTED
        both_take = self.planner.status.taken and self.dispatcher.status.taken
        disagrees = refused and both_take
        why = (stage_reason(self.sizing) if disagrees else None) or "without a reason"
        first, last = (self.planner, self.dispatcher), (self.sizing,)
        deciding = (*last, *first) if refused and clash is None else (*first, *last)

        def proof() -> tuple[Evidence, ...]:
            return tuple(e for outcome in deciding for e in outcome.evidence)

        values: dict[str, Any] = {
            **shape_values(self.shape),
            **dict(zip(CHAIN, (str(each.status) for each in self.outcomes), strict=True)),
            "clash": clash and clash[1],
            "clash_kind": clash and clash[0],
            "disagrees": disagrees,
            "words": f"planner and dispatcher take it, and sizing refuses it: {why}",
            "example": "",
        }
        return Fact(about="chain", values=values, cell=cell_of(self.shape), proof=proof)


def chain_of(answers: LiveAnswers, shape: DecodeShape) -> Chain:
    """The outcomes of the three stages for a shape."""
    sizing, planner, dispatcher = (answers.ask(stage, shape) for stage in CHAIN)
    return Chain(shape=shape, sizing=sizing, planner=planner, dispatcher=dispatcher)


def omitting_matters(answers: LiveAnswers, shape: DecodeShape) -> bool:
    """Whether the planner folds otherwise where the caller leaves out the dtypes."""
    without = replace(shape, planner=OMITTED)
    given, omitted = (_FOLDING(answers.ask(StageName.PLANNER, each)) for each in (shape, without))
    return bool(given != omitted)

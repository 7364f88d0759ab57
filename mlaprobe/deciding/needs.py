"""What launches need of one source, found by asking: what it does where one thing is otherwise.

A variation (``rules/variations.yaml``) changes the shape, or arguments of the dispatcher's call.
The stages answer to it as to any call, in their order, and one verdict is made of that. Where it is
another than that of the launch, or the same for another launch, the launch needs what was changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.needs import Consequence, Need
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Evidence,
    Route,
    StageName,
    StageOutcome,
    Verdict,
    altered,
)
from mlaprobe.deciding.pipeline import judge
from mlaprobe.rulefiles import errata
from mlaprobe.rulefiles.variations import Arguments, Variation, variations
from mlaprobe.stages.base import Faulted
from mlaprobe.stages.dispatching.dispatched import Dispatched
from mlaprobe.stages.evidence import LazyEvidence
from mlaprobe.stages.metadata import LAUNCHED, Metadata

if TYPE_CHECKING:
    from mlaprobe.deciding.capability import Capability


class Altered:
    """The stages of one source for calls whose arguments are not all as a valid caller gives
    them."""

    def __init__(self, capability: Capability, arguments: Arguments) -> None:
        self._capability = capability
        self._arguments = arguments
        self.has_tables = capability.has_tables
        self.takes = capability.takes
        self.planner_takes = capability.planner_takes
        self.ask = capability.ask
        self.called = capability.called

    def launch(self, shape: DecodeShape) -> Dispatched:
        """What the dispatcher does with these arguments, with the call that it makes."""
        dispatcher = self._capability.dispatcher
        if dispatcher is None:
            return self._capability.launch(shape)
        return dispatcher.altered(shape, self._arguments).answer

    def reduced(self, shape: DecodeShape, launch: Dispatched) -> StageOutcome:
        """The reducer, with what the dispatcher passes it."""
        reducer = self._capability.reducer
        if reducer is None:
            return self._capability.reduced(shape, launch)
        return reducer.called(launch.reduced_heads(shape), launch.reduce_args)


class Asking:
    """Finds what launches need of one source. Threads may share it."""

    def __init__(self, capability: Capability) -> None:
        self._capability = capability
        planner = capability.planner
        self._metadata = None if planner is None else Metadata(planner)
        self._known: dict[DecodeShape, tuple[Need, ...]] = cache(Cache.DECISIONS)

    def needs(self, shape: DecodeShape) -> tuple[Need, ...]:
        """What a launch needs, in the order of the variations; nothing where it does not run."""
        known = self._known.get(shape)
        if known is None:
            with self._capability.session.exclusive:
                known = self._asked(shape)
        return known

    def forget(self) -> None:
        """Lets go of remembered answers."""
        self._known.clear()
        if self._metadata is not None:
            self._metadata.forget()

    def by_source(self, shape: DecodeShape) -> tuple[Need, ...] | None:
        """What the source alone shows, whatever errata say; ``None`` where the shape does not run.
        It is not remembered."""
        base = self._capability.judge(shape)
        if not base.verdict.runs or shape.route is not Route.ASM:
            return None
        found: list[Need] = []
        for variation in variations():
            if variation.tried_on(shape) and not variation.follows_from({n.id for n in found}):
                need = self._need(variation, base, self._judged(variation, shape))
                found += [] if need is None else [need]
        return tuple(found)

    def _asked(self, shape: DecodeShape) -> tuple[Need, ...]:
        base = self._capability.decide(shape)
        if not base.verdict.runs or shape.route is not Route.ASM:
            return ()
        kept = True
        found: list[Need] = []
        for variation in variations():
            if variation.tried_on(shape) and not variation.follows_from({n.id for n in found}):
                other = self.tried(variation, shape)
                kept = kept and not any(isinstance(o, Faulted) for _, o in other.stages)
                need = self._need(variation, base, other)
                found += [] if need is None else [need]
        if kept:
            self._known[shape] = tuple(found)
        return tuple(found)

    def tried(self, variation: Variation, shape: DecodeShape) -> Decision:
        """What becomes of a launch with one thing otherwise."""
        if not variation.arguments:
            return self._capability.decide(variation.applied(shape))
        found = self._judged(variation, shape)
        return errata.apply(found, release=self._capability.erratum_release)

    def _judged(self, variation: Variation, shape: DecodeShape) -> Decision:
        """The same by the source alone."""
        asked = variation.applied(shape)
        if not variation.arguments:
            return self._capability.judge(asked)
        return judge(Altered(self._capability, variation.arguments), asked)

    def _need(self, variation: Variation, base: Decision, other: Decision) -> Need | None:
        """The need that a variation shows, if it makes a difference."""
        shown = variation.shown(base.shape)
        if not other.verdict.runs:
            return altered(
                shown,
                outcome=Consequence(other.verdict.value),
                failure=other.failure,
                stage=other.stage,
                message=other.message,
                evidence=_evidence(other),
            )
        if _folds(other) != _folds(base):
            return altered(
                shown,
                outcome=Consequence.OTHER_FOLD,
                stage=StageName.DISPATCHER,
                message=f"{_folded(other)} instead of {_folded(base)}",
                evidence=_of(other, StageName.DISPATCHER),
            )
        if _kernels(other) != _kernels(base) and "kernel" not in variation.quiet:
            return altered(
                shown,
                outcome=Consequence.OTHER_KERNEL,
                stage=StageName.HOST,
                message=f"{', '.join(_kernels(other))} instead of {', '.join(_kernels(base))}",
                evidence=_of(other, StageName.HOST),
            )
        return self._other_metadata(shown, base.shape, variation.applied(base.shape))

    def _other_metadata(self, shown: Need, shape: DecodeShape, asked: DecodeShape) -> Need | None:
        """The need that shows in what the planner hands to its device code."""
        planner, metadata = self._capability.planner, self._metadata
        if planner is None or metadata is None or not shape.persistent:
            return None
        questions = planner.question(shape), planner.question(asked)
        if questions[0] == questions[1]:
            return None
        one, other = map(metadata.decide, questions)
        differing = one.differing(other)
        if differing == () and shape.batch is None:  # a limit may show in a small batch only
            one, other = (metadata.decide(replace(question, batch=1)) for question in questions)
            differing = one.differing(other)
        if differing is None:
            message = "what the planner hands to its device code is not known"
            return altered(shown, stage=StageName.PLANNER, message=message)
        if not differing:
            return None
        return altered(
            shown,
            outcome=Consequence.OTHER_METADATA,
            stage=StageName.PLANNER,
            message=_handed(differing),
            evidence=dict(other.places).get(differing[0], ()),
        )


def _handed(names: tuple[str, ...]) -> str:
    if LAUNCHED in names:
        return "the planner launches other device code"
    return f"the planner hands its device code another {', '.join(names)}"


def _folds(decision: Decision) -> tuple[object, ...]:
    return decision.verdict, decision.fold, decision.qlen_fold


def _folded(decision: Decision) -> str:
    if decision.verdict is not Verdict.FOLDED:
        return str(decision.verdict)
    return f"{decision.verdict} by {decision.fold * decision.qlen_fold}"


def _kernels(decision: Decision) -> tuple[str, ...]:
    return tuple(kernel.symbol for kernel in decision.kernels)


def _of(decision: Decision, stage: str) -> Sequence[Evidence]:
    outcome = decision.outcome(stage)
    return () if outcome is None else outcome.evidence


_FOLDING = (StageName.PLANNER, StageName.DISPATCHER)


def _both(one: Sequence[Evidence], other: Sequence[Evidence]) -> tuple[Evidence, ...]:
    return (*one, *other)


def _evidence(decision: Decision) -> Sequence[Evidence]:
    """The clauses that decided a verdict that does not run."""
    if decision.verdict is Verdict.INCOHERENT:
        return LazyEvidence(_both, *(_of(decision, stage) for stage in _FOLDING))
    stage = decision.stage
    return _of(decision, StageName.HOST if stage == StageName.TABLE else stage or "")

"""Facts about shapes: what every stage says of them, and where the stages contradict each other.

``chain`` facts are about the stages that accept or refuse (sizing, planner, dispatcher), which
all look at the same few fields. ``shape`` facts are about the composed decision, for shapes that
planner or dispatcher take, with every flag.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from mlaprobe.core.axes import OMITTED, cell_of
from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.grid import DEFAULT_DTYPES, DtypePair
from mlaprobe.core.protocols import LiveAnswers
from mlaprobe.core.reasons import deciding_clause, said
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Evidence,
    PlannerCall,
    StageName,
    StageOutcome,
    Status,
    Verdict,
)
from mlaprobe.findings.facts import Fact
from mlaprobe.reports.survey import TRIED_PAGE_SIZE

if TYPE_CHECKING:
    from mlaprobe.deciding.refusals import Refusals

KNOB_VALUE = "1"
CHAIN = (StageName.SIZING, StageName.PLANNER, StageName.DISPATCHER)
Refused = tuple[StageOutcome | None, ...]
"""How stages refuse a shape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which shapes are asked."""

    archs: tuple[str, ...]
    dtypes: tuple[DtypePair, ...] = DEFAULT_DTYPES
    heads: tuple[int, ...] = tuple(range(1, 129))
    beyond: tuple[int, ...] = tuple(range(144, 257, 16))
    """Counts above those that there are kernels for: only whether the stages agree is asked."""
    qlens: tuple[int, ...] = tuple(range(1, 9))
    plain_heads: tuple[int, ...] = (1, 2, 4, *range(8, 129, 8))
    """The counts that are asked without work metadata."""
    knob_heads: tuple[int, ...] = (8, *range(16, 129, 16))
    """The counts that are asked with knobs set."""
    knobs: bool = True
    """Whether to ask with each environment variable set."""
    ignored_knobs: frozenset[str] = frozenset()


@dataclass(slots=True)
class Chain:
    """What sizing, planner and dispatcher say of one shape."""

    shape: DecodeShape
    outcomes: dict[str, StageOutcome] = field(default_factory=dict)

    @property
    def runs(self) -> bool:
        """Whether none of the three refuses it."""
        return all(outcome.status != Status.REJECTED for outcome in self.outcomes.values())

    @property
    def taken(self) -> bool:
        """Whether planner or dispatcher take it, or may."""
        return any(
            _may_take(self.outcomes[stage]) for stage in (StageName.PLANNER, StageName.DISPATCHER)
        )

    @property
    def clash(self) -> str | None:
        """How planner and dispatcher contradict each other, in words."""
        planner, dispatcher = self.outcomes[StageName.PLANNER], self.outcomes[StageName.DISPATCHER]
        takes = planner.status.taken, dispatcher.status.taken
        refuses = planner.status == Status.REJECTED, dispatcher.status == Status.REJECTED
        if takes[0] and refuses[1]:
            return "the planner takes it, the dispatcher refuses it"
        if refuses[0] and takes[1]:
            return "the planner refuses it, the dispatcher takes it"
        planned, launched = _fold(planner), _fold(dispatcher)
        if all(takes) and planned != launched:
            return f"the planner {planned}, the dispatcher {launched}"
        return None

    @property
    def values(self) -> dict[str, Any]:
        """The fields of its fact."""
        planner, dispatcher = self.outcomes[StageName.PLANNER], self.outcomes[StageName.DISPATCHER]
        sizing = self.outcomes[StageName.SIZING]
        accepted = [stage.status.taken for stage in (planner, dispatcher)]
        disagrees = all(accepted) and sizing.status == Status.REJECTED
        why = (said(sizing) if disagrees else None) or "without a reason"
        kinds = {(True, True): "fold", (True, False): "accepts", (False, True): "refuses"}
        return {
            **shape_values(self.shape),
            **{stage: outcome.status for stage, outcome in self.outcomes.items()},
            "clash": self.clash,
            "clash_kind": kinds.get((accepted[0], accepted[1])) if self.clash else None,
            "disagrees": disagrees,
            "words": f"planner and dispatcher take it, and sizing refuses it: {why}",
            "example": "",
        }

    def fact(self) -> Fact:
        """As a fact."""
        stages = (StageName.PLANNER, StageName.DISPATCHER, StageName.SIZING)
        if self.outcomes[StageName.SIZING].status == Status.REJECTED and self.clash is None:
            stages = CHAIN

        def proof() -> tuple[Evidence, ...]:
            return tuple(e for stage in stages for e in self.outcomes[stage].evidence)

        return Fact(about="chain", values=self.values, cell=cell_of(self.shape), proof=proof)


def _may_take(outcome: StageOutcome) -> bool:
    """Whether planner or dispatcher accept, as far as that is known."""
    return outcome.status.taken or outcome.status == Status.UNKNOWN


def _fold(outcome: StageOutcome) -> str:
    parts = [f"folds the batch by {outcome.fold}"] * (outcome.fold > 1)
    parts += [f"folds the query length by {outcome.qlen_fold}"] * (outcome.qlen_fold > 1)
    return f"{' and '.join(parts) or 'does not fold'} (to {outcome.final_heads} heads)"


def shape_values(shape: DecodeShape) -> dict[str, Any]:
    """The fields that every fact about a shape has."""
    return {
        "arch": shape.arch,
        "dtype": shape.dtype,
        "heads": shape.num_heads,
        "qlen": shape.qlen,
        "lse": shape.lse,
        "persistent": shape.persistent,
        "causal": shape.causal,
        "cp_round_robin": shape.cp_round_robin,
        "page_size": shape.page_size,
        "told": "given" if shape.planner == PlannerCall() else "omitted",
        "knob": ", ".join(f"{name}={value}" for name, value in shape.env) or None,
    }


def decision_fact(decision: Decision, given: Verdict | None = None) -> Fact:
    """A composed decision as a fact. ``given`` is the verdict of the same shape where the planner
    is told the dtypes."""
    dispatcher = decision.outcome(StageName.DISPATCHER)
    undefined = dispatcher is not None and dispatcher.status.taken and dispatcher.failure
    values = {
        **shape_values(decision.shape),
        **{stage.replace(" ", "_"): outcome.status for stage, outcome in decision.stages},
        "verdict": decision.verdict.value,
        "given": None if given is None else given.value,
        "stage": decision.stage,
        "folded": decision_folds(decision),
        "failure": None if decision.failure is None else decision.failure.value,
        "message": decision.message or "",
        "lack": _LACKS.get(decision.verdict),
        "entry": None if dispatcher is None else dispatcher.entry,
        "undefined": (dispatcher.message if dispatcher and undefined else None),
        "place": _place(decision),
    }
    return Fact(
        about="shape",
        values=values,
        cell=cell_of(decision.shape),
        proof=lambda: _evidence(decision),
    )


_LACKS = {
    Verdict.NO_KERNEL: "finds no kernel for it",
    Verdict.REJECTED: "refuses it",
    Verdict.AMBIGUOUS: "finds several kernels for it",
}


def decision_folds(decision: Decision) -> bool:
    """Whether the dispatcher folds, whatever comes of it."""
    dispatcher = decision.outcome(StageName.DISPATCHER)
    return dispatcher is not None and (dispatcher.fold > 1 or dispatcher.qlen_fold > 1)


def _place(decision: Decision) -> str | None:
    """Where an unknown came from: what tells one from another."""
    if decision.verdict is not Verdict.UNKNOWN:
        return None
    clause = deciding_clause(decision)
    return None if clause is None else f"{clause.file}:{clause.line}"


def _evidence(decision: Decision) -> tuple[Evidence, ...]:
    """All places, the one that decided first."""
    first = deciding_clause(decision)
    found = (*([first] if first else []), *decision.evidence)
    return tuple(dict.fromkeys(found))


class Asker:
    """Asks a source about a scope."""

    def __init__(
        self, answers: LiveAnswers, scope: Scope, step: Callable[[], None] = lambda: None
    ) -> None:
        self.answers = answers
        self.scope = scope
        self.step = step
        takes: Callable[[str], bool] = getattr(answers, "takes", lambda role: True)
        # A flag that the release does not take changes nothing.
        self.flags = [(True, False)]
        self.flags += [(False, False)] * takes("causal") + [(True, True)] * takes("global_indptr")
        """Mask and round robin: as usual, and each otherwise."""
        self.pages = {arch: usual_page(answers, arch, scope) for arch in scope.archs}
        self.taken: list[DecodeShape] = []
        """Persistent shapes that sizing, planner and dispatcher take, or may."""
        self.other_entries: list[DecodeShape] = []
        """Shapes that reach another entry point than the assembly one."""
        self._refusals: dict[Hashable, tuple[Refusals, ...]] = cache(Cache.REFUSALS)

    def facts(self, kinds: Collection[str] = ("chain", "shape", "flag")) -> Iterator[Fact]:
        """Everything about the scope's shapes, as far as these kinds of facts need it."""
        yield from self._chains()
        if "shape" in kinds:
            yield from self._flags()
            yield from self._without_metadata()
        if {"shape", "flag"} & set(kinds):
            yield from self._knobs()

    def _shapes(self, heads: tuple[int, ...], **fields: Any) -> Iterator[DecodeShape]:
        scope = self.scope
        for arch, pair, count, qlen in product(scope.archs, scope.dtypes, heads, scope.qlens):
            yield DecodeShape(
                arch=arch,
                q_dtype=pair[0],
                kv_dtype=pair[1],
                num_heads=count,
                qlen=qlen,
                page_size=self.pages[arch],
                **fields,
            )

    def chain(self, shape: DecodeShape) -> Chain:
        """What the accepting stages say of a shape."""
        return Chain(shape, {stage: self.answers.ask(stage, shape) for stage in CHAIN})

    def _refused(self, shape: DecodeShape, stages: tuple[str, ...] = CHAIN) -> Refused | None:
        """How each of these stages refuses a shape, where all do; ``None`` otherwise, and where
        that is not quickly told."""
        make: Callable[[str, DecodeShape], Refusals] | None
        make = getattr(self.answers, "refusals", None)
        if make is None:
            return None
        key = (stages, _but_for_numbers(shape))
        known = self._refusals.get(key)
        if known is None:
            known = self._refusals[key] = tuple(make(stage, shape) for stage in stages)
        found = tuple(each.refusal(shape.num_heads, shape.qlen) for each in known)
        return None if None in found else found

    def _chains(self) -> Iterator[Fact]:
        within = set(self.scope.heads)
        for shape in self._shapes((*self.scope.heads, *self.scope.beyond)):
            self.step()
            self._refused(shape, CHAIN[:1])  # which knobs it asks for is of interest
            if self._refused(shape, CHAIN[1:]) is not None:
                continue
            chain = self.chain(shape)
            if chain.taken:
                yield chain.fact()
                if shape.num_heads in within and chain.runs:
                    self.taken.append(shape)

    def _flags(self) -> Iterator[Fact]:
        """Every flag for what is taken, and the planner left without the dtypes."""
        for shape in self.taken:
            contradicts = self._omitting_matters(shape)
            for lse, (causal, cprr) in product((False, True), self.flags):
                asked = replace(shape, lse=lse, causal=causal, cp_round_robin=cprr)
                decision = self.answers.decide(asked)
                yield decision_fact(decision)
                if contradicts and causal and not cprr:
                    without = self.answers.decide(replace(asked, planner=OMITTED))
                    yield decision_fact(without, decision.verdict)
            self.step()

    def _omitting_matters(self, shape: DecodeShape) -> bool:
        """Whether the planner says something else where it is not told the dtypes."""
        told, omitted = (
            self.answers.ask(StageName.PLANNER, each)
            for each in (shape, replace(shape, planner=OMITTED))
        )
        return (told.status, told.fold, told.qlen_fold, told.final_heads) != (
            *(omitted.status, omitted.fold, omitted.qlen_fold, omitted.final_heads),
        )

    def _without_metadata(self) -> Iterator[Fact]:
        for shape in self._shapes(self.scope.plain_heads, persistent=False):
            self.step()
            if self._refused(shape, (StageName.DISPATCHER,)) is not None:
                continue
            if _may_take(self.answers.ask(StageName.DISPATCHER, shape)):
                yield decision_fact(self.answers.decide(shape))

    def _knobs(self) -> Iterator[Fact]:
        """Each knob alone, where it makes planner or dispatcher say something else."""
        for knob in self.answers.knobs if self.scope.knobs else ():
            if knob in self.scope.ignored_knobs:
                continue
            env = ((knob, KNOB_VALUE),)
            for shape in self._shapes(self.scope.knob_heads):
                self.step()
                with_it = replace(shape, env=env)
                refused = self._refused(with_it)
                if refused is not None and refused == self._refused(shape):
                    continue
                before, after = self.chain(shape), self.chain(with_it)
                if _differ(before, after):
                    yield after.fact()
                    if after.taken:
                        if after.outcomes[StageName.DISPATCHER].entry not in (None, "asm"):
                            self.other_entries.append(after.shape)
                        yield decision_fact(self.answers.decide(after.shape))


_but_for_numbers = attrgetter(
    *(n for n in DecodeShape.__dataclass_fields__ if n not in ("num_heads", "qlen", "_hash"))
)


def _differ(one: Chain, other: Chain) -> bool:
    def said(chain: Chain) -> list[tuple[Any, ...]]:
        return [
            (o.status, o.fold, o.qlen_fold, o.final_heads, o.entry, o.failure)
            for o in chain.outcomes.values()
        ]

    return said(one) != said(other)


def usual_page(answers: LiveAnswers, arch: str, scope: Scope) -> int:
    """The page size to ask an arch with: 1, unless the host finds kernels for others only."""
    for page, pair, count, persistent in product(
        (1, TRIED_PAGE_SIZE), scope.dtypes, _TRIED_HEADS, (True, False)
    ):
        shape = DecodeShape(
            arch=arch,
            q_dtype=pair[0],
            kv_dtype=pair[1],
            num_heads=count,
            page_size=page,
            persistent=persistent,
        )
        if answers.ask(StageName.HOST, shape).status == Status.KERNEL:
            return page
    return 1


_TRIED_HEADS = (16, 128, 64, 32, 8)

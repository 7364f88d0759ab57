"""The planner: ``get_mla_metadata_v1`` and what it calls.

It says whether a head count is native, folded into more batches or into longer queries, or
refused. What it decided is read off the parameters that it hands to its device kernel: the number
of batches and the query length against what they were, and the head count. Whether an unfolded
shape is *native* or merely *accepted* is the flag that guards the fold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from mlaprobe.core.axes import planner_values
from mlaprobe.core.shape import DecodeShape, Dtype, StageName, StageOutcome, Status, altered
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.unit import CppModule
from mlaprobe.evaluator.engine.runs import Event, Outcome, Run
from mlaprobe.evaluator.symbolic.symbols import asks_for, same
from mlaprobe.evaluator.values import Unknown
from mlaprobe.evaluator.values.kinds import Record
from mlaprobe.evaluator.values.truth import truth
from mlaprobe.evaluator.walk import walk
from mlaprobe.stages.base import (
    CppStage,
    arguments,
    how_failed,
    place_evidence,
    undecided,
    unknown,
)
from mlaprobe.stages.environment.device import Device, in_context
from mlaprobe.stages.environment.dtypes import DtypeToken, dtype_for
from mlaprobe.stages.environment.options import options
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.evidence import Proof, Trace
from mlaprobe.stages.instantiate import Solved
from mlaprobe.stages.numbers import calculate, folded, is_whole, multiple

T = TypeVar("T")
STAGE = StageName.PLANNER
BATCH = 7
"""Requests in a batch that is left open: a prime, so that a fold shows as an exact multiple."""
MANY = 1 << 20
"""Requests of a batch that is larger than any."""

TOP_K = 2048
"""Tokens that sparse attention looks at; any that is not negative means that it is sparse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerQuestion:
    """The planner's arguments."""

    arch: str
    q_dtype: Dtype | None
    kv_dtype: Dtype | None
    num_heads: int
    qlen: int
    uniform_qlen: int
    causal: bool = True
    page_size: int = 1
    cp_round_robin: bool = False
    fast_mode: bool = True
    intra_batch_mode: bool = False
    max_split_per_batch: int = -1
    sparse: bool = False
    batch: int | None = None
    env: tuple[tuple[str, str], ...] = ()
    device: Device | None = None
    version: int = 0
    """The version of MLA: AITER's ``MlaVersion``."""
    rope_dtype: Dtype | None = None
    """Of the rope parts, where it is another."""


class Planner(CppStage[PlannerQuestion]):
    """The planner of one source."""

    name = STAGE

    def __init__(self, session: SourceSession) -> None:
        """Raises ``Absent`` where the source has no planner."""
        self._names = session.names.data[STAGE]
        session.watch.append(fold_guard(tuple(self._names["native"])))
        super().__init__(session)

    @staticmethod
    def question(shape: DecodeShape) -> PlannerQuestion:
        """The planner's arguments for a shape."""
        return PlannerQuestion(
            arch=shape.arch,
            causal=shape.causal,
            page_size=shape.page_size,
            sparse=shape.sparse,
            batch=shape.batch,
            env=shape.env,
            **planner_values(shape),
        )

    def _evaluated(self, question: PlannerQuestion) -> Solved[StageOutcome]:
        found = self.solved(question, "", self._read_sized)
        outcome, sized = found.answer
        if sized and question.batch is None:
            outcome = self._for_many(question, outcome)
        return Solved(outcome, found.leaf)

    def _read_sized(
        self, outcomes: tuple[Outcome, ...], inputs: Mapping[str, Any]
    ) -> tuple[StageOutcome, bool]:
        """The answer, and whether the planner asked for the size of the batch."""
        sized = asks_for(inputs["rows"])
        return self._read(outcomes, inputs), sized

    def _for_many(self, question: PlannerQuestion, outcome: StageOutcome) -> StageOutcome:
        """The answer with a note, where it is another for a large batch."""
        many = self.solved(replace(question, batch=MANY), "", self._read_sized).answer[0]
        if all(getattr(many, n) == getattr(outcome, n) for n in ("status", "fold", "qlen_fold")):
            return outcome
        why = f": {many.message}" if many.message else ""
        note = f"the planner's answer to a batch of {MANY} requests is {many.status}{why}"
        return altered(outcome, notes=(*outcome.notes, note))

    def solved(
        self,
        question: PlannerQuestion,
        what: str,
        read: Callable[[tuple[Outcome, ...], Mapping[str, Any]], T],
    ) -> Solved[T]:
        """What ``read`` makes of the planner's paths; ``what`` tells it from other readers."""
        inputs = {
            "heads": question.num_heads,
            "qlen": question.qlen,
            "page_size": question.page_size,
            "granularity": max(16, question.page_size),
            "rows": (question.batch or BATCH) + 1,
        }
        if question.uniform_qlen != question.qlen:
            inputs["uniform"] = question.uniform_qlen

        def start(run: Run, symbols: Mapping[str, Any]) -> Any:
            args = self._arguments(self._values(question, symbols))
            return run.machine.call(run, self._function, args, {}, ir.NOWHERE)

        flags = (question.causal, question.cp_round_robin, question.sparse)
        modes = (question.fast_mode, question.intra_batch_mode, question.max_split_per_batch)
        told = (question.version, question.rope_dtype)
        key = (STAGE, what, len(inputs), question.q_dtype, question.kv_dtype, flags, modes, told)
        return self.session.solve(key, inputs, start, (question.arch, question.env), read)

    @property
    def file(self) -> str:
        """The translation unit of the planner's function."""
        module = self._function.module
        assert isinstance(module, CppModule)
        assert module.unit.root is not None
        return module.unit.root.path

    def launches(
        self, question: PlannerQuestion, tensors: Mapping[str, Tensor]
    ) -> tuple[Outcome, ...]:
        """Every path of the planner for a question's own numbers, up to where it launches its
        device kernel, or calls a template that does. ``tensors`` are arguments by the name of
        their parameter."""
        given = {
            "heads": question.num_heads,
            "qlen": question.qlen,
            "page_size": question.page_size,
            "granularity": max(16, question.page_size),
            "uniform": question.uniform_qlen,
            "rows": BATCH + 1,
        }
        params = self._function.function.params
        values = self._arguments(self._values(question, given))
        args = tuple(tensors.get(p.name, v) for p, v in zip(params, values, strict=True))
        context, facts = in_context(question.arch, question.env, question.device)
        return self.session.explore(
            lambda run: run.machine.call(run, self._function, args, {}, ir.NOWHERE),
            context,
            facts={"templates_return": True, "launches": True, **facts},
        )

    def _arguments(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """What the function is called with: one by one, or some of it as a map of options."""
        roles = self.session.names.roles(STAGE)
        given = {**values, "options": options(roles, values)}
        return arguments(self._function.function, roles, given)

    def _values(self, question: PlannerQuestion, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        indptr = Tensor("indptr", (inputs["rows"],), DtypeToken("i32"))

        def dtype(name: Dtype | None) -> DtypeToken | None:
            return None if name is None else dtype_for(name.value, question.arch)

        return {
            "num_heads": inputs["heads"],
            "kv_heads": 1,
            "causal": question.causal,
            "page_size": inputs["page_size"],
            "granularity": inputs["granularity"],
            "qlen": inputs["qlen"],
            "uniform_qlen": inputs.get("uniform", inputs["qlen"]),
            "fast": question.fast_mode,
            "topk": TOP_K if question.sparse else -1,
            "split_limit": question.max_split_per_batch,
            "intra_batch": question.intra_batch_mode,
            "round_robin": question.cp_round_robin,
            "version": question.version,
            "q_dtype": dtype(question.q_dtype),
            "kv_dtype": dtype(question.kv_dtype),
            "q_rope_dtype": dtype(question.rope_dtype),
            "kv_rope_dtype": dtype(question.rope_dtype),
            "qo_indptr": indptr,
            "kv_indptr": indptr,
            "other": indptr,
        }

    # --- reading the answer ----------------------------------------------------------------------

    def _read(self, outcomes: tuple[Outcome, ...], inputs: Mapping[str, Any]) -> StageOutcome:
        first, *others = (self._path(outcome, inputs) for outcome in outcomes)
        if not all(same(first, other) for other in others):
            # a path on which only the device decides is no answer about the shape
            return unknown(self.session, STAGE, outcomes)
        if first.status == Status.UNKNOWN:
            if isinstance(first.evidence, Proof):  # computed when it is accessed
                return first
            return unknown(self.session, STAGE, outcomes, first)
        return altered(first, evidence=Proof(STAGE, self.session.text, _decisive_places))

    def _path(self, outcome: Outcome, inputs: Mapping[str, Any]) -> StageOutcome:
        if outcome.kind == "unknown":
            return undecided(STAGE, outcome.reason)
        if outcome.kind == "failed":
            failure = outcome.failure
            return StageOutcome(
                stage=STAGE,
                status=Status.REJECTED,
                failure=how_failed(outcome),
                message=failure.message if failure is not None else None,
            )
        found = self.parameters(outcome)
        if found is None:
            return undecided(STAGE, "what the planner launches was not found")
        return self._accepted(found[1], outcome, inputs)

    def parameters(self, outcome: Outcome) -> tuple[Event, Record] | None:
        """The launch of the device code, and the parameters that are handed to it: an aggregate
        that has the number of batches."""
        for event in outcome.events:
            for value in event.args:
                if isinstance(value, Record) and any(
                    n in value.fields for n in self._names["batches"]
                ):
                    return event, value
        return None

    def _field(self, params: Record, names: str) -> Any:
        return next((params.fields[n] for n in self._names[names] if n in params.fields), None)

    def _accepted(
        self, params: Record, outcome: Outcome, inputs: Mapping[str, Any]
    ) -> StageOutcome:
        batches, uniform = self._field(params, "batches"), self._field(params, "uniform")
        heads = self._field(params, "heads")
        for value in (batches, uniform, heads):
            if not is_whole(value):
                found = value if isinstance(value, Unknown) else Unknown("its parameters")
                places = place_evidence(self.session, STAGE, found.span)
                return undecided(STAGE, found.reason, places)
        fold = multiple(batches, calculate("-", inputs["rows"], 1))
        qlen_fold = multiple(uniform, inputs.get("uniform", inputs["qlen"]))
        if fold is None or qlen_fold is None:
            return self._no_fold(fold, uniform, inputs)
        status = folded(fold, qlen_fold)
        final = heads
        if status and same(heads, inputs["heads"]):
            final = calculate("//", heads, calculate("*", fold, qlen_fold))
        if not status:
            native = self._native(outcome)
            if isinstance(native, Unknown):
                places = place_evidence(self.session, STAGE, native.span)
                return undecided(STAGE, native.reason, places)
            is_native = native and same(final, inputs["heads"])
            status = Status.NATIVE if is_native else Status.PASSTHROUGH
        return StageOutcome(
            stage=STAGE, status=status, fold=fold, qlen_fold=qlen_fold, final_heads=final
        )

    def _no_fold(self, fold: Any, uniform: Any, inputs: Mapping[str, Any]) -> StageOutcome:
        """More requests of shorter queries, say: which of the KV each token may see is then up to
        the device code, which is not read."""
        given = inputs.get("uniform", inputs["qlen"])
        if fold is None or not same(calculate("*", uniform, fold), given):
            return undecided(STAGE, "the fold is no whole number")
        message = (
            "a request is planned as several of fewer query tokens: what each may see is up to "
            "the planner's device code"
        )
        return undecided(STAGE, message, Proof(STAGE, self.session.text, _last_taken))

    def _native(self, outcome: Outcome) -> Any:
        """The flag that says "native": by its name, or as what guards the fold.

        A release without such a flag calls everything native that it takes and does not fold.
        """
        for key, value in outcome.observations:
            if key == "native":
                return truth(value)
        return True


def fold_guard(names: tuple[str, ...]) -> Callable[[ir.Node], tuple[str, ir.Node] | None]:
    """Recognises the branch that folds: it divides the heads unless a flag says "native".

    The flag is known by its name, or as the one thing that the branch negates.
    """

    def watch(node: ir.Node) -> tuple[str, ir.Node] | None:
        if not isinstance(node, ir.If) or not _divides(node.then):
            return None
        negated = _negated(node.test)
        named = [n for n in negated if isinstance(n, ir.Name) and n.id in names]
        picked = named or negated
        return ("native", picked[0]) if len(picked) == 1 else None

    return watch


def _divides(body: tuple[ir.Node, ...]) -> bool:
    """Whether a branch assigns a quotient to something."""
    return any(
        isinstance(n, ir.AssignExpr) and isinstance(n.value, ir.Binary) and n.value.op == "c/"
        for n in walk(body)
    )


def _negated(test: ir.Node) -> list[ir.Node]:
    """What a conjunction negates."""
    parts = test.parts if isinstance(test, ir.Bool) and test.op == "and" else (test,)
    found: list[ir.Node] = []
    for part in parts:
        if isinstance(part, ir.Unary) and part.op == "not":
            found.append(part.value)
        elif isinstance(part, ir.Binary) and part.op == "==":
            sides = (part.left, part.right)
            if any(isinstance(s, ir.Const) and s.value is False for s in sides):
                found.extend(s for s in sides if not isinstance(s, ir.Const))
    return found


def _last_taken(trace: Trace, outcome: Outcome) -> tuple[ir.Span, ...]:
    """The last branch that was taken."""
    taken = [node for node, value in trace.conditions() if value is True]
    return tuple(node.test.span for node in taken[-1:])


def _decisive_places(trace: Trace, outcome: Outcome) -> tuple[ir.Span, ...]:
    """Where it was decided: the failed check, or the branch that folds or does not."""
    if outcome.kind == "failed":
        last = trace.last_check()
        return (last.span,) if last is not None else (outcome.span,)
    folding = [(node, value) for node, value in trace.conditions() if _divides(node.then)]
    taken = [node for node, value in folding if value is True]
    picked = taken or [node for node, _ in folding]
    return tuple(trace.decisive(node.test).span for node in picked[-1:])

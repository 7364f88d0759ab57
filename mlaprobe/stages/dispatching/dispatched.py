"""What the dispatcher does, read off the paths of its function: the entry point that it calls, with
which query tensor and query length, and what it refuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mlaprobe.core.enums import Unwritten
from mlaprobe.core.launch import Launch
from mlaprobe.core.shape import DecodeShape, Failure, StageName, StageOutcome, Status, altered
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Event, Outcome
from mlaprobe.evaluator.symbolic.symbols import joined, same
from mlaprobe.evaluator.values import Unknown
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.stages.base import how_failed, place_evidence, undecided, why_unknown
from mlaprobe.stages.batches import apart, batch_condition
from mlaprobe.stages.dispatching.calls import Calls, path_call
from mlaprobe.stages.dispatching.entries import (
    entry_of,
    partial_dim,
    places,
    places_of_misfit,
    query_of,
    refusal,
)
from mlaprobe.stages.dispatching.fitting import Fit, Passed, fit_of
from mlaprobe.stages.dispatching.handling import handled, unhandled
from mlaprobe.stages.environment.outside import assumptions
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.evidence import Proof
from mlaprobe.stages.instantiate import Deferred
from mlaprobe.stages.numbers import calculate, is_whole
from mlaprobe.stages.possible import possible, without_impossible

STAGE = StageName.DISPATCHER
_SIZES = ("batch",)
"""What a shape may leave open that the code asks about."""
REQUESTS = 2
"""Requests in the batch, where the question leaves them open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatched(Launch):
    """The dispatcher's answer with the call that it made."""

    given: Deferred = field(default=Deferred(()), compare=False)
    """Arguments of the entry point, as ``args`` has them, on the first path to this answer."""
    calls: Calls = field(default=Calls(), compare=False)
    """The calls of the entry point on all paths to this answer."""
    merged: Deferred | None = field(default=None, compare=False)
    """Arguments of the reducer's entry point, as ``reduce_args`` has them."""
    obstacle: ir.Span = field(default=ir.NOWHERE, compare=False)
    """Where the answer is unknown because of the call that is made: the place of that."""

    @property
    def args(self) -> tuple[Any, ...]:
        """Arguments of the entry point, by position."""
        return self.given.get()  # type: ignore[no-any-return]

    @property
    def reduce_args(self) -> tuple[Any, ...] | None:
        """Arguments of the reducer's entry point, where it is called."""
        return None if self.merged is None else self.merged.get()

    @property
    def passed(self) -> tuple[object, ...]:
        """The arguments as far as two calls can be compared by them: plain values, and of what
        else there is its kind. What a tensor holds is not known, and in no two calls the same."""
        plain = (bool, int, float, str, type(None))
        return tuple(
            tuple(arg if isinstance(arg, plain) else type(arg) for arg in given.get())
            for given in self.calls.apart(self.given)
        )


class Reader:
    """Reads the answer to a shape off the paths. ``inputs`` holds its numbers, or symbols for
    them."""

    def __init__(self, session: SourceSession, shape: DecodeShape) -> None:
        self._session = session
        self._names = session.names.data[STAGE]
        self._shape = shape

    def answer(self, outcomes: tuple[Outcome, ...], inputs: Mapping[str, Any]) -> Dispatched:
        """The answer, without symbols where the inputs are plain."""
        outcomes = without_impossible(outcomes, _SIZES)
        answers = [self._path(outcome, inputs) for outcome in outcomes]
        picked, note = self._settle(outcomes, answers)
        if picked is None:
            reason, span = _why(outcomes, answers)
            where = place_evidence(self._session, STAGE, span)
            return Dispatched(outcome=undecided(STAGE, reason, where))
        answer, path = answers[picked], outcomes[picked]
        pairs = zip(outcomes, answers, strict=True)
        alike = [(o, a) for o, a in pairs if a is answer or same(a, answer)]
        silent = next((o for o, a in alike if a.unwritten_lse is Unwritten.ALWAYS), None)
        proof = self._proof(silent or path, inputs["heads"], answer, silent is not None)
        outcome = altered(answer.outcome, notes=(*note, *assumptions(path)), evidence=proof)
        calls = [path_call(o, a.given) for o, a in alike]
        unwritten = _unwritten([a.unwritten_lse for _, a in alike])
        return altered(answer, outcome=outcome, calls=Calls(calls), unwritten_lse=unwritten)

    def _proof(self, picked: Outcome, heads: Any, answer: Dispatched, silent: bool) -> Proof:
        choices, launched = _choices(picked), answer.outcome.final_heads
        found = places if answer.misfit is None else places_of_misfit

        def path(outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
            return [o for o in outcomes if _choices(o) == choices]

        return Proof(STAGE, self._session.text, found, heads, launched, silent, path=path)

    def _settle(
        self, outcomes: tuple[Outcome, ...], answers: list[Dispatched]
    ) -> tuple[int | None, tuple[Any, ...]]:
        """The path whose answer all agree on; paths that differ in the batch size only are gates on
        it, which are reported and not applied."""
        unknown = [a.outcome.status == Status.UNKNOWN for a in answers]
        if all(same(a, answers[0]) for a in answers):
            return (None if unknown[0] else 0), ()
        if all(a.outcome.status == Status.REJECTED for a in answers):
            return _either(answers)
        if self._shape.batch is not None or any(unknown):
            return None, ()
        wanted = self._shape.persistent
        kept = [n for n, a in enumerate(answers) if a.outcome.persistent is wanted]
        kept = [n for n in kept if answers[n].entry is not None] or kept
        if not kept or not all(same(answers[n], answers[kept[0]]) for n in kept):
            return None, ()
        notes: list[str] = []
        pairs = zip(outcomes, answers, strict=True)
        others = [(o, a) for o, a in pairs if not same(a, answers[kept[0]])]
        certain = [n for n in kept if possible(outcomes[n].decisions, _SIZES)]
        decided = [outcomes[n].decisions for n in certain]
        if not any(all(apart(found, o.decisions) for o, _ in others) for found in decided):
            return None, ()
        for outcome, answer in others:
            path = "another" if answer.outcome.persistent is wanted else "non-persistent"
            notes.append(f"{batch_condition(outcome.decisions)}: {path} path")
        return kept[0], tuple(dict.fromkeys(notes))

    def _path(self, outcome: Outcome, inputs: Mapping[str, Any]) -> Dispatched:
        if outcome.kind == "unknown":
            return _unknown(outcome.reason)
        entry = entry_of(outcome)
        if entry is None:
            if outcome.kind == "failed" and outcome.failure is not None:
                return Dispatched(
                    outcome=StageOutcome(
                        stage=STAGE,
                        status=Status.REJECTED,
                        failure=how_failed(outcome),
                        message=refusal(outcome.failure),
                        persistent=self._shape.persistent,
                    )
                )
            return _unknown("no entry point is called")
        return self._entered(outcome, entry, inputs)

    def _entered(self, outcome: Outcome, entry: Event, inputs: Mapping[str, Any]) -> Dispatched:
        named = dict(entry.kwargs)
        q, qlen, obstacle = self._asked(entry, named, inputs)
        if obstacle is not None:
            return obstacle
        heads = q.shape[1]
        found = self._handled(named, q, qlen, inputs)
        if found is None:
            return _unknown(unhandled(entry.name, inputs, heads, qlen), entry.span)
        status, fold, qlen_fold = found
        fit = self._fit(named, q, fold)
        if fit.obstacle is not None:
            return _unknown(fit.obstacle.reason, fit.obstacle.span)
        reduce = next((e for e in outcome.events if self._merges(e)), None)
        failed = outcome.failure if outcome.kind == "failed" else None
        missing = entry.kind == "missing"
        return Dispatched(
            outcome=StageOutcome(
                stage=STAGE,
                status=status,
                fold=fold,
                qlen_fold=qlen_fold,
                final_heads=heads,
                persistent=_is_persistent(named, self._shape),
                entry=self._short_name(entry.name),
                failure=Failure.EXCEPTION if missing else None,
                message=f"the package defines no {entry.name}" if missing else None,
            ),
            given=Deferred(entry.args),
            entry=entry.name,
            missing=missing,
            unwritten_lse=self._unwritten(outcome, entry, named),
            merged=Deferred(reduce.args) if reduce is not None else None,
            misfit=fit.misfit,
            partial_heads=partial_dim(reduce, -2),
            partial_dim=partial_dim(reduce, -1),
            fails_after=None if missing or failed is None else refusal(failed),
        )

    def _asked(
        self, entry: Event, named: dict[str, Any], inputs: Mapping[str, Any]
    ) -> tuple[Any, Any, Dispatched | None]:
        """The query tensor and the query length that are passed; and the answer where they are
        not known."""
        opened = "qlen" not in inputs
        q = query_of(named, entry.args)
        qlen = self._role(named, "qlen") if opened else self._qlen(entry, inputs)
        unknown = next((v for v in (q, None if opened else qlen) if isinstance(v, Unknown)), None)
        obstacle = None if unknown is None else _unknown(unknown.reason, unknown.span)
        if obstacle is None and isinstance(q, Tensor) and len(q.shape) != 3:
            text = f"the query that {entry.name} gets has {len(q.shape)} dimensions, not 3"
            obstacle = _unknown(text, q.span)
        elif obstacle is None and not (isinstance(q, Tensor) and (opened or is_whole(qlen))):
            obstacle = _unknown(f"the arguments of {entry.name} are not known", entry.span)
        elif obstacle is None and (not is_whole(q.shape[1]) or calculate("<", q.shape[1], 1)):
            text = f"the head count given to {entry.name} is not known"
            obstacle = _unknown(text, entry.span)
        return q, qlen, obstacle

    def _unwritten(self, path: Outcome, entry: Event, named: dict[str, Any]) -> Unwritten:
        """Whether the log-sum-exp that the entry point gets is returned, and goes nowhere else."""
        lse = self._role(named, "lse")
        if not isinstance(lse, Tensor) or path.kind != "returned":
            return Unwritten.NEVER
        after = path.events[path.events.index(entry) + 1 :]
        given = (value for event in after for value in (*event.args, *dict(event.kwargs).values()))
        if any(value is lse for value in given):
            return Unwritten.NEVER
        return Unwritten.ALWAYS

    def _qlen(self, entry: Event, inputs: Mapping[str, Any]) -> Any:
        """The query length that is passed: the question's, where an entry point with other kernels
        than the table's takes none."""
        named = dict(entry.kwargs)
        roles = self._session.names.roles("host")
        takes = any(roles.get(name) == "qlen" for name in named)
        alone = not takes and self._short_name(entry.name) != "asm"
        return inputs["qlen"] if alone else self._role(named, "qlen")

    def _handled(
        self, named: dict[str, Any], q: Tensor, qlen: Any, inputs: Mapping[str, Any]
    ) -> tuple[Status, Any, Any] | None:
        """What becomes of the query's heads and tokens: how that is called, and both folds. Where
        its length is left open, only what keeps both is known."""
        rows, heads = q.shape[0], q.shape[1]
        if "qlen" in inputs:
            tokens = calculate("*", self._shape.batch or REQUESTS, inputs["qlen"])
            return handled(q, qlen, self._role(named, "output"), tokens, inputs)
        kept = same(heads, inputs["heads"]) and self._is_given(rows, qlen)
        return (Status.NATIVE, 1, 1) if kept else None

    def _fit(self, named: dict[str, Any], q: Tensor, fold: Any) -> Fit:
        """How the arguments fit together."""
        passed = Passed(
            named=named,
            roles=self._session.names.roles("host"),
            query=q,
            fold=fold,
            requests=self._shape.batch or REQUESTS,
            metadata=_is_persistent(named, self._shape),
        )
        return fit_of(passed)

    def _is_given(self, rows: Any, qlen: Any) -> bool:
        """Whether rows and query length are the question's, where its length is left open."""
        given = self._shape.qlen
        tokens = binary("*", self._shape.batch or REQUESTS, given, ir.NOWHERE)
        return _alike(rows, tokens) and _alike(qlen, given)

    def _merges(self, event: Event) -> bool:
        return event.kind == "entry" and event.name in self._names["reduce"]

    def _short_name(self, name: str) -> str:
        """``asm``, ``hk``, ``opus``, ...; an entry without such a name has its own."""
        words = set(name.split("_"))
        if name in self._names["asm"] or "asm" in words:
            return "asm"
        for short, marks in self._session.names.data["entries"].items():
            if words & set(marks):
                return str(short)
        return name

    def _role(self, named: dict[str, Any], role: str) -> Any:
        roles = self._session.names.roles("host")
        return next((v for k, v in named.items() if roles.get(k) == role), None)


def _either(answers: list[Dispatched]) -> tuple[int | None, tuple[Any, ...]]:
    """Each path refuses, for another reason: what is said of the others."""
    first = answers[0].outcome
    if not all(same(a.outcome.failure, first.failure) for a in answers):
        return None, ()
    messages = [a.outcome.message for a in answers if not same(a.outcome.message, first.message)]
    return 0, tuple(joined(["or it fails: ", message]) for message in messages[:1])


def _unwritten(paths: Sequence[Unwritten]) -> Unwritten:
    """What holds of several paths."""
    return paths[0] if len(set(paths)) == 1 else Unwritten.SOMETIMES


def _is_persistent(named: dict[str, Any], shape: DecodeShape) -> bool:
    """Whether the entry point gets work metadata."""
    for name in ("work_indptr", "work_info_set", "work_meta_data"):
        if name in named:
            return named[name] is not None
    return shape.persistent


def _choices(outcome: Outcome) -> tuple[int, ...]:
    return tuple(choice for _, choice in outcome.decisions)


def _alike(one: Any, other: Any) -> bool:
    """Whether two unknown numbers are one."""
    unknown = isinstance(one, Unknown) and isinstance(other, Unknown)
    return unknown and one.key is not None and bool(one.key == other.key)


def _unknown(reason: Any, span: ir.Span = ir.NOWHERE) -> Dispatched:
    return Dispatched(outcome=undecided(STAGE, reason), obstacle=span)


def _why(outcomes: tuple[Outcome, ...], answers: list[Dispatched]) -> tuple[str, ir.Span]:
    """Why the answer is unknown, and the place: what could not be followed comes first, then the
    call that is made and cannot be judged, then the branch on which the paths differ."""
    followed = all(o.kind != "unknown" for o in outcomes)
    if followed and all(u.free is not None for o in outcomes for u, _ in o.decisions):
        for answer in answers:
            if answer.outcome.status == Status.UNKNOWN and answer.outcome.message:
                return answer.outcome.message, answer.obstacle
    return why_unknown(outcomes)

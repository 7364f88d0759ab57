"""The dispatcher: ``mla_decode_fwd``, which reaches an entry point with certain arguments.

Its answer is what it does: the entry point that it calls, with which query tensor and query
length. More tokens of fewer heads is a fold; a longer query a fold into the query length.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mlaprobe.reading import ir
from mlaprobe.reading.machine import Event, Failed, Outcome, Run
from mlaprobe.reading.operators import binary
from mlaprobe.reading.pymodule import EntryPoint
from mlaprobe.reading.values import Unknown
from mlaprobe.shape import DecodeShape, Failure, StageOutcome
from mlaprobe.stages.base import how_failed, place_evidence, proof, why_unknown
from mlaprobe.stages.batches import batch_condition, plus_one
from mlaprobe.stages.bindings import bound
from mlaprobe.stages.evidence import LazyEvidence, Trace
from mlaprobe.stages.pyfunction import PythonFunction
from mlaprobe.stages.tensors import DtypeToken, Tensor, dtype_for
from mlaprobe.stages.world import World, assumptions

STAGE = "dispatcher"
TOKENS_KV = 4096
"""KV tokens per request in the asked batch."""
REQUESTS = 2
"""Requests in the asked batch, where the question leaves them open."""
LATENT, ROPE = 512, 64
WORKERS = 256
"""Work groups that the metadata is for: any number above 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatched:
    """The dispatcher's answer with the call that it made."""

    outcome: StageOutcome
    args: tuple[Any, ...] = field(default=(), compare=False)
    """Arguments of the entry point, by position."""
    entry: str | None = None
    """The entry point's own name."""
    missing: bool = False
    """Whether the package does not define the entry point."""
    reduce_args: tuple[Any, ...] | None = field(default=None, compare=False)
    """Arguments of the reducer's entry point, where it is called."""
    fails_after: str | None = None
    """What fails after the entry point was called."""
    obstacle: ir.Span = field(default=ir.NOWHERE, compare=False)
    """Where the answer is unknown because of the call that is made: the place of that."""

    @property
    def told(self) -> tuple[object, ...]:
        """The arguments as far as two calls can be compared by them: plain values, and of what
        else there is its kind. What a tensor holds is not known, and in no two calls the same."""
        plain = (bool, int, float, str, type(None))
        return tuple(arg if isinstance(arg, plain) else type(arg) for arg in self.args)


class Dispatcher:
    """The dispatcher of one source."""

    def __init__(self, world: World) -> None:
        """Raises ``Absent`` where the source has none."""
        self.world = world
        self._names = world.names.data[STAGE]
        self._function = PythonFunction(world, STAGE)
        self._known: dict[Hashable, Dispatched] = {}

    def takes(self, role: str) -> bool:
        """Whether the function has a parameter of that meaning."""
        return role in self._function.parameters

    def decide(self, shape: DecodeShape) -> Dispatched:
        """What the dispatcher does with a shape."""
        shape = replace(shape, planner=_NO_PLANNER) if shape.planner != _NO_PLANNER else shape
        known = self._known.get(shape)
        if known is None:
            known = self._known[shape] = self._decide(shape)
        return known

    # --- asking ----------------------------------------------------------------------------------

    def _solve(self, shape: DecodeShape) -> tuple[Outcome, ...]:
        """Every path, through what is known of other head counts and query lengths."""
        inputs = _inputs(shape)

        def start(run: Run, symbols: Mapping[str, Any]) -> Any:
            return self._function.call(run, self._values(shape, symbols))

        key = (
            STAGE,
            shape.q_dtype,
            shape.kv_dtype,
            shape.persistent,
            shape.cp_round_robin,
            shape.batch,
            tuple((name, getattr(shape, name)) for name in _FLAGS if name not in inputs),
        )
        return self.world.solve(
            key, inputs, start, (shape.arch, shape.env), on_entry=_Entry(self).called
        )

    def _explore(self, shape: DecodeShape, *, trace: bool) -> tuple[Outcome, ...]:
        values = self._values(shape, _inputs(shape))

        def start(run: Run) -> Any:
            return self._function.call(run, values)

        return self.world.explore(
            start, (shape.arch, shape.env), trace=trace, on_entry=_Entry(self).called
        )

    def _values(self, shape: DecodeShape, inputs: Mapping[str, Any]) -> dict[str, Any]:
        batch: Any = shape.batch
        if batch is None:
            batch = Unknown("the batch size", key=("batch",), free="batch")
        requests = shape.batch or REQUESTS
        heads, qlen, page_size = inputs["heads"], inputs["qlen"], inputs["page_size"]
        tokens = binary("*", requests, qlen, ir.NOWHERE)
        q_dtype = dtype_for(shape.q_dtype.value, shape.arch)
        kv_dtype = dtype_for(shape.kv_dtype.value, shape.arch)
        int32, fp32 = DtypeToken("i32"), DtypeToken("fp32")
        pages = binary("*", _pages(page_size), requests, ir.NOWHERE)
        persistent = shape.persistent
        indptr = Tensor("qo_indptr", (plus_one(batch),), int32)
        work = Tensor("work", (2,), DtypeToken("u64")) if persistent else None
        some = Tensor("metadata", (Unknown("metadata", free="data"),), int32)
        partial = Tensor("reduce_partial_map", (600,), int32) if persistent else None
        scale = Tensor("scale", (1,), fp32)
        round_robin = shape.cp_round_robin
        return {
            "q": Tensor("q", (tokens, heads, LATENT + ROPE), q_dtype),
            "kv": Tensor("kv_buffer", (pages, page_size, 1, LATENT + ROPE), kv_dtype),
            "output": Tensor("o", (tokens, heads, LATENT), DtypeToken("bf16")),
            "qo_indptr": indptr,
            "kv_indptr": indptr,
            "kv_indices": Tensor("kv_indices", (_total_pages(pages, shape),), int32),
            "last_page": Tensor("kv_last_page_lens", (batch,), int32),
            "qlen": qlen,
            "page_size": page_size,
            "metadata": work,
            "work_indptr": Tensor("work_indptr", (WORKERS + 1,), int32) if persistent else None,
            "work_info": some if persistent else None,
            "reduce_indptr": some if persistent else None,
            "reduce_final_map": some if persistent else None,
            "reduce_partial_map": partial,
            "q_scale": scale,
            "kv_scale": scale,
            "return_lse": inputs.get("lse", shape.lse),
            "global_indptr": indptr if round_robin else None,
            "world": 8 if round_robin else 1,
            "rank": 0,
            "causal": inputs.get("causal", shape.causal),
        }

    # --- judging ---------------------------------------------------------------------------------

    def _decide(self, shape: DecodeShape) -> Dispatched:
        if self._function.problem is not None:
            return Dispatched(outcome=self._function.unreadable())
        outcomes = self._solve(shape)
        answers = [self._read(shape, outcome) for outcome in outcomes]
        picked, notes = self._settle(shape, outcomes, answers)
        if picked is None:
            reason, span = _why(outcomes, answers)
            return Dispatched(
                outcome=StageOutcome(
                    stage=STAGE,
                    status="unknown",
                    message=reason,
                    evidence=place_evidence(self.world, STAGE, span),
                )
            )
        script = outcomes[answers.index(picked)]
        find = proof(
            self.world,
            STAGE,
            self._again(shape, script),
            _decisive_places(shape.num_heads, picked.outcome.final_heads),
        )
        return replace(
            picked,
            outcome=replace(
                picked.outcome,
                evidence=LazyEvidence(find),
                notes=(*notes, *assumptions(script)),
            ),
        )

    def _again(self, shape: DecodeShape, wanted: Outcome) -> Callable[[], tuple[Outcome, ...]]:
        """The traced run of the path that was picked."""
        choices = tuple(c for _, c in wanted.decisions)
        traced = self.world.traced(lambda: self._explore(shape, trace=True))
        return lambda: tuple(o for o in traced() if tuple(c for _, c in o.decisions) == choices)

    def _settle(
        self, shape: DecodeShape, outcomes: tuple[Outcome, ...], answers: list[Dispatched]
    ) -> tuple[Dispatched | None, tuple[str, ...]]:
        """The answer that all paths agree on; paths that only the batch size tells apart are
        gates on it, which are told and not applied."""
        if all(a == answers[0] for a in answers):
            known = answers[0].outcome.status != "unknown"
            return (answers[0] if known else None), ()
        if shape.batch is not None or any(a.outcome.status == "unknown" for a in answers):
            return None, ()
        kept = [a for a in answers if a.outcome.persistent is shape.persistent]
        kept = [a for a in kept if a.entry is not None] or kept
        if not kept or any(a != kept[0] for a in kept):
            return None, ()
        notes: list[str] = []
        for outcome, answer in zip(outcomes, answers, strict=True):
            if answer in kept:
                continue
            if all(u.free != "batch" for u, _ in outcome.decisions):
                return None, ()
            left = answer.outcome.persistent is not shape.persistent
            path = "non-persistent" if left else "another"
            notes.append(f"{batch_condition(outcome.decisions)}: {path} path")
        return kept[0], tuple(dict.fromkeys(notes))

    def _read(self, shape: DecodeShape, outcome: Outcome) -> Dispatched:
        if outcome.kind == "unknown":
            return _unknown(outcome.reason)
        entry = entry_of(outcome)
        if entry is None:
            if outcome.kind == "failed" and outcome.failure is not None:
                return Dispatched(
                    outcome=StageOutcome(
                        stage=STAGE,
                        status="rejected",
                        failure=how_failed(outcome),
                        message=refusal(outcome.failure),
                        persistent=shape.persistent,
                    )
                )
            return _unknown("no entry point is called")
        return self._entered(shape, outcome, entry)

    def _entered(self, shape: DecodeShape, outcome: Outcome, entry: Event) -> Dispatched:
        named = dict(entry.kwargs)
        q, qlen = _query(named, entry.args), self._role(named, "qlen")
        for given in (q, qlen):
            if isinstance(given, Unknown):
                return _unknown(given.reason, given.span)
        if not isinstance(q, Tensor) or len(q.shape) != 3 or type(qlen) is not int:
            return _unknown(f"the arguments of {entry.name} are not known", entry.span)
        rows, heads, _ = q.shape
        if type(heads) is not int or heads < 1:
            return _unknown(f"the head count given to {entry.name} is not known", entry.span)
        fold, qlen_fold = _folds(shape, heads, qlen)
        asked = (shape.batch or REQUESTS) * shape.qlen * shape.num_heads
        if fold is None or type(rows) is not int or rows * heads != asked:
            return _unknown(_no_fold(entry.name, shape, heads, qlen), entry.span)
        status = "fold" if fold > 1 else "qlen_fold" if qlen_fold > 1 else "native"
        reduce = next(
            (e for e in outcome.events if e.kind == "entry" and e.name in self._names["reduce"]),
            None,
        )
        failed = outcome.failure if outcome.kind == "failed" else None
        missing = entry.kind == "missing"
        return Dispatched(
            outcome=StageOutcome(
                stage=STAGE,
                status=status,
                fold=fold,
                qlen_fold=qlen_fold,
                final_heads=heads,
                persistent=_is_persistent(named, shape),
                entry=self.short_name(entry.name),
                failure=Failure.EXCEPTION if missing else None,
                message=f"the package defines no {entry.name}" if missing else None,
            ),
            args=entry.args,
            entry=entry.name,
            missing=missing,
            reduce_args=reduce.args if reduce is not None else None,
            fails_after=None if missing or failed is None else refusal(failed),
        )

    def _role(self, named: dict[str, Any], role: str) -> Any:
        roles = self.world.names.roles("host")
        return next((v for k, v in named.items() if roles.get(k) == role), None)

    def short_name(self, name: str) -> str:
        """``asm``, ``hk``, ``opus``, ...; an entry nobody has named is called by its own name."""
        words = set(name.split("_"))
        if name in self._names["asm"] or "asm" in words:
            return "asm"
        for short, marks in self.world.names.data["entries"].items():
            if words & set(marks):
                return str(short)
        return name

    def is_decode(self, name: str) -> bool:
        """Whether an entry point is one that decodes (not the reducer)."""
        return name not in self._names["reduce"]


class _Entry:
    """Turns calls of entry points into events."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def called(
        self, entry: EntryPoint, args: tuple[Any, ...], kwargs: dict[str, Any], span: ir.Span
    ) -> Any:
        """A call of a function that is compiled elsewhere."""
        computed = self._dispatcher.world.bindings.called(entry, args, kwargs, span)
        if computed is not NotImplemented:
            return computed
        run = self._dispatcher.world.machine.run
        values, named = bound(entry.function, args, kwargs)
        run.emit("entry", entry.name, values, named, span)
        return Unknown(
            f"the result of {entry.name}",
            span,
            key=("entry", entry.name),
            free="data",
            foreign=True,
        )


def entry_of(outcome: Outcome) -> Event | None:
    """The call of the entry point: the first one, or the one that fails because the package
    defines no such function."""
    entry = next((e for e in outcome.events if e.kind == "entry"), None)
    failure = outcome.failure
    if entry is None and failure is not None and failure.how == "AttributeError":
        entry = next((e for e in reversed(outcome.events) if e.kind == "missing"), None)
    return entry


def _query(named: dict[str, Any], args: tuple[Any, ...]) -> Any:
    for name in ("Q", "q", "query"):
        if name in named:
            return named[name]
    return next((a for a in args if isinstance(a, Tensor)), None)


def _is_persistent(named: dict[str, Any], shape: DecodeShape) -> bool:
    """Whether the entry point gets work metadata."""
    for name in ("work_indptr", "work_info_set", "work_meta_data"):
        if name in named:
            return named[name] is not None
    return shape.persistent


def _folds(shape: DecodeShape, heads: int, qlen: int) -> tuple[int | None, int]:
    """(batch fold, query-length fold), or ``None`` where heads and length make none."""
    if heads == shape.num_heads and qlen == shape.qlen:
        return 1, 1
    qlen_fold = qlen // shape.qlen if qlen % shape.qlen == 0 else 0
    if qlen_fold < 1 or shape.num_heads % (heads * qlen_fold):
        return None, 1
    return shape.num_heads // (heads * qlen_fold), qlen_fold


def refusal(failure: Failed) -> str:
    """What is said of a failure."""
    if failure.how in ("AssertionError", "exception"):
        return failure.message or failure.how
    return f"{failure.how}: {failure.message}" if failure.message else failure.how


def _unknown(reason: str, span: ir.Span = ir.NOWHERE) -> Dispatched:
    outcome = StageOutcome(stage=STAGE, status="unknown", message=reason)
    return Dispatched(outcome=outcome, obstacle=span)


def _no_fold(entry: str, shape: DecodeShape, heads: int, qlen: int) -> str:
    """What is said of a call that is neither native nor a fold: a query widened on the way, say."""
    asked = f"{shape.num_heads} heads at query length {shape.qlen} were asked"
    return f"{entry} gets {heads} heads at query length {qlen} where {asked}: that is no fold"


def _why(outcomes: tuple[Outcome, ...], answers: list[Dispatched]) -> tuple[str, ir.Span]:
    """Why the answer is unknown, and the place: what could not be followed comes first, then the
    call that is made and cannot be judged, then what tells the paths apart."""
    followed = all(o.kind != "unknown" for o in outcomes)
    if followed and all(u.free is not None for o in outcomes for u, _ in o.decisions):
        for answer in answers:
            if answer.outcome.status == "unknown" and answer.outcome.message:
                return answer.outcome.message, answer.obstacle
    return why_unknown(outcomes)


_FLAGS = ("lse", "causal")
"""Flags that are inputs, where they are not left open."""


def _inputs(shape: DecodeShape) -> dict[str, int]:
    """The numbers and flags of a question that its runs can be shared over."""
    flags = {name: getattr(shape, name) for name in _FLAGS}
    return {
        "heads": shape.num_heads,
        "qlen": shape.qlen,
        "page_size": shape.page_size,
        **{name: value for name, value in flags.items() if type(value) is bool},
    }


def _pages(page_size: Any) -> Any:
    """The pages of one request."""
    rounded = binary("+", TOKENS_KV - 1, page_size, ir.NOWHERE)
    return binary("//", rounded, page_size, ir.NOWHERE)


def _total_pages(pages: Any, shape: DecodeShape) -> Any:
    if shape.batch is not None:
        return pages
    return Unknown("the KV length", key=("total_kv",), free="data")


_NO_PLANNER = DecodeShape(arch="", q_dtype="bf16", kv_dtype="bf16", num_heads=1).planner  # type: ignore[arg-type]


def _decisive_places(
    heads: int, launched: int | None
) -> Callable[[Trace, Outcome], tuple[ir.Span, ...]]:
    """The clause that accepted or folded, and the call of the entry point."""

    def pick(trace: Trace, outcome: Outcome) -> tuple[ir.Span, ...]:
        entry = entry_of(outcome)
        if outcome.kind == "failed" and entry is None:
            last = trace.last_check()
            constant = last is None or isinstance(last, ir.Const)
            return (outcome.span if constant or last is None else last.span,)
        clause = trace.branch(heads, entry) or trace.branch(launched or heads, entry)
        spans = [clause.span] if clause is not None else []
        return (*spans, *([entry.span] if entry is not None else ()))

    return pick

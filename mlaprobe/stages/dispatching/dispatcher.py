"""The dispatcher: ``mla_decode_fwd``, which reaches an entry point with certain arguments.

Its answer is what it does: the entry point that it calls, with which query tensor and query
length. More tokens of fewer heads is a fold; a longer query a fold into the query length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mlaprobe.core.shape import DecodeShape, PlannerCall, StageOutcome
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.python.values import EntryPoint
from mlaprobe.evaluator.values import Args, Kwargs, Unknown
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.rulefiles.variations import Arguments
from mlaprobe.stages.batches import batch_of, plus_one
from mlaprobe.stages.dispatching.altering import altered_values
from mlaprobe.stages.dispatching.dispatched import REQUESTS, STAGE, Dispatched, Reader
from mlaprobe.stages.environment.bindings import bound
from mlaprobe.stages.environment.dtypes import DtypeToken, dtype_for
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.instantiate import Solved
from mlaprobe.stages.pyfunction import PythonStage, Start

TOKENS_KV = 4096
"""KV tokens per request."""
LATENT, ROPE = 512, 64
WORKERS = 256
"""Work groups that the metadata is for: any number above 0."""


PLANNED = 600
"""Entries of the map of partial results that a caller passes, for each head: AITER's sizing makes
it a multiple of what heads are folded by."""


class Dispatcher(PythonStage[DecodeShape, Dispatched]):
    """The dispatcher of one source."""

    name = STAGE

    def solve(self, question: DecodeShape) -> Solved[Dispatched]:
        """What the dispatcher does with a shape. Of the planner's overrides it gets one."""
        if question.planner != _NO_PLANNER:
            mode = PlannerCall(intra_batch_mode=question.planner.intra_batch_mode)
            question = replace(question, planner=mode)
        return super().solve(question)

    def altered(self, question: DecodeShape, arguments: Arguments) -> Solved[Dispatched]:
        """What the dispatcher does with a shape where some arguments are not as a valid caller
        gives them."""
        question = replace(question, planner=_NO_PLANNER)
        key = (question, arguments)
        return self._guarded(lambda: self._kept(key, lambda: self._altered(question, arguments)))

    def _altered(self, question: DecodeShape, arguments: Arguments) -> Solved[Dispatched]:
        if self._function.problem is not None:
            return Solved(self._of(self._function.unreadable()))

        def start(run: Run, inputs: Mapping[str, Any]) -> Any:
            values = altered_values(self._values(question, inputs), arguments, question.arch)
            return self._function.call(run, values)

        return self._evaluated(question, start, arguments)

    def _of(self, outcome: StageOutcome) -> Dispatched:
        return Dispatched(outcome=outcome)

    def call(self, run: Run, values: Mapping[str, Any]) -> Any:
        """Calls the function with arguments by what its parameters mean."""
        return self._function.call(run, values)

    @property
    def on_entry(self) -> Callable[..., Any]:
        """What happens where the function calls one that is compiled elsewhere: an event."""
        return EntryEvents(self.session).called

    # --- asking ----------------------------------------------------------------------------------

    def _evaluated(
        self, question: DecodeShape, start: Start, arguments: Arguments = ()
    ) -> Solved[Dispatched]:
        shape, inputs = question, _inputs(question)
        key = (
            STAGE,
            shape.q_dtype,
            shape.kv_dtype,
            shape.persistent,
            shape.cp_round_robin,
            shape.batch,
            shape.num_kv_splits is None,
            shape.planner.intra_batch_mode,
            tuple((name, getattr(shape, name)) for name in _FLAGS if name not in inputs),
            arguments,
        )
        context = (shape.arch, shape.env)
        return self.session.solve(
            key, inputs, start, context, Reader(self.session, shape).answer, on_entry=self.on_entry
        )

    def _values(self, question: DecodeShape, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        shape, batch = question, batch_of(question.batch)
        requests = shape.batch or REQUESTS
        heads, qlen, page_size = inputs["heads"], inputs["qlen"], inputs["page_size"]
        tokens = binary("*", requests, qlen, ir.NOWHERE)
        q_dtype = dtype_for(shape.q_dtype.value, shape.arch)
        kv_dtype = dtype_for(shape.kv_dtype.value, shape.arch)
        int32, fp32 = DtypeToken("i32"), DtypeToken("fp32")
        pages = binary("*", _pages(page_size), requests, ir.NOWHERE)
        total_kv = Unknown("the KV length", key=("total_kv",), free="data")
        total_pages = total_kv if shape.batch is None else pages
        indptr = Tensor("qo_indptr", (plus_one(batch),), int32)
        scale = Tensor("scale", (1,), fp32)
        round_robin = shape.cp_round_robin
        return {
            "q": Tensor("q", (tokens, heads, LATENT + ROPE), q_dtype),
            "kv": Tensor("kv_buffer", (pages, page_size, 1, LATENT + ROPE), kv_dtype),
            "output": Tensor("o", (tokens, heads, LATENT), DtypeToken("bf16")),
            "qo_indptr": indptr,
            "kv_indptr": indptr,
            "kv_indices": Tensor("kv_indices", (total_pages,), int32),
            "last_page": Tensor("kv_last_page_lens", (batch,), int32),
            "qlen": qlen,
            "page_size": page_size,
            **_work_metadata(shape.persistent, heads),
            "q_scale": scale,
            "kv_scale": scale,
            "splits": inputs.get("splits"),
            "intra_batch": shape.planner.intra_batch_mode,
            "return_lse": inputs.get("lse", shape.lse),
            "global_indptr": indptr if round_robin else None,
            "world": 8 if round_robin else 1,
            "rank": 0,
            "causal": inputs.get("causal", shape.causal),
        }


def _work_metadata(given: bool, heads: Any) -> dict[str, Tensor | None]:
    """The arguments that the planner fills in, which select the persistent path."""
    int32 = DtypeToken("i32")
    planned = binary("*", PLANNED, heads, ir.NOWHERE)
    some = Tensor("metadata", (Unknown("metadata", free="data"),), int32)
    tensors = {
        "metadata": Tensor("work", (2,), DtypeToken("u64")),
        "work_indptr": Tensor("work_indptr", (WORKERS + 1,), int32),
        "work_info": some,
        "reduce_indptr": some,
        "reduce_final_map": some,
        "reduce_partial_map": Tensor("reduce_partial_map", (planned,), int32),
    }
    return {role: tensor if given else None for role, tensor in tensors.items()}


class EntryEvents:
    """Turns calls of entry points into events."""

    def __init__(self, session: SourceSession, *, compiled: bool = False) -> None:
        """``compiled``: named as the C++ function that is called, not as its stub."""
        self._bindings = session.bindings
        self._compiled = compiled

    def called(
        self,
        run: Run,
        entry: EntryPoint,
        args: Args,
        kwargs: Kwargs,
        span: ir.Span,
    ) -> Any:
        """A call of a function that is compiled elsewhere."""
        computed = self._bindings.called(run, entry, args, kwargs, span)
        if computed is not NotImplemented:
            return computed
        values, named = bound(self._bindings.signature(entry), args, kwargs)
        _check_complete(entry, args, kwargs, span)
        name = self._bindings.cpp_name(entry) if self._compiled else entry.name
        run.emit("entry", name, values, named, span)
        return Unknown(
            f"the result of {entry.name}",
            span,
            key=("entry", entry.name),
            free="data",
            foreign=True,
        )


def _check_complete(entry: EntryPoint, args: Args, kwargs: Kwargs, span: ir.Span) -> None:
    """Raises where a kernel of Triton is launched without one of its arguments, as Triton does.
    Other decorators than that of all kernels may give it some."""
    if entry.decorators != ("triton.jit",):
        return
    params = [p for p in entry.function.params if p.kind == "normal"]
    lacking = [p.name for p in params[len(args) :] if p.default is None and p.name not in kwargs]
    if lacking:
        message = f"{entry.name} is launched without {' and '.join(lacking)}"
        raise Failed("exception", "TypeError", message, span)


_FLAGS = ("lse", "causal")
"""Flags that are inputs, where they are not left open."""


def _inputs(shape: DecodeShape) -> dict[str, int]:
    """The numbers and flags of a question that its runs can be shared over."""
    flags = {name: getattr(shape, name) for name in _FLAGS}
    splits = {} if shape.num_kv_splits is None else {"splits": shape.num_kv_splits}
    return {
        **splits,
        "heads": shape.num_heads,
        "qlen": shape.qlen,
        "page_size": shape.page_size,
        **{name: value for name, value in flags.items() if type(value) is bool},
    }


def _pages(page_size: Any) -> Any:
    """The pages of one request."""
    rounded = binary("+", TOKENS_KV - 1, page_size, ir.NOWHERE)
    return binary("//", rounded, page_size, ir.NOWHERE)


_NO_PLANNER = PlannerCall()

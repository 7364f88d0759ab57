"""The gluon route: a kernel of its own for small head counts, with its own asserts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlaprobe.core.shape import DecodeShape, StageName, StageOutcome, Status
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Outcome, Run
from mlaprobe.evaluator.python.values import EntryPoint
from mlaprobe.evaluator.symbolic.symbols import joined, same
from mlaprobe.evaluator.values import Args, Kwargs, Unknown
from mlaprobe.stages.base import OutcomeStage, how_failed, unknown
from mlaprobe.stages.batches import apart, batch_condition, batch_of
from mlaprobe.stages.environment.tensors import DtypeToken, Tensor, dtype_for
from mlaprobe.stages.evidence import Proof, Trace
from mlaprobe.stages.instantiate import Solved
from mlaprobe.stages.pyfunction import PythonStage, Start, last_check

STAGE = StageName.GLUON
KV_LENGTH = 4096


class Gluon(OutcomeStage[DecodeShape], PythonStage[DecodeShape, StageOutcome]):
    """The gluon route of one source."""

    name = STAGE

    @staticmethod
    def question(shape: DecodeShape) -> DecodeShape:
        """What the gluon route is called with for a shape."""
        return shape

    def _values(self, question: DecodeShape, inputs: Mapping[str, Any]) -> dict[str, Any]:
        batch = batch_of(question.batch)
        heads, arch = inputs["heads"], question.arch
        q_dtype = dtype_for(question.q_dtype.value, arch)
        kv_dtype = dtype_for(question.kv_dtype.value, arch)
        rows = (batch, inputs["qlen"], heads) if "qlen" in inputs else (batch, heads)
        tokens = Unknown("KV tokens", key=("kv tokens",), free="data")
        return {
            "q_nope": Tensor("q_nope", (*rows, 512), q_dtype),
            "q_pe": Tensor("q_pe", (*rows, 64), q_dtype),
            "kv": Tensor("kv_c", (tokens, 576), kv_dtype),
            "output": Tensor("o", (*rows, 512), DtypeToken("bf16")),
            "page_table": Tensor("page_table", (batch, KV_LENGTH), DtypeToken("i32")),
            "seq_info": Tensor("seq_info", (batch,), DtypeToken("i32")),
            "scale": 1.0,
            "k_pe": None,
            "min_kv": Unknown("the shortest KV length", key=("min_kv",), free="kv"),
            "return_lse": question.lse,
        }

    def _evaluated(self, question: DecodeShape, start: Start) -> Solved[StageOutcome]:
        inputs = _inputs(question)
        dtypes, context = (question.q_dtype, question.kv_dtype), (question.arch, question.env)
        key = (STAGE, len(inputs), dtypes, question.lse, question.batch)
        return self.session.solve(key, inputs, start, context, self._read, on_entry=self._launched)

    def _launched(
        self,
        run: Run,
        entry: EntryPoint,
        args: Args,
        kwargs: Kwargs,
        span: ir.Span,
    ) -> Any:
        """A launch of a compiled kernel: it writes tensors and returns."""
        run.emit("launch", entry.name, (), {}, span)
        return Unknown(f"the result of {entry.name}", span, free="data", foreign=True)

    def _read(self, outcomes: tuple[Outcome, ...], inputs: Mapping[str, Any]) -> StageOutcome:
        accepted = [o for o in outcomes if o.kind == "returned"]
        failed = [o for o in outcomes if o.kind == "failed"]
        certain = all(_settled(o) for o in outcomes)
        if accepted and certain and all(o.kind != "unknown" for o in outcomes):
            notes = _gates(failed)
            apart_from_all = any(
                all(apart(a.decisions, f.decisions, _GATES) for f in failed) for a in accepted
            )
            if not failed or (notes and apart_from_all):
                return StageOutcome(
                    stage=STAGE,
                    status=Status.ACCEPTED,
                    notes=notes,
                    evidence=Proof(STAGE, self.session.text, _passed),
                )
        if failed and not accepted and len(failed) == len(outcomes):
            first = failed[0].failure
            assert first is not None
            message = first.message or first.how
            if first.message and first.how != "AssertionError":
                message = joined([first.how, ": ", first.message])
            return StageOutcome(
                stage=STAGE,
                status=Status.REJECTED,
                failure=how_failed(failed[0]),
                message=message,
                evidence=Proof(STAGE, self.session.text, last_check),
            )
        return unknown(self.session, STAGE, outcomes)


def _inputs(question: DecodeShape) -> dict[str, int]:
    """The numbers of a question; a query of one token has no axis for it."""
    inputs = {"heads": question.num_heads}
    return inputs if question.qlen == 1 else {**inputs, "qlen": question.qlen}


_GATES = ("batch", "kv")


def _settled(outcome: Outcome) -> bool:
    """Whether only inputs that the question leaves open were guessed at."""
    return all(u.free is not None for u, _ in outcome.decisions)


def _gates(failed: list[Outcome]) -> tuple[Any, ...]:
    """What a call must meet beyond the shape: conditions on the batch and the KV length."""
    notes: list[Any] = []
    for outcome in failed:
        gates = [(u, choice) for u, choice in outcome.decisions if u.free in _GATES]
        if not gates or outcome.failure is None:
            return ()
        short = gates[-1][0].free == "kv"
        what = "for short KV lengths" if short else batch_condition(gates)
        note = joined([what, " it fails: ", outcome.failure.message or outcome.failure.how])
        if not any(same(note, other) for other in notes):
            notes.append(note)
    return tuple(notes)


def _passed(trace: Trace, outcome: Outcome) -> tuple[ir.Span, ...]:
    checks = [n for n, v in trace.items if isinstance(n, ir.Check) and v is True]
    return tuple(n.span for n in checks[:1])

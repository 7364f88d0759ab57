"""The gluon route: a kernel of its own for small head counts, with its own asserts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlaprobe.core.shape import DecodeShape, StageName, StageOutcome
from mlaprobe.evaluator.engine.runs import Outcome
from mlaprobe.evaluator.values import Unknown
from mlaprobe.stages.base import OutcomeStage
from mlaprobe.stages.batches import batch_of
from mlaprobe.stages.environment.dtypes import DtypeToken, dtype_for
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.instantiate import Solved
from mlaprobe.stages.kernellaunch import Launches, judged
from mlaprobe.stages.pyfunction import PythonStage, Start

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
        return self.session.solve(
            key, inputs, start, context, self._read, on_entry=Launches(self.session).called
        )

    def _read(self, outcomes: tuple[Outcome, ...], inputs: Mapping[str, Any]) -> StageOutcome:
        return judged(self.session, STAGE, outcomes)


def _inputs(question: DecodeShape) -> dict[str, int]:
    """The numbers of a question; a query of one token has no axis for it."""
    inputs = {"heads": question.num_heads}
    return inputs if question.qlen == 1 else {**inputs, "qlen": question.qlen}

"""Sizing: ``get_mla_metadata_info_v1``, which asserts on the head count and sizes the buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mlaprobe.core.axes import planner_values
from mlaprobe.core.shape import DecodeShape, Dtype, StageName, StageOutcome, Status
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Outcome
from mlaprobe.evaluator.symbolic.symbols import same
from mlaprobe.stages.base import OutcomeStage, how_failed, unknown
from mlaprobe.stages.batches import batch_of
from mlaprobe.stages.environment.device import Device, in_context
from mlaprobe.stages.environment.dtypes import dtype_for
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.evidence import Proof, Trace
from mlaprobe.stages.instantiate import Solved
from mlaprobe.stages.numbers import calculate, is_whole
from mlaprobe.stages.pyfunction import PythonStage, Start, refused

STAGE = StageName.SIZING
Read = Callable[[tuple[Outcome, ...], Mapping[str, Any]], StageOutcome]
BUFFERS = (
    "work_metadata_ptrs",
    "work_indptr",
    "work_info_set",
    "reduce_indptr",
    "reduce_final_map",
    "reduce_partial_map",
)
"""The buffers in the order that the function returns them."""


_FROM_PLANNER = ("num_heads", "qlen", "fast_mode", "intra_batch_mode", "max_split_per_batch")


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingQuestion:
    """The sizing function's arguments."""

    arch: str
    q_dtype: Dtype
    kv_dtype: Dtype
    num_heads: int
    qlen: int
    batch: int | None = None
    fast_mode: bool = True
    intra_batch_mode: bool = False
    max_split_per_batch: int = -1
    sparse: bool = False
    env: tuple[tuple[str, str], ...] = ()
    device: Device | None = None


class Sizing(OutcomeStage[SizingQuestion], PythonStage[SizingQuestion, StageOutcome]):
    """The sizing function of one source."""

    name = STAGE

    @staticmethod
    def question(shape: DecodeShape) -> SizingQuestion:
        """The arguments for a shape; they include dtypes, also where the planner's do not."""
        given = planner_values(shape)
        return SizingQuestion(
            arch=shape.arch,
            q_dtype=given["q_dtype"] or shape.q_dtype,
            kv_dtype=given["kv_dtype"] or shape.kv_dtype,
            batch=shape.batch,
            sparse=shape.sparse,
            env=shape.env,
            **{name: given[name] for name in _FROM_PLANNER},
        )

    def _values(self, question: SizingQuestion, inputs: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "batch": batch_of(question.batch),
            "qlen": inputs["qlen"],
            "num_heads": inputs["heads"],
            "q_dtype": dtype_for(question.q_dtype.value, question.arch),
            "kv_dtype": dtype_for(question.kv_dtype.value, question.arch),
            "sparse": question.sparse,
            "fast": question.fast_mode,
            "intra_batch": question.intra_batch_mode,
            "split_limit": question.max_split_per_batch,
        }

    def _evaluated(self, question: SizingQuestion, start: Start) -> Solved[StageOutcome]:
        inputs = {"heads": question.num_heads, "qlen": question.qlen}
        modes = (question.fast_mode, question.intra_batch_mode, question.max_split_per_batch)
        dtypes = (question.q_dtype, question.kv_dtype)
        key = (STAGE, *dtypes, question.batch, question.sparse, modes)
        context, facts = in_context(question.arch, question.env, question.device)
        return self.session.solve(key, inputs, start, context, self._read, facts=facts)

    def _read(self, outcomes: tuple[Outcome, ...], inputs: Mapping[str, Any]) -> StageOutcome:
        return accepted(self.session, STAGE)(outcomes, inputs)


def accepted(session: SourceSession, stage: str) -> Read:
    """Reads off the paths of a function that plans whether it returns or refuses."""

    def read(outcomes: tuple[Outcome, ...], inputs: Mapping[str, Any]) -> StageOutcome:
        kinds = {o.kind for o in outcomes}
        if kinds == {"returned"}:
            return StageOutcome(
                stage=stage,
                status=Status.ACCEPTED,
                sizes=_sizes(outcomes),
                evidence=Proof(stage, session.text, passed),
            )
        if kinds == {"failed"}:
            failure = outcomes[0].failure
            assert failure is not None
            return StageOutcome(
                stage=stage,
                status=Status.REJECTED,
                failure=how_failed(outcomes[0]),
                message=failure.message or failure.how,
                evidence=Proof(stage, session.text, refused),
            )
        return unknown(session, stage, outcomes)

    return read


def passed(trace: Trace, outcome: Outcome) -> tuple[ir.Span, ...]:
    """The place of the last check of a path that passes."""
    checks = [node for node, _ in trace.items if isinstance(node, ir.Check)]
    return tuple(node.span for node in checks[-1:])


def _sizes(outcomes: tuple[Outcome, ...]) -> tuple[tuple[str, Any], ...] | None:
    """Elements of each buffer, where all paths agree and they are known."""
    found: list[tuple[str, Any]] = []
    for at, name in enumerate(BUFFERS):
        first, *others = (_elements(o.value, at) for o in outcomes)
        if first is not None and all(same(first, other) for other in others):
            found.append((name, first))
    return tuple(found) or None


def _elements(result: Any, at: int) -> Any:
    if not isinstance(result, tuple) or len(result) <= at or not isinstance(result[at], tuple):
        return None
    shape = result[at][0] if result[at] else None
    dims = shape if isinstance(shape, tuple) else (shape,)
    total: Any = 1
    for dim in dims:
        total = calculate("*", total, dim)
    return total if is_whole(total) else None

"""Sizing: ``get_mla_metadata_info_v1``, which asserts on the head count and sizes the buffers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from mlaprobe.reading import ir
from mlaprobe.reading.machine import Failed, Outcome, Run
from mlaprobe.reading.operators import binary
from mlaprobe.reading.values import Unknown
from mlaprobe.shape import Dtype, StageOutcome
from mlaprobe.stages.base import how_failed, place_evidence, proof, why_unknown
from mlaprobe.stages.evidence import LazyEvidence, Trace
from mlaprobe.stages.pyfunction import PythonFunction
from mlaprobe.stages.tensors import dtype_for
from mlaprobe.stages.world import World

STAGE = "sizing"
BUFFERS = (
    "work_metadata_ptrs",
    "work_indptr",
    "work_info_set",
    "reduce_indptr",
    "reduce_final_map",
    "reduce_partial_map",
)
"""The buffers in the order that the function returns them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingQuestion:
    """What the caller asks the sizes for."""

    arch: str
    q_dtype: Dtype
    kv_dtype: Dtype
    num_heads: int
    qlen: int
    batch: int | None = None
    env: tuple[tuple[str, str], ...] = ()


class Sizing:
    """The sizing function of one source."""

    def __init__(self, world: World) -> None:
        """Raises ``Absent`` where the source has none."""
        self.world = world
        self._function = PythonFunction(world, STAGE)
        self._known: dict[Hashable, StageOutcome] = {}

    def decide(self, question: SizingQuestion) -> StageOutcome:
        """What sizing answers."""
        known = self._known.get(question)
        if known is None:
            known = self._known[question] = self._decide(question)
        return known

    def _values(self, question: SizingQuestion, inputs: Mapping[str, Any]) -> dict[str, Any]:
        batch: Any = question.batch
        if batch is None:
            batch = Unknown("the batch size", key=("batch",), free="batch")
        return {
            "batch": batch,
            "qlen": inputs["qlen"],
            "num_heads": inputs["heads"],
            "q_dtype": dtype_for(question.q_dtype.value, question.arch),
            "kv_dtype": dtype_for(question.kv_dtype.value, question.arch),
            "sparse": False,
            "fast": True,
            "intra_batch": False,
        }

    def _solve(self, question: SizingQuestion) -> tuple[Outcome, ...]:
        """Every path, through what is known of other head counts and query lengths."""
        inputs = {"heads": question.num_heads, "qlen": question.qlen}

        def start(run: Run, symbols: Mapping[str, Any]) -> Any:
            return self._function.call(run, self._values(question, symbols))

        key = (STAGE, question.q_dtype, question.kv_dtype, question.batch)
        return self.world.solve(key, inputs, start, (question.arch, question.env))

    def _explore(self, question: SizingQuestion, *, trace: bool) -> tuple[Outcome, ...]:
        values = self._values(question, {"heads": question.num_heads, "qlen": question.qlen})

        def start(run: Run) -> Any:
            return self._function.call(run, values)

        return self.world.explore(start, (question.arch, question.env), trace=trace)

    def _traced(self, question: SizingQuestion) -> Callable[[], tuple[Outcome, ...]]:
        return self.world.traced(lambda: self._explore(question, trace=True))

    def _decide(self, question: SizingQuestion) -> StageOutcome:
        if self._function.problem is not None:
            return self._function.unreadable()
        outcomes = self._solve(question)
        kinds = {o.kind for o in outcomes}
        if kinds == {"returned"}:
            return StageOutcome(
                stage=STAGE,
                status="accepted",
                sizes=_sizes(outcomes),
                evidence=LazyEvidence(proof(self.world, STAGE, self._traced(question), _passed)),
            )
        if kinds == {"failed"}:
            failure = outcomes[0].failure
            assert failure is not None
            return StageOutcome(
                stage=STAGE,
                status="rejected",
                failure=how_failed(outcomes[0]),
                message=refusal(failure),
                evidence=LazyEvidence(proof(self.world, STAGE, self._traced(question), _failed)),
            )
        reason, span = why_unknown(outcomes)
        return StageOutcome(
            stage=STAGE,
            status="unknown",
            message=reason,
            evidence=place_evidence(self.world, STAGE, span),
        )


def refusal(failure: Failed) -> str:
    """What is said of a failure."""
    message: str = failure.message or failure.how
    return message


def _failed(trace: Trace, outcome: Outcome) -> tuple[ir.Span, ...]:
    last = trace.last_check()
    return (last.span,) if last is not None else (outcome.span,)


def _passed(trace: Trace, outcome: Outcome) -> tuple[ir.Span, ...]:
    checks = [node for node, _ in trace.items if isinstance(node, ir.Check)]
    return tuple(node.span for node in checks[-1:])


def _sizes(outcomes: tuple[Outcome, ...]) -> tuple[tuple[str, int], ...] | None:
    """Elements of each buffer, where all paths agree and they are known."""
    found: list[tuple[str, int]] = []
    for at, name in enumerate(BUFFERS):
        values = {_elements(o.value, at) for o in outcomes}
        only = values.pop()
        if not values and only is not None:
            found.append((name, only))
    return tuple(found) or None


def _elements(result: Any, at: int) -> int | None:
    if not isinstance(result, tuple) or len(result) <= at or not isinstance(result[at], tuple):
        return None
    shape = result[at][0] if result[at] else None
    dims = shape if isinstance(shape, tuple) else (shape,)
    total: Any = 1
    for dim in dims:
        total = binary("*", total, dim, ir.NOWHERE)
    return total if type(total) is int else None

"""AITER's own answer to the same question, where the installed one offers it.

A release after those that mlaprobe was written against may have a function that says what its
planner, kernel table and reducer make of a shape. Where it exists it is the authority; what differs
is reported.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from mlaprobe.core.protocols import Decider
from mlaprobe.core.shape import Decision, DecodeShape, StageName, Status, Verdict
from mlaprobe.decode.backends.aiter_calls import Functions
from mlaprobe.decode.tensors import torch_dtype

_ARGUMENTS = {
    "num_heads": "num_heads",
    "max_seqlen_qo": "qlen",
    "return_lse": "lse",
    "causal": "causal",
    "persistent": "persistent",
    "cp_round_robin": "cp_round_robin",
    "page_size": "page_size",
    "arch": "arch",
}
"""Its parameters, and the fields of a shape that they take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A shape of which AITER's own query says something else."""

    shape: DecodeShape
    field: str
    """Of what the query returns."""
    aiter: str
    """What it says."""
    mlaprobe: str
    """What was read from the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The answers of AITER's own query, compared."""

    asked: int
    """The number of shapes."""
    disagreements: tuple[Disagreement, ...]
    failures: tuple[str, ...]
    """Shapes for which it raised an error, with the error."""


def agreement(
    functions: Functions, capability: Decider, shapes: Iterable[DecodeShape]
) -> Agreement | None:
    """The installed AITER's answers for some shapes, compared; ``None`` where it has no such query.

    Raises:
        DecodeError: AITER cannot be imported.
    """
    query = functions.find("shape_support")
    if query is None:
        return None
    names = inspect.signature(query).parameters
    asked = 0
    found: list[Disagreement] = []
    failures: list[str] = []
    for shape in shapes:
        given: dict[str, Any] = {
            name: getattr(shape, field) for name, field in _ARGUMENTS.items() if name in names
        }
        given["q_dtype"] = torch_dtype(shape.q_dtype, shape.arch)
        given["kv_dtype"] = torch_dtype(shape.kv_dtype, shape.arch)
        asked += 1
        try:
            answer = query(**given)
        except Exception as error:
            text = f"{shape.arch} {shape.dtype}, {shape.num_heads} heads, qlen {shape.qlen}"
            failures.append(f"{text}: {type(error).__name__}: {error}")
            continue
        found += _differences(shape, answer, capability.decide(shape))
    return Agreement(asked=asked, disagreements=tuple(found), failures=tuple(failures))


def _differences(shape: DecodeShape, answer: Any, decision: Decision) -> Iterator[Disagreement]:
    for name, ours in _facts(decision):
        theirs = getattr(answer, name, None)
        # A query that does not know says None; mlaprobe that does not know says nothing.
        if theirs is not None and ours is not None and theirs != ours:
            yield Disagreement(shape=shape, field=name, aiter=str(theirs), mlaprobe=str(ours))


def _facts(decision: Decision) -> Iterator[tuple[str, Any]]:
    """What the source says, by the names of the query's fields."""
    verdict = decision.verdict
    # It does not answer for sizing, nor for what only reports know.
    if verdict not in (Verdict.UNKNOWN, Verdict.ERRATUM) and decision.stage != StageName.SIZING:
        yield "supported", verdict.runs
    planner = decision.outcome(StageName.PLANNER)
    if planner is not None and planner.status != Status.UNKNOWN:
        yield "planner_accepts", planner.status != Status.REJECTED
        if planner.status != Status.REJECTED:
            yield "fold_factor", planner.fold
            yield "seqlen_fold", planner.qlen_fold
            yield "kernel_num_heads", planner.final_heads
            yield "natively_supported", planner.status == Status.NATIVE
    reducer = decision.outcome(StageName.REDUCER)
    if reducer is not None and reducer.status != Status.UNKNOWN:
        yield "reduce_supported", reducer.status == Status.INSTANTIATED

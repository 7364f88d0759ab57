"""The reducer: for which (heads, head_dim) the split-KV merge is instantiated.

The router is the body of ``mla_reduce_v1``, macros and all. A pair is instantiated if any
combination of the router's other arguments reaches the merge.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

from mlaprobe.reading import ir
from mlaprobe.reading.machine import Event, Outcome, Run
from mlaprobe.reading.values import Closure, Unknown
from mlaprobe.reading.walk import walk
from mlaprobe.shape import StageOutcome
from mlaprobe.stages.base import (
    Unreadable,
    arguments,
    find_cpp_function,
    how_failed,
    place_evidence,
    proof,
    why_unknown,
)
from mlaprobe.stages.evidence import LazyEvidence, Trace
from mlaprobe.stages.tensors import DtypeToken, Tensor
from mlaprobe.stages.world import World

STAGE = "reducer"
PATHS = 400
"""The router forks over the number of work groups and a few flags."""
ABSURD = 1_000_033
"""A head dimension that no router names: variables that hold it are the head dimension."""
TILES = 5
"""Tiles to merge: any number above 0 reaches the router."""


class Reducer:
    """The reducer of one source."""

    def __init__(self, world: World) -> None:
        """Raises ``Absent`` where the source has none."""
        self.world = world
        self.head_dim: int = world.names.data[STAGE]["head_dim"]
        self._known: dict[Hashable, StageOutcome] = {}
        self.problem: Unreadable | None = None
        try:
            self._function: Closure = find_cpp_function(world, STAGE)
        except Unreadable as problem:
            self.problem = problem

    def decide(self, num_heads: int, head_dim: int | None = None) -> StageOutcome:
        """Whether the merge exists for a pair."""
        dim = self.head_dim if head_dim is None else head_dim
        known = self._known.get((num_heads, dim))
        if known is None:
            known = self._known[num_heads, dim] = self._decide(num_heads, dim)
        return known

    @cached_property
    def head_dims(self) -> tuple[int, ...]:
        """The head dimensions that the router names: constants that the dimension is compared
        with on the way."""
        if self.problem is not None:
            return (self.head_dim,)
        outcomes = self._explore(ABSURD - 1, ABSURD, trace=False)
        names = {n for n, v in outcomes[0].frame.items() if type(v) is int and v == ABSURD}
        found: set[int] = set()
        for node in walk(self._function.function.body):
            if isinstance(node, ir.Binary) and node.op == "==":
                found |= _constants(node, names)
        return tuple(sorted(found)) or (self.head_dim,)

    def _explore(self, heads: int, dim: int, *, trace: bool) -> tuple[Outcome, ...]:
        function = self._function
        values = _values(heads, dim)
        args = arguments(function.function, self.world.names.roles(STAGE), values)

        def start(run: Run) -> Any:
            return run.machine.call(run, function, args, {}, ir.NOWHERE)

        return self.world.explore(
            start,
            ("", ()),
            trace=trace,
            limit=PATHS,
            facts={"stop_at_template": True},
            enough=lambda outcome: outcome.certain and _reaches(outcome),
        )

    def _decide(self, heads: int, dim: int) -> StageOutcome:
        if self.problem is not None:
            span = ir.Span(self.problem.file, 1, 1, 1, 2)
            return StageOutcome(
                stage=STAGE,
                status="unknown",
                message=str(self.problem),
                evidence=place_evidence(self.world, STAGE, span),
            )
        outcomes = self._explore(heads, dim, trace=False)
        reaching = [o for o in outcomes if _reaches(o)]
        find = LazyEvidence(
            proof(
                self.world,
                STAGE,
                lambda: _preferred(self._explore(heads, dim, trace=True)),
                _places,
            )
        )
        if any(o.certain for o in reaching):
            return StageOutcome(stage=STAGE, status="instantiated", evidence=find)
        doubtful = [o for o in outcomes if o.kind == "unknown" or not o.certain]
        if reaching or doubtful:
            reason, span = why_unknown(outcomes)
            return StageOutcome(
                stage=STAGE,
                status="unknown",
                message=reason,
                evidence=place_evidence(self.world, STAGE, span),
            )
        failed = next((o for o in outcomes if o.kind == "failed"), None)
        if failed is None:
            return StageOutcome(
                stage=STAGE, status="unknown", message="the router does nothing", evidence=find
            )
        return StageOutcome(
            stage=STAGE,
            status="missing",
            failure=how_failed(failed),
            message=failed.failure.message if failed.failure is not None else None,
            evidence=find,
        )


def _constants(node: ir.Binary, names: set[str]) -> set[int]:
    """The number that a comparison holds against a variable of one of those names."""
    sides = (node.left, node.right)
    if any(isinstance(s, ir.Name) and s.id in names for s in sides):
        return {s.value for s in sides if isinstance(s, ir.Const) and type(s.value) is int}
    return set()


def _values(heads: int, dim: int) -> dict[str, Any]:
    fp32 = DtypeToken("fp32")
    lse = Tensor("final_lse", (2, heads), fp32)
    return {
        "partial_output": Tensor("partial_output", (8, 1, heads, dim), fp32),
        "partial_lse": Tensor("partial_lse", (8, 1, heads, 1), fp32),
        "reduce_indptr": Tensor("reduce_indptr", (TILES + 1,), DtypeToken("i32")),
        "final_map": Tensor("reduce_final_map", (8, 2), DtypeToken("i32")),
        "partial_map": Tensor("reduce_partial_map", (8,), DtypeToken("i32")),
        "qlen": Unknown("the query length", key=("qlen",), free="data"),
        "splits": Unknown("the number of splits", key=("splits",), free="data"),
        "output": Tensor("final_output", (2, heads, dim), DtypeToken("bf16")),
        "lse": lse,
        "other": lse,
    }


def _merge(event: Event) -> bool:
    return event.kind in ("template", "launch")


def _reaches(outcome: Outcome) -> bool:
    return any(_merge(e) for e in outcome.events)


def _preferred(outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
    """The path to show: one that reaches the merge, else one that fails."""
    return tuple(sorted(outcomes, key=lambda o: (not _reaches(o), o.kind != "failed")))


def _places(trace: Trace, outcome: Outcome) -> tuple[ir.Span, ...]:
    """The case of the router that was taken, or the check that fails."""
    if _reaches(outcome):
        taken = [n for n, v in trace.conditions() if v is True and _has_constant(n.test)]
        return tuple(n.test.span for n in taken[-1:])
    last = trace.last_check()
    return (last.span,) if last is not None else (outcome.span,)


def _has_constant(test: ir.Node) -> bool:
    return any(isinstance(n, ir.Const) and type(n.value) is int for n in walk((test,)))

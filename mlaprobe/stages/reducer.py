"""The reducer: for which (heads, head_dim) the split-KV merge is instantiated.

The router is the body of ``mla_reduce_v1``, macros and all. A pair is instantiated if any
combination of the router's other arguments reaches the merge and returns: a router of several
chains may merge in one and fall into the failure of the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from mlaprobe.core.shape import StageName, StageOutcome, Status
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Event, Outcome, Run
from mlaprobe.evaluator.values import Unknown
from mlaprobe.evaluator.walk import walk
from mlaprobe.stages.base import CppStage, arguments, how_failed, place_evidence, undecided, unknown
from mlaprobe.stages.environment.dtypes import DtypeToken
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.evidence import Proof, Trace, line_of
from mlaprobe.stages.instantiate import Solved

STAGE = StageName.REDUCER
PATHS = 400
"""The router forks over the number of work groups and a few flags."""
ABSURD = 1_000_033
"""A head dimension that no router names: variables that hold it are the head dimension."""
OUTPUT = "bf16"
"""The dtype of a decode's result."""
TILES = 5
"""Tiles to merge: any number above 0 reaches the router."""


class Pair(NamedTuple):
    """The reducer's question."""

    num_heads: int
    head_dim: int
    output: str = OUTPUT
    """The dtype of the result."""


class Reducer(CppStage["Pair | tuple[int, int]"]):
    """The reducer of one source, for pairs of head count and head_dim."""

    name = STAGE

    def __init__(self, session: SourceSession) -> None:
        """Raises ``Absent`` where the source has none."""
        self.head_dim: int = session.names.data[STAGE]["head_dim"]
        super().__init__(session)
        self._dims: tuple[int, ...] = ()

    @property
    def head_dims(self) -> tuple[int, ...]:
        """The head dimensions that the router names: constants that the dimension is compared
        with on the way."""
        with self.session.exclusive:
            self._dims = self._dims or self._compared()
            return self._dims

    def _compared(self) -> tuple[int, ...]:
        if self.problem is not None:
            return (self.head_dim,)
        pair = {"heads": ABSURD - 1, "dim": ABSURD}
        start = partial(self._start, OUTPUT)
        outcomes = self.session.explore(lambda run: start(run, pair), ("", ()), **_ROUTER)
        names = {n for n, v in outcomes[0].frame.items() if type(v) is int and v == ABSURD}
        found: set[int] = set()
        for node in walk(self._function.function.body):
            if isinstance(node, ir.Binary) and node.op == "==":
                found |= _constants(node, names)
        return tuple(sorted(found)) or (self.head_dim,)

    def _start(self, output: str, run: Run, inputs: Mapping[str, Any]) -> Any:
        function, roles = self._function, self.session.names.roles(STAGE)
        args = arguments(function.function, roles, _values(inputs["heads"], inputs["dim"], output))
        return run.machine.call(run, function, args, {}, ir.NOWHERE)

    def pair(self, num_heads: int, head_dim: int | None = None) -> Pair:
        """The question for a head count, by default at the decode's own head_dim."""
        return Pair(num_heads, self.head_dim if head_dim is None else head_dim)

    def called(self, num_heads: int, args: tuple[Any, ...] | None) -> StageOutcome:
        """The answer to a call of the dispatcher's: its arguments by position, where it is made."""
        pair = self.pair(num_heads)
        roles = self.session.names.roles(STAGE)
        params = () if self.problem is not None else self._function.function.params
        for param, value in zip(params, args or (), strict=False):
            if roles.get(param.name) == "output" and isinstance(value, Tensor):
                pair = pair._replace(output=value.dtype.kind)
        return self.decide(pair)

    def _evaluated(self, question: Pair | tuple[int, int]) -> Solved[StageOutcome]:
        """The answer by the paths up to one that certainly merges and returns."""
        heads, dim, output = Pair(*question)
        inputs = {"heads": heads, "dim": dim}
        start = partial(self._start, output)
        return self.session.solve((STAGE, output), inputs, start, ("", ()), self._read, **_ROUTER)

    def _read(self, outcomes: tuple[Outcome, ...], inputs: Mapping[str, Any]) -> StageOutcome:
        reaching = [o for o in outcomes if _merges(o)]
        places = Proof(STAGE, self.session.text, self._case, inputs["heads"], path=_preferred)
        if any(o.certain for o in reaching):
            return StageOutcome(stage=STAGE, status=Status.INSTANTIATED, evidence=places)
        if reaching or any(o.kind == "unknown" or not o.certain for o in outcomes):
            return unknown(self.session, STAGE, outcomes)
        failed = next((o for o in outcomes if o.kind == "failed"), None)
        if failed is None:
            place = place_evidence(self.session, STAGE, self._function.function.span)
            return undecided(STAGE, "the router does nothing", place)
        return StageOutcome(
            stage=STAGE,
            status=Status.MISSING,
            failure=how_failed(failed),
            message=failed.failure.message if failed.failure is not None else None,
            evidence=places,
        )

    def _case(self, trace: Trace, outcome: Outcome, heads: int) -> tuple[ir.Span, ...]:
        """The case of the router that was taken, or the check that fails."""
        if _merges(outcome):
            for node, value in trace.conditions():
                if value is True and (number := _number(node.test, heads)) is not None:
                    return (line_of(number.span, self.session.text),)
        last = trace.last_check()
        return (last.span if last is not None else outcome.span,)


def _constants(node: ir.Binary, names: set[str]) -> set[int]:
    """The number that a comparison holds against a variable of one of those names."""
    sides = (node.left, node.right)
    if any(isinstance(s, ir.Name) and s.id in names for s in sides):
        return {s.value for s in sides if isinstance(s, ir.Const) and type(s.value) is int}
    return set()


def _values(heads: Any, dim: Any, output: str) -> dict[str, Any]:
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
        "output": Tensor("final_output", (2, heads, dim), DtypeToken(output)),
        "lse": lse,
        "other": lse,
    }


def _merge(event: Event) -> bool:
    return event.kind in ("template", "launch")


def _merges(outcome: Outcome) -> bool:
    """Whether a path merges, and does not fail afterwards."""
    return outcome.kind == "returned" and any(_merge(e) for e in outcome.events)


_ROUTER: dict[str, Any] = {
    "limit": PATHS,
    "facts": {"templates_return": True},
    "enough": lambda outcome: outcome.certain and _merges(outcome),
}
"""How the router is explored: until a path certainly merges and returns. The merge itself, which is
a template, is not entered: it launches a kernel."""


def _preferred(outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    """The path to show: one that reaches the merge, else one that fails."""
    return tuple(sorted(outcomes, key=lambda o: (not _merges(o), o.kind != "failed")))


def _number(test: ir.Node, number: int) -> ir.Node | None:
    """Where a test names a number: for a macro's argument that is where it is spelled."""
    return next((n for n in walk((test,)) if isinstance(n, ir.Const) and n.value == number), None)

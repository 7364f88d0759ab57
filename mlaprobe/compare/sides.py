"""One of several sources that are asked the same questions, each as cheaply as it can be."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol

from mlaprobe.core.axes import OMITTED
from mlaprobe.core.behaviour import Behaviour, Numbering, Row, behaviour_of
from mlaprobe.core.grid import Grid
from mlaprobe.core.protocols import Answers
from mlaprobe.core.shape import Decision, DecodeShape, PlannerCall, Route, StageOutcome, Verdict
from mlaprobe.deciding.compose import TAKEN

if TYPE_CHECKING:
    from mlaprobe.deciding.refusals import Refusals

_GOES_ON = (*TAKEN, "accepted", "absent")
"""Statuses of a stage that leave the verdict to the ones after it."""


def parts(grid: Grid) -> Iterator[tuple[Grid, ...]]:
    """A grid as grids in which only heads, query length and LSE vary; those of one arch and pair
    of dtypes together, in the order of the grid."""
    modes = (grid.persistent, grid.causal, grid.cp_round_robin, grid.batches, grid.page_sizes)
    for arch, pair in product(grid.archs, grid.dtypes):
        yield tuple(
            replace(
                grid,
                archs=(arch,),
                dtypes=(pair,),
                persistent=(persistent,),
                causal=(causal,),
                cp_round_robin=(cprr,),
                batches=(batch,),
                page_sizes=(page,),
            )
            for persistent, causal, cprr, batch, page in product(*modes)
        )


Step = Callable[[], None]
Asked = tuple[Hashable, ...]
"""The name of a method of a side, and what it is to be called with."""


class ComparisonSide(Protocol):
    """What is asked of a source, wherever it is asked."""

    @property
    def answers(self) -> Answers: ...

    def ahead(self, asked: Iterable[Asked]) -> None:
        """Tells what will be asked. One that is asked elsewhere begins with it."""
        ...

    def rows(self, part: Grid, step: Step = ...) -> Sequence[Row]:
        """The behaviours of one of the ``parts`` of a grid, a row for each head count. ``step`` may
        be called for each shape.

        Raises:
            SourceError: a file cannot be read.
        """
        ...

    def behaviour(self, shape: DecodeShape) -> Behaviour:
        """What a caller notices."""
        ...

    def decide(self, shape: DecodeShape) -> Decision:
        """The whole answer, with its proof."""
        ...

    def pad(self, shape: DecodeShape, qlens: tuple[int, ...]) -> int:
        """The head count that the resolver launches a shape with."""
        ...


def side_of(answers: Any, numbering: Numbering) -> ComparisonSide:
    """A source as a side, its behaviours numbered by ``numbering``."""
    elsewhere: Callable[[Numbering], ComparisonSide] | None = getattr(answers, "side", None)
    return LocalSide(answers, numbering) if elsewhere is None else elsewhere(numbering)


class LocalSide:
    """A source that is asked in this process. Where its stages can be asked apart, most head counts
    are refused by the first ones, and the rest of the chain need not be evaluated."""

    def __init__(self, answers: Answers, numbering: Numbering) -> None:
        self.answers = answers
        self.numbering = numbering
        self._ask: Callable[..., StageOutcome] | None = getattr(answers, "ask", None)
        self._tabled: Callable[[Grid, Numbering], list[Row] | None] = getattr(
            answers, "behaviour_rows", lambda part, numbering: None
        )

    def ahead(self, asked: Iterable[Asked]) -> None:
        """Nothing: it is asked when the answer is wanted."""

    def rows(self, part: Grid, step: Step = lambda: None) -> Sequence[Row]:
        """The behaviours of one of the ``parts`` of a grid, a row for each head count."""
        found = self._tabled(part, self.numbering)
        if found is None:
            refusing = [self._refusing(replace(part, lse=(lse,))) for lse in part.lse]
            found = [tuple(self._row(part, heads, refusing, step)) for heads in part.heads]
        return found

    def _row(
        self, part: Grid, heads: int, refusing: Sequence[_Refusing], step: Step
    ) -> Iterator[int]:
        for qlen in part.qlens:
            for lse, refused in zip(part.lse, refusing, strict=True):
                behaviour = refused(heads, qlen)
                if behaviour is None:
                    cell = replace(part, heads=(heads,), qlens=(qlen,), lse=(lse,))
                    behaviour = self._composed(next(cell.shapes()))
                yield self.numbering.number(behaviour)
                step()

    def _refusing(self, part: Grid) -> _Refusing:
        """Finds the behaviours of the first stages of the chain where they refuse."""
        make: Callable[[str, DecodeShape], Refusals] | None
        make = getattr(self.answers, "refusals", None)
        shape = next(part.shapes())
        if make is None or part.planner not in (PlannerCall(), OMITTED):
            return lambda heads, qlen: self._first(replace(shape, num_heads=heads, qlen=qlen))
        refusals = [make(stage, shape) for stage in _first_stages(shape)]

        def refused(heads: int, qlen: int) -> Behaviour | None:
            for stage in refusals:
                refusal = stage.refusal(heads, qlen)
                if refusal is not None:
                    return Behaviour(verdict=Verdict.REJECTED, failure=refusal.failure)
            return None

        return refused

    def decide(self, shape: DecodeShape) -> Decision:
        """The whole answer, with its proof."""
        return self.answers.decide(shape)

    def behaviour(self, shape: DecodeShape) -> Behaviour:
        """What a caller notices."""
        return self._first(shape) or self._composed(shape)

    def _composed(self, shape: DecodeShape) -> Behaviour:
        return behaviour_of(self.answers.decide(shape))

    def pad(self, shape: DecodeShape, qlens: tuple[int, ...]) -> int:
        """The head count that the resolver launches a shape with."""
        from mlaprobe.padding.api import bare_plan
        from mlaprobe.padding.request import Request

        return bare_plan(self.answers, Request.around(shape, qlens)).padded_num_heads

    def _first(self, shape: DecodeShape) -> Behaviour | None:
        """The behaviour where one of the first stages, the first in call order, refuses; ``None``
        where none does, or that is not known."""
        if self._ask is None:
            return None
        for stage in _first_stages(shape):
            outcome = self._ask(stage, shape)
            if outcome.status == "rejected":
                return Behaviour(verdict=Verdict.REJECTED, failure=outcome.failure)
            if outcome.status not in _GOES_ON:
                return None
        return None


_Refusing = Callable[[int, int], Behaviour | None]
"""The behaviour at a head count and a query length, where one of the first stages refuses."""


def _first_stages(shape: DecodeShape) -> tuple[str, ...]:
    """The stages that come first in the chain, and refuse most of what is refused."""
    if shape.route is not Route.ASM:
        return ()
    return ("sizing", "planner") if shape.persistent else ("dispatcher",)

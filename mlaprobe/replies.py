"""What a caller would notice of an answer, asked as cheaply as the answer allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from mlaprobe.compose import TAKEN
from mlaprobe.grid import Grid
from mlaprobe.interface import Answers
from mlaprobe.shape import Decision, DecodeShape, Failure, Route, StageOutcome, Verdict

_GOES_ON = (*TAKEN, "accepted", "absent")
"""Statuses of a stage that leave the verdict to the ones after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A decision without its proof: two that are equal are the same to a caller."""

    verdict: Verdict
    fold: int = 1
    qlen_fold: int = 1
    failure: Failure | None = None
    kernels: tuple[str, ...] = ()
    """Symbols, where it runs."""
    entry: str | None = None
    """The entry point that is reached, where it runs."""
    persistent: bool | None = None
    """Whether the persistent path is run, where it runs."""

    @property
    def passes(self) -> int:
        """How often the KV cache is read."""
        return self.fold * self.qlen_fold

    @property
    def words(self) -> str:
        """The answer as a person says it: ``native``, ``fold 2``, ``no kernel``."""
        if self.verdict is not Verdict.FOLDED:
            words: str = self.verdict.value.lower().replace("_", " ")
            return words
        parts = [f"fold {self.fold}"] * (self.fold > 1 or self.qlen_fold <= 1)
        parts += [f"query length fold {self.qlen_fold}"] * (self.qlen_fold > 1)
        return " and ".join(parts)


def reply_of(decision: Decision) -> Reply:
    """What a caller notices of a decision."""
    if not decision.verdict.runs:
        return Reply(verdict=decision.verdict, failure=decision.failure)
    dispatcher = decision.outcome("dispatcher")
    return Reply(
        verdict=decision.verdict,
        fold=decision.fold,
        qlen_fold=decision.qlen_fold,
        kernels=tuple(kernel.symbol for kernel in decision.kernels),
        entry=None if dispatcher is None else dispatcher.entry,
        persistent=None if dispatcher is None else dispatcher.persistent,
    )


Row = tuple[int, ...]
"""The replies to one head count, by their numbers in a book: for every query length in turn,
without and with the LSE as the grid has it."""


class Book:
    """Numbers replies: those of several sources are compared by the number."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        """By number."""
        self._numbers: dict[Reply, int] = {}

    def number(self, reply: Reply) -> int:
        """The number of a reply: equal replies have the same one."""
        found = self._numbers.setdefault(reply, len(self.replies))
        if found == len(self.replies):
            self.replies.append(reply)
        return found


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


class Side:
    """One of the sources that are compared. Where its stages can be asked apart, most head counts
    are refused by the first ones, and the rest of the chain need not be evaluated."""

    def __init__(self, answers: Answers, book: Book | None = None) -> None:
        self.answers = answers
        self.book = book or Book()
        self._ask: Callable[..., StageOutcome] | None = getattr(answers, "ask", None)
        self._tabled: Callable[[Grid, Book], list[Row] | None] = getattr(
            answers, "reply_rows", lambda part, book: None
        )

    def rows(self, part: Grid, step: Callable[[], None] = lambda: None) -> list[Row]:
        """The replies to one of the ``parts`` of a grid, a row for each head count. ``step`` is
        called for each shape.

        Raises:
            SourceError: a file cannot be read.
        """
        found = self._tabled(part, self.book)
        if found is None:
            found = [tuple(self._row(replace(part, heads=(n,)), step)) for n in part.heads]
        return found

    def _row(self, part: Grid, step: Callable[[], None]) -> Iterator[int]:
        number = self.book.number
        for shape in replace(part, lse=part.lse[:1]).shapes():
            # Sizing and planner do not look at whether the LSE is wanted.
            refused = self._refusal(shape)
            for lse in part.lse:
                asked = shape if lse is shape.lse else replace(shape, lse=lse)
                yield number(self.reply(asked) if refused is None else refused)
                step()

    def decide(self, shape: DecodeShape) -> Decision:
        """The whole answer, with its proof."""
        return self.answers.decide(shape)

    def reply(self, shape: DecodeShape) -> Reply:
        """What a caller notices."""
        if self._ask is not None and shape.route is Route.ASM and not shape.persistent:
            refused = self._first(shape, ("dispatcher",))
            if refused is not None:
                return refused
        return reply_of(self.answers.decide(shape))

    def _refusal(self, shape: DecodeShape) -> Reply | None:
        """The reply where sizing or planner refuses; ``None`` where none does, or that is not
        known."""
        if self._ask is None or shape.route is not Route.ASM or not shape.persistent:
            return None
        return self._first(shape, ("sizing", "planner"))

    def _first(self, shape: DecodeShape, stages: tuple[str, ...]) -> Reply | None:
        """The reply where one of these stages, the first in call order, refuses."""
        assert self._ask is not None
        for stage in stages:
            outcome = self._ask(stage, shape)
            if outcome.status == "rejected":
                return Reply(verdict=Verdict.REJECTED, failure=outcome.failure)
            if outcome.status not in _GOES_ON:
                return None
        return None

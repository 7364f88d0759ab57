"""The data of a report: the decisions that people need first, and what stands out in them.

A cold start has to be quick, so a survey has the head counts that matter instead of all: those
that models and padding lead to, and every other one that can be native at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from mlaprobe.core.grid import Grid
from mlaprobe.core.protocols import Answers, LiveAnswers, SourceInfo
from mlaprobe.core.reasons import deciding_clause
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Evidence,
    Failure,
    Operation,
    Route,
    StageName,
    Status,
    Verdict,
)
from mlaprobe.reports.operations import Missing, Overview, Variable

USUAL_HEADS = (8, 16, 24, 32, 40, 48, 64, 80, 96, 112, 128)
"""The counts of models per rank, and of AITER's tiles and folds."""
MOST_HEADS = 128
DECODE_HEAD_DIM = 512
"""The reducer's head_dim that counts for MLA decode."""
TRIED_PAGE_SIZE = 64
"""The page size to try where nothing runs at the grid's."""


class Others(Enum):
    """What is known of the head counts up to ``MOST_HEADS`` that a survey leaves out."""

    NONE = "none"
    """None is left out: the user named the counts."""
    NOT_NATIVE = "not native"
    NOT_ASKED = "not asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One cell: what happens to a shape, and what if the caller needs the log-sum-exp too."""

    decision: Decision
    with_lse: Decision | None = None
    """Only where the shape without it runs."""

    @property
    def lse_gap(self) -> bool:
        """Whether needing the log-sum-exp changes the answer."""
        other = self.with_lse
        return other is not None and (other.verdict, other.fold, other.qlen_fold) != (
            self.decision.verdict,
            self.decision.fold,
            self.decision.qlen_fold,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Head counts by query lengths, for one setting."""

    setting: DecodeShape
    """What all its shapes have in common; its head count and query length mean nothing."""
    qlens: tuple[int, ...]
    rows: tuple[tuple[int, tuple[Answer, ...]], ...]
    """Head count, and an answer per query length."""
    runs_with: DecodeShape | None = None
    """Where nothing here runs: a setting near by with which something does."""

    @property
    def answers(self) -> Iterator[Answer]:
        """All answers, row by row."""
        return (answer for _, row in self.rows for answer in row)

    @property
    def runs(self) -> bool:
        """Whether anything here runs."""
        return any(answer.decision.verdict.runs for answer in self.answers)

    @property
    def unknown(self) -> tuple[int, ...]:
        """The head counts that may run or not, at some query length."""
        return tuple(
            heads
            for heads, row in self.rows
            if any(answer.decision.verdict is Verdict.UNKNOWN for answer in row)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One way in which the shapes of a block fail though they look supported."""

    setting: DecodeShape
    """That of the block."""
    verdict: Verdict
    lse_only: bool
    """Whether the same shapes run without the log-sum-exp."""
    cells: tuple[tuple[int, int], ...]
    """Head count and query length, in the block's order."""
    example: Decision

    @property
    def failure(self) -> Failure | None:
        """How it fails."""
        return self.example.failure

    @property
    def evidence(self) -> Evidence | None:
        """The clause that decided the example."""
        return deciding_clause(self.example)


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Everything that a report shows."""

    source: SourceInfo
    stage_status: tuple[tuple[str, str, str], ...]
    knobs: tuple[str, ...]
    grid: Grid
    blocks: tuple[Block, ...]
    others: Others
    operations: tuple[Overview | Missing, ...] = ()
    """What there is to say of other operations, where a report is about decode."""
    variables: tuple[Variable, ...] = ()
    """What changes the answers, where a report is about another operation."""

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """What does not fit together, block by block."""
        return tuple(trouble for block in self.blocks for trouble in troubles_of(block))

    @property
    def decisions(self) -> Iterator[Decision]:
        """Every decision, once."""
        for block in self.blocks:
            for answer in block.answers:
                yield answer.decision
                if answer.with_lse is not None and not block.setting.lse:
                    yield answer.with_lse


def head_counts(answers: LiveAnswers, grid: Grid) -> tuple[tuple[int, ...], Others]:
    """The counts to show where a command names none, and what is known of the others.

    With work metadata a count needs a reducer of its own to be native, which is quick to ask;
    without it no stage lists the counts.
    """
    if grid.op is not Operation.DECODE:
        return tuple(range(1, MOST_HEADS + 1)), Others.NONE
    present = any(row[:2] == (StageName.REDUCER, Status.PRESENT) for row in answers.stage_status)
    reduces = grid.route is Route.ASM and all(grid.persistent) and not grid.env
    if not present or not reduces:
        return USUAL_HEADS, Others.NOT_ASKED
    possible = {
        heads
        for heads, head_dim, outcome in answers.reducer_rows(range(1, MOST_HEADS + 1))
        if head_dim == DECODE_HEAD_DIM and outcome.status != Status.MISSING
    }
    return tuple(sorted(possible.union(USUAL_HEADS))), Others.NOT_NATIVE


def survey(
    answers: Answers,
    grid: Grid,
    *,
    others: Others = Others.NONE,
    step: Callable[[], None] = lambda: None,
) -> Survey:
    """The decisions of a grid, block by block. ``step`` is called after every head count."""
    blocks = tuple(
        _block(answers, grid, setting, step)
        for setting in replace(grid, heads=(1,), qlens=(1,)).shapes()
    )
    return Survey(
        source=answers.source,
        stage_status=answers.stage_status,
        knobs=answers.knobs,
        grid=grid,
        blocks=blocks,
        others=others,
    )


def _block(answers: Answers, grid: Grid, setting: DecodeShape, step: Callable[[], None]) -> Block:
    rows = []
    for heads in grid.heads:
        shapes = [replace(setting, num_heads=heads, qlen=qlen) for qlen in grid.qlens]
        rows.append((heads, tuple(_answer(answers, shape) for shape in shapes)))
        step()
    block = Block(setting=setting, qlens=grid.qlens, rows=tuple(rows))
    if block.runs:
        return block
    return replace(block, runs_with=_other_setting(answers, grid, block))


def _answer(answers: Answers, shape: DecodeShape) -> Answer:
    decision = answers.decide(shape)
    if shape.lse or not decision.verdict.runs or shape.op is not Operation.DECODE:
        return Answer(decision=decision)
    return Answer(decision=decision, with_lse=answers.decide(replace(shape, lse=True)))


def _other_setting(answers: Answers, grid: Grid, block: Block) -> DecodeShape | None:
    """A page size or mode with which some head count runs: gfx1250 has no other way."""
    given = block.setting
    if given.op is not Operation.DECODE:
        return None
    paged = replace(given, page_size=TRIED_PAGE_SIZE)
    for setting in (paged, replace(given, persistent=False), replace(paged, persistent=False)):
        shapes = (replace(setting, num_heads=heads, qlen=grid.qlens[0]) for heads in grid.heads)
        if setting != given and any(answers.decide(shape).verdict.runs for shape in shapes):
            return setting
    return None


_TROUBLE = frozenset(Verdict) - {Verdict.NATIVE, Verdict.FOLDED, Verdict.REJECTED}


def troubles_of(block: Block) -> tuple[Trouble, ...]:
    """The failures of a block that are no plain rejection, grouped by what decided them."""
    groups: dict[tuple[object, ...], tuple[bool, list[Decision]]] = {}
    for answer in block.answers:
        found = answer.decision
        gap = answer.lse_gap and answer.with_lse is not None
        if gap and answer.with_lse is not None:
            found = answer.with_lse
        elif found.verdict not in _TROUBLE:
            continue
        key = (gap, found.verdict, found.stage, _kind_of_trouble(found))
        groups.setdefault(key, (gap, []))[1].append(found)
    return tuple(
        Trouble(
            setting=block.setting,
            verdict=found[0].verdict,
            lse_only=gap,
            cells=tuple((each.shape.num_heads, each.shape.qlen) for each in found),
            example=found[0],
        )
        for gap, found in groups.values()
    )


def _kind_of_trouble(decision: Decision) -> object:
    """The kind of an unknown or an erratum; other verdicts are one kind each."""
    if decision.verdict in (Verdict.UNKNOWN, Verdict.ERRATUM):
        clause = deciding_clause(decision)
        return (decision.message, clause and (clause.file, clause.line))
    return None

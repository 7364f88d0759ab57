"""The questions of a comparison, and the sources that answer them.

A question is a function of what answers for a source, and of the rest: one process can hand it to
another one, where the source is read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypeVar

from mlaprobe.core.axes import LAUNCH_AXES
from mlaprobe.core.behaviour import Behaviour, Numbering, Row, behaviour_of
from mlaprobe.core.enums import TAKEN, StageName, Status
from mlaprobe.core.grid import Grid
from mlaprobe.core.needs import Consequence, Need, Needing
from mlaprobe.core.protocols import Decider, Opened, SourceInfo
from mlaprobe.core.shape import Decision, DecodeShape, Evidence, Operation, Route, Verdict

T = TypeVar("T")
Step = Callable[[], None]
Request = tuple[Callable[..., object], tuple[Hashable, ...]]
"""A question, and its arguments after the source."""
Signatures = dict[str, tuple[str, tuple[Evidence, ...]]]
"""The parameter list of each function, and the place of its definition."""

_GOES_ON = frozenset((*TAKEN, Status.ACCEPTED, Status.ABSENT))
"""Statuses of a stage that leave the verdict to the ones after it."""


class ComparisonSide(ABC):
    """One of the sources that are compared, in whichever process it is read."""

    @abstractmethod
    def ask(self, question: Callable[..., T], *args: Hashable) -> T:
        """The answer to a question.

        Raises:
            SourceError: a file cannot be read.
        """

    @abstractmethod
    def rows(self, part: Grid, numbering: Numbering, step: Step = lambda: None) -> Sequence[Row]:
        """The answer to ``rows``, whose behaviours are numbered by ``numbering``. ``step`` may be
        called for each shape.

        Raises:
            SourceError: a file cannot be read.
        """

    def ahead(self, requests: Iterable[Request]) -> None:  # noqa: B027 (most need no time ahead)
        """Announces requests. A source in another process begins with them."""

    @property
    def source(self) -> SourceInfo:
        """Where the source is."""
        return self.ask(source_record)

    @property
    def archs(self) -> tuple[str, ...]:
        """The archs that the source names."""
        return self.ask(named_archs)


class LocalSide(ComparisonSide):
    """A source in this process."""

    def __init__(self, answers: Opened) -> None:
        self._answers = answers

    def ask(self, question: Callable[..., T], *args: Hashable) -> T:
        """The answer to a question."""
        return question(self._answers, *args)

    def rows(self, part: Grid, numbering: Numbering, step: Step = lambda: None) -> Sequence[Row]:
        """The answer to ``rows``."""
        return rows(self._answers, part, numbering, step)


Comparable = Opened | ComparisonSide


def side_of(source: Comparable) -> ComparisonSide:
    """A source as a side of a comparison."""
    return source if isinstance(source, ComparisonSide) else LocalSide(source)


# --- questions -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """Where a source is, in a form that one process can hand to another one."""

    label: str
    kind: str
    release: str | None
    commit: str | None
    location: str


def source_record(answers: Opened) -> SourceInfo:
    """Where the source is."""
    names = SourceRecord.__dataclass_fields__
    return SourceRecord(**{name: getattr(answers.source, name) for name in names})


def named_archs(answers: Opened) -> tuple[str, ...]:
    """The archs that the source names."""
    return answers.archs


def decide(answers: Opened, shape: DecodeShape) -> Decision:
    """The whole answer, with its proof."""
    return answers.decide(shape)


def behaviour(answers: Opened, shape: DecodeShape) -> Behaviour:
    """What a caller notices."""
    return _first_refusal(answers, shape) or behaviour_of(answers.decide(shape))


def runs(answers: Opened, shape: DecodeShape) -> bool:
    """Whether a shape runs."""
    return behaviour(answers, shape).verdict.runs


def needed(answers: Opened, shape: DecodeShape) -> tuple[tuple[str, Consequence], ...] | None:
    """The ids of what a launch needs, with what comes of doing otherwise; ``None`` where that is
    not recorded."""
    if not isinstance(answers, Needing) or not answers.records_needs(shape):
        return None
    return tuple((need.id, need.outcome) for need in answers.needs(shape))


def needs(answers: Opened, shape: DecodeShape) -> tuple[Need, ...] | None:
    """The same with their evidence."""
    if not isinstance(answers, Needing) or not answers.records_needs(shape):
        return None
    found = answers.needs(shape)
    return tuple(replace(need, evidence=tuple(need.evidence)) for need in found)


def pad(answers: Decider, shape: DecodeShape, qlens: tuple[int, ...]) -> int:
    """The head count that the resolver launches a shape with."""
    from mlaprobe.padding.api import bare_plan
    from mlaprobe.padding.request import Request as PlanRequest

    return bare_plan(answers, PlanRequest.around(shape, qlens)).padded_num_heads


def signatures(answers: Opened, functions: tuple[tuple[str, str], ...]) -> Signatures | None:
    """The parameter lists of functions, given as module and name; ``None`` for a snapshot."""
    if answers.session is None:
        return None
    from mlaprobe.findings.facts.calls import parameter_lists

    return parameter_lists(answers.session, functions)


def parts(grid: Grid) -> Iterator[tuple[Grid, ...]]:
    """A grid as grids in which only heads, query length and LSE vary; those of one arch and pair
    of dtypes together, in the order of the grid."""
    varied = (*(axis.grid for axis in LAUNCH_AXES if axis.name != "lse"), "kv_heads")
    settings: list[dict[str, Any]] = [
        {name: (value,) for name, value in zip(varied, values, strict=True)}
        for values in product(*(getattr(grid, name) for name in varied))
    ]
    for arch, pair in product(grid.archs, grid.dtypes):
        own = replace(grid, archs=(arch,), dtypes=(pair,))
        yield tuple(replace(own, **setting) for setting in settings)


def shape_in(part: Grid, heads: int, qlen: int, lse: bool) -> DecodeShape:
    """A shape of one of the ``parts`` of a grid."""
    return next(replace(part, heads=(heads,), qlens=(qlen,), lse=(lse,)).shapes())


def rows(
    answers: Opened, part: Grid, numbering: Numbering, step: Step = lambda: None
) -> Sequence[Row]:
    """The behaviours of one of the ``parts`` of a grid, a row for each head count.

    Most head counts are refused by the first stages, and the rest of the chain need not be
    evaluated for them.

    Raises:
        SourceError: a file cannot be read.
    """
    tabled = answers.behaviour_rows(part, numbering)
    if tabled is not None:
        return tabled
    plain = {lse: shape_in(part, part.heads[0], part.qlens[0], lse) for lse in part.lse}

    def row(heads: int) -> Iterator[int]:
        for qlen, lse in product(part.qlens, part.lse):
            shape = replace(plain[lse], num_heads=heads, qlen=qlen)
            yield numbering.number(behaviour(answers, shape))
            step()

    return [tuple(row(heads)) for heads in part.heads]


def numbered_rows(answers: Opened, part: Grid) -> tuple[list[Behaviour], Sequence[Row]]:
    """The answer to ``rows``, and the behaviours by their numbers in it."""
    numbering = Numbering()
    found = rows(answers, part, numbering)
    return numbering.by_number, found


def _first_refusal(answers: Opened, shape: DecodeShape) -> Behaviour | None:
    """The behaviour where one of the first stages, the first in call order, refuses; ``None``
    where none does, or that is not known."""
    for stage in _first_stages(shape):
        outcome = answers.ask(stage, shape)
        if outcome.status == Status.REJECTED:
            return Behaviour(verdict=Verdict.REJECTED, failure=outcome.failure)
        if outcome.status not in _GOES_ON:
            return None
    return None


def _first_stages(shape: DecodeShape) -> tuple[str, ...]:
    """The stages that come first in the chain, and refuse most of what is refused."""
    if shape.route is not Route.ASM or shape.op is not Operation.DECODE:
        return ()
    return (StageName.SIZING, StageName.PLANNER) if shape.persistent else (StageName.DISPATCHER,)

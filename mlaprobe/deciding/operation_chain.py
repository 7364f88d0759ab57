"""The calls of one operation in their order, for live sources and snapshots: what plans the work,
the entry point, and what it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol, TypeVar

from mlaprobe.core.launch import Launch
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Failure,
    Operation,
    StageName,
    StageOutcome,
    Status,
    Verdict,
    altered,
)
from mlaprobe.deciding.compose import absent, compose
from mlaprobe.deciding.pipeline import table_outcome
from mlaprobe.rulefiles.operations import entry_of

L = TypeVar("L", bound=Launch)


class OperationLinks(Protocol[L]):
    """The stages of one entry point, as the chain needs them."""

    @property
    def has_tables(self) -> bool:
        """Whether the source has a kernel table."""

    @property
    def launches(self) -> bool:
        """Whether the entry point launches kernels of its own: it calls no host then."""

    def plans(self, shape: DecodeShape) -> Iterator[tuple[str, StageOutcome]]:
        """The stages before the entry point."""

    def launch(self, shape: DecodeShape) -> L:
        """What the entry point does, with the calls that it makes."""

    def called(self, shape: DecodeShape, launch: L) -> StageOutcome:
        """The host, with what the entry point passes it."""

    def reduced(self, shape: DecodeShape, launch: L) -> StageOutcome:
        """The reducer, with what the entry point passes it."""


def judge_operation(links: OperationLinks[L], shape: DecodeShape) -> Decision:
    """The decision on a shape, errata apart."""
    launch = links.launch(shape)
    if launch.outcome.status == Status.ABSENT:
        return _missing(shape, launch.outcome)
    stages = [*links.plans(shape), (StageName.DISPATCHER, launch.outcome)]
    return compose(
        shape,
        (*stages, *_downstream(links, shape, launch)),
        missing_entry=launch.missing,
        fails_after=launch.fails_after,
    )


def by_route(ask: Callable[[DecodeShape], Decision], shape: DecodeShape) -> Decision | None:
    """The decision on an operation that is a route of a decode; ``None`` where it is none.

    Raises:
        UsageError: the operation has no argument for something that the shape says.
    """
    route = None if shape.op is Operation.DECODE else entry_of(shape).route
    if route is None:
        return None
    return altered(ask(replace(shape, op=Operation.DECODE, route=route)), shape=shape)


def _downstream(
    links: OperationLinks[L], shape: DecodeShape, launch: L
) -> Iterator[tuple[str, StageOutcome]]:
    """Host, kernel table and reducer, where the entry point calls them."""
    entry = launch.outcome.entry
    if entry is None or links.launches:
        return
    if not launch.missing:
        host = links.called(shape, launch)
        yield StageName.HOST, host
        if entry == "asm":
            yield StageName.TABLE, table_outcome(host, shape.arch, has_tables=links.has_tables)
        else:
            yield StageName.TABLE, absent(StageName.TABLE, "the kernel is compiled with the host")
    if launch.partial_heads is not None:
        yield StageName.REDUCER, links.reduced(shape, launch)


def _missing(shape: DecodeShape, outcome: StageOutcome) -> Decision:
    """A caller of a release without the function gets an exception."""
    return Decision(
        shape=shape,
        verdict=Verdict.REJECTED,
        failure=Failure.EXCEPTION,
        stage=StageName.DISPATCHER,
        message=f"AttributeError: this AITER has no such function: {outcome.message}",
        stages=((StageName.DISPATCHER, outcome),),
    )

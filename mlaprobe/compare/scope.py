"""What to compare: the shapes that engines launch at large, or those that a team serves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from mlaprobe.compare.diff import Change, Comparing, Comparison, PadChange, asked_of, comparison
from mlaprobe.compare.sides import Asked
from mlaprobe.core.axes import OMITTED, cell_of
from mlaprobe.core.boxes import Cell
from mlaprobe.core.grid import Grid
from mlaprobe.core.protocols import Answers
from mlaprobe.core.shape import DecodeShape, PlannerCall, Route
from mlaprobe.rulefiles.serving import Serving

QLENS = tuple(range(1, 9))
HEADS = (*range(1, 129), *range(144, 257, 16))
"""What a rank can have, and what it can have after a context-parallel gather."""
GLUON_HEADS = tuple(range(1, 17))
PLAIN_HEADS = (1, 2, 4, *range(8, 129, 8), *range(144, 257, 16))
"""Counts that are launched without work metadata: those that models have, and whole tiles. No
stage refuses the others before their kernel is looked up, which takes time and finds nothing."""


def standard_grids(answers: Iterable[Answers]) -> tuple[Grid, ...]:
    """The shapes that engines launch: causal, without round robin, KV pages of one token, with
    and without the LSE. Every count with work metadata, the planner told both dtypes, and told
    none; usual counts without; small ones by the gluon route."""
    archs = tuple(dict.fromkeys(arch for each in answers for arch in each.archs))
    asm = Grid(archs=archs, heads=HEADS, qlens=QLENS, lse=(False, True))
    return (
        asm,
        replace(asm, heads=PLAIN_HEADS, persistent=(False,)),
        replace(asm, planner=OMITTED),
        replace(asm, heads=GLUON_HEADS, route=Route.GLUON),
    )


def compare_served(
    old: Answers,
    new: Answers,
    served: Iterable[Serving],
    *,
    step: Callable[[], None] = lambda: None,
) -> Comparison:
    """What differs for deployments: in the shapes that they launch as they are, and in those
    that the resolver pads them to in the old source.

    Raises:
        SourceError: a file cannot be read.
    """
    comparing, served = Comparing(old, new), tuple(served)
    users: dict[Cell, dict[str, None]] = {}
    pads: list[tuple[str, PadChange]] = []
    grids: list[Grid] = []
    _begin(comparing, served)
    for each in served:
        grids.append(each.grid)
        shapes = dict.fromkeys(each.shapes)
        for pad in _pads(comparing, each):
            grids.append(replace(each.grid, heads=(pad.old,)))
            shapes.update(dict.fromkeys(each.padded(pad.old)))
            if pad.old != pad.new:
                pads.append((each.name, pad))
        for shape in shapes:
            cell = cell_of(shape)
            if cell not in users:
                comparing.ask(shape)
                step()
            users.setdefault(cell, {})[each.name] = None
    changes = (_with_users(change, users) for change in comparing.changes(asked_of(grids)))
    return comparison(
        comparing,
        tuple(changes),
        deployments=tuple(each.name for each in served),
        pads=tuple(dict.fromkeys(pads)),
    )


def asked_of_served(served: Iterable[Serving]) -> list[Asked]:
    """What a source is asked for deployments whatever it answers: what the resolver says first, as
    the rest depends on it."""
    asked: list[Asked] = []
    for each in served:
        asked += (("pad", shape, each.grid.qlens) for shape in _padding(each))
        asked += (("behaviour", shape) for shape in each.shapes)
    return asked


def _begin(comparing: Comparing, served: Sequence[Serving]) -> None:
    """Has either source asked at the same time, where they are asked in processes of their own."""
    comparing.new.ahead(asked_of_served(served))
    for each in served:
        for shape in _padding(each):
            if shape.arch in comparing.old.answers.archs:
                comparing.old.pad(shape, each.grid.qlens)
        for shape in each.shapes:
            comparing.old.behaviour(shape)


def _padding(each: Serving) -> Iterator[DecodeShape]:
    """A shape for each arch and pair of dtypes of a deployment, as the resolver is asked it."""
    return replace(each.grid, qlens=each.grid.qlens[:1], planner=PlannerCall()).shapes()


def _pads(comparing: Comparing, each: Serving) -> Iterator[PadChange]:
    """What the resolver launches a deployment with, for each arch and pair of dtypes."""
    for shape in _padding(each):
        if shape.arch in comparing.old.answers.archs:
            sides = (comparing.old, comparing.new)
            before, after = (side.pad(shape, each.grid.qlens) for side in sides)
            yield PadChange(num_heads=each.num_heads, old=before, new=after)


def _with_users(change: Change, users: dict[Cell, dict[str, None]]) -> Change:
    names = dict.fromkeys(
        name for cell, found in users.items() if _holds(change, cell) for name in found
    )
    return replace(change, deployments=tuple(names))


def _holds(change: Change, cell: Cell) -> bool:
    return all(value in values for value, values in zip(cell, change.region.values, strict=True))

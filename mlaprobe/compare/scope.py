"""The shapes to compare: what engines launch at large, or the deployments of a team."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from mlaprobe.compare import sides
from mlaprobe.compare.diff import Change, Comparing, Comparison, PadChange, axis_values, compare
from mlaprobe.compare.needs import with_needs
from mlaprobe.compare.sides import Comparable, Request
from mlaprobe.core.axes import OMITTED
from mlaprobe.core.grid import Grid
from mlaprobe.core.shape import DecodeShape, PlannerCall, Route
from mlaprobe.rulefiles.serving import Serving

QLENS = tuple(range(1, 9))
HEADS = (*range(1, 129), *range(144, 257, 16))
"""What a rank can have, and what it can have after a context-parallel gather."""
GLUON_HEADS = tuple(range(1, 17))
PLAIN_HEADS = (1, 2, 4, *range(8, 129, 8), *range(144, 257, 16))
"""Counts that are launched without work metadata: the counts of models, and whole tiles. No
stage refuses the others before their kernel is looked up, which takes time and finds nothing."""


def standard_grids(answers: Iterable[Comparable]) -> tuple[Grid, ...]:
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


def compare_wanted(
    old: Comparable,
    new: Comparable,
    *,
    grids: Sequence[Grid] = (),
    served: Sequence[Serving] = (),
    needs: bool = False,
    step: Callable[[], None] = lambda: None,
) -> Comparison:
    """What differs for deployments; without one, on grids.

    Args:
        needs: whether to compare also what the launches need.

    Raises:
        SourceError: a file cannot be read.
    """
    if served:
        return compare_served(old, new, served, needs=needs, step=step)
    comparison = compare(old, new, grids, step=step)
    if not needs:
        return comparison
    shapes = (shape for grid in grids for shape in grid.shapes())
    return with_needs(comparison, old, new, shapes, grids, step=step)


def compare_served(
    old: Comparable,
    new: Comparable,
    served: Iterable[Serving],
    *,
    needs: bool = False,
    step: Callable[[], None] = lambda: None,
) -> Comparison:
    """What differs for deployments: in the shapes that they launch as they are, and in those
    that the resolver pads them to in the old source. ``needs``: and in what these need.

    Raises:
        SourceError: a file cannot be read.
    """
    comparing, served = Comparing(old, new), tuple(served)
    users: dict[DecodeShape, dict[str, None]] = {}
    pads: list[tuple[str, PadChange]] = []
    grids: list[Grid] = []
    comparing.new.ahead(requests_for(served))
    for each in served:
        grids.append(each.grid)
        shapes = dict.fromkeys(each.shapes)
        for pad in _pads(comparing, each):
            grids.append(replace(each.grid, heads=(pad.old,)))
            shapes.update(dict.fromkeys(each.padded(pad.old)))
            if pad.old != pad.new:
                pads.append((each.name, pad))
        for shape in shapes:
            if shape not in users:
                comparing.ask(shape)
                step()
            users.setdefault(shape, {})[each.name] = None
    found = comparing.result(
        comparing.changes(axis_values(grids)),
        deployments=tuple(each.name for each in served),
        pads=tuple(dict.fromkeys(pads)),
    )
    if needs:
        found = with_needs(found, old, new, users, grids, step=step)
    return replace(found, changes=tuple(_with_users(change, users) for change in found.changes))


def requests_for(served: Iterable[Serving]) -> Iterator[Request]:
    """The requests about deployments that depend on no answer."""
    for each in served:
        for shape in _padding(each):
            yield sides.pad, (shape, each.grid.qlens)
        for shape in each.shapes:
            yield sides.behaviour, (shape,)


def _padding(each: Serving) -> Iterator[DecodeShape]:
    """A shape for each arch and pair of dtypes of a deployment, as the resolver takes it."""
    return replace(each.grid, qlens=each.grid.qlens[:1], planner=PlannerCall()).shapes()


def _pads(comparing: Comparing, each: Serving) -> Iterator[PadChange]:
    """What the resolver launches a deployment with, for each arch and pair of dtypes."""
    for shape in _padding(each):
        if shape.arch in comparing.old.archs:
            yield comparing.pads(shape, each.grid.qlens)


def _with_users(change: Change, users: dict[DecodeShape, dict[str, None]]) -> Change:
    names = (name for shape, found in users.items() if shape in change.region for name in found)
    return replace(change, deployments=tuple(dict.fromkeys(names)))

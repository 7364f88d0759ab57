"""Many cells as few boxes: for each axis a set of values, and all of their combinations.

Merging is exact: the boxes hold the cells that they were made of and no other, each once. Which
axis is merged first decides how many boxes are left, so several orders are tried; the shortest
result is returned.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import islice, permutations
from math import prod

Cell = tuple[Hashable, ...]
Box = tuple[frozenset[Hashable], ...]

_MOST_WORK = 400_000
"""Cells times orders that are tried; above it only the likeliest orders are."""
_MOST_ORDERS = 24


def cover(cells: Iterable[Cell]) -> tuple[Box, ...]:
    """The boxes of some cells, which all have the same axes."""
    unique = list(dict.fromkeys(cells))
    if len(unique) < 2:
        return tuple(tuple(frozenset((value,)) for value in cell) for cell in unique)
    active = [axis for axis, values in enumerate(zip(*unique, strict=True)) if len(set(values)) > 1]
    merging = _Merging([tuple(cell[axis] for axis in active) for cell in unique])
    best: list[Box] = []
    tried = max(2, min(_MOST_ORDERS, _MOST_WORK // len(unique)))
    for order in islice(merging.orders(), tried):
        found = merging.merged(order)
        if not best or _length(found) < _length(best):
            best = found
        if len(best) == 1:
            break
    still = {a: frozenset((v,)) for a, v in enumerate(unique[0]) if a not in active}
    return tuple(_widened(box, active, still) for box in best)


def _widened(box: Box, active: Sequence[int], still: dict[int, frozenset[Hashable]]) -> Box:
    """A box with the axes along which nothing varies put back."""
    values = still | dict(zip(active, box, strict=True))
    return tuple(values[axis] for axis in range(len(values)))


def size(box: Box) -> int:
    """How many cells a box holds."""
    return prod(map(len, box))


class _Merging:
    """Merges cells along their axes, in several orders. The first pass over the axes is by far the
    longest; orders that begin alike share it."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        # An axis at a time: True on one is not 1 on another.
        singles = [{v: frozenset((v,)) for v in values} for values in zip(*cells, strict=True)]
        self._widths = list(map(len, singles))
        columns = (
            [single[value] for value in values]
            for single, values in zip(singles, zip(*cells, strict=True), strict=True)
        )
        self._swept: dict[tuple[int, ...], list[Box]] = {(): list(zip(*columns, strict=True))}
        """What is left after a pass over some axes, in their order."""

    def orders(self) -> Iterator[tuple[int, ...]]:
        """Orders of the axes: the ones with most values last and first, then all."""
        likely = sorted(range(len(self._widths)), key=self._widths.__getitem__)
        yield tuple(reversed(likely))
        yield tuple(likely)
        yield from permutations(likely)

    def merged(self, order: tuple[int, ...]) -> list[Box]:
        """The boxes that are left when nothing can be joined any more."""
        before = len(self._swept[()])
        boxes = self._first_pass(order)
        while len(boxes) < before:
            before = len(boxes)
            for axis in order:
                boxes = _along(boxes, axis)
        return boxes

    def _first_pass(self, order: tuple[int, ...]) -> list[Box]:
        if order not in self._swept:
            self._swept[order] = _along(self._first_pass(order[:-1]), order[-1])
        return self._swept[order]


def _along(boxes: Iterable[Box], axis: int) -> list[Box]:
    """Joins the boxes that differ along one axis only."""
    groups: dict[tuple[frozenset[Hashable], ...], list[frozenset[Hashable]]] = {}
    for box in boxes:
        groups.setdefault((*box[:axis], *box[axis + 1 :]), []).append(box[axis])
    return [
        (*rest[:axis], parts[0].union(*parts[1:]), *rest[axis:]) for rest, parts in groups.items()
    ]


def _length(boxes: Sequence[Box]) -> tuple[int, int]:
    """The length of a description: the boxes, then the values in them."""
    return len(boxes), sum(len(values) for box in boxes for values in box)

"""Many cells said as few boxes: for each axis a set of values, and all of their combinations.

Merging is exact: the boxes hold the cells that they were made of and no other, each once. Which
axis is merged first decides how many boxes are left, so several orders are tried; what is
returned is the shortest that was found.
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
    if not unique:
        return ()
    # One pass over each axis leaves far fewer boxes than cells; the orders after it start there.
    best: list[Box] = []
    for order in islice(_orders(unique), max(2, min(_MOST_ORDERS, _MOST_WORK // len(unique)))):
        found = _merged(unique, order)
        if not best or _length(found) < _length(best):
            best = found
        if len(best) == 1:
            break
    return tuple(best)


def size(box: Box) -> int:
    """How many cells a box holds."""
    return prod(map(len, box))


def _orders(cells: Sequence[Cell]) -> Iterator[tuple[int, ...]]:
    """Orders in which to merge the axes: the ones with most values last and first, then all."""
    active = [axis for axis in range(len(cells[0])) if len({cell[axis] for cell in cells}) > 1]
    widths = {axis: len({cell[axis] for cell in cells}) for axis in active}
    likely = sorted(active, key=lambda axis: widths[axis])
    yield tuple(reversed(likely))
    yield tuple(likely)
    yield from permutations(likely)


def _merged(cells: Sequence[Cell], order: Sequence[int]) -> list[Box]:
    boxes: list[Box] = [tuple(frozenset((value,)) for value in cell) for cell in cells]
    before = len(boxes) + 1
    while len(boxes) < before:
        before = len(boxes)
        for axis in order:
            boxes = _along(boxes, axis)
    return boxes


def _along(boxes: Iterable[Box], axis: int) -> list[Box]:
    """Joins the boxes that differ along one axis only."""
    groups: dict[tuple[frozenset[Hashable], ...], list[frozenset[Hashable]]] = {}
    for box in boxes:
        groups.setdefault((*box[:axis], *box[axis + 1 :]), []).append(box[axis])
    return [
        (*rest[:axis], parts[0].union(*parts[1:]), *rest[axis:]) for rest, parts in groups.items()
    ]


def _length(boxes: Sequence[Box]) -> tuple[int, int]:
    """How much there is to say: the boxes, then the values in them."""
    return len(boxes), sum(len(values) for box in boxes for values in box)

"""Boxes hold exactly the cells that they were made of."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlaprobe.core.boxes import Cell, cover, size

CELLS = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("ab"), st.booleans()), max_size=40)


@given(CELLS)
def test_exact(cells: list[Cell]) -> None:
    boxes = cover(cells)
    held = [cell for box in boxes for cell in product(*box)]
    assert sorted(held, key=repr) == sorted(set(cells), key=repr), "each cell once"
    assert sum(map(size, boxes)) == len(set(cells))


@given(CELLS)
def test_order_of_cells_does_not_matter(cells: list[Cell]) -> None:
    assert len(cover(cells)) == len(cover(cells[::-1]))


@pytest.mark.parametrize(
    ("cells", "count"),
    [
        ([], 0),
        ([(1, 2)], 1),
        (list(product(range(100), range(20))), 1),
        ([(1, 1), (1, 2), (2, 1)], 2),
        ([(0, 0), (1, 1)], 2),
        # Merged along the first axis first, this would be three.
        ([(1, 1), (1, 2), (1, 3), (2, 3), (3, 3)], 2),
    ],
)
def test_few(cells: list[Cell], count: int) -> None:
    assert len(cover(cells)) == count

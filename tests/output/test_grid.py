"""Tables of heads by query lengths, fitted to a width."""

from __future__ import annotations

import pytest

from mlaprobe.core.numbers import ranges
from mlaprobe.core.shape import Verdict
from mlaprobe.output.cells import Cell
from mlaprobe.output.grid import Table, fits, render, table_of, width_of
from mlaprobe.output.style import plain


def word(text: str) -> Cell:
    return Cell(text, text[:2], "", Verdict.NATIVE)


def varied(columns: int) -> Table:
    rows = [(16, tuple(word(f"word-{at}") for at in range(columns)))]
    return table_of(rows, range(1, columns + 1))


def test_neighbours_that_answer_alike_share_a_row() -> None:
    one, other = (word("one"),), (word("other"),)
    table = table_of([(1, one), (2, one), (3, one), (8, one), (9, other), (16, one)], [1])
    assert table.labels == ["1-3,8", "9", "16"]


def test_labels_stay_short() -> None:
    one = (word("one"),)
    table = table_of([(heads, one) for heads in (100, 102, 104, 106)], [1])
    assert table.labels == ["100,102,104", "106"]


def test_columns_merge_only_where_they_must() -> None:
    cells = tuple(word(text) for text in ("same", "same", "other", "other"))
    table = table_of([(16, cells)], (1, 2, 4, 6))
    assert plain(render(table, 100, short=False)).split() == [
        *("heads", "qlen", "1", "2", "4", "6", "16", "same", "same", "other", "other")
    ]
    assert plain(render(table, 25, short=False)).split() == [
        *("heads", "qlen", "1-2", "4,6", "16", "same", "other")
    ]
    merged = plain(render(table, 100, short=False, merge=True))
    assert merged == plain(render(table, 25, short=False))


@pytest.mark.parametrize("width", range(1, 80))
def test_broken_into_as_many_tables_as_it_takes(width: int) -> None:
    lines = plain(render(varied(9), width, short=False)).splitlines()
    words = " ".join(line for line in lines if "word" in line).split()
    assert [each for each in words if each != "16"] == [f"word-{at}" for at in range(9)]
    assert max(map(len, lines)) <= max(width, 7 + 1 + 6)


def test_width() -> None:
    table = varied(3)
    assert fits(table, width_of(table, short=False))
    assert not fits(table, width_of(table, short=False) - 1)
    assert width_of(table, short=True) < width_of(table, short=False)


def test_ranges() -> None:
    assert ranges([1, 2, 3, 5, 8, 9]) == "1-3,5,8-9"
    assert ranges([3, 2, 1]) == "3,2,1"
    assert ranges([]) == ""

"""Rows of behaviours come out as if every shape had been asked for itself."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from mlaprobe.compare.sides import parts, rows
from mlaprobe.core.axes import OMITTED
from mlaprobe.core.behaviour import Behaviour, Numbering, behaviour_of
from mlaprobe.core.grid import DEFAULT_DTYPES, Grid
from mlaprobe.core.shape import Dtype, PlannerCall, Route, Verdict
from mlaprobe.snapshot import Snapshot
from mlaprobe.snapshot.file import parse
from mlaprobe.snapshot.making import make
from mlaprobe.snapshot.scope import Scope
from tests.stages.ask import opened
from tests.trees import today

SCOPE = Scope(
    archs=("gfx942", "gfx950"),
    heads=(1, 8, 12, 16, 24, 32, 40, 48, 64, 96, 112, 128, 144),
    qlens=(1, 2, 4, 5),
    page_sizes=(1, 64),
)
EVERYTHING = Grid(
    archs=SCOPE.archs,
    heads=SCOPE.heads,
    qlens=SCOPE.qlens,
    lse=(False, True),
    persistent=(True, False),
    causal=(True, False),
    cp_round_robin=(False, True),
    page_sizes=SCOPE.page_sizes,
)
GRIDS = [
    EVERYTHING,
    replace(EVERYTHING, planner=OMITTED, causal=(True,)),
    replace(EVERYTHING, route=Route.GLUON, persistent=(True,), causal=(True,)),
]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    capability = opened(tmp_path_factory.mktemp("today"), today.tree())
    return make(capability, scope=SCOPE)


def snapshot(text: str, release: str | None = None) -> Snapshot:
    return Snapshot(parse(text.encode(), "today"), label="today", release=release)


def by_rows(answers: Any, grid: Grid) -> list[Behaviour]:
    numbering, found = Numbering(), []
    for asked in parts(grid):
        for part in asked:
            of_part = rows(answers, part, numbering)
            assert len(of_part) == len(part.heads)
            found += [numbering.by_number[number] for row in of_part for number in row]
    return found


def by_shape(answers: Any, grid: Grid) -> list[Behaviour]:
    return [
        behaviour_of(answers.decide(shape))
        for asked in parts(grid)
        for part in asked
        for heads, qlen, lse in product(part.heads, part.qlens, part.lse)
        for shape in replace(part, heads=(heads,), qlens=(qlen,), lse=(lse,)).shapes()
    ]


@pytest.mark.parametrize("grid", GRIDS, ids=("told", "told nothing", "gluon"))
# One erratum has no last release (128 heads without metadata), one is of v0.1.14 (gfx950 bf16, 32).
@pytest.mark.parametrize("release", [None, "v0.1.14", "v0.1.20"])
def test_rows_are_what_each_shape_says(text: str, grid: Grid, release: str | None) -> None:
    kept = snapshot(text, release)
    assert kept.behaviour_rows(next(parts(grid))[0], Numbering()) is not None
    assert by_rows(kept, grid) == by_shape(snapshot(text, release), grid)


def test_the_grids_meet_every_kind_of_behaviour(text: str) -> None:
    found = by_rows(snapshot(text, "v0.1.14"), EVERYTHING)
    verdicts = {behaviour.verdict for behaviour in found}
    assert verdicts >= {Verdict.NATIVE, Verdict.FOLDED, Verdict.NO_KERNEL, Verdict.ERRATUM}


OFF_THE_TABLES = [
    {"batches": (33,)},
    {"heads": (16, 17)},
    {"qlens": (1, 3)},
    {"planner": PlannerCall(num_heads=16)},
]


@pytest.mark.parametrize("change", OFF_THE_TABLES, ids=str)
def test_other_shapes_are_asked_for_themselves(text: str, change: dict[str, Any]) -> None:
    plain = Grid(archs=("gfx950",), dtypes=DEFAULT_DTYPES[:1], heads=(16, 32), qlens=(1, 2))
    grid, kept = replace(plain, **change), snapshot(text)
    assert kept.behaviour_rows(grid, Numbering()) is None
    assert by_rows(kept, grid) == by_shape(snapshot(text), grid)


@pytest.mark.parametrize(
    "change",
    [
        {"archs": ("gfx1250",)},
        {"dtypes": ((Dtype.FP16, Dtype.FP16),)},
        {"page_sizes": (16,)},
        {"planner": PlannerCall(q_dtype=Dtype.FP16)},
    ],
    ids=str,
)
def test_what_is_off_the_grid_is_unknown(text: str, change: dict[str, Any]) -> None:
    plain = Grid(archs=("gfx950",), dtypes=DEFAULT_DTYPES[:1], heads=(16, 32), qlens=(1, 2))
    grid, kept = replace(plain, lse=(False, True), **change), snapshot(text)
    assert kept.held_rows(grid, Numbering()) is None
    assert by_rows(kept, grid) == [Behaviour(verdict=Verdict.UNKNOWN)] * 8 == by_shape(kept, grid)


def test_a_book_is_not_answered_with_the_numbers_of_another(text: str) -> None:
    kept, other = snapshot(text), Numbering()
    other.number(Behaviour(verdict=Verdict.UNKNOWN))
    plain = Grid(archs=("gfx950",), heads=(16, 32), lse=(False,))
    (first,) = kept.behaviour_rows(plain, Numbering())[:1]  # type: ignore[index]
    (again,) = kept.behaviour_rows(plain, other)[:1]  # type: ignore[index]
    assert first != again
    assert other.by_number[again[0]].verdict is not Verdict.UNKNOWN

"""Regions as people say them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlaprobe.core.axes import OMITTED, asked_values, cell_of, ranges, regions, shape_of
from mlaprobe.core.grid import Grid
from mlaprobe.core.shape import DecodeShape, Dtype, PlannerCall, Route

FP8, BF16 = Dtype.FP8, Dtype.BF16
SHAPE = DecodeShape(arch="gfx950", q_dtype=FP8, kv_dtype=FP8, num_heads=32)
GRID = Grid(
    archs=("gfx942", "gfx950", "gfx1250"),
    dtypes=((BF16, BF16), (FP8, FP8)),
    heads=(16, 32, 48),
    qlens=(1, 2),
    lse=(False, True),
    persistent=(True, False),
)


def words(*shapes: DecodeShape, asked: tuple[DecodeShape, ...] = tuple(GRID.shapes())) -> list[str]:
    cells = [cell_of(shape) for shape in (*asked, *shapes)]
    return [found.description for found in regions(map(cell_of, shapes), asked_values(cells))]


def test_the_example_of_the_issue() -> None:
    assert words(SHAPE) == ["gfx950 fp8/fp8, 32 heads, qlen 1, without LSE"]


def test_what_holds_either_way_is_left_out() -> None:
    assert words(SHAPE, replace(SHAPE, lse=True)) == ["gfx950 fp8/fp8, 32 heads, qlen 1"]


def test_nothing_is_said_of_what_nobody_asked() -> None:
    alone = (SHAPE,)
    assert words(SHAPE, asked=alone) == ["gfx950 fp8/fp8, 32 heads, qlen 1"]
    with_lse = replace(SHAPE, lse=True)
    assert words(with_lse, asked=(with_lse,)) == ["gfx950 fp8/fp8, 32 heads, qlen 1, with LSE"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"persistent": False}, "non-persistent"),
        ({"causal": False}, "not causal"),
        ({"cp_round_robin": True}, "round-robin context parallel"),
        ({"batch": 7}, "batch 7"),
        ({"page_size": 64}, "page size 64"),
        ({"planner": OMITTED}, "planner told no dtypes"),
        ({"planner": PlannerCall(num_heads=16)}, "planner told num_heads 16"),
        ({"planner": PlannerCall(fast_mode=False)}, "planner told fast_mode off"),
        ({"route": Route.GLUON}, "route gluon"),
        ({"env": (("KNOB", "1"),)}, "with KNOB=1"),
    ],
)
def test_what_is_unusual(change: dict[str, object], said: str) -> None:
    assert words(replace(SHAPE, **change)) == [  # type: ignore[arg-type]
        f"gfx950 fp8/fp8, 32 heads, qlen 1, without LSE, {said}"
    ]


def test_several_archs_and_dtypes_in_their_order() -> None:
    shapes = [
        replace(SHAPE, arch=arch, q_dtype=dtype, kv_dtype=dtype)
        for arch in ("gfx1250", "gfx950", "gfx942")
        for dtype in (FP8, BF16)
    ]
    assert words(*shapes) == [
        "gfx942, gfx950, gfx1250 bf16/bf16, fp8/fp8, 32 heads, qlen 1, without LSE"
    ]


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([1], "1"),
        ([1, 2, 3, 7, 16], "1-3, 7, 16"),
        ([*range(16, 129, 16)], "16-128 (multiples of 16)"),
        ([n for n in range(1, 128) if n % 8], "1-127 (no multiple of 8)"),
        ([1, 3, 5, 9, 20, 31, 77], "1, 3, 5, 9, 20, 31, 77"),
    ],
)
def test_ranges(numbers: list[int], said: str) -> None:
    assert ranges(numbers) == said


def test_there_and_back() -> None:
    for shape in (SHAPE, replace(SHAPE, planner=OMITTED, route=Route.GLUON, batch=3)):
        assert shape_of(cell_of(shape)) == shape


def test_the_plainest_comes_first() -> None:
    shapes = [
        replace(SHAPE, lse=lse, qlen=q, num_heads=n)
        for lse in (True, False)
        for q in (2, 1)
        for n in (48, 32)
    ]
    (found,) = regions(map(cell_of, shapes), asked_values(map(cell_of, shapes)))
    assert found.first == SHAPE
    assert all(shape in found for shape in shapes)
    assert replace(SHAPE, qlen=5) not in found
    assert found.row["heads"] == [32, 48]
    assert found.row["dtype"] == ["fp8/fp8"]


def test_what_the_caller_knows_besides() -> None:
    large = replace(SHAPE, kv_cache_bytes=20 << 30, num_kv_splits=2, sparse=True)
    assert words(large) == [
        "gfx950 fp8/fp8, 32 heads, qlen 1, without LSE, a KV cache of 20 GiB, KV splits 2, sparse"
    ]
    assert cell_of(shape_of(cell_of(large))) == cell_of(large)

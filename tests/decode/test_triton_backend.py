"""The Triton back end: its kernels in Triton's CPU interpreter, its host arithmetic by itself."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlaprobe.decode.backends.triton_tiles import MOST_SPLITS, Tile, cut, tiles_for
from tests.padding.tensors import torch_or_skip

ROOT = Path(__file__).resolve().parents[2]
ROUNDING = 2**-7 + 1e-3
"""The interpreter cuts off what bfloat16 cannot hold; and a little for float16 weights."""


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, Any]]:
    """What every case of ``triton_cases`` gives."""
    torch_or_skip()
    for name in ("triton", "numpy"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: Triton's interpreter cannot run kernels here")
    run = subprocess.run(
        [sys.executable, "-m", "tests.decode.triton_cases"],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    return {line["name"]: line for line in lines}


@pytest.mark.parametrize(
    "name",
    [
        "one split",
        "splits, one empty",
        "splits without lse",
        "pages",
        "tiles of one page",
        "padded",
        "folded",
        "tail",
        "tail of eight",
        "folded tail",
        "no tail",
        "rows of two tiles",
        "tile of 32",
        "tile of 64",
        "copied tiles",
        "copied fp8 tiles",
        "fp8",
        "fp8 in wide tiles",
        "fp8 cache",
        "fp8 of gfx942",
        "refreshed",
    ],
)
def test_gives_what_attention_is(results: dict[str, dict[str, Any]], name: str) -> None:
    found = results[name]
    assert found["o"] <= ROUNDING
    assert found["lse"] is None or found["lse"] <= 1e-5


def test_runs_what_the_plan_says(results: dict[str, dict[str, Any]]) -> None:
    padded, folded = results["padded"], results["folded"]
    assert (padded["launched"], padded["fold"]) == (16, 1)
    assert (folded["launched"], folded["fold"]) == (32, 2)


def test_merges_only_what_was_split(results: dict[str, dict[str, Any]]) -> None:
    assert results["one split"]["kernels"] == ["decode_splits"]
    assert results["splits, one empty"]["kernels"] == ["decode_splits", "merge_splits"]


TILES = st.builds(
    Tile,
    rows=st.sampled_from([16, 32, 64]),
    tokens=st.sampled_from([16, 32, 64]),
    stages=st.just(2),
    warps=st.just(4),
)
LENS = st.lists(st.integers(1, 200_000), min_size=1, max_size=20)


@given(LENS, TILES, st.integers(1, 24), st.integers(1, 300))
def test_a_cut_covers_every_request(lens: list[int], tile: Tile, programs: int, units: int) -> None:
    found = cut(lens, programs=programs, rows=16 * len(lens), tile=tile, units=units)
    assert found.chunk % tile.tokens == 0
    assert 1 <= found.splits <= MOST_SPLITS
    assert found.splits * found.chunk >= max(lens)
    # No split is empty for every request.
    assert (found.splits - 1) * found.chunk < max(lens)


def test_a_cut_fills_the_device_in_whole_waves() -> None:
    tile = tiles_for(64, fp8=False, page_size=64)[0]
    # 52 requests on 132 multiprocessors: 5 splits are 260 programs, 2 waves of 264.
    assert cut([16384] * 52, programs=1, rows=52 * 64, tile=tile, units=132).splits == 5
    # One long request: about as many splits as multiprocessors.
    one = cut([131072], programs=1, rows=16, tile=tile, units=132)
    assert 120 <= one.splits <= 132
    # Enough requests: none.
    assert cut([1024] * 132, programs=1, rows=132 * 16, tile=tile, units=132).splits == 1


def test_a_long_request_among_short_ones_is_cut_finer_than_they_are() -> None:
    tile = tiles_for(16, fp8=False, page_size=64)[0]
    found = cut([100_000, *[1000] * 51], programs=1, rows=52 * 16, tile=tile, units=132)
    assert found.splits > 20
    assert found.chunk <= 4096


@pytest.mark.parametrize("fp8", [False, True])
@pytest.mark.parametrize("page_size", [1, 16, 64, 128])
@pytest.mark.parametrize(("rows", "tile"), [(1, 16), (16, 16), (17, None), (33, 64), (1024, 64)])
def test_programs_get_smaller(rows: int, tile: int | None, fp8: bool, page_size: int) -> None:
    found = tiles_for(rows, fp8=fp8, page_size=page_size)
    assert tile is None or found[0].rows == tile
    assert found[0].rows >= min(rows, 64)
    sizes = [each.rows * each.tokens for each in found if each.rows == found[0].rows]
    assert sizes == sorted(sizes, reverse=True)
    assert found[-1].rows * found[-1].tokens <= 256

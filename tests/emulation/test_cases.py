"""Launches of a kernel: their lengths, cuts and ranks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype
from mlaprobe.emulation.batches.values import Values
from mlaprobe.emulation.case import Case
from mlaprobe.emulation.matrix import edges

SHAPE = DecodeShape(
    arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=16, qlen=4, batch=2
)
CASE = Case(symbol="k", co="k.co", shape=SHAPE, kv_lens=(200, 163))


def test_every_residue_at_the_edges_of_tiles() -> None:
    """In one batch, in four cuts. A request is at least as long as its query."""
    launches = list(edges(CASE))
    (lens,) = {launch.kv_lens for launch in launches}
    for tile in (16, 32, 64, 128):
        assert {length % tile for length in lens if length >= tile} >= {0, 1, 2, 3}
        for multiple in (tile, 2 * tile):
            assert {multiple, multiple + 1, multiple + 2, multiple + 3} <= {*lens}
    assert min(lens) == 4
    assert {launch.shape.batch for launch in launches} == {len(lens)}
    assert [launch.units for launch in launches] == [1, 29, 87, 145]
    plain = replace(CASE, shape=replace(SHAPE, persistent=False, qlen=1))
    assert [launch.kv_splits for launch in edges(plain)] == [1, 2, 3, 4]
    assert 1 in next(edges(plain)).kv_lens


def test_ranks_of_round_robin() -> None:
    """The middle rank of 2, 4 and 8 has so many tokens, and the last one lies on each rank."""
    shared = replace(CASE, shape=replace(SHAPE, cp_round_robin=True))
    launches = list(edges(shared))
    assert [launch.world for launch in launches] == [2, 4, 8, 2]
    for launch in launches:
        batch, world = launch.batch, launch.world
        assert batch.rank == world // 2
        own = [len(range(batch.rank, whole, world)) for whole in batch.global_lens]
        assert own == list(batch.kv_lens)
        assert {(whole - 1) % world for whole in batch.global_lens} == set(range(world))
        assert Values.random(batch).vectors.kv_indptr[-1] == sum(batch.kv_lens)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (CASE, "fp8/fp8, 16 heads, qlen 4, KV 200,163"),
        (
            replace(CASE, kv_lens=(1, 16, 17, 18, 32, 33), units=7, scales=(0.5, 2.0)),
            "fp8/fp8, 16 heads, qlen 4, planned for 7 compute units, scales 0.5 and 2, "
            "KV 1,16-18,32,33",
        ),
        (
            replace(CASE, shape=replace(SHAPE, cp_round_robin=True, persistent=False), world=8),
            "fp8/fp8, 16 heads, qlen 4, round robin, no metadata, 8 ranks, KV 200,163",
        ),
        (
            replace(CASE, shape=replace(SHAPE, persistent=False), kv_splits=3),
            "fp8/fp8, 16 heads, qlen 4, no metadata, 3 splits, KV 200,163",
        ),
    ],
)
def test_a_launch_in_words(case: Case, words: str) -> None:
    assert case.id == words

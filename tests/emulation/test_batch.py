"""Batches, their values and what attention gives; padding and its undoing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mlaprobe.core.shape import Dtype
from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.batches.formats import HEAD_DIM, LATENT_DIM, decoded, encoded
from mlaprobe.emulation.batches.values import Values
from mlaprobe.emulation.padding import Padding, pad, unpad
from mlaprobe.errors import UsageError
from mlaprobe.padding.tensors import Strategy

BATCH = Batch(
    arch="gfx942",
    q_dtype=Dtype.FP8,
    kv_dtype=Dtype.BF16,
    num_heads=3,
    kv_lens=(5, 9),
    qlen=2,
    page_size=4,
    q_scale=0.25,
)


def test_a_request_includes_its_query_tokens() -> None:
    """Fewer KV tokens than query tokens are no batch, and a kernel is not to blame for them; a
    launch with a longer query in front of it may have that."""
    with pytest.raises(UsageError, match=r"kv_lens\[1\] is 1, less than the 2 query tokens"):
        Values.random(replace(BATCH, kv_lens=(5, 1)))
    shortest = Values.random(replace(BATCH, kv_lens=(2, 2)))
    assert pad(shortest, Padding(heads=3, qlen=4)).batch.qlen == 4


@pytest.mark.parametrize("causal", [True, False])
def test_the_reference_is_attention(causal: bool) -> None:
    """Against one weight after the other, for one head of one token."""
    values = Values.random(replace(BATCH, causal=causal))
    o, lse = values.reference()
    request, token, head = 1, 0, 2
    pages = values.kv_indices[2:5]
    stored = values.kv[pages].reshape(-1, HEAD_DIM)[:9]
    keys = (stored.astype(np.uint32) << 16).view(np.float32)
    q = values.queries()[request * 2 + token, head]
    seen = range(8 if causal else 9)
    weights = [float(np.exp(float(q @ keys[at]) * HEAD_DIM**-0.5)) for at in seen]
    want = sum(w * keys[at, :LATENT_DIM].astype(np.float64) for at, w in enumerate(weights))
    assert np.allclose(o[2, head], want / sum(weights), atol=1e-5)
    assert np.isclose(lse[2, head], np.log(sum(weights)), atol=1e-5)


def test_round_robin_shows_each_rank_its_own_tokens() -> None:
    """Of 11 tokens, rank 1 of 4 has 1, 5 and 9; the first of 2 query tokens is token 9."""
    shared = replace(
        BATCH, world=4, rank=1, kv_lens=(3, 3), global_lens=(11, 10), page_size=1, num_heads=1
    )
    assert shared.visible(0)[0].tolist() == [True, True, True]
    assert shared.visible(1)[0].tolist() == [True, True, False]
    assert shared.visible(1)[1].tolist() == [True, True, True]


def test_values_are_what_the_scales_make_of_them() -> None:
    values = Values.random(BATCH)
    assert values.q.dtype == np.uint8
    assert abs(float(values.queries().std()) - 1) < 0.05
    assert values.vectors.kv_indptr.tolist() == [0, 2, 5]
    assert values.vectors.last_page.tolist() == [1, 1]
    hidden = decoded(values.kv[values.kv_indices[1], 1:], Dtype.BF16, "gfx942")
    assert (hidden == 200).all()
    assert Values.random(BATCH, seed=1).q.tolist() != values.q.tolist()


def test_pages_are_spread_over_a_large_cache() -> None:
    """The first and the last page of it are used, and attention is the same."""
    small = Values.random(BATCH, spare_pages=0)
    size = 5 << 30
    large = Values.random(replace(BATCH, kv_cache_bytes=size), spare_pages=0)
    assert large.num_pages == size // (4 * HEAD_DIM * 2)
    assert (large.kv_places[0], large.kv_places[-1]) == (0, large.num_pages - 1)
    assert sorted(large.kv_indices.tolist()) == large.kv_places.tolist()
    assert large.kv.nbytes == small.kv.nbytes
    assert (large.reference()[0] == small.reference()[0]).all()
    for wrong in (4 * HEAD_DIM * 2 * 4, 1 << 60):
        with pytest.raises(UsageError, match="pages"):
            Values.random(replace(BATCH, kv_cache_bytes=wrong))


def test_what_the_emulator_does_not_hold() -> None:
    for dtype, arch in ((Dtype.FP16, "gfx942"), (Dtype.FP8, "gfx1250")):
        for call in (encoded, decoded):
            with pytest.raises(UsageError, match="is not emulated"):
                call(np.zeros(2, np.float32), dtype, arch)


@pytest.mark.parametrize(
    ("strategy", "heads"),
    [
        (Strategy.TILE, [0, 1, 2, 0, 1, 2]),
        (Strategy.REPEAT, [0, 0, 1, 1, 2, 2]),
        (Strategy.ZERO, [0, 1, 2, None, None, None]),
    ],
)
def test_padding_and_its_undoing(strategy: Strategy, heads: list[int | None]) -> None:
    values = Values.random(BATCH)
    padding = Padding(heads=6, qlen=3, strategy=strategy)
    padded = pad(values, padding)
    assert padded.q.shape == (6, 6, HEAD_DIM)
    assert padded.vectors.qo_indptr.tolist() == [0, 3, 6]
    for at, head in enumerate(heads):
        own = 0 if head is None else values.q[2:4, head]
        assert (padded.q[4:6, at] == own).all()
    assert not padded.q[[0, 3]].any()
    assert (unpad(padded.q, values, padding) == values.q).all()
    assert values.batch == BATCH


def test_a_count_that_cannot_be_reached() -> None:
    with pytest.raises(UsageError, match="cannot repeat 3 heads into 4"):
        pad(Values.random(BATCH), Padding(heads=4, qlen=2, strategy=Strategy.REPEAT))

"""Work metadata of our own design, and merges: carried out in plain numpy they give attention."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlaprobe.core.shape import Dtype
from mlaprobe.emulation.arrays import NotFollowedError
from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.batches.formats import HEAD_DIM, LATENT_DIM, decoded
from mlaprobe.emulation.batches.values import Values
from mlaprobe.emulation.batches.works import Cutting, Works, own_works
from mlaprobe.emulation.results.merging import Rows, merge_splits, merge_tiles

HEADS = 4


def batch(lens: tuple[int, ...], qlen: int, page: int, *, causal: bool = True) -> Batch:
    """A small bf16 batch."""
    return Batch(
        arch="gfx950",
        q_dtype=Dtype.BF16,
        kv_dtype=Dtype.BF16,
        num_heads=HEADS,
        kv_lens=lens,
        qlen=qlen,
        page_size=page,
        causal=causal,
    )


def empty(rows: int, heads: int, kind: type = np.float32) -> Rows:
    """Rows that nobody has written."""
    return Rows(
        out=np.zeros((rows, heads, LATENT_DIM), kind),
        out_written=np.zeros((rows, heads, LATENT_DIM), np.bool_),
        lse=np.zeros((rows, heads), np.float32),
        lse_written=np.zeros((rows, heads), np.bool_),
    )


def put(rows: Rows, at: int, out: object, lse: object) -> None:
    """A kernel writes a row."""
    assert rows.lse is not None
    assert rows.lse_written is not None
    rows.out[at], rows.lse[at] = out, lse
    rows.out_written[at], rows.lse_written[at] = True, True


def as_bf16(values: np.ndarray) -> np.ndarray:
    """Bits of bf16, cut off: near enough here."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def carry_out(values: Values, works: Works, fold: int) -> tuple[Rows, Rows]:
    """What a kernel does that keeps the contract, in plain numpy: attention over each work's pages,
    of which the query tokens see all but what the mask of the request hides."""
    size, heads = values.batch.page_size, values.batch.num_heads // fold
    qlen = values.batch.qlen
    q = values.queries().reshape(-1, qlen, fold, heads, HEAD_DIM).transpose(0, 2, 1, 3, 4)
    q = q.reshape(-1, heads, HEAD_DIM)
    final = empty(len(q), heads, np.uint16)
    partial = empty(max(1, int(works.work_info[:, 1].max()) + qlen), heads)
    for request, place, first, behind, start, end, after, _ in works.work_info.tolist():
        pages = values.kv_indices[start:end]
        keys = decoded(values.kv[pages].reshape(-1, HEAD_DIM), Dtype.BF16, "gfx950")
        whole = values.batch.kv_lens[request // fold]
        begin = (start - values.vectors.kv_indptr[request // fold]) * size
        tokens = whole - after - begin
        for token in range(first, behind):
            seen = keys[:tokens]
            if values.batch.causal:
                hidden = qlen - 1 - token % qlen
                seen = keys[: max(0, min(tokens, whole - hidden - begin))]
            if not len(seen):
                put(partial, place + token - first, 0, -np.inf)
                continue
            scores = q[token] @ seen.T * values.batch.sm_scale
            lse = np.log(np.exp(scores - scores.max(-1, keepdims=True)).sum(-1))
            lse += scores.max(-1)
            out = np.exp(scores - lse[:, None]) @ seen[:, :LATENT_DIM]
            if place < 0:
                put(final, token, as_bf16(out), lse)
            else:
                put(partial, place + token - first, out, lse)
    return final, partial


def unfolded(rows: np.ndarray, qlen: int, fold: int) -> np.ndarray:
    """Rows of a folded batch as those of the batch."""
    heads, width = rows.shape[1], rows.shape[2:]
    parts = rows.reshape(-1, fold, qlen, heads, *width)
    return np.moveaxis(parts, 1, 2).reshape(-1, fold * heads, *width)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(4, 150), min_size=1, max_size=3),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from([1, 2]),
    st.sampled_from([0, 1, 2]),
    st.booleans(),
    st.integers(1, 3),
)
def test_works_carried_out_and_merged_are_attention(
    lens: list[int], qlen: int, splits: int, fold: int, tile: int, causal: bool, per: int
) -> None:
    values = Values.random(batch(tuple(lens), qlen, 1, causal=causal), seed=len(lens))
    cutting = Cutting(splits=splits, block=16, tile=tile, fold=fold, per_workgroup=per)
    works = own_works(values.batch, cutting)
    final, partial = carry_out(values, works, fold)
    merge_tiles(
        final, partial, works.reduce_indptr, works.reduce_final_map, works.reduce_partial_map
    )
    want, want_lse = values.reference()
    assert final.out_written.all()
    assert final.lse is not None
    got = decoded(unfolded(final.out, qlen, fold), Dtype.BF16, "gfx950")
    assert np.abs(got - want).max() < 0.02
    assert np.abs(unfolded(final.lse, qlen, fold) - want_lse).max() < 1e-4
    assert works.work_indptr[-1] == len(works.work_info)
    assert (np.diff(works.work_indptr) <= per).all()
    assert len(works.reduce_partial_map) >= len(works.work_info)


@pytest.mark.parametrize("page", [16, 64])
def test_pages(page: int) -> None:
    values = Values.random(batch((130, 16, 65), 2, page))
    works = own_works(values.batch, Cutting(splits=3))
    final, partial = carry_out(values, works, 1)
    merge_tiles(
        final, partial, works.reduce_indptr, works.reduce_final_map, works.reduce_partial_map
    )
    got = decoded(final.out, Dtype.BF16, "gfx950")
    assert np.abs(got - values.reference()[0]).max() < 0.02


def test_parts_of_a_query_that_end_within_a_page() -> None:
    with pytest.raises(NotFollowedError, match="within a page"):
        own_works(batch((64,), 2, 16), Cutting(tile=1))
    assert len(own_works(batch((64,), 2, 16, causal=False), Cutting(tile=1)).work_info) == 2


@pytest.mark.parametrize(("tile", "place"), [((0, 3), 0), ((2, 3), 0), ((0, 2), 3), ((1, 2), 4)])
def test_tiles_of_a_plan_for_another_launch(tile: tuple[int, int], place: int) -> None:
    """Of two query tokens and four partial results."""
    final, partial = empty(2, 1, np.uint16), empty(4, 1)
    indptr, tiles, places = np.array([0, 1]), np.array([tile]), np.array([place])
    with pytest.raises(NotFollowedError, match="the plan is for another launch"):
        merge_tiles(final, partial, indptr, tiles, places)
    merge_tiles(final, partial, indptr, np.array([[0, 2]]), np.array([2]))


def test_what_is_merged_of_what_nobody_wrote_counts_as_unwritten() -> None:
    """And one split of each token that holds something is the token."""
    final, partial = empty(2, 1, np.uint16), empty(4, 1)
    for row in (0, 1, 2):
        put(partial, row, 2.0, 0.5)
    merge_splits(final, partial, [1, 2], splits=2)
    assert final.out_written.all(axis=(1, 2)).tolist() == [True, False]
    assert final.lse is not None
    assert final.lse[0, 0] == np.float32(0.5)
    assert decoded(final.out[0], Dtype.BF16, "gfx950").tolist() == [[2.0] * LATENT_DIM]


def test_where_no_split_holds_anything_nothing_is_merged() -> None:
    final, partial = empty(2, 1, np.uint16), empty(4, 1)
    for row in range(4):
        put(partial, row, 2.0, 0.5)
    merge_splits(final, partial, [0, -7], splits=2)
    assert not final.out_written.any()

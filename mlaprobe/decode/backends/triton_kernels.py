"""Triton kernels: decode with the KV tokens of a request cut into splits, then the merge.

Everything that depends on data is read on the device: a captured graph stays right when lengths
and pages change in place. Only the number of splits is fixed by the launch.
"""

from __future__ import annotations

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)
LN_2 = tl.constexpr(0.6931471805599453)
HEAD_DIM = tl.constexpr(576)
LATENT_DIM = tl.constexpr(512)
ROPE_DIM = tl.constexpr(64)


@triton.jit
def _kv_range(
    kv_indptr,
    kv_last_page_lens,
    request,
    split,
    splits,
    chunk,
    page_size: tl.constexpr,
    block_n: tl.constexpr,
):
    """Where a request's pages begin, how many tokens it has, and the tokens of a split.

    A split has ``chunk`` tokens, or as many as it takes to cover the request with all splits:
    lengths may have grown since the launch was planned.
    """
    first = tl.load(kv_indptr + request)
    pages = tl.load(kv_indptr + request + 1) - first
    length = (pages - 1) * page_size + tl.load(kv_last_page_lens + request)
    length = tl.where(pages > 0, length, 0)
    share = tl.cdiv(tl.cdiv(length, splits), block_n) * block_n
    share = tl.maximum(share, chunk)
    begin = split * share
    return first, length, begin, tl.minimum(begin + share, length)


@triton.jit
def _keys(
    kv, page, kv_page_indices, first, start, end, page_size: tl.constexpr, block_n: tl.constexpr
):
    """Where a tile's tokens are: pointers ``[block_n, 1]``. A token past the end of the split is
    taken for its last one, and masked later. ``page`` is the tile's, where no tile is on two.
    """
    inside = tl.minimum(tl.arange(0, block_n), end - start - 1)
    if page_size % block_n == 0:
        at = kv + (page.to(tl.int64) * page_size + start % page_size) * HEAD_DIM
        keys = at + (inside * HEAD_DIM)[:, None]
    else:
        tokens = start + inside
        pages = tl.load(kv_page_indices + first + tokens // page_size)
        slots = pages.to(tl.int64) * page_size + tokens % page_size
        keys = kv + slots[:, None] * HEAD_DIM
    return keys


@triton.jit
def _store(
    acc,
    odd,
    top,
    total,
    out,
    lse,
    place,
    live,
    kv_scale,
    halves: tl.constexpr,
    with_lse: tl.constexpr,
):
    """Writes an output and its natural log-sum-exp; rows that saw no token: zero and -inf."""
    norm = tl.where(total > 0, total, 1.0)
    factor = 1.0 / norm
    if kv_scale is not None:
        factor *= tl.load(kv_scale)
    at = out + place[:, None] * LATENT_DIM
    if halves:
        column = tl.arange(0, LATENT_DIM // 2)
        at += (column // 8 * 16 + column % 8)[None, :]
        tl.store(at + 8, (odd * factor[:, None]).to(out.dtype.element_ty), mask=live[:, None])
    else:
        at += tl.arange(0, LATENT_DIM)[None, :]
    tl.store(at, (acc * factor[:, None]).to(out.dtype.element_ty), mask=live[:, None])
    if with_lse:
        found = tl.where(total > 0, top * LN_2 + tl.log(norm), float("-inf"))
        tl.store(lse + place, found, mask=live)


@triton.jit
def _attend(
    scores,
    k_latent,
    top,
    total,
    acc,
    odd,
    start,
    seen,
    all_see,
    halves: tl.constexpr,
    value_type: tl.constexpr,
):
    """One step of the softmax over tiles: the largest score, sum and output so far.

    With ``halves``, ``acc`` has every other eight columns and ``odd`` those between. An fp8 tile is
    read from shared memory sixteen values at a time; written back as two halves of 16-bit values,
    it meets no bank twice.
    """
    block_n: tl.constexpr = scores.shape[1]
    # Under a condition, this also hides from Triton that one product feeds the other: it would
    # have every warp group compute all scores.
    if start + block_n > all_see:
        tokens = start + tl.arange(0, block_n)
        scores = tl.where(tokens[None, :] < seen[:, None], scores, float("-inf"))
    above = tl.maximum(top, tl.max(scores, 1))
    base = tl.where(above == float("-inf"), 0.0, above)
    weights = tl.exp2(scores - base[:, None])
    decay = tl.exp2(top - base)
    total = total * decay + tl.sum(weights, 1)
    acc, odd = _weigh(weights.to(value_type), k_latent.to(value_type), acc, odd, decay, halves)
    return above, total, acc, odd


@triton.jit
def _weigh(weights, values, acc, odd, decay, halves: tl.constexpr):
    """Adds the weighted values of a tile to the output so far, which decays."""
    block_n: tl.constexpr = values.shape[0]
    acc = acc * decay[:, None]
    if halves:
        odd = odd * decay[:, None]
        eights = tl.permute(tl.reshape(values, (block_n, LATENT_DIM // 16, 2, 8)), (0, 1, 3, 2))
        first, second = tl.split(eights)
        acc = tl.dot(weights, tl.reshape(first, (block_n, LATENT_DIM // 2)), acc)
        odd = tl.dot(weights, tl.reshape(second, (block_n, LATENT_DIM // 2)), odd)
    else:
        acc = tl.dot(weights, values, acc)
    return acc, odd


@triton.jit
def _values(rows, live):
    """The latent and the rope values of rows of a query or of the cache, by pointers ``[rows, 1]``;
    zero for a row that is not ``live``."""
    latent = tl.arange(0, LATENT_DIM)
    rope = tl.arange(0, ROPE_DIM) + LATENT_DIM
    if live is None:
        return tl.load(rows + latent[None, :]), tl.load(rows + rope[None, :])
    mask = live[:, None]
    found = tl.load(rows + latent[None, :], mask=mask, other=0.0)
    return found, tl.load(rows + rope[None, :], mask=mask, other=0.0)


@triton.jit
def _scores(q_latent, q_rope, k_latent, k_rope, scale, score_type: tl.constexpr):
    """The scores of a tile, for a softmax to the base 2."""
    # Scaled one by one: as one sum, they would be two products that feed each other.
    scores = tl.dot(q_latent, k_latent.to(score_type).T) * scale
    scores += tl.dot(q_rope, k_rope.to(score_type).T) * scale
    return scores


@triton.jit
def _store_nothing(out, lse, place, live, splits, block_m: tl.constexpr, with_lse: tl.constexpr):
    """Writes the result of a split without tokens, whose output no merge looks at."""
    if with_lse:
        tl.store(lse + place, tl.full((block_m,), float("-inf"), tl.float32), mask=live)
    if splits == 1:
        at = out + place[:, None] * LATENT_DIM + tl.arange(0, LATENT_DIM)[None, :]
        tl.store(at, tl.zeros((block_m, LATENT_DIM), out.dtype.element_ty), mask=live[:, None])


# Longer than a function should be: a kernel is one function with a parameter for each value that
# it is launched with, and its two loops carry the same state, which the helpers take and return.
# What depends on the number of heads is outside the loop: one kernel for all of them.
@triton.jit(do_not_specialize=("splits", "chunk", "rows_in_all", "heads", "fold"))
def decode_splits(
    q,
    kv,
    out,
    lse,
    qo_indptr,
    kv_indptr,
    kv_page_indices,
    kv_last_page_lens,
    q_scale,
    kv_scale,
    latent_tiles,
    rope_tiles,
    sm_scale,
    splits,
    chunk,
    rows_in_all,
    heads,
    fold,
    page_size: tl.constexpr,
    causal: tl.constexpr,
    with_lse: tl.constexpr,
    block_m: tl.constexpr,
    block_n: tl.constexpr,
    stages: tl.constexpr,
    early: tl.constexpr,
    halves: tl.constexpr,
    score_type: tl.constexpr,
    value_type: tl.constexpr,
):
    """Attention of one tile of query rows to one split of a request's KV tokens.

    The grid is (tiles, splits, batch * fold): as AITER folds, a request of a folded batch is
    ``fold`` requests of ``heads / fold`` heads, which each read its KV tokens. A row is one head
    of one query token; heads are innermost. Each split writes its own output, ``rows_in_all``
    rows after the split before it; with one split that is the output itself.

    Args:
        q: ``[tokens, heads, 576]``.
        kv: ``[num_pages, page_size, 1, 576]``.
        out: ``[splits, tokens, heads, 512]``, of float32 or of the output's type.
        lse: ``[splits, tokens, heads]`` float32.
        latent_tiles, rope_tiles: descriptors of ``kv`` as ``[tokens, 576]``, for tiles of
            ``block_n`` tokens of 512 and 64 values on one page; ``None``: loaded through pointers.
        chunk: KV tokens per split, at least; a multiple of ``block_n``.
        stages: of Triton's pipeline.
        early: whether the next tile is loaded before the softmax of this one, or after.
        halves: see ``_attend``.
        score_type, value_type: in which query and key, weight and value are multiplied.
    """
    request = tl.program_id(2) // fold
    group = heads // fold
    row = tl.program_id(0) * block_m + tl.arange(0, block_m)
    q_begin = tl.load(qo_indptr + request)
    qlen = tl.load(qo_indptr + request + 1) - q_begin
    live = row // group < qlen
    # Offsets in a request fit 32 bits, those of requests and splits do not.
    place = row // group * heads + (tl.program_id(2) % fold) * group + row % group
    q += q_begin.to(tl.int64) * heads * HEAD_DIM
    partial = tl.program_id(1).to(tl.int64) * rows_in_all + q_begin * heads
    out += partial * LATENT_DIM
    if with_lse:
        lse += partial
    first, length, begin, end = _kv_range(
        kv_indptr, kv_last_page_lens, request, tl.program_id(1), splits, chunk, page_size, block_n
    )
    if begin >= end:
        _store_nothing(out, lse, place, live, splits, block_m, with_lse)
        return
    top = tl.full((block_m,), float("-inf"), tl.float32)
    total = tl.zeros((block_m,), tl.float32)
    width: tl.constexpr = LATENT_DIM // 2 if halves else LATENT_DIM
    acc = tl.zeros((block_m, width), tl.float32)
    odd = tl.zeros((block_m, width), tl.float32) if halves else 0.0
    # Tokens that a row sees, and that all rows of the tile see.
    seen = length + tl.zeros((block_m,), tl.int32)
    all_see = length
    if causal:
        seen += row // group - qlen + 1
        all_see += tl.program_id(0) * block_m // group - qlen + 1
    q_latent, q_rope = _values(q + place[:, None] * HEAD_DIM, live)
    q_latent, q_rope = q_latent.to(score_type), q_rope.to(score_type)
    scale = sm_scale * LOG2_E
    if q_scale is not None:
        scale *= tl.load(q_scale)
    if kv_scale is not None:
        scale *= tl.load(kv_scale)
    # Where a tile has one page, the page table is read one tile ahead, so that a tile's load waits
    # for no other load. Otherwise Triton's pipeline does so, which takes more stages.
    whole = begin
    if latent_tiles is not None:
        # The copy engine cannot leave out what is past the end: whole tiles only.
        whole += tl.maximum(tl.minimum(all_see, end) - begin, 0) // block_n * block_n
        page = tl.load(kv_page_indices + first + begin // page_size)
        for start in tl.range(begin, whole, block_n, num_stages=stages):
            slot = page * page_size + start % page_size
            ahead = tl.minimum(start + block_n, end - 1) // page_size
            page = tl.load(kv_page_indices + first + ahead)
            k_latent = latent_tiles.load([slot, 0])
            k_rope = rope_tiles.load([slot, LATENT_DIM])
            scores = _scores(q_latent, q_rope, k_latent, k_rope, scale, score_type)
            # Always true, as below.
            if start < end:
                top, total, acc, odd = _attend(
                    scores, k_latent, top, total, acc, odd, start, seen, all_see, halves, value_type
                )
    rest_stages: tl.constexpr = stages if latent_tiles is None else 1
    page = tl.load(kv_page_indices + first + tl.minimum(whole, end - 1) // page_size)
    for start in tl.range(whole, end, block_n, num_stages=rest_stages):
        keys = _keys(kv, page, kv_page_indices, first, start, end, page_size, block_n)
        if page_size % block_n == 0:
            ahead = tl.minimum(start + block_n, end - 1) // page_size
            page = tl.load(kv_page_indices + first + ahead)
        k_latent, k_rope = _values(keys, None)
        scores = _scores(q_latent, q_rope, k_latent, k_rope, scale, score_type)
        if early:
            # Always true. Triton's pipeline puts what is under a condition last, and so loads the
            # next tile before the softmax; two tiles are all that shared memory has room for.
            if start < end:
                top, total, acc, odd = _attend(
                    scores, k_latent, top, total, acc, odd, start, seen, all_see, halves, value_type
                )
        else:
            top, total, acc, odd = _attend(
                scores, k_latent, top, total, acc, odd, start, seen, all_see, halves, value_type
            )
    _store(acc, odd, top, total, out, lse, place, live, kv_scale, halves, with_lse)


@triton.jit(do_not_specialize=("splits", "rows_in_all"))
def merge_splits(
    partial_out,
    partial_lse,
    out,
    lse,
    splits,
    rows_in_all,
    with_lse: tl.constexpr,
    block_s: tl.constexpr,
    block_d: tl.constexpr,
):
    """Adds up the splits of one row, weighted by their log-sum-exp.

    The grid is (rows, 512 / block_d). What a split without tokens holds is not looked at.

    Args:
        partial_out, partial_lse: ``[splits, rows, 512]`` and ``[splits, rows]`` float32.
        out, lse: ``[rows, 512]`` and ``[rows]`` float32.
        block_s: the least power of two that is not less than ``splits``.
    """
    row = tl.program_id(0).to(tl.int64)
    split = tl.arange(0, block_s)
    at = split.to(tl.int64) * rows_in_all + row
    sums = tl.load(partial_lse + at, mask=split < splits, other=float("-inf"))
    top = tl.max(sums, 0)
    base = tl.where(top == float("-inf"), 0.0, top)
    weights = tl.exp(sums - base)
    total = tl.sum(weights, 0)
    norm = tl.where(total > 0, total, 1.0)
    column = tl.program_id(1) * block_d + tl.arange(0, block_d)
    at_values = partial_out + at[:, None] * LATENT_DIM + column[None, :]
    values = tl.load(at_values, mask=(weights > 0)[:, None], other=0.0)
    found = tl.sum(values.to(tl.float32) * (weights / norm)[:, None], 0)
    tl.store(out + row * LATENT_DIM + column, found.to(out.dtype.element_ty))
    if with_lse:
        found = tl.where(total > 0, base + tl.log(norm), float("-inf"))
        tl.store(lse + row, found, mask=tl.program_id(1) == 0)

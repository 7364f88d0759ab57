"""The oracle, attention in float32 in one piece, without splits, folds, padding or pages; and how
far a result is from it."""

from __future__ import annotations

from collections.abc import Iterator

from mlaprobe.core.accuracy import Error, Tolerance, ratio
from mlaprobe.decode.interface import KvLayout
from mlaprobe.decode.tensors import HEAD_DIM, LATENT_DIM, torch
from mlaprobe.padding.tensors import Tensor


def reference(
    q: Tensor,
    kv: Tensor,
    layout: KvLayout,
    *,
    sm_scale: float,
    q_scale: Tensor | None = None,
    kv_scale: Tensor | None = None,
    causal: bool = True,
) -> tuple[Tensor, Tensor]:
    """What a decode has to give, in float32: ``o`` ``[tokens, heads, 512]`` and the natural
    log-sum-exp ``[tokens, heads]``.

    Args:
        q: ``[tokens, heads, 576]``, of any float dtype.
        kv: ``[num_pages, page_size, 1, 576]``, of any float dtype.
        q_scale: ``[1]``, and ``kv_scale``: what the values are to be multiplied with.
        causal: whether row i of n sees all but the last n - i - 1 KV tokens of its request.
    """
    t = torch()
    rows = layout.max_seqlen_q
    o = t.empty((q.shape[0], q.shape[1], LATENT_DIM), dtype=t.float32, device=q.device)
    lse = t.empty(q.shape[:2], dtype=t.float32, device=q.device)
    for request, keys in enumerate(_keys(kv, layout)):
        own = slice(request * rows, (request + 1) * rows)
        query = q[own].float()
        if kv_scale is not None:
            keys = keys * kv_scale
        if q_scale is not None:
            query = query * q_scale
        scores = (query.flatten(0, 1) @ keys.T).unflatten(0, query.shape[:2]) * sm_scale
        if causal and rows > 1:
            seen = t.ones((rows, len(keys)), dtype=t.bool, device=q.device).tril(len(keys) - rows)
            scores = scores.masked_fill(~seen[:, None, :], float("-inf"))
        lse[own] = scores.logsumexp(-1)
        weights = scores.softmax(-1).flatten(0, 1)
        o[own] = (weights @ keys[:, :LATENT_DIM]).unflatten(0, query.shape[:2])
    return o, lse


def _keys(kv: Tensor, layout: KvLayout) -> Iterator[Tensor]:
    """The KV tokens of each request, ``[kv_len, 576]`` in float32."""
    indices, begin = layout.kv_page_indices.long(), 0
    for length in layout.kv_lens:
        end = begin - (-length // layout.page_size)
        yield kv[indices[begin:end]].reshape(-1, HEAD_DIM)[:length].float()
        begin = end


def verify(
    o: Tensor,
    want: Tensor,
    tolerance: Tolerance,
    *,
    lse: Tensor | None = None,
    want_lse: Tensor | None = None,
) -> Error:
    """Compares a result with the reference. Waits for the device.

    Args:
        o: ``[tokens, heads, 512]``; ``want`` has the same shape, in float32.
        lse: ``[tokens, heads]``, where there is one; so is ``want_lse``.
    """
    got = o.float()
    finite = got.isfinite()
    difference = (got - want).abs().where(finite, 0)
    near = difference <= tolerance.value * (1 + want.abs())
    kept = got.where(finite, 0)
    non_finite = int((~finite).sum())
    lse_max = None
    if lse is not None and want_lse is not None:
        known = lse.isfinite()
        non_finite += int((~known).sum())
        lse_max = float((lse - want_lse).abs().where(known, 0).max())
    return Error(
        max_abs=float(difference.max()),
        rmse=ratio(float(difference.square().mean().sqrt()), float(want.square().mean().sqrt())),
        cosine=_cosine(kept, want),
        beyond=int((~(near & finite)).sum()),
        values=got.numel(),
        non_finite=non_finite,
        lse_max_abs=lse_max,
        tolerance=tolerance,
    )


def _cosine(a: Tensor, b: Tensor) -> float:
    # In float64: in float32 the sums of millions of squares lose what is to be seen.
    a, b = a.flatten().double(), b.flatten().double()
    return ratio(float(torch().dot(a, b)), float(a.norm() * b.norm()))

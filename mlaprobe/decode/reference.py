"""The oracle: attention in float32 in one piece, without splits, folds, padding or pages."""

from __future__ import annotations

from collections.abc import Iterator

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

"""Attention as it is defined, in float64: what emulated launches are compared with."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float32]


def attention(
    queries: Floats,
    keys: Floats,
    values: Floats,
    seen: npt.NDArray[np.bool_],
    scale: float,
    sink: Floats | None = None,
) -> tuple[Array, Array]:
    """The output ``[tokens, heads, width]`` and the natural log-sum-exp ``[tokens, heads]`` of one
    request, by one softmax for each token.

    Args:
        queries: ``[tokens, heads, ...]``.
        keys: ``[KV tokens, KV heads, ...]``; as many query heads share each KV head.
        values: ``[KV tokens, KV heads, width]``.
        seen: ``[tokens, KV tokens]``, which of these each query token sees.
        scale: what the products of query and key are multiplied with.
        sink: ``[heads]``, the logit of one more token, which has no value; ``None``: there is none.
    """
    tokens, heads, _ = queries.shape
    groups, width = values.shape[1:]
    each = queries.astype(np.float64).reshape(tokens, groups, heads // groups, -1)
    by_head = keys.astype(np.float64).transpose(1, 2, 0)
    held = values.astype(np.float64).transpose(1, 0, 2)
    extra = np.full(heads, -np.inf) if sink is None else sink.astype(np.float64)
    extra = extra.reshape(groups, heads // groups, 1)
    o, lse = np.zeros((tokens, heads, width)), np.full((tokens, heads), -np.inf)
    for token in range(tokens):
        own = seen[token]
        if not own.any():
            continue
        scores = (each[token] @ by_head[:, :, own]) * scale
        highest = np.maximum(scores.max(-1, keepdims=True), extra)
        weights = np.exp(scores - highest)
        total = weights.sum(-1, keepdims=True) + np.exp(extra - highest)
        o[token] = (weights @ held[:, own] / total).reshape(heads, width)
        lse[token] = (highest + np.log(total)).reshape(heads)
    return o, lse

"""Pads the query of a batch as a plan says, and takes the padding away again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from mlaprobe.emulation.arrays import Array
from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.batches.holding import Tensors
from mlaprobe.emulation.batches.values import Values
from mlaprobe.padding.tensors import Strategy, check_target

T = TypeVar("T", bound=Tensors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Padding:
    """How a query is padded."""

    heads: int
    """Heads to launch with."""
    qlen: int
    """Query tokens per request to launch with."""
    strategy: Strategy = Strategy.TILE
    """What padding heads hold."""


def pad(values: T, padding: Padding) -> T:
    """The values of the batch that is launched: padding tokens are zero and in front of a request's
    own, because a kernel's causal windows end with the last token.

    Raises:
        UsageError: so many heads cannot be padded to that count in this way.
    """
    batch = values.batch
    if _is_none(batch, padding):
        return values
    assert isinstance(values, Values)
    check_target(batch.num_heads, padding.heads, padding.strategy)
    q = values.q
    if padding.heads != batch.num_heads:
        q = q[:, _sources(batch.num_heads, padding)]
        if padding.strategy is Strategy.ZERO:
            q[:, batch.num_heads :] = 0
    if padding.qlen != batch.qlen:
        rows = np.zeros((batch.requests, padding.qlen, *q.shape[1:]), q.dtype)
        rows[:, padding.qlen - batch.qlen :] = q.reshape(batch.requests, batch.qlen, *q.shape[1:])
        q = rows.reshape(-1, *q.shape[1:])
    launched = replace(batch, num_heads=padding.heads, qlen=padding.qlen)
    return replace(values, batch=launched, q=q, vectors=launched.vectors)


def unpad(rows: Array, values: Tensors, padding: Padding) -> Array:
    """Of ``[tokens, heads, ...]`` as launched, the real tokens and heads of the unpadded values."""
    batch = values.batch
    if _is_none(batch, padding):
        return rows
    own = rows.reshape(batch.requests, padding.qlen, *rows.shape[1:])
    own = own[:, padding.qlen - batch.qlen :].reshape(-1, *rows.shape[1:])
    if padding.strategy is Strategy.REPEAT:
        return own[:, :: padding.heads // batch.num_heads]
    return own[:, : batch.num_heads]


def _is_none(batch: Batch, padding: Padding) -> bool:
    """Whether a batch is launched as it is."""
    return (padding.heads, padding.qlen) == (batch.num_heads, batch.qlen)


def _sources(heads: int, padding: Padding) -> Array:
    """The real head that each launched one is a copy of."""
    places = np.arange(padding.heads)
    if padding.strategy is Strategy.REPEAT:
        return places // (padding.heads // heads)
    return places % heads

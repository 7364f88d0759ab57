"""Pads query heads and query rows, and takes the padding away again.

Heads are the second to last dimension of q (``[tokens, heads, 576]``) and o
(``[tokens, heads, 512]``) and the last of the log-sum-exp (``[tokens, heads]``). No function
looks at values: shapes follow from shapes alone, so all of it can be captured in a graph, and be
compiled into one with counts that are symbols (``torch.compile(fullgraph=True, dynamic=True)``).
PyTorch is imported when the first tensor arrives.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from mlaprobe.core.enums import TextEnum
from mlaprobe.errors import UsageError

Tensor: TypeAlias = Any
"""A PyTorch tensor. PyTorch is optional, also for type checkers."""


class Strategy(TextEnum):
    """What padding heads hold. None of them influences a real head."""

    TILE = "tile"
    """Head i is head ``i % n``; works for every target."""
    REPEAT = "repeat"
    """Every head is repeated in place; the target must be a multiple of n."""
    ZERO = "zero"
    """The heads after the real ones are zero."""


def pad_heads(q: Tensor, target: int, strategy: Strategy = Strategy.TILE) -> Tensor:
    """A query with ``target`` heads, packed; the query itself where it has them already.

    Args:
        q: ``[..., heads, width]``, of any dtype and strides.

    Raises:
        UsageError: fewer heads than the query has, or no multiple of them for ``repeat``.
    """
    heads = q.shape[-2]
    if target == heads:
        return q
    check_target(heads, target, strategy)
    # Copies of bits: one-byte floats lack most operations, bytes have them all.
    source = _as_bytes(q) if q.element_size() == 1 else q
    out = source.new_empty((*q.shape[:-2], target, q.shape[-1]))
    if strategy is Strategy.REPEAT:
        out.unflatten(-2, (heads, target // heads)).copy_(source.unsqueeze(-2))
    elif strategy is Strategy.ZERO:
        out.narrow(-2, 0, heads).copy_(source)
        out.narrow(-2, heads, target - heads).zero_()
    else:
        whole, rest = target // heads, target % heads  # no divmod: heads may be symbolic
        full = out.narrow(-2, 0, whole * heads).unflatten(-2, (whole, heads))
        full.copy_(source.unsqueeze(-3))
        if rest:
            out.narrow(-2, whole * heads, rest).copy_(source.narrow(-2, 0, rest))
    return out.view(q.dtype) if source is not q else out


def unpad_heads(
    padded: Tensor, heads: int, strategy: Strategy = Strategy.TILE, *, dim: int = -2
) -> Tensor:
    """The real heads of an output or (``dim=-1``) of a log-sum-exp, as a view.

    Args:
        padded: ``[..., target, width]``, or ``[..., target]`` with ``dim=-1``.

    Raises:
        UsageError: fewer heads than the result is to have, or no multiple of them for ``repeat``.
    """
    target = padded.shape[dim]
    if target == heads:
        return padded
    check_target(heads, target, strategy)
    if strategy is not Strategy.REPEAT:
        return padded.narrow(dim, 0, heads)
    return padded.unflatten(dim, (heads, target // heads)).select(dim, 0)


def check_target(heads: int, target: int, strategy: Strategy) -> None:
    """Checks that so many heads can be padded to a target in this way.

    Raises:
        UsageError: they cannot.
    """
    if not 0 < heads <= target:
        raise UsageError(f"cannot pad {heads} heads to {target}")
    if strategy is Strategy.REPEAT and target % heads:
        raise UsageError(
            f"cannot repeat {heads} heads into {target}, which is no multiple of them",
            hint="use the strategy tile, which reaches every count",
        )


def check_heads(found: int, expected: int) -> None:
    """Checks that a tensor has the heads that a plan is for.

    Raises:
        UsageError: it has others.
    """
    if found != expected:
        raise UsageError(f"the plan is for a tensor of {expected} heads, and this one has {found}")


def pad_rows(q: Tensor, qlen: int, kernel_qlen: int) -> Tensor:
    """Queries of ``kernel_qlen`` rows per request from those of ``qlen``: zero rows go in front,
    because a kernel's causal windows end with the last row.

    Args:
        q: ``[requests * qlen, ...]``.

    Raises:
        UsageError: a kernel of fewer rows, or rows that make no whole requests.
    """
    if qlen == kernel_qlen:
        return q
    requests = _requests(q, qlen, kernel_qlen, qlen)
    source = _as_bytes(q) if q.element_size() == 1 else q
    out = source.new_empty((requests, kernel_qlen, *q.shape[1:]))
    out.narrow(1, 0, kernel_qlen - qlen).zero_()
    out.narrow(1, kernel_qlen - qlen, qlen).copy_(source.unflatten(0, (requests, qlen)))
    flat = out.flatten(0, 1)
    return flat.view(q.dtype) if source is not q else flat


def unpad_rows(x: Tensor, qlen: int, kernel_qlen: int) -> Tensor:
    """The real rows of an output or log-sum-exp, packed.

    Args:
        x: ``[requests * kernel_qlen, ...]``.

    Raises:
        UsageError: a kernel of fewer rows, or rows that make no whole requests.
    """
    if qlen == kernel_qlen:
        return x
    requests = _requests(x, qlen, kernel_qlen, kernel_qlen)
    source = _as_bytes(x) if x.element_size() == 1 else x
    kept = source.unflatten(0, (requests, kernel_qlen)).narrow(1, kernel_qlen - qlen, qlen)
    flat = kept.flatten(0, 1).contiguous()
    return flat.view(x.dtype) if source is not x else flat


def query_indptr(requests: int, qlen: int, *, device: Any = None, dtype: Any = None) -> Tensor:
    """Where each request's rows begin and the last ends: ``[0, qlen, 2 * qlen, ...]``, of
    ``requests + 1`` elements, of 32 bits unless a dtype is given."""
    torch = _torch()
    return torch.arange(requests + 1, dtype=dtype or torch.int32, device=device) * qlen


def _as_bytes(x: Tensor) -> Tensor:
    return x.view(_torch().uint8)


def _torch() -> Any:
    import torch  # a statement: what a compiler of graphs follows

    return torch


def _requests(x: Tensor, qlen: int, kernel_qlen: int, rows: int) -> int:
    if not 0 < qlen <= kernel_qlen:
        raise UsageError(f"cannot pad {qlen} query rows to {kernel_qlen}")
    found: int = x.shape[0]
    if found % rows:
        raise UsageError(f"{found} rows are no whole requests of {rows}")
    return found // rows

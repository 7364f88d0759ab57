"""Padding of queries and unpadding of results, by the names that vLLM's back end uses."""

from __future__ import annotations

from mlaprobe.core.inputs import whole
from mlaprobe.padding import tensors as padding
from mlaprobe.padding.tensors import Strategy, Tensor
from mlaprobe.rulefiles.policy import policy

RULES = policy()
"""Read once and here: nothing that is given a tensor reads a file, and it can be compiled."""


def get_actual_mla_num_heads(num_heads: int) -> int:
    """The head count launched without any padding to a native one: the next multiple of 16."""
    return RULES.unpadded(whole(num_heads, "num_heads"))


def _strategy(num_heads: int, target: int) -> Strategy:
    """vLLM repeats heads in place where the target is a multiple of them, and tiles otherwise."""
    return Strategy.TILE if target % num_heads else Strategy.REPEAT


def _target(num_heads: int, padded_num_heads: int | None) -> int:
    if padded_num_heads is None:
        return get_actual_mla_num_heads(num_heads)
    return padded_num_heads


def get_mla_padded_q(num_heads: int, q: Tensor, padded_num_heads: int | None = None) -> Tensor:
    """The query with the resolved head count: ``[tokens, num_heads, 576]`` to
    ``[tokens, padded_num_heads, 576]``, packed; itself where nothing is padded.

    Args:
        padded_num_heads: the result of ``resolve_padded_mla_num_heads``; by default that of
            the unpadded rule.
    """
    padding.check_heads(q.shape[-2], num_heads)
    target = _target(num_heads, padded_num_heads)
    return padding.pad_heads(q, target, _strategy(num_heads, target))


def get_mla_unpadded_o(num_heads: int, o: Tensor, padded_num_heads: int | None = None) -> Tensor:
    """The output of the real heads, as a view: the reverse of ``get_mla_padded_q``, which must
    have been given the same counts."""
    target = _target(num_heads, padded_num_heads)
    if target == num_heads:
        return o
    padding.check_heads(o.shape[-2], target)
    return padding.unpad_heads(o, num_heads, _strategy(num_heads, target))


def get_mla_unpadded_lse(
    num_heads: int, lse: Tensor, padded_num_heads: int | None = None
) -> Tensor:
    """The log-sum-exp of the real heads, as a view: ``[tokens, padded_num_heads]`` to
    ``[tokens, num_heads]``."""
    target = _target(num_heads, padded_num_heads)
    if target == num_heads:
        return lse
    padding.check_heads(lse.shape[-1], target)
    return padding.unpad_heads(lse, num_heads, _strategy(num_heads, target), dim=-1)


def pad_uniform_q_to_kernel_qlen(q: Tensor, logical_qlen: int, kernel_qlen: int) -> Tensor:
    """Queries of the kernel's length: zero rows go in front of each request's. The caller widens
    ``qo_indptr`` and unpads output and log-sum-exp with ``unpad_uniform_rows``."""
    return padding.pad_rows(q, logical_qlen, kernel_qlen)


def unpad_uniform_rows(x: Tensor, logical_qlen: int, kernel_qlen: int) -> Tensor:
    """The real rows of an output or log-sum-exp, packed."""
    return padding.unpad_rows(x, logical_qlen, kernel_qlen)


def qo_indptr_for_uniform_qlen(
    num_reqs: int, qlen: int, device: object = None, dtype: object = None
) -> Tensor:
    """Where each request's rows begin and the last ends, ``num_reqs + 1`` elements."""
    return padding.query_indptr(num_reqs, qlen, device=device, dtype=dtype)

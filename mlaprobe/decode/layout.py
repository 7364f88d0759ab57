"""Checks where the requests of a batch are, once, before anything is launched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from mlaprobe.decode.interface import KvLayout
from mlaprobe.decode.tensors import torch
from mlaprobe.errors import UsageError
from mlaprobe.padding.tensors import Tensor, query_indptr


def kv_layout(
    *,
    qo_indptr: Tensor,
    kv_indptr: Tensor,
    kv_page_indices: Tensor,
    kv_last_page_lens: Tensor,
    page_size: int,
    num_pages: int,
    check_pages: bool = False,
) -> KvLayout:
    """A checked layout. Waits for the device once; see ``KvLayout`` for shapes and units.

    Args:
        check_pages: whether to look at every page index as well, and not only at how many
            there are.

    Raises:
        UsageError: a tensor is not what it has to be; the message names it.
    """
    _positive("page_size", page_size)
    _positive("num_pages", num_pages)
    tensors = {
        "qo_indptr": qo_indptr,
        "kv_indptr": kv_indptr,
        "kv_page_indices": kv_page_indices,
        "kv_last_page_lens": kv_last_page_lens,
    }
    for name, tensor in tensors.items():
        check_vector(name, tensor, qo_indptr.device)
    starts = _starts("qo_indptr", qo_indptr)
    pages = _starts("kv_indptr", kv_indptr)
    last: list[int] = kv_last_page_lens.tolist()
    _check_sizes(starts, pages, last, kv_page_indices.shape[0])
    qlen = _uniform(starts)
    lens = tuple(_kv_lens(last, pages, page_size, qlen))
    if check_pages:
        check_page_indices(kv_page_indices, pages[-1], num_pages)
    return KvLayout(
        **tensors, max_seqlen_q=qlen, page_size=page_size, num_pages=num_pages, kv_lens=lens
    )


def with_rows(layout: KvLayout, rows: int) -> KvLayout:
    """The layout for queries that are padded to so many rows per request, in front.

    Raises:
        UsageError: a request has fewer KV tokens than that.
    """
    if rows == layout.max_seqlen_q:
        return layout
    for request, length in enumerate(layout.kv_lens):
        if length < rows:
            raise UsageError(
                f"request {request} has {length} KV tokens, and the plan pads its queries to "
                f"{rows} rows",
                hint="plan without pad_qlen",
            )
    indptr = query_indptr(layout.batch, rows, device=layout.device)
    return replace(layout, qo_indptr=indptr, max_seqlen_q=rows)


def check_page_indices(indices: Tensor, used: int, num_pages: int) -> None:
    """Checks that the pages that requests use are in the cache. Waits for the device.

    Raises:
        UsageError: one is not; the message names the first.
    """
    bad = ((indices[:used] < 0) | (indices[:used] >= num_pages)).nonzero()
    if len(bad):
        at = int(bad[0])
        raise UsageError(
            f"kv_page_indices[{at}] is {int(indices[at])}, and the cache has pages 0 to "
            f"{num_pages - 1} ({len(bad)} of {used} are out of range)"
        )


def check_vector(name: str, tensor: Any, device: Any) -> None:
    """Checks that something is a contiguous vector of 32-bit integers on a device.

    Raises:
        UsageError: it is not.
    """
    if not isinstance(tensor, torch().Tensor):
        raise UsageError(f"{name} must be a tensor, not {type(tensor).__name__}")
    if tensor.dtype is not torch().int32:
        raise UsageError(f"{name} must be int32, not {str(tensor.dtype).removeprefix('torch.')}")
    if tensor.dim() != 1 or not tensor.is_contiguous():
        raise UsageError(f"{name} must be a contiguous vector, not of shape {list(tensor.shape)}")
    if tensor.device != device:
        raise UsageError(f"{name} is on {tensor.device}, and qo_indptr on {device}")


def _positive(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{name} must be a positive whole number, got {value!r}")


def _starts(name: str, indptr: Tensor) -> list[int]:
    found: list[int] = indptr.tolist()
    if len(found) < 2:
        raise UsageError(f"{name} describes no request: it has {len(found)} elements")
    if found[0] != 0:
        raise UsageError(f"{name} must start at 0, not at {found[0]}")
    for request, (begin, end) in enumerate(pairwise(found)):
        if end < begin:
            raise UsageError(f"{name} descends at request {request}: from {begin} to {end}")
        if end == begin:
            raise UsageError(
                f"request {request} is empty: {name}[{request}] and {name}[{request + 1}] are "
                f"both {begin}",
                hint="leave empty requests out of the batch",
            )
    return found


def _check_sizes(starts: list[int], pages: list[int], last: list[int], indices: int) -> None:
    if not len(starts) == len(pages) == len(last) + 1:
        raise UsageError(
            f"qo_indptr has {len(starts)} elements, kv_indptr {len(pages)} and kv_last_page_lens "
            f"{len(last)}: a batch of n has n + 1, n + 1 and n"
        )
    if pages[-1] > indices:
        raise UsageError(f"kv_indptr ends at {pages[-1]}, and kv_page_indices has {indices}")


def _uniform(starts: list[int]) -> int:
    qlen = starts[1]
    for request, (begin, end) in enumerate(pairwise(starts)):
        if end - begin != qlen:
            raise UsageError(
                f"request {request} has {end - begin} query rows, and request 0 has {qlen}: "
                "every request of a batch must have as many",
                hint="pad the shorter ones, or run them as a batch of their own",
            )
    return qlen


def _kv_lens(last: list[int], pages: list[int], page_size: int, qlen: int) -> Iterator[int]:
    """The KV tokens of each request."""
    for request, (tokens, (begin, end)) in enumerate(zip(last, pairwise(pages), strict=True)):
        if not 1 <= tokens <= page_size:
            raise UsageError(
                f"kv_last_page_lens[{request}] is {tokens}: a page holds 1 to {page_size} tokens"
            )
        length = (end - begin - 1) * page_size + tokens
        if length < qlen:
            raise UsageError(
                f"request {request} has {length} KV tokens and {qlen} query rows: its KV tokens "
                "include those of its queries",
            )
        yield length

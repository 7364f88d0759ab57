"""What the tensors of a batch have in common, however its operation lays them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from mlaprobe.core.inputs import check_kv_lens
from mlaprobe.core.shape import Dtype
from mlaprobe.emulation.batches.attention import Array, Floats, attention
from mlaprobe.emulation.batches.batch import Batch, IndexVectors
from mlaprobe.errors import UsageError

HIDDEN = 200.0
"""What no request may see: every fp8 can hold it, and it shows in a result."""


class Stored(NamedTuple):
    """A tensor as it is stored."""

    array: Array
    """bf16 as uint16, fp8 as uint8."""
    dtype: str
    """Of its elements, by mlaprobe's name."""
    shape: tuple[int, ...] | None = None
    """Where it is another than the array's, which has only some pages of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Pages that lie far from each other in a cache that has memory for these only."""

    role: str
    """The cache, by what it means."""
    places: npt.NDArray[np.int32]
    """The number of each page in the cache."""
    num_pages: int
    """Pages of the cache."""
    page_bytes: int


def places_of(batch: Batch, used: int, spare: int, page_bytes: int) -> npt.NDArray[np.int32]:
    """The numbers of the pages that have memory, ascending, in a cache of as many bytes as the
    batch says; in one of ``spare`` pages more than are used where it says none.

    Raises:
        UsageError: the cache cannot hold the pages.
    """
    whole = batch.kv_cache_bytes // page_bytes
    if not whole:
        return np.arange(used + spare, dtype=np.int32)
    if not used <= whole < 1 << 31:
        raise UsageError(
            f"a KV cache of {batch.kv_cache_bytes} bytes has {whole} pages, and {used} are used",
            hint="a page number has 31 bits",
        )
    places: npt.NDArray[np.int32] = np.linspace(0, whole - 1, used).astype(np.int32)
    return places


def spread_over(
    places: npt.NDArray[np.int32], num_pages: int, page_bytes: Mapping[str, int]
) -> tuple[Spread, ...]:
    """Caches by what they mean, with the bytes of a page; none where all pages have memory."""
    if len(places) == num_pages:
        return ()
    return tuple(
        Spread(role=role, places=places, num_pages=num_pages, page_bytes=size)
        for role, size in page_bytes.items()
    )


class Tensors(Protocol):
    """The tensors of a batch."""

    @property
    def batch(self) -> Batch:
        """The batch."""

    @property
    def vectors(self) -> IndexVectors:
        """Its index vectors; pages are places in ``kv_indices``."""

    @property
    def kv_indices(self) -> npt.NDArray[np.int32]:
        """Pages of the cache, request by request."""

    @property
    def kv_places(self) -> npt.NDArray[np.int32]:
        """The pages that have memory, ascending."""

    @property
    def spread(self) -> tuple[Spread, ...]:
        """Where the pages of caches are that have memory for some only."""

    def stored(self) -> Mapping[str, Stored | None]:
        """What the caller passes besides index vectors, by what it means."""

    def reference(self) -> tuple[Floats, Floats]:
        """What a launch has to give: the output ``[tokens, heads, width]`` and the natural
        log-sum-exp ``[tokens, heads]``."""


def rows_of(tensors: Tensors, request: int) -> npt.NDArray[np.intp]:
    """Which of the pages that have memory a request reads, in order."""
    first, behind = tensors.vectors.kv_indptr[request : request + 2]
    return np.searchsorted(tensors.kv_places, tensors.kv_indices[first:behind])


def check_lens(batch: Batch) -> None:
    """Checks that the requests of a batch have as many KV tokens as query tokens.

    Raises:
        UsageError: one has fewer, which include them.
    """
    lens = batch.global_lens if batch.world > 1 else batch.kv_lens
    if not batch.qlens:
        check_kv_lens(lens, batch.qlen)
    for length, qlen in zip(lens, batch.qlens, strict=bool(batch.qlens)):
        check_kv_lens((length,), qlen)


def hide(kv: Floats, order: npt.NDArray[np.intp], vectors: IndexVectors) -> None:
    """Overwrites what no request may look at of pages ``[pages, page_size, ...]``, which requests
    have in this order."""
    ends = vectors.kv_indptr[1:].tolist()
    kv[order[ends[-1] :]] = HIDDEN
    for end, tokens in zip(ends, vectors.last_page.tolist(), strict=True):
        kv[order[end - 1], tokens:] = HIDDEN


def factor(dtype: Dtype, scale: float) -> float:
    """What values of a dtype are multiplied with."""
    return scale if dtype is Dtype.FP8 else 1.0


def scale_of(dtype: Dtype, scale: float) -> Stored | None:
    """The tensor that says so; ``None`` for a dtype that has none."""
    return Stored(np.array([scale], np.float32), "fp32") if dtype is Dtype.FP8 else None


def attention_of(
    batch: Batch,
    queries: Floats,
    held: Callable[[int], tuple[Floats, Floats]],
    sink: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Attention of every request; ``held`` gives its keys and values."""
    o = np.zeros((batch.tokens, batch.num_heads, batch.value_dim), np.float32)
    lse = np.zeros((batch.tokens, batch.num_heads), np.float32)
    starts = batch.vectors.qo_indptr
    for request in range(batch.requests):
        own = slice(starts[request], starts[request + 1])
        keys, values = held(request)
        seen = batch.visible(request)
        o[own], lse[own] = attention(queries[own], keys, values, seen, batch.sm_scale, sink)
    return o, lse

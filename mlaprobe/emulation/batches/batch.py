"""A batch to run on the emulator: its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mlaprobe.core.enums import Layout
from mlaprobe.core.shape import Dtype
from mlaprobe.emulation.batches.formats import HEAD_DIM, WIDTHS


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexVectors:
    """Where the parts of a batch are, as planner and kernels are told of it."""

    qo_indptr: npt.NDArray[np.int32]
    """``[requests + 1]``: where each request's query tokens begin and the last's end."""
    kv_indptr: npt.NDArray[np.int32]
    """``[requests + 1]``: where each request's pages begin in the list of all."""
    last_page: npt.NDArray[np.int32]
    """``[requests]``: tokens on each request's last page."""

    @classmethod
    def of(cls, kv_lens: Sequence[int], qlens: Sequence[int], page_size: int = 1) -> IndexVectors:
        """The vectors of requests with so many KV and query tokens."""
        return cls(
            qo_indptr=_starts(qlens),
            kv_indptr=_starts([-(-length // page_size) for length in kv_lens]),
            last_page=np.array(
                [(length - 1) % page_size + 1 if length else 0 for length in kv_lens], np.int32
            ),
        )


def _starts(counts: Sequence[int]) -> npt.NDArray[np.int32]:
    return np.array([0, *np.cumsum(counts)], np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch, as the caller of AITER has it; nothing is padded."""

    arch: str
    q_dtype: Dtype
    kv_dtype: Dtype
    num_heads: int
    """Query heads."""
    layout: Layout = Layout.LATENT
    """How queries, keys and values are held."""
    num_kv_heads: int = 1
    """KV heads; of use with ``Layout.HEADS``."""
    kv_lens: tuple[int, ...]
    """KV tokens of each request on this rank, its query tokens included."""
    qlen: int = 1
    """Query tokens of each request; the most of one where ``qlens`` says them."""
    qlens: tuple[int, ...] = ()
    """Query tokens of each request, where they differ."""
    page_size: int = 1
    """KV tokens per page."""
    lse: bool = False
    causal: bool = True
    sm_scale: float = HEAD_DIM**-0.5
    """What the products of query and key are multiplied with."""
    q_scale: float = 1.0
    """What an fp8 query is multiplied with."""
    kv_scale: float = 1.0
    """The same for an fp8 cache."""
    world: int = 1
    """Ranks that share a request's KV tokens round robin."""
    rank: int = 0
    """This rank: it has the tokens ``rank``, ``rank + world``, ..."""
    global_lens: tuple[int, ...] = ()
    """KV tokens of each request on all ranks; of use with ``world`` above 1."""
    kv_cache_bytes: int = 0
    """The size of a cache that the pages lie scattered over, first and last place included; 0: one
    that has a few pages more than are used."""

    @property
    def requests(self) -> int:
        """Requests."""
        return len(self.kv_lens)

    @property
    def v_scale(self) -> float:
        """What fp8 values are multiplied with, where keys have a scale of their own: the square of
        that, so that no scale stands for another."""
        return self.kv_scale**2

    @property
    def query_lens(self) -> tuple[int, ...]:
        """Query tokens of each request."""
        return self.qlens or (self.qlen,) * self.requests

    @property
    def tokens(self) -> int:
        """Query tokens of all requests."""
        return sum(self.query_lens)

    @property
    def value_dim(self) -> int:
        """Values per token of an output head."""
        return WIDTHS[self.layout][1]

    @property
    def pages(self) -> tuple[int, ...]:
        """Pages of each request."""
        return tuple(-(-length // self.page_size) for length in self.kv_lens)

    @property
    def vectors(self) -> IndexVectors:
        """Its index vectors."""
        return IndexVectors.of(self.kv_lens, self.query_lens, self.page_size)

    @property
    def page_bytes(self) -> int:
        """Bytes of a page of the cache."""
        return self.page_size * HEAD_DIM * (1 if self.kv_dtype is Dtype.FP8 else 2)

    def visible(self, request: int) -> npt.NDArray[np.bool_]:
        """``[query tokens, KV tokens]``: which of its KV tokens each query token of a request
        sees."""
        length, qlen = self.kv_lens[request], self.query_lens[request]
        if not self.causal or self.layout is Layout.PACKED:
            return np.ones((qlen, length), np.bool_)
        whole = self.global_lens[request] if self.world > 1 else length
        places = np.arange(length) * self.world + self.rank
        seen: npt.NDArray[np.bool_] = places <= whole - qlen + np.arange(qlen)[:, None]
        return seen

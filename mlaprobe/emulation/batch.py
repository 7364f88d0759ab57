"""A batch to decode on the emulator: its numbers, random values, and what attention gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mlaprobe.core.inputs import check_kv_lens
from mlaprobe.core.shape import Dtype
from mlaprobe.emulation.formats import HEAD_DIM, LATENT_DIM, decoded, encoded
from mlaprobe.errors import UsageError

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float32]
_HIDDEN = 200.0
"""What no request may see: every fp8 can hold it, and it shows in a result."""


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
    kv_lens: tuple[int, ...]
    """KV tokens of each request on this rank, its query tokens included."""
    qlen: int = 1
    """Query tokens of each request."""
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
    def tokens(self) -> int:
        """Query tokens of all requests."""
        return self.requests * self.qlen

    @property
    def pages(self) -> tuple[int, ...]:
        """Pages of each request."""
        return tuple(-(-length // self.page_size) for length in self.kv_lens)

    @property
    def vectors(self) -> IndexVectors:
        """Its index vectors."""
        return IndexVectors.of(self.kv_lens, (self.qlen,) * self.requests, self.page_size)

    @property
    def page_bytes(self) -> int:
        """Bytes of a page of the cache."""
        return self.page_size * HEAD_DIM * (1 if self.kv_dtype is Dtype.FP8 else 2)

    def visible(self, request: int, token: int) -> npt.NDArray[np.bool_]:
        """Which KV tokens of a request one of its query tokens sees."""
        length = self.kv_lens[request]
        if not self.causal:
            return np.ones(length, np.bool_)
        whole = self.global_lens[request] if self.world > 1 else length
        places = np.arange(length) * self.world + self.rank
        seen: npt.NDArray[np.bool_] = places <= whole - self.qlen + token
        return seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """The tensors of a batch, as they are stored, and index vectors."""

    batch: Batch
    q: Array
    """``[tokens, heads, 576]``: bf16 as uint16, fp8 as uint8."""
    kv: Array
    """``[pages, page_size, 1, 576]``, likewise: the pages that have memory."""
    kv_places: npt.NDArray[np.int32]
    """``[pages]``, ascending: the number of each of them in the cache."""
    num_pages: int
    """Pages of the cache."""
    vectors: IndexVectors
    """Of the batch; pages are places in ``kv_indices``."""
    kv_indices: npt.NDArray[np.int32]
    """Pages of the cache, request by request."""

    @classmethod
    def random(cls, batch: Batch, seed: int = 0, spare_pages: int = 3) -> Values:
        """Standard normal values, on pages scattered over a cache that has some more.

        What no request may see holds values so large that a kernel which looks at them is found
        out.

        Raises:
            UsageError: a request has fewer KV tokens than query tokens, which they include; or a
                cache of the size that is wanted cannot hold the pages.
        """
        check_kv_lens(batch.global_lens if batch.world > 1 else batch.kv_lens, batch.qlen)
        rng = np.random.default_rng(seed)
        used = sum(batch.pages)
        places = _places(batch, used, spare_pages)
        order = rng.permutation(len(places))
        kv_shape = (len(places), batch.page_size, 1, HEAD_DIM)
        kv = rng.standard_normal(kv_shape, np.float32) / _scale(batch.kv_dtype, batch.kv_scale)
        q = rng.standard_normal((batch.tokens, batch.num_heads, HEAD_DIM), np.float32)
        vectors = batch.vectors
        _hide(kv, order, vectors)
        return cls(
            batch=batch,
            q=encoded(q / _scale(batch.q_dtype, batch.q_scale), batch.q_dtype, batch.arch),
            kv=encoded(kv, batch.kv_dtype, batch.arch),
            kv_places=places,
            num_pages=max(int(places[-1]) + 1, batch.kv_cache_bytes // batch.page_bytes),
            vectors=vectors,
            kv_indices=places[order[:used]],
        )

    def keys(self, request: int) -> Floats:
        """The KV tokens of a request, ``[length, 576]``, as the numbers that they stand for."""
        batch = self.batch
        first, behind = self.vectors.kv_indptr[request : request + 2]
        rows = np.searchsorted(self.kv_places, self.kv_indices[first:behind])
        stored = self.kv[rows].reshape(-1, HEAD_DIM)[: batch.kv_lens[request]]
        scale = np.float32(_scale(batch.kv_dtype, batch.kv_scale))
        found: Floats = decoded(stored, batch.kv_dtype, batch.arch) * scale
        return found

    def queries(self) -> Floats:
        """The query, as the numbers that it stands for."""
        batch = self.batch
        scale = np.float32(_scale(batch.q_dtype, batch.q_scale))
        found: Floats = decoded(self.q, batch.q_dtype, batch.arch) * scale
        return found

    def reference(self) -> tuple[Floats, Floats]:
        """What a decode has to give, by one softmax in float64 per request: the output
        ``[tokens, heads, 512]`` and the natural log-sum-exp ``[tokens, heads]``."""
        batch = self.batch
        o = np.zeros((batch.tokens, batch.num_heads, LATENT_DIM), np.float32)
        lse = np.zeros((batch.tokens, batch.num_heads), np.float32)
        queries = self.queries().astype(np.float64)
        for request in range(batch.requests):
            keys = self.keys(request).astype(np.float64)
            for token in range(batch.qlen):
                at = request * batch.qlen + token
                seen = keys[batch.visible(request, token)]
                o[at], lse[at] = _attention(queries[at], seen, batch.sm_scale)
        return o, lse


def _attention(q: Array, keys: Array, scale: float) -> tuple[Array, Array]:
    if not len(keys):
        return np.zeros((len(q), LATENT_DIM)), np.full(len(q), -np.inf)
    scores = (q @ keys.T) * scale
    highest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - highest)
    total = weights.sum(-1, keepdims=True)
    return weights @ keys[:, :LATENT_DIM] / total, (highest + np.log(total))[:, 0]


def _scale(dtype: Dtype, scale: float) -> float:
    return scale if dtype is Dtype.FP8 else 1.0


def _places(batch: Batch, used: int, spare: int) -> npt.NDArray[np.int32]:
    """The numbers of the pages that have memory."""
    whole = batch.kv_cache_bytes // batch.page_bytes
    if not whole:
        return np.arange(used + spare, dtype=np.int32)
    if not used <= whole < 1 << 31:
        raise UsageError(
            f"a KV cache of {batch.kv_cache_bytes} bytes has {whole} pages, and {used} are used",
            hint="a page number has 31 bits",
        )
    places: npt.NDArray[np.int32] = np.linspace(0, whole - 1, used).astype(np.int32)
    return places


def _hide(kv: Floats, order: npt.NDArray[np.intp], vectors: IndexVectors) -> None:
    """Overwrites what no request may look at."""
    ends = vectors.kv_indptr[1:].tolist()
    kv[order[ends[-1] :]] = _HIDDEN
    for end, tokens in zip(ends, vectors.last_page.tolist(), strict=True):
        kv[order[end - 1], tokens:] = _HIDDEN

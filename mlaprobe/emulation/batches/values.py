"""The values of a batch with a latent cache: random ones, and what attention gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mlaprobe.emulation.batches.attention import Array, Floats
from mlaprobe.emulation.batches.batch import Batch, IndexVectors
from mlaprobe.emulation.batches.formats import HEAD_DIM, LATENT_DIM, decoded, encoded
from mlaprobe.emulation.batches.holding import (
    Spread,
    Stored,
    attention_of,
    check_lens,
    factor,
    hide,
    places_of,
    rows_of,
    scale_of,
    spread_over,
)


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
        check_lens(batch)
        rng = np.random.default_rng(seed)
        used = sum(batch.pages)
        places = places_of(batch, used, spare_pages, batch.page_bytes)
        order = rng.permutation(len(places))
        kv_shape = (len(places), batch.page_size, 1, HEAD_DIM)
        kv = rng.standard_normal(kv_shape, np.float32) / factor(batch.kv_dtype, batch.kv_scale)
        q = rng.standard_normal((batch.tokens, batch.num_heads, HEAD_DIM), np.float32)
        vectors = batch.vectors
        hide(kv, order, vectors)
        return cls(
            batch=batch,
            q=encoded(q / factor(batch.q_dtype, batch.q_scale), batch.q_dtype, batch.arch),
            kv=encoded(kv, batch.kv_dtype, batch.arch),
            kv_places=places,
            num_pages=max(int(places[-1]) + 1, batch.kv_cache_bytes // batch.page_bytes),
            vectors=vectors,
            kv_indices=places[order[:used]],
        )

    @property
    def spread(self) -> tuple[Spread, ...]:
        """Where the pages lie in a cache that has memory for these only."""
        return spread_over(self.kv_places, self.num_pages, {"kv": self.batch.page_bytes})

    def stored(self) -> Mapping[str, Stored | None]:
        """What the caller passes of these, by what it means."""
        batch = self.batch
        shape = (self.num_pages, *self.kv.shape[1:])
        return {
            "q": Stored(self.q, batch.q_dtype.value),
            "kv": Stored(self.kv, batch.kv_dtype.value, shape),
            "last_page": Stored(self.vectors.last_page, "i32"),
            "q_scale": scale_of(batch.q_dtype, batch.q_scale),
            "kv_scale": scale_of(batch.kv_dtype, batch.kv_scale),
        }

    def keys(self, request: int) -> Floats:
        """The KV tokens of a request, ``[length, 576]``, as the numbers that they stand for."""
        batch = self.batch
        rows = rows_of(self, request)
        stored = self.kv[rows].reshape(-1, HEAD_DIM)[: batch.kv_lens[request]]
        scale = np.float32(factor(batch.kv_dtype, batch.kv_scale))
        found: Floats = decoded(stored, batch.kv_dtype, batch.arch) * scale
        return found

    def queries(self) -> Floats:
        """The query, as the numbers that it stands for."""
        batch = self.batch
        scale = np.float32(factor(batch.q_dtype, batch.q_scale))
        found: Floats = decoded(self.q, batch.q_dtype, batch.arch) * scale
        return found

    def reference(self) -> tuple[Floats, Floats]:
        """What a launch has to give: the output ``[tokens, heads, 512]`` and the natural
        log-sum-exp ``[tokens, heads]``."""

        def held(request: int) -> tuple[Floats, Floats]:
            keys = self.keys(request)[:, None]
            return keys, keys[..., :LATENT_DIM]

        return attention_of(self.batch, self.queries(), held)

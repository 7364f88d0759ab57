"""A batch with keys and values of each head: random ones, and what attention gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mlaprobe.core.enums import Layout
from mlaprobe.core.shape import Dtype
from mlaprobe.emulation.batches.attention import Array, Floats
from mlaprobe.emulation.batches.batch import Batch, IndexVectors
from mlaprobe.emulation.batches.formats import WIDTHS, decoded, encoded
from mlaprobe.emulation.batches.holding import (
    HIDDEN,
    Spread,
    Stored,
    attention_of,
    check_lens,
    factor,
    places_of,
    rows_of,
    scale_of,
    spread_over,
)

_SPARE = 3
"""Tokens of the cache that no request has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadValues:
    """The tensors of a batch, as they are stored, and index vectors."""

    batch: Batch
    q: Array
    """``[tokens, heads, 192]``: fp8 as uint8."""
    k: Array
    """``[places, KV heads, 192]``, likewise."""
    v: Array
    """``[places, KV heads, 128]``, likewise."""
    vectors: IndexVectors
    kv_indices: npt.NDArray[np.int32]
    """Places of KV tokens, request by request."""
    kv_places: npt.NDArray[np.int32]
    """``[places]``, ascending: the number of each of those that have memory."""
    num_places: int
    """All that there are."""

    @classmethod
    def random(cls, batch: Batch, seed: int = 0) -> HeadValues:
        """Standard normal values, of tokens scattered over some more places.

        What no request may see holds values so large that a kernel which looks at them is found
        out.

        Raises:
            UsageError: a request has fewer KV tokens than query tokens, which they include.
        """
        check_lens(batch)
        rng = np.random.default_rng(seed)
        width, value_width = WIDTHS[Layout.HEADS]
        used, size = sum(batch.kv_lens), _place_bytes(batch, width)
        places = places_of(batch, used, _SPARE, size)
        order = rng.permutation(len(places))
        shape = (len(places), batch.num_kv_heads)
        q = rng.standard_normal((batch.tokens, batch.num_heads, width), np.float32)
        k = rng.standard_normal((*shape, width), np.float32)
        v = rng.standard_normal((*shape, value_width), np.float32)
        k /= factor(batch.kv_dtype, batch.kv_scale)
        v /= factor(batch.kv_dtype, batch.v_scale)
        k[order[used:]] = v[order[used:]] = HIDDEN
        return cls(
            batch=batch,
            q=encoded(q / factor(batch.q_dtype, batch.q_scale), batch.q_dtype, batch.arch),
            k=encoded(k, batch.kv_dtype, batch.arch),
            v=encoded(v, batch.kv_dtype, batch.arch),
            vectors=batch.vectors,
            kv_indices=places[order[:used]],
            kv_places=places,
            num_places=max(int(places[-1]) + 1, batch.kv_cache_bytes // size),
        )

    @property
    def spread(self) -> tuple[Spread, ...]:
        """Where the tokens lie in caches that have memory for these only."""
        sizes = (_place_bytes(self.batch, width) for width in WIDTHS[Layout.HEADS])
        return spread_over(self.kv_places, self.num_places, dict(zip("kv", sizes, strict=True)))

    def stored(self) -> Mapping[str, Stored | None]:
        """What the caller passes of these, by what it means."""
        batch = self.batch
        return {
            "q": Stored(self.q, batch.q_dtype.value),
            "k": Stored(self.k, batch.kv_dtype.value, (self.num_places, *self.k.shape[1:])),
            "v": Stored(self.v, batch.kv_dtype.value, (self.num_places, *self.v.shape[1:])),
            "q_scale": scale_of(batch.q_dtype, batch.q_scale),
            "k_scale": scale_of(batch.kv_dtype, batch.kv_scale),
            "v_scale": scale_of(batch.kv_dtype, batch.v_scale),
        }

    def reference(self) -> tuple[Floats, Floats]:
        """What a launch has to give: the output ``[tokens, heads, 128]`` and the natural
        log-sum-exp ``[tokens, heads]``."""
        batch = self.batch
        queries = decoded(self.q, batch.q_dtype, batch.arch)
        queries = queries * np.float32(factor(batch.q_dtype, batch.q_scale))

        def held(request: int) -> tuple[Floats, Floats]:
            rows = rows_of(self, request)
            scales = (batch.kv_scale, batch.v_scale)
            k, v = (
                decoded(stored[rows], batch.kv_dtype, batch.arch)
                * np.float32(factor(batch.kv_dtype, scale))
                for stored, scale in zip((self.k, self.v), scales, strict=True)
            )
            return k, v

        return attention_of(batch, queries, held)


def _place_bytes(batch: Batch, width: int) -> int:
    """Bytes of a KV token's keys or values of all heads."""
    return batch.num_kv_heads * width * (1 if batch.kv_dtype is Dtype.FP8 else 2)

"""A batch with keys and values of each head: random ones, and what attention gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mlaprobe.core.enums import Layout
from mlaprobe.emulation.attention import Array, Floats
from mlaprobe.emulation.batch import Batch, IndexVectors
from mlaprobe.emulation.formats import WIDTHS, decoded, encoded
from mlaprobe.emulation.holding import (
    HIDDEN,
    Spread,
    Stored,
    attention_of,
    check_lens,
    factor,
    scale_of,
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
    spread: Spread | None = field(init=False, default=None)

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
        used = sum(batch.kv_lens)
        order = rng.permutation(used + _SPARE).astype(np.int32)
        places = (used + _SPARE, batch.num_kv_heads)
        q = rng.standard_normal((batch.tokens, batch.num_heads, width), np.float32)
        k = rng.standard_normal((*places, width), np.float32)
        v = rng.standard_normal((*places, value_width), np.float32)
        k /= factor(batch.kv_dtype, batch.kv_scale)
        v /= factor(batch.kv_dtype, batch.v_scale)
        k[order[used:]] = v[order[used:]] = HIDDEN
        return cls(
            batch=batch,
            q=encoded(q / factor(batch.q_dtype, batch.q_scale), batch.q_dtype, batch.arch),
            k=encoded(k, batch.kv_dtype, batch.arch),
            v=encoded(v, batch.kv_dtype, batch.arch),
            vectors=batch.vectors,
            kv_indices=order[:used],
        )

    def stored(self) -> Mapping[str, Stored | None]:
        """What the caller passes of these, by what it means."""
        batch = self.batch
        return {
            "q": Stored(self.q, batch.q_dtype.value),
            "k": Stored(self.k, batch.kv_dtype.value),
            "v": Stored(self.v, batch.kv_dtype.value),
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
            first, behind = self.vectors.kv_indptr[request : request + 2]
            rows = self.kv_indices[first:behind]
            scales = (batch.kv_scale, batch.v_scale)
            k, v = (
                decoded(stored[rows], batch.kv_dtype, batch.arch)
                * np.float32(factor(batch.kv_dtype, scale))
                for stored, scale in zip((self.k, self.v), scales, strict=True)
            )
            return k, v

        return attention_of(batch, queries, held)

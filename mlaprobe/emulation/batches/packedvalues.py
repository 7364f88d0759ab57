"""A batch in DeepSeek-V4's layout: random values, and what attention gives.

A token of query or cache is 512 bytes and 64 values of rope in bf16 beside them. Of the bytes, 448
are fp8, 64 of which share a scale; behind them is each of the seven scales twice, in e8m0; the rest
belongs to nobody. So AITER's own test of the kernels packs them (``op_tests/test_mla_v4_nm.py``). A
sink is a logit for each head, of a token without a value.
"""

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
    Spread,
    Stored,
    attention_of,
    check_lens,
    hide,
    places_of,
    rows_of,
    spread_over,
)

_WIDTH = WIDTHS[Layout.PACKED][0]
_SMALL, _TILE, _BIAS = 448, 64, 127
"""Values in fp8, those of them that share a scale, and what is taken from a scale in e8m0."""
_ROPE_BYTES = 2 * (_WIDTH - _SMALL)
_EXPONENTS = (-3, 3)
"""The powers of two that scales are; the last one is not."""
_IDLE = 0x7F
"""What is in the bytes of nobody: NaN as fp8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedValues:
    """The tensors of a batch, as they are stored, and index vectors."""

    batch: Batch
    q: Array
    """``[tokens, heads, 512]`` bytes."""
    q_rope: Array
    """``[tokens, heads, 64]``: bf16 as uint16."""
    kv: Array
    """``[pages, page_size, 1, 512]`` bytes: the pages that have memory."""
    kv_rope: Array
    """``[pages, page_size, 1, 64]``: bf16 as uint16."""
    sink: Floats
    """``[heads]``: that of the first head is infinitely small, which is none."""
    vectors: IndexVectors
    kv_indices: npt.NDArray[np.int32]
    """Pages of the cache, request by request."""
    kv_places: npt.NDArray[np.int32]
    """``[pages]``, ascending: the number of each of those that have memory."""
    num_pages: int
    """All that there are."""

    @classmethod
    def random(cls, batch: Batch, seed: int = 0, spare_pages: int = 3) -> PackedValues:
        """Standard normal values, on pages scattered over a cache that has some more.

        What no request may see holds values so large that a kernel which looks at them is found
        out.

        Raises:
            UsageError: a request has fewer KV tokens than query tokens, which they include.
        """
        check_lens(batch)
        rng = np.random.default_rng(seed)
        used, size = sum(batch.pages), batch.page_size * _WIDTH
        places = places_of(batch, used, spare_pages, size)
        order = rng.permutation(len(places))
        kv = rng.standard_normal((len(places), batch.page_size, 1, _WIDTH), np.float32)
        q = rng.standard_normal((batch.tokens, batch.num_heads, _WIDTH), np.float32)
        hide(kv, order, batch.vectors)
        sink = rng.standard_normal(batch.num_heads, np.float32)
        sink[0] = -np.inf
        packed_kv, kv_rope = _packed(kv, batch.arch, rng)
        packed_q, q_rope = _packed(q, batch.arch, rng)
        return cls(
            batch=batch,
            q=packed_q,
            q_rope=q_rope,
            kv=packed_kv,
            kv_rope=kv_rope,
            sink=sink,
            vectors=batch.vectors,
            kv_indices=places[order[:used]],
            kv_places=places,
            num_pages=max(int(places[-1]) + 1, batch.kv_cache_bytes // size),
        )

    @property
    def spread(self) -> tuple[Spread, ...]:
        """Where the pages lie in caches that have memory for these only."""
        size = self.batch.page_size
        sizes = {"kv": size * _WIDTH, "kv_rope": size * _ROPE_BYTES}
        return spread_over(self.kv_places, self.num_pages, sizes)

    def stored(self) -> Mapping[str, Stored | None]:
        """What the caller passes of these, by what it means."""
        batch = self.batch
        return {
            "q": Stored(self.q, batch.q_dtype.value),
            "q_rope": Stored(self.q_rope, "bf16"),
            "kv": Stored(self.kv, batch.kv_dtype.value, (self.num_pages, *self.kv.shape[1:])),
            "kv_rope": Stored(self.kv_rope, "bf16", (self.num_pages, *self.kv_rope.shape[1:])),
            "last_page": Stored(self.vectors.last_page, "i32"),
            "sink": Stored(self.sink, "fp32"),
        }

    def reference(self) -> tuple[Floats, Floats]:
        """What a launch has to give: the output ``[tokens, heads, 512]`` and the natural
        log-sum-exp ``[tokens, heads]``, the sink included."""
        batch = self.batch

        def held(request: int) -> tuple[Floats, Floats]:
            rows = rows_of(self, request)
            keys = _numbers(self.kv[rows], self.kv_rope[rows], batch.arch)
            keys = keys.reshape(-1, 1, _WIDTH)[: batch.kv_lens[request]]
            return keys, keys

        return attention_of(batch, _numbers(self.q, self.q_rope, batch.arch), held, self.sink)


def _packed(values: Floats, arch: str, rng: np.random.Generator) -> tuple[Array, Array]:
    """Tokens as bytes and rope."""
    shape = (*values.shape[:-1], _SMALL // _TILE)
    exponents = rng.integers(*_EXPONENTS, shape)
    factors = np.repeat(np.exp2(exponents), _TILE, -1).astype(np.float32)
    small = encoded(values[..., :_SMALL] / factors, Dtype.FP8, arch)
    scales = np.repeat(exponents + _BIAS, 2, -1).astype(np.uint8)
    idle = np.full((*shape[:-1], _WIDTH - _SMALL - scales.shape[-1]), _IDLE, np.uint8)
    rope = encoded(values[..., _SMALL:], Dtype.BF16, arch)
    return np.concatenate([small, scales, idle], -1), rope


def _numbers(packed: Array, rope: Array, arch: str) -> Floats:
    """The numbers that bytes and rope stand for."""
    scales = packed[..., _SMALL::2][..., : _SMALL // _TILE].astype(np.int64) - _BIAS
    factors = np.repeat(np.exp2(scales), _TILE, -1).astype(np.float32)
    small = decoded(packed[..., :_SMALL], Dtype.FP8, arch) * factors
    found: Floats = np.concatenate([small, decoded(rope, Dtype.BF16, arch)], -1)
    return found

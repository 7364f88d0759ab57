"""The back end for CUDA and ROCm GPUs without a usable AITER: Triton kernels that go AITER's way.

A folded batch is more requests of fewer heads that each read the cache, so fold and pad can be
compared on any GPU. Under ``TRITON_INTERPRET=1`` the kernels run on a CPU, slowly.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from mlaprobe.decode.backends.triton_kernels import decode_splits, merge_splits
from mlaprobe.decode.backends.triton_tiles import Cut, Tile, cut, tiles_for
from mlaprobe.decode.interface import DecodeError, Launch
from mlaprobe.decode.tensors import HEAD_DIM, LATENT_DIM, torch, torch_dtype
from mlaprobe.padding.plan import PadPlan
from mlaprobe.padding.tensors import Tensor

if TYPE_CHECKING:
    from mlaprobe.decode.problem import Problem

WGMMA_ROWS = 64
"""From so many rows on, Hopper's GPUs multiply right from shared memory: what has fewer is slower
with tiles that their copy engine loads, and with fp8."""
MERGE_VALUES = 8192
"""Partial values that one program merges at once."""


class TritonPrepared:
    """A launch, cut into programs, with room for partial results."""

    kernels: tuple[str, ...]

    def __init__(self, launch: Launch, tile: Tile, splits: Cut | None = None) -> None:
        """
        Args:
            tile: the shape of a program.
            splits: how KV tokens are cut; left out: what suits the device.

        Raises:
            OutOfResources: the device has no room for such a program.
        """
        t, layout = torch(), launch.layout
        self.launch = launch
        self.tile = tile
        per_request = -(-query_rows(launch) // tile.rows)
        self._rows = layout.tokens * launch.num_heads
        self.cut = splits or cut(
            layout.kv_lens,
            programs=per_request * launch.fold,
            rows=self._rows,
            tile=tile,
            units=_units(layout.device),
        )
        self._grid = (per_request, self.cut.splits, layout.batch * launch.fold)
        self._merge_block = triton.next_power_of_2(self.cut.splits)
        self._merge_columns = min(LATENT_DIM, MERGE_VALUES // self._merge_block)
        self._engine = tile.rows >= WGMMA_ROWS and _copies_tiles(layout.device)
        self._described: tuple[int, Any] = (0, None)
        self._types = _types(launch, few_rows=tile.rows < WGMMA_ROWS)
        self.kernels = ("decode_splits",)
        self._partial: tuple[Tensor, Tensor] | None = None
        if self.cut.splits > 1:
            self.kernels = ("decode_splits", "merge_splits")
            shape = (self.cut.splits, self._rows)
            self._partial = (
                t.empty((*shape, LATENT_DIM), dtype=t.float32, device=layout.device),
                t.empty(shape, dtype=t.float32, device=layout.device),
            )
        self._load()

    def run(self, q: Tensor, kv: Tensor, out: Tensor, lse: Tensor | None) -> None:
        """See ``Prepared``."""
        with _on(self.launch.layout.device):
            if self._partial is None:
                self._decode(self._grid, self._requests(), q, kv, out, lse)
                return
            self._decode(self._grid, self._requests(), q, kv, *self._partial)
            self._merge(self._rows, *self._partial, out, lse)

    def refresh(self) -> None:
        """See ``Prepared``. The kernels read lengths and pages on the device."""

    def _load(self) -> None:
        """Compiles and loads the kernels, by running them on an empty request: a graph can then
        capture the first run."""
        t, launch = torch(), self.launch
        new = partial(t.zeros, device=launch.layout.device)
        q = new(1, dtype=launch.q_dtype)
        kv = new((self.tile.tokens, HEAD_DIM), dtype=launch.kv_dtype)
        out, lse = new(LATENT_DIM, dtype=t.bfloat16), new(1, dtype=t.float32)
        asked = lse if launch.lse else None
        none = tuple(new(2, dtype=t.int32) for _ in range(4))
        with _on(launch.layout.device):
            if self._partial is None:
                self._decode((1, 1, 1), none, q, kv, out, asked)
                return
            self._decode((1, 1, 1), none, q, kv, *self._partial)
            self._merge(1, *self._partial, out, asked)

    def _descriptors(self, kv: Tensor) -> tuple[Any, Any]:
        """Of the cache as tiles of latent and rope values, where the device has an engine that
        copies them."""
        tokens = self.tile.tokens
        if not self._engine or self.launch.layout.page_size % tokens:
            return None, None
        if kv.data_ptr() != self._described[0]:
            flat = kv.view(-1, HEAD_DIM)
            tiles = tuple(
                TensorDescriptor.from_tensor(flat, [tokens, width])
                for width in (LATENT_DIM, HEAD_DIM - LATENT_DIM)
            )
            self._described = (kv.data_ptr(), tiles)
        found: tuple[Any, Any] = self._described[1]
        return found

    def _requests(self) -> tuple[Tensor, ...]:
        layout = self.launch.layout
        return (
            layout.qo_indptr,
            layout.kv_indptr,
            layout.kv_page_indices,
            layout.kv_last_page_lens,
        )

    def _decode(
        self,
        grid: tuple[int, ...],
        requests: tuple[Tensor, ...],
        q: Tensor,
        kv: Tensor,
        out: Tensor,
        lse: Tensor | None,
    ) -> None:
        launch, tile = self.launch, self.tile
        decode_splits[grid](
            q,
            kv,
            out,
            lse,
            *requests,
            launch.q_scale,
            launch.kv_scale,
            *self._descriptors(kv),
            launch.sm_scale,
            self.cut.splits,
            self.cut.chunk,
            self._rows,
            launch.num_heads,
            launch.fold,
            page_size=launch.layout.page_size,
            causal=launch.causal,
            with_lse=lse is not None,
            block_m=tile.rows,
            block_n=tile.tokens,
            stages=tile.stages,
            early=tile.early,
            halves=self._types[0] is not self._types[1],
            score_type=self._types[0],
            value_type=self._types[1],
            num_warps=tile.warps,
        )

    def _merge(
        self, rows: int, outs: Tensor, sums: Tensor, out: Tensor, lse: Tensor | None
    ) -> None:
        merge_splits[(rows, LATENT_DIM // self._merge_columns)](
            outs,
            sums,
            out,
            lse,
            self.cut.splits,
            self._rows,
            with_lse=lse is not None,
            block_s=self._merge_block,
            block_d=self._merge_columns,
        )


class TritonBackend:
    """Triton kernels on a GPU."""

    name = "triton"

    def unfit(self, problem: Problem, plan: PadPlan) -> str | None:
        """See ``Backend``."""
        t = torch()
        device = t.device(problem.device)
        if interpreted():
            return None
        if device.type != "cuda" or not t.cuda.is_available():
            return f"it needs a GPU, and the problem is on {problem.device}"
        if t.version.hip is not None:
            return None
        if t.cuda.get_device_capability(device) < (8, 0):
            return "it needs a GPU of compute capability 8.0 or newer"
        fp8 = {
            torch_dtype(dtype, problem.arch) for dtype in (problem.q_dtype, problem.kv_dtype)
        } - {t.bfloat16}
        if t.float8_e4m3fnuz in fp8:
            return f"fp8 on {problem.arch} is e4m3fnuz, which NVIDIA GPUs do not have"
        if fp8 and t.cuda.get_device_capability(device) < (8, 9):
            return "for fp8 it needs a GPU of compute capability 8.9 or newer"
        return None

    def prepare(self, launch: Launch) -> TritonPrepared:
        """See ``Backend``. Takes the best programs that the device has room for."""
        fp8 = launch.kv_dtype is not torch().bfloat16
        tiles = tiles_for(query_rows(launch), fp8=fp8, page_size=launch.layout.page_size)
        for tile in tiles:
            try:
                return TritonPrepared(launch, tile)
            except triton.OutOfResources as error:
                reason = str(error)
        raise DecodeError(f"no Triton kernel fits this GPU: {reason}")


BACKEND = TritonBackend()


def query_rows(launch: Launch) -> int:
    """Query rows per request that read its KV tokens together: of one fold."""
    return launch.layout.max_seqlen_q * launch.num_heads // launch.fold


def interpreted() -> bool:
    """Whether Triton runs kernels in its CPU interpreter in this process."""
    return not isinstance(decode_splits, triton.runtime.JITFunction)


def _units(device: Any) -> int:
    """Multiprocessors of a device; of a CPU as many as show all ways through the kernels."""
    if device.type != "cuda":
        return 4
    return int(torch().cuda.get_device_properties(device).multi_processor_count)


def _copies_tiles(device: Any) -> bool:
    """Whether a device has an engine that copies tiles: NVIDIA's from compute capability 9.0 on.
    The interpreter does as if."""
    t = torch()
    if interpreted() or device.type != "cuda" or t.version.hip is not None:
        return interpreted()
    found: bool = t.cuda.get_device_capability(device) >= (9, 0)
    return found


def _types(launch: Launch, *, few_rows: bool) -> tuple[Any, Any]:
    """In which types query and key, and weight and value, are multiplied.

    fp8 values are exact in 16 bits; so are weights to 11 of their bits, where fp8 keeps 4. The
    interpreter has no products of bfloat16.
    """
    wide = torch().bfloat16
    if wide in (launch.q_dtype, launch.kv_dtype):
        found = tl.float32 if interpreted() else tl.bfloat16
        return found, found
    if few_rows:
        return tl.float16, tl.float16
    return getattr(tl, _TRITON_FP8[str(launch.q_dtype)]), tl.float16


_TRITON_FP8 = {"torch.float8_e4m3fn": "float8e4nv", "torch.float8_e4m3fnuz": "float8e4b8"}


def _on(device: Any) -> AbstractContextManager[Any]:
    """The device as the current one: Triton launches there."""
    cuda = torch().cuda
    if device.type != "cuda" or device.index == cuda.current_device():
        return nullcontext()
    found: AbstractContextManager[Any] = cuda.device(device)
    return found

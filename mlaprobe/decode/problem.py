"""A decode to run, as numbers; and random inputs for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlaprobe.core.inputs import check_kv_lens, check_scales, whole
from mlaprobe.core.shape import Dtype
from mlaprobe.decode.interface import KvLayout
from mlaprobe.decode.layout import kv_layout
from mlaprobe.decode.memory import check_host_memory
from mlaprobe.decode.tensors import HEAD_DIM, torch, torch_dtype
from mlaprobe.errors import UsageError
from mlaprobe.padding.tensors import Tensor, query_indptr

MOST_HEADS = 128
"""No release of AITER decodes more query heads in one call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One decode, as the caller has it: nothing padded."""

    arch: str
    """Of the plan; on another device, AITER's decisions for this arch are what is run."""
    num_heads: int
    """Query heads."""
    q_dtype: Dtype
    kv_dtype: Dtype
    kv_lens: tuple[int, ...]
    """KV tokens of each request, its query tokens included."""
    qlen: int = 1
    """Query tokens of each request."""
    page_size: int = 1
    """KV tokens per page."""
    lse: bool = False
    causal: bool = True
    sm_scale: float = HEAD_DIM**-0.5
    """What AITER takes where it is given none."""
    scales: tuple[float, float] = (1.0, 1.0)
    """What query and cache are multiplied with, each where it is fp8."""
    persistent: bool = True
    """Whether AITER is given work metadata."""
    device: str = "cpu"
    """A torch device."""

    def __post_init__(self) -> None:
        for name in ("num_heads", "qlen", "page_size"):
            whole(getattr(self, name), name)
        if self.num_heads > MOST_HEADS:
            raise UsageError(
                f"{self.num_heads} query heads: one call decodes at most {MOST_HEADS}",
                hint="split them over more ranks, or into several calls",
            )
        check_kv_lens(self.kv_lens, self.qlen)
        check_scales(self.scales)

    @property
    def batch(self) -> int:
        """Requests."""
        return len(self.kv_lens)

    @property
    def tokens(self) -> int:
        """Query tokens, of all requests."""
        return self.batch * self.qlen

    @property
    def question(self) -> dict[str, Any]:
        """The arguments of ``mlaprobe.plan`` that follow from it."""
        shared = ("num_heads", "arch", "q_dtype", "kv_dtype", "lse", "page_size", "persistent")
        return {**{name: getattr(self, name) for name in shared}, "qlens": self.qlen}

    @property
    def kv_bytes(self) -> int:
        """Bytes of KV cache that a decode has to read at least once."""
        size = 1 if self.kv_dtype is Dtype.FP8 else 2
        return sum(self.kv_lens) * HEAD_DIM * size


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inputs:
    """Tensors for a problem."""

    q: Tensor
    """``[tokens, num_heads, 576]``."""
    kv: Tensor
    """``[num_pages, page_size, 1, 576]``."""
    layout: KvLayout
    q_scale: Tensor | None
    """``[1]`` float32 with an fp8 query, else ``None``."""
    kv_scale: Tensor | None
    """``[1]`` float32 with an fp8 cache, else ``None``."""


def make_inputs(
    problem: Problem,
    *,
    seed: int = 0,
    spare_pages: int = 3,
    order: Sequence[int] | None = None,
) -> Inputs:
    """Random inputs: standard normal values, pages scattered over a cache that has some more. Those
    in fp8 are divided by their scale before they are rounded.

    What no request may see, which is pages that are not used and the rest of last pages, holds a
    value so large that a back end which looks at it is found out.

    Args:
        spare_pages: pages that no request uses.
        order: the pages of the cache in the order of use; left out: random.

    Raises:
        UsageError: a data type that the driver does not run.
        OutOfMemoryError: memory is short.
    """
    t, device = torch(), torch().device(problem.device)
    if device.type == "cpu":
        # The cache, and a request of it in float32 besides.
        check_host_memory(problem.kv_bytes + max(problem.kv_lens) * HEAD_DIM * 8)
    size = problem.page_size
    pages = [-(-length // size) for length in problem.kv_lens]
    total = sum(pages) + spare_pages
    if order is None:
        order = t.randperm(total, generator=t.Generator().manual_seed(seed)).tolist()
    indices = t.tensor(list(order)[: sum(pages)], dtype=t.int32)
    last = [(length - 1) % size + 1 for length in problem.kv_lens]
    draw = _Draw(problem.arch, t.Generator(device=device).manual_seed(seed))
    rows, slots = (problem.tokens, problem.num_heads, HEAD_DIM), (total, size, 1, HEAD_DIM)
    q, q_scale = draw(rows, problem.q_dtype, problem.scales[0])
    kv, kv_scale = draw(slots, problem.kv_dtype, problem.scales[1])
    _hide(kv, indices.long(), pages, last)
    layout = _layout(problem, pages, last, indices, total)
    return Inputs(q=q, kv=kv, layout=layout, q_scale=q_scale, kv_scale=kv_scale)


def _layout(
    problem: Problem, pages: list[int], last: list[int], indices: Tensor, total: int
) -> KvLayout:
    t, device = torch(), torch().device(problem.device)
    indptr = t.tensor([0, *pages], dtype=t.int32).cumsum(0, dtype=t.int32)
    return kv_layout(
        qo_indptr=query_indptr(problem.batch, problem.qlen, device=device),
        kv_indptr=indptr.to(device),
        kv_page_indices=indices.to(device),
        kv_last_page_lens=t.tensor(last, dtype=t.int32, device=device),
        page_size=problem.page_size,
        num_pages=total,
    )


_BLOCK = 1 << 24
"""Random values that are drawn at once: a cache in float32 may be larger than the memory."""
_HIDDEN = 200.0
"""What no request may see; every fp8 can hold it."""


class _Draw:
    """Draws standard normal values."""

    def __init__(self, arch: str, random: Any) -> None:
        """``random`` is a torch generator."""
        self._arch = arch
        self._random = random

    def __call__(
        self, shape: tuple[int, ...], dtype: Dtype, scale: float
    ) -> tuple[Tensor, Tensor | None]:
        """Values of a data type, and with fp8 their scale: they are divided by it before they are
        rounded."""
        t, device = torch(), self._random.device
        found = t.empty(shape, dtype=torch_dtype(dtype, self._arch), device=device)
        fp8 = dtype is Dtype.FP8
        scaled = t.tensor([scale], dtype=t.float32, device=device) if fp8 else None
        flat, most = found.view(-1), t.finfo(found.dtype).max
        for start in range(0, flat.shape[0], _BLOCK):
            part = flat[start : start + _BLOCK]
            values = t.randn(part.shape, generator=self._random, device=device)
            if scaled is not None:
                values = (values / scaled).clamp_(-most, most)
            part.copy_(values)
        return found, scaled


def _hide(kv: Tensor, indices: Tensor, pages: list[int], last: list[int]) -> None:
    """Overwrites what no request may look at."""
    t = torch()
    most = t.tensor(_HIDDEN).to(kv.dtype).to(kv.device)
    unused = t.ones(kv.shape[0], dtype=t.bool)
    unused[indices] = False
    for page in unused.nonzero().flatten().tolist():
        kv[page] = most
    end = 0
    for count, tokens in zip(pages, last, strict=True):
        end += count
        kv[int(indices[end - 1]), tokens:] = most

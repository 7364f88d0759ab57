"""The back end that runs anywhere: PyTorch's own operators, in float32.

It goes the way that AITER's kernels go, so that a plan is really carried out: a folded batch
becomes more requests of fewer heads that each read the cache, the KV tokens of a request are cut
into splits, and partial results are merged by their log-sum-exp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.decode.interface import DecodeError, Launch
from mlaprobe.decode.tensors import HEAD_DIM, LATENT_DIM, torch
from mlaprobe.padding.plan import PadPlan
from mlaprobe.padding.tensors import Tensor

if TYPE_CHECKING:
    from mlaprobe.decode.problem import Problem

SPLIT = 4096
"""KV tokens per split."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Some KV tokens of one request."""

    request: int
    pages: Tensor
    """Places of the tokens' pages in ``kv_page_indices``."""
    tokens: int
    """KV tokens, from the first page on."""
    seen: Tensor | None
    """``[rows, 1, tokens]``: which query row sees which; ``None``: every row sees all."""


class TorchPrepared:
    """A launch, cut into splits."""

    kernels: tuple[str, ...] = ()

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._splits = _splits(launch)

    def run(self, q: Tensor, kv: Tensor, out: Tensor, lse: Tensor | None) -> None:
        """See ``Prepared``."""
        layout = self._launch.layout
        rows, heads = layout.max_seqlen_q, self._launch.num_heads
        own_heads = heads // self._launch.fold
        queries = q.view(layout.batch, rows, heads, HEAD_DIM)
        outs = out.view(layout.batch, rows, heads, LATENT_DIM)
        sums = None if lse is None else lse.view(layout.batch, rows, heads)
        for part in range(self._launch.fold):
            group = slice(part * own_heads, (part + 1) * own_heads)
            for request in range(layout.batch):
                o, total = self.attend(request, queries[request, :, group], kv)
                outs[request, :, group].copy_(o)
                if sums is not None:
                    sums[request, :, group].copy_(total)

    def refresh(self) -> None:
        """See ``Prepared``."""
        raise DecodeError(
            "the torch back end has the KV lengths in its shapes, and follows no change of them",
            hint="prepare again",
        )

    def attend(self, request: int, query: Tensor, kv: Tensor) -> tuple[Tensor, Tensor]:
        """Output and log-sum-exp of ``[rows, heads, 576]`` queries of one request."""
        t, launch = torch(), self._launch
        q = query.float() if launch.q_scale is None else query.float() * launch.q_scale
        parts = [self._partial(q, split, kv) for split in self._splits[request]]
        sums = t.stack([part[1] for part in parts])
        total = sums.logsumexp(0)
        # A split that a row sees nothing of weighs nothing, and holds nothing either.
        weights = (sums - total).exp().unsqueeze(-1)
        return (t.stack([part[0] for part in parts]) * weights).sum(0), total

    def _partial(self, q: Tensor, split: Split, kv: Tensor) -> tuple[Tensor, Tensor]:
        launch = self._launch
        pages = launch.layout.kv_page_indices[split.pages]
        keys = kv.index_select(0, pages).view(-1, HEAD_DIM)[: split.tokens].float()
        if launch.kv_scale is not None:
            keys = keys * launch.kv_scale
        scores = (q.flatten(0, 1) @ keys.T).unflatten(0, q.shape[:2]) * launch.sm_scale
        if split.seen is not None:
            scores = scores.masked_fill(~split.seen, float("-inf"))
        top = scores.amax(-1, keepdim=True).clamp_min(torch().finfo(scores.dtype).min)
        raised = (scores - top).exp()
        total = raised.sum(-1, keepdim=True)
        value = (raised.flatten(0, 1) @ keys[:, :LATENT_DIM]).unflatten(0, q.shape[:2])
        tiny = torch().finfo(scores.dtype).tiny
        return value / total.clamp_min(tiny), (top + total.log()).squeeze(-1)


class TorchBackend:
    """PyTorch's operators, in float32."""

    name = "torch"

    def unfit(self, problem: Problem, plan: PadPlan) -> str | None:
        """It runs everything that has a plan."""
        return None

    def prepare(self, launch: Launch) -> TorchPrepared:
        """Cuts the launch into splits."""
        return TorchPrepared(launch)


BACKEND = TorchBackend()


def _splits(launch: Launch) -> tuple[tuple[Split, ...], ...]:
    """The splits of each request, of whole pages."""
    t, layout = torch(), launch.layout
    size = layout.page_size
    step = max(1, SPLIT // size)
    found, begin = [], 0
    for request, length in enumerate(layout.kv_lens):
        pages = -(-length // size)
        found.append(
            tuple(
                Split(
                    request=request,
                    pages=t.arange(
                        begin + first, begin + min(first + step, pages), device=layout.device
                    ),
                    tokens=min(step * size, length - first * size),
                    seen=_seen(launch, length, first * size, step * size),
                )
                for first in range(0, pages, step)
            )
        )
        begin += pages
    return tuple(found)


def _seen(launch: Launch, length: int, first: int, most: int) -> Tensor | None:
    """Which of the tokens of a split each query row sees, where it is not all."""
    rows = launch.layout.max_seqlen_q
    tokens = min(most, length - first)
    if not launch.causal or first + tokens <= length - rows + 1:
        return None
    t, device = torch(), launch.layout.device
    ends = t.arange(length - rows + 1, length + 1, device=device)
    return (t.arange(first, first + tokens, device=device) < ends[:, None])[:, None, :]

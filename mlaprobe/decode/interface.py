"""What a back end is, and what it is given. Nothing here needs PyTorch to be imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mlaprobe.core.shape import Decision
from mlaprobe.errors import MlaprobeError
from mlaprobe.padding.plan import PadPlan
from mlaprobe.padding.tensors import Tensor
from mlaprobe.rulefiles.requirements import Setting

if TYPE_CHECKING:
    from mlaprobe.decode.problem import Problem


class DecodeError(MlaprobeError):
    """A decode cannot be run here, or failed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KvLayout:
    """Where each request's queries and KV tokens are: the tensors that AITER takes, and their
    contents as the host knows them. ``mlaprobe.decode.layout.kv_layout`` makes and checks one."""

    qo_indptr: Tensor
    """``[batch + 1]`` int32: where each request's query rows begin and the last's end."""
    kv_indptr: Tensor
    """``[batch + 1]`` int32: where each request's pages begin in ``kv_page_indices``."""
    kv_page_indices: Tensor
    """``[>= kv_indptr[-1]]`` int32: pages of the cache."""
    kv_last_page_lens: Tensor
    """``[batch]`` int32: tokens on each request's last page, 1 to ``page_size``."""
    max_seqlen_q: int
    """Query rows per request; every request has as many."""
    page_size: int
    """KV tokens per page."""
    num_pages: int
    """Pages in the cache, also those that no request uses."""
    kv_lens: tuple[int, ...]
    """KV tokens of each request, its query tokens included."""

    @property
    def batch(self) -> int:
        """Requests."""
        return len(self.kv_lens)

    @property
    def tokens(self) -> int:
        """Query rows, of all requests."""
        return self.batch * self.max_seqlen_q

    @property
    def device(self) -> Any:
        """The torch device of its tensors."""
        return self.qo_indptr.device


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Launch:
    """What a back end launches, padding included: it knows nothing of what the caller has."""

    layout: KvLayout
    """For query rows as launched: ``max_seqlen_q`` is the kernel's."""
    num_heads: int
    """Query heads as launched."""
    fold: int
    """How often AITER would fold the batch: that many times as many requests of ``num_heads /
    fold`` heads, each of which reads the request's KV tokens again. A back end that stands in for
    AITER does the same."""
    q_dtype: Any
    """torch dtype of the query: bfloat16 or one of the two e4m3 ones."""
    kv_dtype: Any
    """torch dtype of the cache."""
    lse: bool
    """Whether the log-sum-exp is wanted."""
    causal: bool
    """Whether row i of n query rows sees all but the last n - i - 1 of a request's KV tokens;
    otherwise every row sees all of them."""
    sm_scale: float
    """What the products of query and key are multiplied with before the softmax."""
    q_scale: Tensor | None
    """``[1]`` float32: what an fp8 query is to be multiplied with; ``None``: 1."""
    kv_scale: Tensor | None
    """The same for an fp8 cache, as key and as value."""
    plan: PadPlan
    decision: Decision
    """The plan's answer for this query length."""

    @property
    def settings(self) -> Mapping[str, Setting]:
        """AITER's parameters that the plan asks for, by name."""
        return self.plan.settings


class Prepared(Protocol):
    """A back end with everything it needs for one launch, ready to run again and again."""

    kernels: tuple[str, ...]
    """The kernels that it should launch, as far as it can tell; a profiler shows the others."""

    def run(self, q: Tensor, kv: Tensor, out: Tensor, lse: Tensor | None) -> None:
        """Launches, without waiting for the device and without shapes that depend on data.

        Args:
            q: ``[tokens, num_heads, 576]``, contiguous, as launched.
            kv: ``[num_pages, page_size, 1, 576]``, contiguous.
            out: ``[tokens, num_heads, 512]`` bfloat16, contiguous; written.
            lse: ``[tokens, num_heads]`` float32, contiguous; written with the natural logarithm
                of the sum of the exponentials of what the softmax is taken of. ``None`` exactly
                if the launch wants none.
        """

    def refresh(self) -> None:
        """Follows a change of the layout's tensors in place (same shapes, other lengths or
        pages), again without waiting for the device.

        Raises:
            DecodeError: this back end cannot.
        """


class Backend(Protocol):
    """One way to decode. Each is a module of this package with a ``BACKEND``."""

    name: str
    """What ``--backend`` calls it."""

    def unfit(self, problem: Problem, plan: PadPlan) -> str | None:
        """Why it cannot run a problem in this process; ``None``: it can. Cheap, and launches
        nothing."""

    def prepare(self, launch: Launch) -> Prepared:
        """Sizes and plans for one launch; may wait for the device.

        Raises:
            DecodeError: it cannot be launched, with the reason.
        """

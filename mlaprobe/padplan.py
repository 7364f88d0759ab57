"""What the resolver answers: the head count to launch, by which route, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mlaprobe import padding
from mlaprobe.launch import LaunchNeed, Setting, settings
from mlaprobe.padding import Strategy, Tensor
from mlaprobe.shape import Decision, Dtype, Route, Verdict


class Mode(str, Enum):
    """How far a caller wants heads padded."""

    OFF = "off"
    """To the next multiple of 16, whatever the source says."""
    AUTO = "auto"
    """To a native count where the policy allows it and it is not dearer."""
    FORCE = "force"
    """To a native count wherever there is one."""

    __hash__ = str.__hash__  # repeated plans are looked up by it

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A head count that was not taken."""

    num_heads: int
    reason: str
    verdict: Verdict | None = None
    """What the source says of it; ``None`` where it was not asked, or said NATIVE."""
    qlen: int | None = None
    """The query length at which it says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PadPlan:
    """The answer: constant for a run, chosen before any graph capture."""

    num_heads: int
    """Query heads per rank, as the model has them (after a context-parallel gather)."""
    padded_num_heads: int
    """Query heads to launch with."""
    route: Route
    strategy: Strategy
    """What padding heads hold; of no effect where nothing is padded."""
    mode: Mode
    verdict: Verdict
    """What the source says of the launched count: the worst over the query lengths."""
    reason: str
    """Why this count."""
    arch: str
    q_dtype: Dtype
    kv_dtype: Dtype
    lse: bool
    qlens: tuple[int, ...]
    """Every query length of the run, ascending."""
    kernel_qlens: tuple[int, ...]
    """The query length to launch with, for each of ``qlens``."""
    decisions: tuple[Decision, ...]
    """The source's answer for the launched count, for each of ``kernel_qlens``."""
    rejected: tuple[Rejected, ...] = ()
    """Counts that were looked at and not taken, ascending."""
    launch: tuple[LaunchNeed, ...] = ()
    """What the launch needs."""
    cost_us: float | None = None
    """Estimated microseconds of the launched count, summed over the query lengths; ``None``
    where it does not run or nothing is known of its cost."""
    stay_us: float | None = None
    """The same for the unpadded rule's count."""
    cost_name: str = ""
    """On what the cost was measured."""
    notes: tuple[str, ...] = ()

    @property
    def pads(self) -> bool:
        """Whether heads are added."""
        return self.padded_num_heads != self.num_heads

    @property
    def expected_gain(self) -> float | None:
        """The part of the time that is saved against the unpadded rule, by the cost model;
        ``None`` where either is unknown."""
        if self.cost_us is None or not self.stay_us:
            return None
        return 1 - self.cost_us / self.stay_us

    @property
    def settings(self) -> dict[str, Setting]:
        """AITER's parameters that the launch needs, by name."""
        return settings(self.launch)

    @property
    def kernel_qlen(self) -> int:
        """The query length to launch the longest query with."""
        return self.kernel_qlens[-1]

    def kernel_qlen_for(self, qlen: int) -> int:
        """The query length to launch a query with.

        Raises:
            KeyError: the run has no such query length.
        """
        return dict(zip(self.qlens, self.kernel_qlens, strict=True))[qlen]

    def pad_q(self, q: Tensor) -> Tensor:
        """The query as the kernel takes it: ``[..., num_heads, width]`` to
        ``[..., padded_num_heads, width]``, packed; itself where nothing is padded.

        Raises:
            UsageError: it has another number of heads.
        """
        padding.check_heads(q.shape[-2], self.num_heads)
        return padding.pad_heads(q, self.padded_num_heads, self.strategy)

    def unpad_o(self, o: Tensor) -> Tensor:
        """The output of the real heads, as a view: ``[..., padded_num_heads, width]`` to
        ``[..., num_heads, width]``.

        Raises:
            UsageError: it has another number of heads.
        """
        padding.check_heads(o.shape[-2], self.padded_num_heads)
        return padding.unpad_heads(o, self.num_heads, self.strategy)

    def unpad_lse(self, lse: Tensor) -> Tensor:
        """The log-sum-exp of the real heads, as a view: ``[..., padded_num_heads]`` to
        ``[..., num_heads]``.

        Raises:
            UsageError: it has another number of heads.
        """
        padding.check_heads(lse.shape[-1], self.padded_num_heads)
        return padding.unpad_heads(lse, self.num_heads, self.strategy, dim=-1)

    def pad_rows(self, q: Tensor, qlen: int) -> Tensor:
        """Queries of the kernel's length: ``[requests * qlen, ...]`` to
        ``[requests * kernel_qlen, ...]``, zero rows in front; itself where nothing is padded.

        Raises:
            KeyError: the run has no such query length.
            UsageError: the rows make no whole requests.
        """
        return padding.pad_rows(q, qlen, self.kernel_qlen_for(qlen))

    def unpad_rows(self, x: Tensor, qlen: int) -> Tensor:
        """The real rows of an output or log-sum-exp: the reverse of ``pad_rows``.

        Raises:
            KeyError: the run has no such query length.
            UsageError: the rows make no whole requests.
        """
        return padding.unpad_rows(x, qlen, self.kernel_qlen_for(qlen))

"""What the resolver answers: the head count to launch, by which route, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mlaprobe.core.needs import Need
from mlaprobe.core.shape import Decision, Dtype, Route, Verdict
from mlaprobe.deciding.logsumexp import loses_it
from mlaprobe.errors import UsageError
from mlaprobe.padding import tensors as padding
from mlaprobe.padding.needed import merged
from mlaprobe.padding.request import Mode
from mlaprobe.padding.tensors import Strategy, Tensor
from mlaprobe.padding.verdicts import runs
from mlaprobe.rulefiles.arguments import PLANNER, arguments
from mlaprobe.rulefiles.requirements import LaunchNeed, Setting, needs, settings

if TYPE_CHECKING:
    from mlaprobe.padding.origin import PlanSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A head count that was not taken."""

    num_heads: int
    reason: str
    verdict: Verdict | None = None
    """The source's; ``None`` where it was not evaluated, or is NATIVE."""
    qlen: int | None = None
    """The query length that has this verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Another launch, which runs where the requested one does not."""

    what: str
    """What is different: ``planner`` (as launched), ``persistent``, ``route``,
    ``qlens``, ``mode``, ``lse`` or ``page_size``."""
    value: object
    """Its value there."""
    num_heads: int
    """The head count to launch with."""
    verdict: Verdict

    def __str__(self) -> str:
        """What is different, for example ``persistent=False``."""
        return f"{self.what}={'as launched' if self.what == 'planner' else self.value}"


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
    """The launched count's, the worst over the query lengths."""
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
    """What the launch needs, by what people noticed."""
    cost_us: float | None = None
    """Estimated microseconds of the launched count, summed over the query lengths; ``None``
    where it does not run, where nothing is known of its cost, and where the cost is borrowed from
    another arch or other dtypes: then only ``cost_ratio`` means something."""
    stay_us: float | None = None
    """The same for the unpadded rule's count."""
    cost_name: str = ""
    """On what the cost was measured."""
    notes: tuple[str, ...] = ()
    cost_ratio: float | None = None
    """The time of the launched count, as a multiple of that of the unpadded rule's count; ``None``
    where one of them does not run or nothing is known of its cost."""
    persistent: bool = True
    """Whether to launch with work metadata; of no effect on the gluon route."""
    undecided: tuple[int, ...] = ()
    """Where nothing is known to run: the counts of which that is not known."""
    ways: tuple[Way, ...] = ()
    """Where the launch is not known to run: launches that are, with one argument changed."""
    source: PlanSource | None = None
    """The AITER that the plan is of; ``None`` where the capability does not say."""
    parameters: tuple[tuple[str, frozenset[str]], ...] = field(default=(), repr=False)
    """What AITER's functions take there, as far as that is known."""

    asked: Sequence[Need] | None = field(default=None, repr=False, compare=False)
    """What the launch needs, found by asking its AITER at the first access; ``None`` where that
    is not recorded (in a snapshot) or cannot be asked."""

    def __str__(self) -> str:
        return self.line

    @property
    def needs(self) -> tuple[LaunchNeed | Need, ...]:
        """All that the launch needs: what people noticed, as far as asking does not show the same,
        and what asking shows, with the outcome of doing otherwise.

        Raises:
            SourceError: it has to be asked for, and a file cannot be read.
        """
        return merged(self.launch, self.asked or ())

    @property
    def line(self) -> str:
        """One line for a log: the question, the launch, and which AITER it is of."""
        qlens = ",".join(map(str, self.qlens))
        lse = "with" if self.lse else "without"
        question = (
            f"{self.arch} {self.q_dtype}/{self.kv_dtype}, {self.num_heads} heads, qlen {qlens}, "
            f"{lse} log-sum-exp, mode {self.mode}"
        )
        would = ", ".join(f"{way} with {way.num_heads} heads" for way in self.ways)
        instead = f" (would run: {would})" if would else ""
        return f"{question}: {self.answer}{instead}; {self.source or 'AITER of an unknown source'}"

    @property
    def answer(self) -> str:
        """What to launch, or that nothing runs or is known to, in a few words."""
        if self.runs:
            how = "" if self.persistent or self.route is Route.GLUON else ", non-persistent"
            return (
                f"launch {self.padded_num_heads} heads on the {self.route} route{how}, "
                f"{self.verdict}"
            )
        what = "not known whether anything runs" if self.undecided else "nothing runs"
        return f"{what}, {self.padded_num_heads} heads are {self.verdict}"

    @property
    def runs(self) -> bool:
        """Whether the launch is known to run, with the right result, at every query length. A plan
        that does not run is no launch."""
        return all(map(runs, self.decisions))

    @property
    def pads(self) -> bool:
        """Whether heads are added."""
        return self.padded_num_heads != self.num_heads

    @property
    def expected_gain(self) -> float | None:
        """The part of the time that is saved against the unpadded rule, by the cost model;
        ``None`` where either is unknown."""
        return None if self.cost_ratio is None else 1 - self.cost_ratio

    @property
    def settings(self) -> dict[str, Setting]:
        """What the run needs of AITER's parameters, for people; ``settings_for`` has what to pass
        to one function for one query length."""
        return settings(self.launch)

    def settings_for(
        self, qlen: int, function: str = PLANNER, *, q_dtype: object = None, kv_dtype: object = None
    ) -> dict[str, object]:
        """What to pass for queries of one length, by the function's own parameter names, ready
        for ``**``: numbers, booleans, and names of dtypes. Only what that AITER's function takes,
        where that is known; all that any release takes otherwise.

        Args:
            qlen: one of ``qlens``.
            function: ``get_mla_metadata_v1``, ``get_mla_metadata_info_v1`` or ``mla_decode_fwd``.
                Without work metadata, and on the gluon route, the first two get nothing.
            q_dtype: what to pass for the query's dtype instead of its name (``torch`` has one
                for each fp8); so does ``kv_dtype`` for the cache's.

        Raises:
            UsageError: the run has no such query length, or there is no such function.
        """
        if qlen not in self.qlens:
            raise UsageError(
                f"the plan has no query length {qlen!r}",
                hint=f"it is for {', '.join(map(str, self.qlens))}",
            )
        decision = self.decisions[self.qlens.index(qlen)]
        shape = decision.shape
        needed = settings(needs(shape, padded=self.pads, one_split=loses_it(decision)))
        return arguments(
            function,
            shape,
            needed,
            takes=dict(self.parameters).get(function),
            instead={"q_dtype": q_dtype, "kv_dtype": kv_dtype},
        )

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

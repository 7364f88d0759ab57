"""Chooses the head count to launch. ``mlaprobe.resolve`` is the call that others make.

The rules, in order: the unpadded rule (the next multiple of 16) for mode ``off``, for an arch
that the source does not name and above the largest count; the count itself where it is native
at every query length; else the cheapest count above it that is, as far as the policy allows; else
the unpadded rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from mlaprobe import reasons
from mlaprobe.cost import CostModel, Profile
from mlaprobe.padplan import Mode, Rejected
from mlaprobe.policy import Policy
from mlaprobe.shape import Decision, DecodeShape, Dtype, Route, Verdict


class Decider(Protocol):
    """What the resolver asks: a live source or a snapshot."""

    @property
    def archs(self) -> tuple[str, ...]:
        """The archs that the source names."""
        ...

    def decide(self, shape: DecodeShape) -> Decision: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The question to the resolver, its values normalised."""

    num_heads: int
    arch: str
    q_dtype: Dtype
    kv_dtype: Dtype
    qlens: tuple[int, ...]
    """Ascending, each once."""
    lse: bool
    mode: Mode
    page_size: int
    route: Route | None
    """``None``: choose one."""
    causal: bool
    cp_round_robin: bool
    persistent: bool
    kv_len: int | None
    batch: int | None
    env: tuple[tuple[str, str], ...]
    pad_qlen: bool
    """Whether a query may ride a kernel for a longer one."""

    def shape(
        self, num_heads: int, qlen: int, route: Route = Route.ASM, batch: int | None = None
    ) -> DecodeShape:
        """The shape that a launch with so many heads has."""
        return DecodeShape(
            arch=self.arch,
            q_dtype=self.q_dtype,
            kv_dtype=self.kv_dtype,
            num_heads=num_heads,
            qlen=qlen,
            lse=self.lse,
            persistent=self.persistent,
            causal=self.causal,
            cp_round_robin=self.cp_round_robin,
            batch=self.batch if batch is None else batch,
            page_size=self.page_size,
            route=route,
            env=self.env,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One head count at every query length of the run."""

    num_heads: int
    decisions: tuple[Decision, ...]
    """For each query length, as launched."""
    cost: float | None
    """Microseconds, summed over the query lengths; ``None`` where it does not run."""

    @property
    def native(self) -> bool:
        """Whether it is native at every query length, on kernels that ship."""
        return all(map(native, self.decisions))

    @property
    def verdict(self) -> Verdict:
        """The worst verdict."""
        return max((d.verdict for d in self.decisions), key=_SEVERITY.index)

    @property
    def worst(self) -> Decision:
        """The first decision with the worst verdict."""
        return next(d for d in self.decisions if d.verdict is self.verdict)


# From harmless to harmful; a definite failure is worse than an unknown.
_SEVERITY = (
    *(Verdict.NATIVE, Verdict.FOLDED, Verdict.UNKNOWN, Verdict.REJECTED, Verdict.NO_REDUCER),
    *(Verdict.NO_KERNEL, Verdict.AMBIGUOUS, Verdict.INCOHERENT, Verdict.ERRATUM),
)


def native(decision: Decision) -> bool:
    """Whether a decision is native, on kernels whose files are not known to be missing."""
    return decision.verdict is Verdict.NATIVE and not any(
        kernel.co_present is False or kernel.has_symbol is False for kernel in decision.kernels
    )


def why_not(decision: Decision) -> str:
    """Why a decision is not a target, in words."""
    verdict, at = decision.verdict, f"at qlen {decision.shape.qlen}"
    if verdict is Verdict.NATIVE:
        kernel = next(k for k in decision.kernels if k.co_present is False or k.has_symbol is False)
        return f"its kernel's code object {kernel.co} is missing {at}"
    if verdict is Verdict.FOLDED:
        return f"folded {decision.fold * decision.qlen_fold}x {at}"
    text = f"{verdict} {at}"
    if decision.stage is not None:
        text += f" ({decision.stage})"
    message = (reasons.reason(decision, place=True) or "").lstrip(": ")
    return f"{text}: {message}" if message else text


@dataclass(slots=True, kw_only=True)
class Choice:
    """What was chosen, and what was not."""

    taken: Evaluation
    stay: Evaluation
    """The unpadded rule's count."""
    reason: str
    rejected: list[Rejected] = field(default_factory=list)


class Chooser:
    """Asks a capability about head counts for one request, each at most once."""

    def __init__(
        self, capability: Decider, request: Request, policy: Policy, profile: Profile | None
    ) -> None:
        self._capability = capability
        self._request = request
        self._policy = policy
        self.model: CostModel = policy.cost
        if profile is not None and profile.covers(request.arch, request.q_dtype, request.kv_dtype):
            self.model = profile.model
        self._asked: dict[tuple[int, int], Decision] = {}

    def decide(self, num_heads: int, qlen: int) -> Decision:
        """The source's answer for one launch, by a longer kernel where that is allowed and the
        query's own is not native."""
        key = num_heads, qlen
        if key not in self._asked:
            self._asked[key] = self._decide(num_heads, qlen)
        return self._asked[key]

    def _decide(self, num_heads: int, qlen: int) -> Decision:
        request = self._request
        own = self._capability.decide(request.shape(num_heads, qlen))
        if request.pad_qlen and not native(own):
            for longer in self._policy.ride_lengths:
                if longer <= qlen:
                    continue
                ridden = self._capability.decide(request.shape(num_heads, longer))
                if native(ridden):
                    return ridden
        return own

    def evaluate(self, num_heads: int) -> Evaluation:
        """One head count at every query length."""
        decisions = tuple(self.decide(num_heads, qlen) for qlen in self._request.qlens)
        cost: float | None = None
        if all(d.verdict.runs for d in decisions):
            cost = sum(self._cost(num_heads, d.fold * d.qlen_fold) for d in decisions)
        return Evaluation(num_heads=num_heads, decisions=decisions, cost=cost)

    def _cost(self, num_heads: int, passes: int) -> float:
        return self.model.cost(num_heads, passes, self._request.kv_len)

    def choose(self) -> Choice:
        """The head count to launch on the asm route."""
        request, rules = self._request, self._policy
        count = request.num_heads
        stay = self.evaluate(rules.unpadded(count))
        if request.mode is Mode.OFF:
            return Choice(taken=stay, stay=stay, reason=f"mode off: {self._rule(stay)}")
        if request.arch not in self._capability.archs:
            reason = f"the source names no {request.arch}, so nothing is padded: {self._rule(stay)}"
            return Choice(taken=stay, stay=stay, reason=reason)
        own = self.evaluate(count)
        if own.native:
            return Choice(taken=own, stay=stay, reason=f"{count} heads are native as they are")
        if count > rules.largest:
            reason = f"nothing is padded above {rules.largest} heads: {self._rule(stay)}"
            return Choice(taken=stay, stay=stay, reason=reason)
        return self._search(own, stay)

    def _rule(self, stay: Evaluation) -> str:
        if stay.num_heads == self._request.num_heads:
            return f"{stay.num_heads} heads are a multiple of {self._policy.multiple} already"
        return f"the next multiple of {self._policy.multiple}"

    def _search(self, own: Evaluation, stay: Evaluation) -> Choice:
        choice = Choice(taken=stay, stay=stay, reason="")
        self._reject(choice, own.num_heads, own.worst)
        for cost, count in self._candidates():
            refused = self._refused_by_policy(count, cost, stay)
            if refused is not None:
                choice.rejected.append(Rejected(num_heads=count, reason=refused))
                continue
            failing = self._failing(count)
            if failing is not None:
                self._reject(choice, count, failing)
                continue
            choice.taken = self.evaluate(count)
            choice.reason = self._why(choice)
            break
        else:
            choice.reason = f"no count up to {self._policy.largest} qualifies: {self._rule(stay)}"
        choice.rejected.sort(key=lambda rejected: rejected.num_heads)
        return choice

    def _candidates(self) -> Iterator[tuple[float, int]]:
        """Cost if native, and count: the cheapest first, the smaller of equals."""
        counts = range(self._request.num_heads + 1, self._policy.largest + 1)
        launches = len(self._request.qlens)
        yield from sorted((launches * self._cost(count, 1), count) for count in counts)

    def _refused_by_policy(self, count: int, cost: float, stay: Evaluation) -> str | None:
        if self._request.mode is Mode.FORCE:
            return None
        growth = self._policy.growth
        if count > growth * stay.num_heads:
            return f"more than {growth:g}x the {stay.num_heads} heads launched otherwise"
        # A count that does not run costs more than any that does. The tolerance is for sums of
        # floats that are equal on paper.
        if stay.cost is not None and cost > stay.cost * (1 + 1e-9):
            return f"dearer than {stay.num_heads} heads: {cost:.1f} us against {stay.cost:.1f} us"
        return None

    def _failing(self, count: int) -> Decision | None:
        """The answer that disqualifies a count. The longest query first: it is what most counts
        have no kernel for."""
        for qlen in reversed(self._request.qlens):
            decision = self.decide(count, qlen)
            if not native(decision):
                return decision
        return None

    @staticmethod
    def _reject(choice: Choice, count: int, decision: Decision) -> None:
        verdict = None if decision.verdict is Verdict.NATIVE else decision.verdict
        choice.rejected.append(
            Rejected(
                num_heads=count,
                reason=why_not(decision),
                verdict=verdict,
                qlen=decision.shape.qlen,
            )
        )

    def _why(self, choice: Choice) -> str:
        taken, stay = choice.taken, choice.stay
        text = f"{taken.num_heads} heads are native at every query length"
        if stay.num_heads == taken.num_heads:
            return text
        if stay.cost is None or taken.cost is None:
            return f"{text}, and {stay.num_heads} do not run: {why_not(stay.worst)}"
        change = taken.cost / stay.cost - 1
        if stay.native:
            return f"{text}: {change:+.1%} against {stay.num_heads} heads, native too"
        return f"{text}: {change:+.1%} against {stay.num_heads} heads {why_not(stay.worst)}"

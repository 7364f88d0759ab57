"""Chooses the head count to launch. ``mlaprobe.padding.api`` is the call that others make.

The rules, in order: the unpadded rule (the next multiple of 16) for mode ``off``, for an arch
that the source does not name and above the largest count; the count itself where it is native
at every query length; else the cheapest count above it that is, as far as the policy allows; else
the unpadded rule. Where the unpadded rule's count does not run, the policy has nothing to compare
with: then the cheapest count that runs, and for ``force`` the cheapest native one, whatever it
costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlaprobe.core.protocols import Decider
from mlaprobe.core.shape import Decision, Verdict
from mlaprobe.padding.candidates import Candidate, Launch
from mlaprobe.padding.plan import Rejected
from mlaprobe.padding.request import Mode
from mlaprobe.padding.verdicts import may_run, why_not
from mlaprobe.rulefiles.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The head count for a run, and the counts that were not taken."""

    taken: Candidate
    stay: Candidate
    """The unpadded rule's count."""
    reason: str
    rejected: tuple[Rejected, ...] = ()
    """Ascending."""
    undecided: tuple[int, ...] = ()
    """Where nothing runs: counts of which that is not known."""


class Chooser:
    """Looks for one head count for all launches of a run."""

    def __init__(self, capability: Decider, launches: tuple[Launch, ...], policy: Policy) -> None:
        self._launches = launches
        self._policy = policy
        self._request = launches[0].request
        """What they have in common stands in the request of each."""
        self.named = self._request.arch in capability.archs
        """Whether the source names the arch; nothing is padded where it does not."""

    def evaluate(self, num_heads: int) -> Candidate:
        """One head count in every launch."""
        return Candidate(
            num_heads=num_heads,
            parts=tuple(launch.evaluate(num_heads) for launch in self._launches),
            names=tuple(launch.request.name for launch in self._launches),
        )

    def choose(self) -> Choice:
        """The head count to launch."""
        request, rules = self._request, self._policy
        count, arch = request.num_heads, request.arch
        stay = self.evaluate(rules.unpadded(count))
        if request.mode is Mode.OFF:
            return self._staying(stay, "" if stay.gluon else "mode off: ")
        own = self.evaluate(count)
        if own.gluon and own.native:
            return Choice(taken=own, stay=own, reason=self._gluon_reason(count))
        if not self.named:
            return self._staying(stay, f"the source names no {arch}, so nothing is padded: ")
        if own.native:
            return Choice(taken=own, stay=stay, reason=f"{count} heads are native as they are")
        if count > rules.largest:
            return self._staying(stay, f"nothing is padded above {rules.largest} heads: ")
        return self._search(own, stay)

    def _gluon_reason(self, count: int) -> str:
        named = all(launch.request.route is not None for launch in self._launches)
        chosen = "asked for" if named else "it needs no padding"
        return f"the gluon route takes {count} heads here ({chosen})"

    def _staying(self, stay: Candidate, why: str) -> Choice:
        """The unpadded rule's count, the only one that may be launched."""
        if stay.gluon and stay.native:
            return Choice(taken=stay, stay=stay, reason=why + self._gluon_reason(stay.num_heads))
        reason = why + self._rule(stay)
        if stay.runs:
            return Choice(taken=stay, stay=stay, reason=reason)
        undecided = (stay.num_heads,) if stay.may_run else ()
        reason = f"{reason}, and {_refusal(stay)}"
        return Choice(taken=stay, stay=stay, reason=reason, undecided=undecided)

    def _rule(self, stay: Candidate) -> str:
        if stay.num_heads == self._request.num_heads:
            return f"{stay.num_heads} heads are a multiple of {self._policy.multiple} already"
        return f"the next multiple of {self._policy.multiple}"

    # --- searching -------------------------------------------------------------------------------

    def _search(self, own: Candidate, stay: Candidate) -> Choice:
        rejected = [_rejected(own.num_heads, *own.worst)]
        others = [own]
        found: Candidate | None = None
        for cost, count in self._candidates():
            refused = self._refused_by_policy(count, cost, stay)
            if refused is not None:
                rejected.append(Rejected(num_heads=count, reason=refused))
                continue
            failing = self._failing(count)
            if failing is None:
                found = self.evaluate(count)
                break
            rejected.append(_rejected(count, *failing))
            if not stay.runs and may_run(failing[0]):
                others.append(self.evaluate(count))
        rejected.sort(key=lambda each: each.num_heads)
        return self._settled(stay, found, others, tuple(rejected))

    def _settled(
        self,
        stay: Candidate,
        found: Candidate | None,
        others: Sequence[Candidate],
        rejected: tuple[Rejected, ...],
    ) -> Choice:
        """The choice between a native count, one that runs, and what is launched anyhow.

        Args:
            others: counts that are not native, and may run where the unpadded rule's does not.
        """
        running = [other for other in others if other.runs]
        second = min(running, key=lambda other: other.cost or 0.0, default=None)
        if not stay.runs and second is not None and not self._preferred(found, second):
            reason = (
                f"{second.num_heads} heads run at every query length, "
                f"{second.why_not}, and {stay.num_heads} do not: {stay.why_not}"
            )
            rejected = tuple(each for each in rejected if each.num_heads != second.num_heads)
            return Choice(taken=second, stay=stay, reason=reason, rejected=rejected)
        if found is not None:
            return Choice(taken=found, stay=stay, reason=_gain(found, stay), rejected=rejected)
        counts = f"no count up to {self._policy.largest}"
        if stay.runs:
            reason = f"{counts} qualifies: {self._rule(stay)}"
            return Choice(taken=stay, stay=stay, reason=reason, rejected=rejected)
        undecided = tuple(sorted({each.num_heads for each in (stay, *others) if each.may_run}))
        reason = f"{counts} {'is known to run' if undecided else 'runs'}: {_refusal(stay)}"
        return Choice(taken=stay, stay=stay, reason=reason, rejected=rejected, undecided=undecided)

    def _preferred(self, found: Candidate | None, second: Candidate) -> bool:
        """Whether a native count is taken rather than one that only runs."""
        if found is None or found.cost is None or second.cost is None:
            return False
        return self._request.mode is Mode.FORCE or found.cost <= second.cost

    def _candidates(self) -> Iterator[tuple[float, int]]:
        """Cost if native, and count: the cheapest first, the smaller of equals."""
        counts = range(self._request.num_heads + 1, self._policy.largest + 1)
        yield from sorted((self._cost(count), count) for count in counts)

    def _cost(self, count: int) -> float:
        return sum(len(launch.request.qlens) * launch.cost(count) for launch in self._launches)

    def _refused_by_policy(self, count: int, cost: float, stay: Candidate) -> str | None:
        # What runs is better than what does not, whatever it costs.
        if self._request.mode is Mode.FORCE or stay.cost is None:
            return None
        growth = self._policy.growth
        if count > growth * stay.num_heads:
            return f"more than {growth:g}x the {stay.num_heads} heads launched otherwise"
        # The tolerance is for sums of floats that are equal on paper.
        if cost > stay.cost * (1 + 1e-9):
            if any(launch.borrowed for launch in self._launches):
                return f"dearer than {stay.num_heads} heads: {cost / stay.cost - 1:+.1%}"
            return f"dearer than {stay.num_heads} heads: {cost:.1f} us against {stay.cost:.1f} us"
        return None

    def _failing(self, count: int) -> tuple[Decision, str] | None:
        """The answer that keeps a count from being native, and the name of its launch."""
        for launch in self._launches:
            decision = launch.failing(count)
            if decision is not None:
                return decision, launch.request.name
        return None


def _rejected(count: int, decision: Decision, launch: str) -> Rejected:
    """A count, and the answer for a launch that keeps it from being native."""
    return Rejected(
        num_heads=count,
        reason=why_not(decision, launch),
        verdict=None if decision.verdict is Verdict.NATIVE else decision.verdict,
        qlen=decision.shape.qlen,
    )


def _gain(taken: Candidate, stay: Candidate) -> str:
    """Why a native count is taken, with what it costs against the unpadded rule's."""
    text = f"{taken.num_heads} heads are native at every query length"
    if stay.num_heads == taken.num_heads:
        return text
    if stay.cost is None or taken.cost is None:
        return f"{text}, and {stay.num_heads} do not run: {stay.why_not}"
    change = taken.cost / stay.cost - 1
    if stay.native:
        return f"{text}: {change:+.1%} against {stay.num_heads} heads, native too"
    return f"{text}: {change:+.1%} against {stay.num_heads} heads {stay.why_not}"


def _refusal(stay: Candidate) -> str:
    """What is in the way of a count."""
    if stay.may_run:
        return f"it is not known whether {stay.num_heads} heads run: {stay.why_not}"
    return f"{stay.num_heads} heads do not run: {stay.why_not}"

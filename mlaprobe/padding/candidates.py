"""Head counts as candidates: the decisions for them in one launch, and in all of a run."""

from __future__ import annotations

from dataclasses import dataclass

from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.protocols import Decider
from mlaprobe.core.shape import Decision, Route, Verdict
from mlaprobe.padding.request import Mode, Request
from mlaprobe.padding.verdicts import may_run, native, runs, why_not, worst, worst_of
from mlaprobe.rulefiles.cost import CostModel
from mlaprobe.rulefiles.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One head count at every query length of one launch."""

    num_heads: int
    route: Route
    persistent: bool
    decisions: tuple[Decision, ...]
    """For each query length, as launched."""
    cost: float | None
    """Microseconds, summed over the query lengths; ``None`` where it does not run."""

    @property
    def native(self) -> bool:
        """Whether it is native at every query length, on kernels that ship."""
        return all(map(native, self.decisions))

    @property
    def runs(self) -> bool:
        """Whether it runs at every query length."""
        return all(map(runs, self.decisions))

    @property
    def may_run(self) -> bool:
        """Whether it runs at every query length, for all that is known."""
        return all(map(may_run, self.decisions))

    @property
    def verdict(self) -> Verdict:
        """The worst verdict."""
        return worst(d.verdict for d in self.decisions)

    @property
    def worst(self) -> Decision:
        """The decision that speaks most against it."""
        return worst_of(self.decisions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One head count for every launch of a run."""

    num_heads: int
    parts: tuple[Evaluation, ...]
    """For each launch."""
    names: tuple[str, ...]
    """Of the launches."""

    @property
    def native(self) -> bool:
        """Whether every launch is native."""
        return all(part.native for part in self.parts)

    @property
    def runs(self) -> bool:
        """Whether every launch runs."""
        return all(part.runs for part in self.parts)

    @property
    def may_run(self) -> bool:
        """Whether every launch runs, for all that is known."""
        return all(part.may_run for part in self.parts)

    @property
    def cost(self) -> float | None:
        """The sum over the launches; ``None`` where one does not run."""
        costs = [part.cost for part in self.parts if part.cost is not None]
        return sum(costs) if len(costs) == len(self.parts) else None

    @property
    def gluon(self) -> bool:
        """Whether every launch takes the gluon route."""
        return all(part.route is Route.GLUON for part in self.parts)

    @property
    def worst(self) -> tuple[Decision, str]:
        """The decision that speaks most against it, and the name of its launch."""
        decision = worst_of(part.worst for part in self.parts)
        at = next(i for i, part in enumerate(self.parts) if part.worst is decision)
        return decision, self.names[at]

    @property
    def why_not(self) -> str:
        """The same in words."""
        return why_not(*self.worst)


class Launch:
    """Asks a source about head counts for one launch of a run, each question at most once."""

    def __init__(self, capability: Decider, request: Request, policy: Policy) -> None:
        self.request = request
        self._decide = capability.decide
        self._policy = policy
        self.model: CostModel = policy.cost
        where = request.arch, request.q_dtype, request.kv_dtype
        if request.profile is not None and request.profile.covers(*where):
            self.model = request.profile
        self.borrowed = not self.model.covers(*where)
        """Whether the costs are those of another arch or of other dtypes."""
        self._decisions: dict[tuple[int, int, bool], Decision] = cache(Cache.PLANS)
        self._evaluations: dict[int, Evaluation] = cache(Cache.PLANS)
        self.refused: str | None = None
        """Why the gluon route is not taken, where the request names it."""
        self._gluon_at = self._gluon_base()

    def cost(self, num_heads: int, passes: int = 1) -> float:
        """Microseconds of one launch."""
        return self.model.cost(num_heads, passes, self.request.kv_len)

    def evaluate(self, num_heads: int) -> Evaluation:
        """One head count at every query length, in the best of the modes that may be chosen."""
        found = self._evaluations.get(num_heads) or self._gluon(num_heads)
        if found is None:
            found = min((self.asm(num_heads, p) for p in self.request.modes), key=_rank)
        self._evaluations[num_heads] = found
        return found

    def failing(self, num_heads: int) -> Decision | None:
        """The answer that keeps a count from being native; ``None`` where it is. The longest
        query first: it is what most counts have no kernel for."""
        if self._gluon_at is not None or len(self.request.modes) > 1:
            found = self.evaluate(num_heads)
            return None if found.native else found.worst
        for qlen in reversed(self.request.qlens):
            decision = self._launched(num_heads, qlen, self.request.modes[0])
            if not native(decision):
                return decision
        return None

    # --- asm -------------------------------------------------------------------------------------

    def asm(self, num_heads: int, persistent: bool) -> Evaluation:
        """One head count at every query length on the asm route, in one mode."""
        decisions = tuple(self._launched(num_heads, q, persistent) for q in self.request.qlens)
        cost: float | None = None
        if all(map(runs, decisions)):
            cost = sum(self.cost(num_heads, d.fold * d.qlen_fold) for d in decisions)
        return Evaluation(
            num_heads=num_heads,
            route=Route.ASM,
            persistent=persistent,
            decisions=decisions,
            cost=cost,
        )

    def _launched(self, num_heads: int, qlen: int, persistent: bool) -> Decision:
        """The source's answer for one launch, by a longer kernel where that is allowed and the
        query's own is not native."""
        key = num_heads, qlen, persistent
        found = self._decisions.get(key)
        if found is None:
            found = self._asked(*key)
            if self.request.pad_qlen and not native(found):
                longer = (length for length in self._policy.ride_lengths if length > qlen)
                ridden = (self._asked(num_heads, length, persistent) for length in longer)
                found = next(filter(native, ridden), found)
            self._decisions[key] = found
        return found

    def _asked(self, num_heads: int, qlen: int, persistent: bool) -> Decision:
        return self._decide(self.request.shape(num_heads, qlen, persistent=persistent))

    # --- gluon -----------------------------------------------------------------------------------

    def _gluon_base(self) -> int | None:
        """The count that the gluon route is taken at; ``None`` where it is not."""
        request, rules = self.request, self._policy
        if not self._wants_gluon():
            return None
        off = request.mode is Mode.OFF
        count = rules.unpadded(request.num_heads) if off else request.num_heads
        refused = next((d for d in self._ask_gluon(count) if not native(d)), None)
        if refused is None:
            return count
        if request.route is Route.GLUON:
            self.refused = (
                f"route gluon does not take {count} heads on {request.arch}: {why_not(refused)}"
            )
        return None

    def _wants_gluon(self) -> bool:
        request, rules = self.request, self._policy
        if request.route is not None:
            return request.route is Route.GLUON
        # Padded to 16 by the unpadded rule, a count is the asm route's own.
        return (
            request.mode is not Mode.OFF
            and request.num_heads in rules.gluon_heads
            and rules.gluon_qlens.issuperset(request.qlens)
            and request.kv_dtype is rules.gluon_kv_dtype
        )

    def _ask_gluon(self, num_heads: int) -> tuple[Decision, ...]:
        """The gluon route's decisions for a head count: for each query length and, where the
        request has no batch size, again for each batch size that must work."""
        request = self.request
        batches = (None,) if request.batch is not None else (None, *self._policy.gluon_batches)
        return tuple(
            self._decide(request.shape(num_heads, qlen, Route.GLUON, batch=batch))
            for batch in batches
            for qlen in request.qlens
        )

    def _gluon(self, num_heads: int) -> Evaluation | None:
        """A head count on the gluon route: the request's own count, and others only where the
        request names the route."""
        if self._gluon_at is None:
            return None
        if num_heads != self._gluon_at and self.request.route is not Route.GLUON:
            return None
        decisions = self._ask_gluon(num_heads)
        if not all(map(native, decisions)):
            return None
        launches = len(self.request.qlens)
        return Evaluation(
            num_heads=num_heads,
            route=Route.GLUON,
            persistent=self.request.modes[0],
            decisions=decisions[:launches],
            cost=launches * self.cost(num_heads),
        )


def _rank(found: Evaluation) -> tuple[bool, bool, bool, float]:
    """The better first: native, else running, else not known to fail; the cheaper of those."""
    return not found.native, not found.runs, not found.may_run, found.cost or 0.0

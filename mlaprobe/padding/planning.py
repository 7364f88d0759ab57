"""From the launches of a run to their plans: the head count, and what each launch needs."""

from __future__ import annotations

import logging

from mlaprobe.core.keeping import Topics
from mlaprobe.core.shape import Route
from mlaprobe.padding.choosing import Choice, Chooser
from mlaprobe.padding.lanes import Evaluation, Lane
from mlaprobe.padding.origin import Origin
from mlaprobe.padding.plan import Mode, PadPlan, Way
from mlaprobe.padding.question import Request
from mlaprobe.padding.resolver import Decider, why_not
from mlaprobe.padding.tensors import Strategy
from mlaprobe.padding.ways import ways
from mlaprobe.rulefiles.cost import Profile
from mlaprobe.rulefiles.policy import policy
from mlaprobe.rulefiles.requirements import needs

logger = logging.getLogger("mlaprobe")
_warned = Topics()


def warn_once(topic: str, message: str) -> None:
    """Logs a warning, one per topic and process."""
    if _warned.first(topic):
        logger.warning(message)


class Planner:
    """Looks for the head count of a run, and makes the plans of its launches."""

    def __init__(
        self,
        capability: Decider,
        requests: tuple[Request, ...],
        profile: Profile | None,
        origin: Origin,
        *,
        ways: bool = True,
    ) -> None:
        """
        Args:
            ways: whether to look for what would run where a plan does not.

        Raises:
            RuleError: the rules are wrong.
        """
        self._capability, self._profile, self._ways = capability, profile, ways
        self.rules = policy()
        self.lanes = tuple(Lane(capability, each, self.rules, profile) for each in requests)
        self.origin = origin
        self.chooser = Chooser(capability, self.lanes, self.rules)

    def choose(self) -> Choice:
        """The head count, and a warning where not all that was asked for is done."""
        request = self.lanes[0].request
        for lane in self.lanes:
            if lane.refused is not None:
                warn_once("gluon", f"{lane.refused}; using the asm route instead")
        choice = self.chooser.choose()
        above = request.num_heads > self.rules.largest and request.mode is not Mode.OFF
        if above and not choice.taken.gluon:
            warn_once(
                "largest",
                f"{request.num_heads} query heads per rank: nothing is padded to a native count "
                f"above {self.rules.largest}",
            )
        return choice

    def plans(self, choice: Choice) -> tuple[PadPlan, ...]:
        """The plan of each launch."""
        pairs = zip(self.lanes, choice.taken.parts, choice.stay.parts, strict=True)
        return tuple(self._plan(lane, taken, stay, choice) for lane, taken, stay in pairs)

    def _plan(self, lane: Lane, taken: Evaluation, stay: Evaluation, choice: Choice) -> PadPlan:
        request = lane.request
        gluon = taken.route is Route.GLUON
        kernel_qlens = tuple(d.shape.qlen for d in taken.decisions)
        padded = taken.num_heads != request.num_heads
        launch = needs(
            taken.decisions[0].shape, padded=padded, qlens=tuple(sorted(set(kernel_qlens)))
        )
        # Nothing is known of what the gluon route costs.
        costs = (None, None) if gluon else (taken.cost, stay.cost)
        return PadPlan(
            num_heads=request.num_heads,
            padded_num_heads=taken.num_heads,
            route=taken.route,
            persistent=taken.persistent,
            strategy=_strategy(request.num_heads, taken.num_heads, request.strategy),
            mode=request.mode,
            verdict=taken.verdict,
            reason=choice.reason + _mode_reason(lane, taken),
            arch=request.arch,
            q_dtype=request.q_dtype,
            kv_dtype=request.kv_dtype,
            lse=request.lse,
            qlens=request.qlens,
            kernel_qlens=kernel_qlens,
            decisions=taken.decisions,
            rejected=tuple(choice.rejected),
            launch=launch,
            cost_us=None if lane.borrowed else costs[0],
            stay_us=None if lane.borrowed else costs[1],
            cost_ratio=None if costs[0] is None or not costs[1] else costs[0] / costs[1],
            cost_name="" if gluon else lane.model.name,
            notes=_notes(lane, taken, stay),
            undecided=tuple(choice.undecided),
            ways=self._other(request) if self._ways and not taken.runs else (),
            source=self.origin.source,
            parameters=tuple(self.origin.parameters.items()),
        )

    def _other(self, request: Request) -> tuple[Way, ...]:
        return ways(self._capability, request, self._profile)


def make_plan(
    capability: Decider,
    request: Request,
    profile: Profile | None,
    origin: Origin,
    *,
    ways: bool = True,
) -> PadPlan:
    """Answers a request.

    Raises:
        RuleError: the rules are wrong.
    """
    planner = Planner(capability, (request,), profile, origin, ways=ways)
    return planner.plans(planner.choose())[0]


def _strategy(heads: int, target: int, wanted: Strategy) -> Strategy:
    """Repeating reaches multiples only; tiling reaches every count."""
    return Strategy.TILE if wanted is Strategy.REPEAT and target % heads else wanted


def _mode_reason(lane: Lane, taken: Evaluation) -> str:
    """Why a launch goes with work metadata or without, where that was free."""
    if lane.request.persistent is not None or taken.route is Route.GLUON:
        return ""
    how = "with work metadata" if taken.persistent else "without work metadata"
    other = lane.asm(taken.num_heads, not taken.persistent)
    if not taken.runs:
        return f"; {how}, and not otherwise either: {why_not(other.worst)}"
    if other.native or (other.runs and other.cost == taken.cost):
        return f"; {how}, which does as well as the other mode"
    otherwise = "without it" if taken.persistent else "with it"
    return f"; {how}, as {otherwise} they are {why_not(other.worst)}"


def _notes(lane: Lane, taken: Evaluation, stay: Evaluation) -> tuple[str, ...]:
    """The notes of all decisions, each once, and what there is to say about the choice."""
    said = [] if lane.refused is None else [f"{lane.refused}; the asm route is used"]
    said += [note for d in taken.decisions for note in d.notes]
    return (*dict.fromkeys(said), *_crossing(lane, taken, stay))


def _crossing(lane: Lane, taken: Evaluation, stay: Evaluation) -> tuple[str, ...]:
    """Down to which KV length padding to a larger count pays, by the cost model."""
    request = lane.request
    if request.kv_len is not None or taken.num_heads == stay.num_heads or stay.cost is None:
        return ()
    launches = len(taken.decisions)
    passes = sum(d.fold * d.qlen_fold for d in stay.decisions)
    crossing = lane.model.crossing(
        (stay.num_heads * launches, passes), (taken.num_heads * launches, launches)
    )
    if crossing is None:
        return ()
    where = f" on {lane.model.where}" if lane.borrowed else ""
    return (
        f"by the cost model this pays from about {crossing:.0f} KV tokens per request on "
        f"(measured at {lane.model.kv_len}{where})",
    )

"""From the requests of a run to the plans of its launches, and to what would run instead where one
does not."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mlaprobe.core.keeping import Topics
from mlaprobe.core.protocols import Decider
from mlaprobe.core.shape import PlannerCall, Route
from mlaprobe.deciding.logsumexp import loses_it
from mlaprobe.padding.candidates import Evaluation, Launch
from mlaprobe.padding.choice import Choice, Chooser
from mlaprobe.padding.needed import found_needs
from mlaprobe.padding.origin import Origin
from mlaprobe.padding.plan import PadPlan, Way
from mlaprobe.padding.request import Mode, Request
from mlaprobe.padding.tensors import Strategy
from mlaprobe.padding.verdicts import why_not
from mlaprobe.rulefiles.policy import policy
from mlaprobe.rulefiles.requirements import needs

logger = logging.getLogger("mlaprobe")
WARNED = Topics()
"""The warnings of this process."""
_LONGEST = 8
"""The longest query that is tried for one that does not run."""
_PAGE_SIZES = (1, 64)


def warn_once(topic: str, message: str) -> None:
    """Logs a warning, one per topic and process."""
    if WARNED.first(topic):
        logger.warning(message)


class Planner:
    """Looks for the head count of a run, and makes the plans of its launches."""

    def __init__(
        self,
        capability: Decider,
        requests: tuple[Request, ...],
        origin: Origin,
        *,
        alternatives: bool = True,
    ) -> None:
        """
        Args:
            alternatives: whether to look for what would run where a plan does not.
        """
        self._capability, self._alternatives = capability, alternatives
        self.rules = policy()
        self.launches = tuple(Launch(capability, each, self.rules) for each in requests)
        self.origin = origin
        self.chooser = Chooser(capability, self.launches, self.rules)

    def choose(self) -> Choice:
        """The head count, and a warning where the request is not carried out in full."""
        request = self.launches[0].request
        for launch in self.launches:
            if launch.refused is not None:
                warn_once("gluon", f"{launch.refused}; using the asm route instead")
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
        pairs = zip(self.launches, choice.taken.parts, choice.stay.parts, strict=True)
        return tuple(self._plan(launch, taken, stay, choice) for launch, taken, stay in pairs)

    def _plan(self, launch: Launch, taken: Evaluation, stay: Evaluation, choice: Choice) -> PadPlan:
        request = launch.request
        gluon = taken.route is Route.GLUON
        kernel_qlens = tuple(d.shape.qlen for d in taken.decisions)
        required = needs(
            taken.decisions[0].shape,
            padded=taken.num_heads != request.num_heads,
            one_split=any(map(loses_it, taken.decisions)),
            qlens=tuple(sorted(set(kernel_qlens))),
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
            reason=choice.reason + _mode_reason(launch, taken),
            arch=request.arch,
            q_dtype=request.q_dtype,
            kv_dtype=request.kv_dtype,
            lse=request.lse,
            qlens=request.qlens,
            kernel_qlens=kernel_qlens,
            decisions=taken.decisions,
            rejected=choice.rejected,
            launch=required,
            asked=found_needs(self._capability, (d.shape for d in taken.decisions)),
            cost_us=None if launch.borrowed else costs[0],
            stay_us=None if launch.borrowed else costs[1],
            cost_ratio=None if costs[0] is None or not costs[1] else costs[0] / costs[1],
            cost_name="" if gluon else launch.model.name,
            notes=_notes(launch, taken, stay),
            undecided=choice.undecided,
            ways=self._ways(request) if self._alternatives and not taken.runs else (),
            source=self.origin.source,
            parameters=tuple(self.origin.parameters.items()),
        )

    def _ways(self, request: Request) -> tuple[Way, ...]:
        """Launches that run, with one thing of a request changed: of each kind the nearest."""
        found = []
        for what, values in _changes(request):
            for value in values:
                launch = Launch(self._capability, replace(request, **{what: value}), self.rules)
                chosen = Chooser(self._capability, (launch,), self.rules).choose()
                part = chosen.taken.parts[0]
                # A refused route falls back to the other, which is no change.
                if part.runs and (what != "route" or part.route is value):
                    way = Way(
                        what=what, value=value, num_heads=part.num_heads, verdict=part.verdict
                    )
                    found.append(way)
                    break
        return tuple(found)


def make_plan(
    capability: Decider, request: Request, origin: Origin, *, alternatives: bool = True
) -> PadPlan:
    """Answers a request; the arguments are those of ``Planner``."""
    planner = Planner(capability, (request,), origin, alternatives=alternatives)
    return planner.plans(planner.choose())[0]


def _strategy(heads: int, target: int, wanted: Strategy) -> Strategy:
    """Repeating reaches multiples only; tiling reaches every count."""
    return Strategy.TILE if wanted is Strategy.REPEAT and target % heads else wanted


def _mode_reason(launch: Launch, taken: Evaluation) -> str:
    """Why a launch goes with work metadata or without, where that was free."""
    if launch.request.persistent is not None or taken.route is Route.GLUON:
        return ""
    how = "with work metadata" if taken.persistent else "without work metadata"
    other = launch.asm(taken.num_heads, not taken.persistent)
    if not taken.runs:
        return f"; {how}, and not otherwise either: {why_not(other.worst)}"
    if other.native or (other.runs and other.cost == taken.cost):
        return f"; {how}, which does as well as the other mode"
    otherwise = "without it" if taken.persistent else "with it"
    return f"; {how}, as {otherwise} they are {why_not(other.worst)}"


def _notes(launch: Launch, taken: Evaluation, stay: Evaluation) -> tuple[str, ...]:
    """The notes of all decisions, each once, and those about the choice."""
    notes = [] if launch.refused is None else [f"{launch.refused}; the asm route is used"]
    notes += [note for d in taken.decisions for note in d.notes]
    return (*dict.fromkeys(notes), *_crossing(launch, taken, stay))


def _crossing(launch: Launch, taken: Evaluation, stay: Evaluation) -> tuple[str, ...]:
    """Down to which KV length padding to a larger count pays, by the cost model."""
    request = launch.request
    if request.kv_len is not None or taken.num_heads == stay.num_heads or stay.cost is None:
        return ()
    launches = len(taken.decisions)
    passes = sum(d.fold * d.qlen_fold for d in stay.decisions)
    crossing = launch.model.crossing(
        (stay.num_heads * launches, passes), (taken.num_heads * launches, launches)
    )
    if crossing is None:
        return ()
    where = f" on {launch.model.where}" if launch.borrowed else ""
    return (
        f"by the cost model this pays from about {crossing:.0f} KV tokens per request on "
        f"(measured at {launch.model.kv_len}{where})",
    )


def _changes(request: Request) -> Iterator[tuple[str, Iterator[Any]]]:
    """Fields of a request, and other values for each, the nearest first."""
    modes = list(Mode)
    yield "mode", iter(modes[modes.index(request.mode) + 1 :])
    if request.planner != PlannerCall():
        yield "planner", iter([PlannerCall()])
    if request.persistent is not None:
        yield "persistent", iter([not request.persistent])
    yield "route", iter([Route.ASM if request.route is Route.GLUON else Route.GLUON])
    yield "qlens", _qlens(request.qlens)
    if request.lse:
        yield "lse", iter([False])
    yield "page_size", (size for size in _PAGE_SIZES if size != request.page_size)


def _qlens(qlens: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The most of the run's query lengths, from either end; then others, the nearest first."""
    for count in range(len(qlens) - 1, 0, -1):
        yield qlens[:count]
        yield qlens[-count:]
    if len(qlens) == 1:
        others = sorted(range(1, _LONGEST + 1), key=lambda q: (abs(q - qlens[0]), q))
        yield from ((qlen,) for qlen in others if qlen != qlens[0])

"""One head count for a run of several launches, as a serving engine makes them: plain decode,
verification of drafts, with and without the log-sum-exp."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any

from mlaprobe.core.numbers import ranges
from mlaprobe.core.protocols import Decider
from mlaprobe.core.shape import PlannerCall, Route
from mlaprobe.errors import MlaprobeError, UsageError
from mlaprobe.padding.api import PLANS, default_capability
from mlaprobe.padding.choice import Choice
from mlaprobe.padding.origin import PlanSource
from mlaprobe.padding.plan import PadPlan, Rejected
from mlaprobe.padding.planning import Planner
from mlaprobe.padding.request import AUTO, Env, Mode, Request, request_of
from mlaprobe.padding.tensors import Strategy
from mlaprobe.rulefiles.cost import Profile

MOST_CASES = 12
"""More launches of one run are a slip of the pen."""
_SHOWN = 6
"""The most head counts that are shown for a case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCase:
    """One launch of a run. The fields are arguments of ``mlaprobe.plan``."""

    name: str = ""
    """What it is called in the answer; left out: its place in the run."""
    qlens: Iterable[int] | int = (1,)
    lse: bool = False
    causal: bool = True
    cp_round_robin: bool = False
    persistent: bool | str = True
    num_kv_splits: int | None = None
    sparse: bool = False
    route: Route | str = AUTO
    batch: int | None = None
    kv_len: int | None = None
    pad_qlen: bool = False
    planner: PlannerCall | Mapping[str, Any] | None = None

    @classmethod
    def of(cls, value: RunCase | Mapping[str, Any]) -> RunCase:
        """A case, also from a mapping with any of its fields.

        Raises:
            UsageError: a key that is no field, or no mapping at all.
        """
        if isinstance(value, RunCase):
            return value
        known = [each.name for each in fields(cls)]
        if not isinstance(value, Mapping):
            raise UsageError(f"a case of a run is a RunCase or a mapping, not {value!r}")
        unknown = [name for name in value if name not in known]
        if unknown:
            raise UsageError(
                f"a case of a run has no {unknown[0]!r}", hint=f"it has {', '.join(known)}"
            )
        return cls(**value)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConflict:
    """Launches that no head count serves together, though any part of them has one."""

    cases: tuple[str, ...]
    known: bool
    """Whether that is certain; not so where a count is UNKNOWN."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """The answer for a run: one head count, and the plan of each launch with it."""

    num_heads: int
    padded_num_heads: int
    plans: tuple[tuple[str, PadPlan], ...]
    """For each case by its name, in the order of the cases: settings, mode, route."""
    reason: str
    conflicts: tuple[RunConflict, ...] = ()
    """Where nothing serves the whole run: the smallest groups of cases that nothing serves."""
    rejected: tuple[Rejected, ...] = ()
    """Counts that were looked at and not taken, ascending."""
    cost_ratio: float | None = None
    """The time of all launches, as a multiple of that with the unpadded rule's count."""
    source: PlanSource | None = None

    def __getitem__(self, name: str) -> PadPlan:
        """The plan of a case.

        Raises:
            KeyError: there is no such case.
        """
        return dict(self.plans)[name]

    def __str__(self) -> str:
        return self.line

    @property
    def runs(self) -> bool:
        """Whether every launch is known to run. A run that does not is no launch."""
        return all(plan.runs for _, plan in self.plans)

    @property
    def cost_us(self) -> float | None:
        """Estimated microseconds of all launches; ``None`` where one of them has none."""
        costs = [plan.cost_us for _, plan in self.plans if plan.cost_us is not None]
        return sum(costs) if len(costs) == len(self.plans) else None

    @property
    def line(self) -> str:
        """One line for a log."""
        cases = "; ".join(f"{name}: {plan.answer}" for name, plan in self.plans)
        what = f"launch {self.padded_num_heads}" if self.runs else "no count serves all cases"
        source = self.source or "AITER of an unknown source"
        return f"{self.num_heads} heads in {len(self.plans)} launches: {what}; {cases}; {source}"


class CannotServeError(MlaprobeError):
    """No head count is known to serve a run, and the call was strict."""

    def __init__(self, found: RunPlan) -> None:
        self.plan = found
        """The plan that would have been."""
        super().__init__(
            f"no head count serves {found.num_heads} heads in every launch of the run: "
            + "; ".join(conflict.reason for conflict in found.conflicts),
            hint="run the cases that conflict with other settings, or apart",
        )


def plan_run(
    cases: Iterable[RunCase | Mapping[str, Any]],
    *,
    num_heads: int,
    capability: Decider | None = None,
    arch: str,
    q_dtype: object,
    kv_dtype: object,
    mode: Mode | str = Mode.AUTO,
    page_size: int = 1,
    kv_cache_bytes: int | str | None = None,
    env: Env = (),
    strategy: Strategy | str = Strategy.TILE,
    strict: bool = False,
    profile: Profile | None = None,
) -> RunPlan:
    """One head count that serves every launch of a run, each with its own settings, or which of
    them cannot be served together.

    The arguments but the cases are those of ``plan``, the same for every launch. For a single case
    the answer is that of ``plan``.

    Raises:
        UsageError: an argument is none of what it may be.
        CannotServeError: ``strict``, and no count is known to serve the run.
        SourceError: no capability is given, and there is no AITER or it cannot be read.
        RuleError: the rules are wrong.
    """
    if capability is None:
        capability = default_capability()
    common = {
        "num_heads": num_heads,
        "arch": arch,
        "q_dtype": q_dtype,
        "kv_dtype": kv_dtype,
        "mode": mode,
        "page_size": page_size,
        "kv_cache_bytes": kv_cache_bytes,
        "env": env,
        "strategy": strategy,
        "profile": profile,
    }
    requests = tuple(_requests(cases, common))
    planner = Planner(capability, requests, PLANS.of(capability).origin_of(capability))
    found = _run_plan(planner, planner.choose())
    if strict and not found.runs:
        raise CannotServeError(found)
    return found


def _requests(
    cases: Iterable[RunCase | Mapping[str, Any]], common: Mapping[str, Any]
) -> Iterator[Request]:
    given = [RunCase.of(case) for case in cases]
    if not 1 <= len(given) <= MOST_CASES:
        raise UsageError(f"a run has 1 to {MOST_CASES} cases, not {len(given)}")
    names = [str(case.name) or f"case {number}" for number, case in enumerate(given, start=1)]
    if len(set(names)) != len(names):
        raise UsageError(f"two cases of the run have one name: {', '.join(names)}")
    for name, case in zip(names, given, strict=True):
        own = {each.name: getattr(case, each.name) for each in fields(case)}
        # Alone, a case is not named in reasons: it is the question of plan().
        yield request_of({**common, **own, "name": name if len(given) > 1 else ""})


def _run_plan(planner: Planner, choice: Choice) -> RunPlan:
    """The answer that a choice comes to."""
    taken, stay = choice.taken, choice.stay
    names = [launch.request.name or "case 1" for launch in planner.launches]
    ratio = None if taken.cost is None or not stay.cost else taken.cost / stay.cost
    return RunPlan(
        num_heads=planner.launches[0].request.num_heads,
        padded_num_heads=taken.num_heads,
        plans=tuple(zip(names, planner.plans(choice), strict=True)),
        reason=choice.reason,
        conflicts=() if taken.runs else tuple(_conflicts(planner, taken.num_heads, names)),
        rejected=choice.rejected,
        cost_ratio=ratio,
        source=planner.origin.source,
    )


def _conflicts(planner: Planner, launched: int, names: list[str]) -> Iterator[RunConflict]:
    """The smallest groups of cases that no count serves."""
    counts = _counts(planner, launched)
    launches = list(zip(names, planner.launches, strict=True))
    served = {name: {n for n in counts if launch.evaluate(n).runs} for name, launch in launches}
    maybe = {name: {n for n in counts if launch.evaluate(n).may_run} for name, launch in launches}
    found: list[set[str]] = []
    for size in range(1, len(names) + 1):
        for group in combinations(names, size):
            if any(smaller <= set(group) for smaller in found):
                continue
            if not set.intersection(*(served[name] for name in group)):
                found.append(set(group))
                possible = set.intersection(*(maybe[name] for name in group))
                yield RunConflict(
                    cases=group, known=not possible, reason=_reason(group, served, bool(possible))
                )


def _counts(planner: Planner, launched: int) -> list[int]:
    """The counts that may be launched."""
    request, largest = planner.launches[0].request, planner.rules.largest
    if request.mode is Mode.OFF:
        return [launched]
    if not planner.chooser.named or request.num_heads > largest:
        return sorted({launched, request.num_heads})
    return sorted({launched, *range(request.num_heads, largest + 1)})


def _reason(group: tuple[str, ...], served: Mapping[str, set[int]], possible: bool) -> str:
    """What each case of a group runs with."""
    parts = [
        f"{name} runs with {_few(sorted(served[name]))}" if served[name] else f"{name} with none"
        for name in group
    ]
    how = "is known to serve" if possible else "serves"
    return f"no count {how} {' and '.join(group)} ({', '.join(parts)})"


def _few(counts: list[int]) -> str:
    shown = ranges(counts[:_SHOWN], ", ")
    rest = len(counts) - _SHOWN
    return f"{shown} and {rest} more" if rest > 0 else shown

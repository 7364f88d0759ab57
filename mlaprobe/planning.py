"""From a request to a plan: the route, the head count, and what the launch needs."""

from __future__ import annotations

import logging

from mlaprobe.cost import Profile
from mlaprobe.launch import needs
from mlaprobe.padding import Strategy
from mlaprobe.padplan import Mode, PadPlan
from mlaprobe.policy import Policy, policy
from mlaprobe.resolver import Choice, Chooser, Decider, Evaluation, Request, native, why_not
from mlaprobe.shape import Decision, Route

logger = logging.getLogger("mlaprobe")
_warned: set[str] = set()


def warn_once(topic: str, message: str) -> None:
    """Logs a warning, one per topic and process."""
    if topic not in _warned:
        _warned.add(topic)
        logger.warning(message)


def make_plan(
    capability: Decider, request: Request, strategy: Strategy, profile: Profile | None = None
) -> PadPlan:
    """Answers a request.

    Raises:
        RuleError: the rules are wrong.
    """
    rules = policy()
    chooser = Chooser(capability, request, rules, profile)
    notes: list[str] = []
    if _wants_gluon(request, rules):
        count = _gluon_count(request, rules)
        accepted = gluon(capability, request, rules, count)
        refused = next((d for d in accepted if not native(d)), None)
        if refused is None:
            return _gluon_plan(request, count, accepted[: len(request.qlens)], strategy)
        if request.route is Route.GLUON:
            text = f"route gluon does not take {count} heads on {request.arch}: {why_not(refused)}"
            notes.append(f"{text}; the asm route is used")
            warn_once("gluon", f"{text}; using the asm route instead")
    if request.num_heads > rules.largest and request.mode is not Mode.OFF:
        warn_once(
            "largest",
            f"{request.num_heads} query heads per rank: nothing is padded to a native count above "
            f"{rules.largest}",
        )
    return _asm_plan(request, chooser.choose(), strategy, chooser, notes)


def _wants_gluon(request: Request, rules: Policy) -> bool:
    if request.route is not None:
        return request.route is Route.GLUON
    # Padded to 16 by the unpadded rule, a count is the asm route's own.
    return (
        request.mode is not Mode.OFF
        and request.num_heads in rules.gluon_heads
        and rules.gluon_qlens.issuperset(request.qlens)
        and request.kv_dtype is rules.gluon_kv_dtype
    )


def _gluon_count(request: Request, rules: Policy) -> int:
    off = request.mode is Mode.OFF
    return rules.unpadded(request.num_heads) if off else request.num_heads


def gluon(
    capability: Decider, request: Request, rules: Policy, num_heads: int
) -> tuple[Decision, ...]:
    """What the gluon route says of a head count: for each query length, and, where the caller
    does not say its batch size, again for each of those that must work."""
    batches = (None,) if request.batch is not None else (None, *rules.gluon_batches)
    return tuple(
        capability.decide(request.shape(num_heads, qlen, Route.GLUON, batch))
        for batch in batches
        for qlen in request.qlens
    )


def _gluon_plan(
    request: Request, count: int, decisions: tuple[Decision, ...], strategy: Strategy
) -> PadPlan:
    chosen = "asked for" if request.route is Route.GLUON else "it needs no padding"
    return PadPlan(
        num_heads=request.num_heads,
        padded_num_heads=count,
        route=Route.GLUON,
        strategy=_strategy(request.num_heads, count, strategy),
        mode=request.mode,
        verdict=max((d.verdict for d in decisions), key=lambda v: not v.runs),
        reason=f"the gluon route takes {count} heads here ({chosen})",
        arch=request.arch,
        q_dtype=request.q_dtype,
        kv_dtype=request.kv_dtype,
        lse=request.lse,
        qlens=request.qlens,
        kernel_qlens=request.qlens,
        decisions=decisions,
        launch=needs(decisions[0].shape, padded=count != request.num_heads, qlens=request.qlens),
        notes=_notes(decisions),
    )


def _asm_plan(
    request: Request, choice: Choice, strategy: Strategy, chooser: Chooser, notes: list[str]
) -> PadPlan:
    taken, stay = choice.taken, choice.stay
    kernel_qlens = tuple(d.shape.qlen for d in taken.decisions)
    padded = taken.num_heads != request.num_heads
    return PadPlan(
        num_heads=request.num_heads,
        padded_num_heads=taken.num_heads,
        route=Route.ASM,
        strategy=_strategy(request.num_heads, taken.num_heads, strategy),
        mode=request.mode,
        verdict=taken.verdict,
        reason=choice.reason,
        arch=request.arch,
        q_dtype=request.q_dtype,
        kv_dtype=request.kv_dtype,
        lse=request.lse,
        qlens=request.qlens,
        kernel_qlens=kernel_qlens,
        decisions=taken.decisions,
        rejected=tuple(choice.rejected),
        launch=needs(
            taken.decisions[0].shape, padded=padded, qlens=tuple(sorted(set(kernel_qlens)))
        ),
        cost_us=taken.cost,
        stay_us=stay.cost,
        cost_name=chooser.model.name,
        notes=(*notes, *_notes(taken.decisions), *_crossing(request, taken, stay, chooser)),
    )


def _strategy(heads: int, target: int, wanted: Strategy) -> Strategy:
    """Repeating reaches multiples only; tiling reaches every count."""
    return Strategy.TILE if wanted is Strategy.REPEAT and target % heads else wanted


def _notes(decisions: tuple[Decision, ...]) -> tuple[str, ...]:
    """The notes of all decisions, each once."""
    return tuple(dict.fromkeys(note for d in decisions for note in d.notes))


def _crossing(
    request: Request, taken: Evaluation, stay: Evaluation, chooser: Chooser
) -> tuple[str, ...]:
    """Down to which KV length padding to a larger count pays, by the cost model."""
    if request.kv_len is not None or taken.num_heads == stay.num_heads or stay.cost is None:
        return ()
    launches = len(taken.decisions)
    passes = sum(d.fold * d.qlen_fold for d in stay.decisions)
    crossing = chooser.model.crossing(
        (stay.num_heads * launches, passes), (taken.num_heads * launches, launches)
    )
    if crossing is None:
        return ()
    return (
        f"by the cost model this pays from about {crossing:.0f} KV tokens per request on "
        f"(measured at {chooser.model.kv_len})",
    )

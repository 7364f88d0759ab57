"""A plan carried out on the emulator."""

from __future__ import annotations

from dataclasses import dataclass

from mlaprobe.core.accuracy import Tolerance
from mlaprobe.core.enums import Layout
from mlaprobe.core.shape import Decision, Route
from mlaprobe.deciding.capability import Capability
from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.batches.headworks import ROWS
from mlaprobe.emulation.outcome import Emulated
from mlaprobe.emulation.padding import Padding
from mlaprobe.emulation.rules import rules
from mlaprobe.emulation.running import Settings, emulate, tile_of
from mlaprobe.emulator.floats import FP8
from mlaprobe.emulator.schedules import (
    ADVERSARIAL,
    AT_ONCE,
    AT_WAIT,
    EARLY,
    LATE,
    SWEEP,
    Schedule,
)
from mlaprobe.errors import UsageError
from mlaprobe.padding.plan import PadPlan
from mlaprobe.rulefiles.archs import compute_units
from mlaprobe.stages.environment.device import Device

_GARBAGE = (Schedule.PLAUSIBLE, 2)
_TIMING = ((EARLY, 2), (LATE, 3))
"""The ends of what is plausible, each with garbage of its own."""
SCHEDULES: dict[str, tuple[tuple[Schedule, int], ...]] = {
    "one": (),
    "garbage": (_GARBAGE,),
    "timing": _TIMING,
    "races": (*_TIMING, (AT_ONCE, 1), (AT_WAIT, 1)),
    "plausible": (_GARBAGE, *((schedule, 1) for schedule in SWEEP)),
    "all": (_GARBAGE, *((schedule, 1) for schedule in (*SWEEP, *ADVERSARIAL))),
}
"""How a launch is run again: not at all; with other garbage; with that and the earliest and latest
plausible loads; with these, and loads that arrive at once, and only when they are waited for; under
every plausible schedule; under all."""
_UNITS_PER_REQUEST = 4
"""Compute units that the planner is told of for each request: so that it splits some."""
_PATIENCE = 20
"""Times the instructions that a run should take, until it counts as endless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a plan is emulated."""

    tolerance: Tolerance
    seed: int = 0
    """Of the values."""
    schedules: str = "timing"
    """One of ``SCHEDULES``."""
    splits: int = 2
    """Parts of a request's KV tokens in work metadata of our own."""
    own_metadata: bool = False
    """Whether work metadata is to be of our own, and not what AITER's planner writes."""
    compute_units: int | None = None
    """That the planner is told of; ``None``: few for each request, which takes less time than all
    that a GPU has."""
    force: bool = False
    """Whether it may take as long as it takes."""


def unfit(plan: PadPlan, batch: Batch) -> str | None:
    """Why a plan cannot be emulated; ``None``: it can."""
    if plan.route is not Route.ASM:
        return "only the asm route is emulated: the other's kernels are compiled by Triton"
    if batch.arch not in FP8:
        return f"{batch.arch} is not emulated, only {' and '.join(FP8)}"
    kernels = _decision(plan, batch).kernels
    if not kernels:
        return "the source names no kernel for this launch"
    missing = next((k for k in kernels if not k.co_present), None)
    if missing is not None:
        return f"the source has no code object {missing.co}"
    return None


def instructions(decision: Decision, batch: Batch, padding: Padding, options: Options) -> int:
    """About how many instructions one run of a launch takes."""
    limits = rules()
    if batch.layout is Layout.HEADS:
        tile = ROWS * batch.num_kv_heads // batch.num_heads
    else:
        tile = tile_of(decision, padding.qlen, padding.heads)
    times = decision.fold * (-(-padding.qlen // tile) if tile else 1) * batch.num_kv_heads
    works = max(batch.requests * times * options.splits, _planned_units(batch, options))
    return sum(batch.kv_lens) * times * limits.per_token + works * limits.per_workgroup


def seconds(plan: PadPlan, batch: Batch, options: Options) -> float:
    """About how long the emulation of a plan takes, on a slow core."""
    return launch_seconds(_decision(plan, batch), batch, padding_of(plan, batch), options)


def launch_seconds(decision: Decision, batch: Batch, padding: Padding, options: Options) -> float:
    """About how long the emulation of a launch takes, on a slow core."""
    runs = 1 + len(SCHEDULES[options.schedules])
    return instructions(decision, batch, padding, options) * runs * rules().us * 1e-6


def refuse_long(batch: Batch, takes: float, otherwise: str = "") -> None:
    """Refuses what takes longer than anybody waits.

    Raises:
        UsageError: says how long it would take, and up to which lengths it does not.
    """
    most = rules().most_seconds
    if takes > most:
        shorter = int(max(batch.kv_lens) * most / takes)
        raise UsageError(
            f"emulating {sum(batch.kv_lens)} KV tokens would take about {takes / 60:.0f} minutes",
            hint=f"KV lengths up to about {shorter} take less than {most // 60}{otherwise}",
        )


def padding_of(plan: PadPlan, batch: Batch) -> Padding:
    """How a plan pads a batch."""
    return Padding(
        heads=plan.padded_num_heads,
        qlen=plan.kernel_qlen_for(batch.qlen),
        strategy=plan.strategy,
    )


def emulate_plan(capability: Capability, plan: PadPlan, batch: Batch, options: Options) -> Emulated:
    """Runs a plan for a batch.

    Raises:
        UsageError: the plan is for something else, or it would take too long.
        SourceError: the code object is missing, or cannot be run.
    """
    if plan.num_heads != batch.num_heads or batch.qlen not in plan.qlens:
        raise UsageError(
            f"the plan is for {plan.num_heads} heads and query lengths "
            f"{', '.join(map(str, plan.qlens))}, the batch has {batch.num_heads} and {batch.qlen}"
        )
    if not options.force:
        refuse_long(batch, seconds(plan, batch, options), "; --force runs it all the same")
    return emulate_launch(
        capability, batch, padding_of(plan, batch), _decision(plan, batch), options
    )


def emulate_launch(
    capability: Capability,
    batch: Batch,
    padding: Padding,
    decision: Decision,
    options: Options,
    kv_splits: int | None = None,
) -> Emulated:
    """Runs a launch of which the source says ``decision``. ``kv_splits`` is AITER's
    ``num_kv_splits``; ``None`` leaves it to AITER.

    Raises:
        SourceError: the code object is missing, or cannot be run.
    """
    settings = Settings(
        tolerance=options.tolerance,
        device=Device.of(batch.arch, compute_units(batch.arch)),
        planned_units=_planned_units(batch, options),
        own_metadata=options.own_metadata,
        splits=options.splits,
        kv_splits=kv_splits,
        persistent=decision.shape.persistent,
        env=decision.shape.env,
        seed=options.seed,
        again=SCHEDULES[options.schedules],
        budget=instructions(decision, batch, padding, options) * _PATIENCE,
    )
    return emulate(capability, batch, padding, decision, settings)


def _planned_units(batch: Batch, options: Options) -> int:
    most = compute_units(batch.arch)
    return options.compute_units or min(most, batch.requests * _UNITS_PER_REQUEST)


def _decision(plan: PadPlan, batch: Batch) -> Decision:
    rows = plan.kernel_qlen_for(batch.qlen)
    return next(d for d in plan.decisions if d.shape.qlen == rows)

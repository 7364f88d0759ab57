"""A decode by a plan on the emulator, from random values to a judged result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mlaprobe.core.accuracy import Tolerance
from mlaprobe.core.blobs import blob_hash
from mlaprobe.core.shape import Decision, Operation
from mlaprobe.deciding.capability import Capability
from mlaprobe.emulation.arrays import NotFollowedError
from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.batches.holding import Tensors
from mlaprobe.emulation.batches.laying import LAYOUTS
from mlaprobe.emulation.batches.works import Cutting, Works
from mlaprobe.emulation.launch import Call, Change, Prepared, Result, execute, prepare
from mlaprobe.emulation.outcome import Check, Emulated, Standing
from mlaprobe.emulation.padding import Padding, pad
from mlaprobe.emulation.planner import Planning, works_for
from mlaprobe.emulation.reruns import FIRST_SEED, Reruns
from mlaprobe.emulation.results.judging import Judge, Judged
from mlaprobe.emulator.machine import BUDGET
from mlaprobe.emulator.memory import OutsideAccess
from mlaprobe.emulator.schedules import Schedule
from mlaprobe.rulefiles.layouts import layouts
from mlaprobe.rulefiles.operations import Entry, entry_of
from mlaprobe.stages.environment.device import Device
from mlaprobe.stages.launching import NotLaunchedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a launch is emulated."""

    tolerance: Tolerance
    device: Device
    """The GPU, as the dispatcher knows it."""
    planned_units: int
    """Compute units that the planner spreads the work over: fewer than the GPU has, where fewer
    workgroups do."""
    splits: int = 2
    """Parts of a request's KV tokens in work metadata of our own."""
    own_metadata: bool = False
    """Whether work metadata is to be of our own, and not what AITER's planner writes."""
    kv_splits: int | None = None
    """AITER's ``num_kv_splits``, of a launch without metadata."""
    persistent: bool = True
    """Whether work metadata is passed."""
    env: tuple[tuple[str, str], ...] = ()
    seed: int = 0
    """Of the values."""
    again: tuple[tuple[Schedule, int], ...] = ()
    """Schedules and seeds of further runs."""
    budget: int = BUDGET
    """Instructions that each run may take."""


def emulate(
    capability: Capability,
    batch: Batch,
    padding: Padding,
    decision: Decision,
    settings: Settings,
    change: Change | None = None,
) -> Emulated:
    """Runs one launch.

    Args:
        decision: what the source says of the launched shape.
        change: changes the argument block, for runs that have to go wrong.

    Raises:
        SourceError: the code object is missing, or cannot be run.
    """
    values = LAYOUTS[batch.layout].values(batch, settings.seed)
    try:
        launched = pad(values, padding)
        works = None
        if settings.persistent:
            works = _works(capability, launched.batch, decision, settings)
        call = Call(
            values=launched,
            works=works,
            device=settings.device,
            splits=settings.kv_splits,
            env=settings.env,
            entry=_entry(decision),
        )
        ready = prepare(capability, call)
        return _judged(values, padding, ready, settings, change)
    except NotLaunchedError as error:
        standing = Standing.REFUSED if error.refused else Standing.UNKNOWN
        place = (error.span.file, error.span.line) if error.span.file else None
        return Emulated(
            batch=batch, padding=padding, standing=standing, message=error.message, place=place
        )
    except NotFollowedError as error:
        return Emulated(batch=batch, padding=padding, standing=Standing.UNKNOWN, message=str(error))


def _entry(decision: Decision) -> Entry | None:
    """The entry point of an operation besides decode."""
    return None if decision.shape.op is Operation.DECODE else entry_of(decision.shape)


def _works(capability: Capability, batch: Batch, decision: Decision, settings: Settings) -> Works:
    tile = tile_of(decision, batch.qlen, batch.num_heads)
    cutting = Cutting(splits=settings.splits, fold=decision.fold, tile=tile)
    own = settings.own_metadata
    if own and decision.qlen_fold != 1:
        raise NotFollowedError("metadata of our own for a batch folded into its query length")
    units = replace(settings.device, compute_units=settings.planned_units)
    planning = Planning(device=units, cutting=cutting, own=own)
    return works_for(capability, decision.shape, batch, planning)


def tile_of(decision: Decision, qlen: int, heads: int) -> int:
    """Query tokens that a workgroup does at once, by the kernel's row in the table; 0: all."""
    key = dict(decision.key or ())
    sizes = [key.get(name) for name in layouts().data["host"]["tile_columns"]]
    if not all(type(size) is int for size in sizes):
        return 0
    rows = math.prod(max(1, size) for size in sizes if size is not None)
    tile = max(1, rows * decision.fold // heads)
    return 0 if tile >= qlen else tile


def _judged(
    values: Tensors, padding: Padding, ready: Prepared, settings: Settings, change: Change | None
) -> Emulated:
    first = execute(ready, seed=FIRST_SEED, budget=settings.budget, change=change)
    launched, works = ready.launched, ready.call.works
    known = Emulated(
        batch=values.batch,
        padding=padding,
        standing=Standing.UNKNOWN,
        kernel=launched.kernel,
        blob=blob_hash(ready.data),
        block=launched.block,
        grid=launched.grid,
        metadata=works.origin if works and launched.passed.get("work_indptr") else None,
        merged=first.followed.merged,
        returned=first.followed.returned,
        outside=first.run.outside,
        instructions=first.run.instructions,
    )
    problem = _unfinished(first)
    if problem is not None:
        return replace(known, message=problem)
    judge = Judge(values, padding, settings.tolerance)
    found = judge.judged(first)
    reruns = Reruns(
        ready,
        judge,
        lambda result: _unfinished(result) is None,
        budget=settings.budget,
        change=change,
    )
    checks, races = reruns.checks(found, settings.again)
    return replace(
        known,
        error=found.error,
        wrong=found.wrong,
        checks=checks,
        races=races,
        standing=standing_of(found, first.run.outside, checks),
    )


def _unfinished(result: Result) -> str | None:
    """Why a run has no result."""
    if result.run.unmodelled is not None:
        return f"an instruction that the engine has no rule for: {result.run.unmodelled}"
    if result.run.budget_exhausted:
        return (
            f"the kernel had not ended after {result.run.instructions} instructions, more than "
            "so many KV tokens take"
        )
    return None


def standing_of(
    found: Judged, outside: Sequence[OutsideAccess], checks: Sequence[Check] = ()
) -> Standing:
    """What is to be said of a run that ended: the worst comes first."""
    if any(access.kind == "write" for access in outside):
        return Standing.OUTSIDE
    if found.error.unwritten or found.error.lse_unwritten:
        return Standing.UNWRITTEN
    default = [check for check in checks if check.schedule == Schedule.PLAUSIBLE.name]
    if not found.passed or not all(check.passed for check in default):
        return Standing.WRONG
    if not all(check.passed for check in checks if check.plausible):
        return Standing.TIMING
    return Standing.OUTSIDE if outside else Standing.PASSED

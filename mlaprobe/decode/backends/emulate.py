"""Problems decoded on the emulator: AITER's own kernel, instruction by instruction, without a GPU
and without PyTorch. numpy is needed, and imported when something here is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from mlaprobe.core.protocols import Answers
from mlaprobe.core.shape import Dtype
from mlaprobe.decode.interface import DecodeError
from mlaprobe.decode.problem import Problem
from mlaprobe.decode.rules import rules
from mlaprobe.errors import UsageError
from mlaprobe.opening.shortcut import evaluated, quickest
from mlaprobe.padding.api import plan as make_plan
from mlaprobe.padding.plan import PadPlan
from mlaprobe.padding.request import Mode

if TYPE_CHECKING:
    from mlaprobe.emulation.batches.batch import Batch
    from mlaprobe.emulation.outcome import Emulated
    from mlaprobe.emulation.planned import Options

EMULATE = "emulate"
"""What ``--backend`` calls it."""
SCHEDULES = ("one", "garbage", "timing", "races", "plausible", "all")
"""How a launch is run again."""
NO_NUMPY = "it needs numpy, which is not installed here: pip install 'mlaprobe[emulate]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How a problem is emulated."""

    schedules: str = "timing"
    """How a launch is run again, one of ``SCHEDULES``."""
    seed: int = 0
    """Of the values."""
    own_metadata: bool = False
    """Whether work metadata is to be of our own, and not what AITER's planner writes."""
    kv_cache_bytes: int = 0
    """The size of a cache that the pages lie scattered over; 0: a small one."""
    force: bool = False
    """Whether it may take as long as it takes."""

    def __post_init__(self) -> None:
        if self.schedules not in SCHEDULES:
            raise UsageError(
                f"unknown schedules {self.schedules!r}", hint=f"use one of {', '.join(SCHEDULES)}"
            )


_USUAL = How()


def unfit(answers: Answers, plan: PadPlan, problem: Problem) -> str | None:
    """Why a plan cannot be emulated here; ``None``: it can."""
    if find_spec("numpy") is None:
        return NO_NUMPY
    if evaluated(answers) is None:
        return "a snapshot has no code objects: name a checkout or REPO@REV with --aiter"
    from mlaprobe.emulation.planned import unfit as why

    return why(plan, batch_of(problem))


def too_long(plan: PadPlan, problem: Problem, how: How) -> str | None:
    """Why nobody who has not asked for it would wait for it."""
    from mlaprobe.emulation.planned import seconds
    from mlaprobe.emulation.rules import rules as limits

    takes = seconds(plan, batch_of(problem), options(problem, how))
    most = limits().most_seconds_auto
    return f"it would take about {takes:.0f} s" if takes > most else None


def emulated(answers: Answers, plan: PadPlan, problem: Problem, how: How = _USUAL) -> Emulated:
    """Runs a plan.

    Raises:
        DecodeError: it cannot be emulated, or AITER refuses the launch.
        UsageError: it would take too long.
        SourceError: the code object cannot be run.
    """
    reason = unfit(answers, plan, problem)
    if reason is not None:
        raise DecodeError(
            f"the emulate back end cannot run this: {reason}",
            hint="--aiter names a source: a checkout of AITER with its hsa folder, or REPO@REV",
        )
    from mlaprobe.emulation.outcome import Standing
    from mlaprobe.emulation.planned import emulate_plan

    capability = evaluated(answers)
    assert capability is not None
    batch = replace(batch_of(problem), kv_cache_bytes=how.kv_cache_bytes)
    found = emulate_plan(capability, plan, batch, options(problem, how))
    if found.standing is Standing.REFUSED:
        file, line = found.place or (None, None)
        raise DecodeError(f"AITER refuses this launch: {found.message}", file=file, line=line)
    return found


def emulate(
    num_heads: int,
    *,
    kv_lens: Sequence[int],
    capability: Answers | None = None,
    arch: str,
    q_dtype: object,
    kv_dtype: object,
    qlen: int = 1,
    lse: bool = False,
    mode: Mode | str = Mode.AUTO,
    page_size: int = 1,
    persistent: bool = True,
    scales: tuple[float, float] = (1.0, 1.0),
    seed: int = 0,
    schedules: str = "timing",
    own_metadata: bool = False,
    kv_cache_bytes: int = 0,
    force: bool = False,
) -> Emulated:
    """Plans a decode, and runs AITER's own kernel for it on the emulator: no GPU, no PyTorch.

    Args:
        num_heads: query heads per rank.
        kv_lens: KV tokens of each request, its query tokens included.
        capability: a source with code objects; ``None``: the installed AITER.
        mode: how far heads are padded: ``off``, ``auto`` or ``force``.
        scales: what query and cache are multiplied with, each where it is fp8.
        seed: of the values.
        schedules: how the launch is run again: ``one`` (not at all), ``garbage`` (with other
            garbage in registers and memory), ``timing`` (and with the earliest and the latest
            plausible arrivals of loads), ``races`` (and under two timings that no hardware has,
            which show what depends on it), ``plausible`` (other garbage, and every plausible
            timing), ``all`` (and every one that no hardware has).
        own_metadata: whether work metadata is to be of our own, and not what AITER's planner
            writes.
        kv_cache_bytes: the size of a cache that the pages lie scattered over; 0: a small one.
        force: whether it may take as long as it takes.

    Raises:
        UsageError: an argument is none of what it may be, or it would take too long.
        DecodeError: it cannot be emulated, or AITER refuses the launch.
        SourceError: the source cannot be read, or the code object cannot be run.
    """
    source = capability or quickest("installed")
    how = How(
        schedules=schedules,
        seed=seed,
        own_metadata=own_metadata,
        kv_cache_bytes=kv_cache_bytes,
        force=force,
    )
    problem = Problem(
        arch=arch,
        num_heads=num_heads,
        q_dtype=Dtype.of(q_dtype),
        kv_dtype=Dtype.of_cache(kv_dtype),
        kv_lens=tuple(kv_lens),
        qlen=qlen,
        page_size=page_size,
        lse=lse,
        persistent=persistent,
        scales=scales,
    )
    found = make_plan(capability=source, mode=mode, batch=problem.batch, **problem.question)
    return emulated(source, found, problem, how)


def batch_of(problem: Problem) -> Batch:
    """A problem as the emulator takes it."""
    from mlaprobe.emulation.batches.batch import Batch

    return Batch(
        arch=problem.arch,
        q_dtype=problem.q_dtype,
        kv_dtype=problem.kv_dtype,
        num_heads=problem.num_heads,
        kv_lens=problem.kv_lens,
        qlen=problem.qlen,
        page_size=problem.page_size,
        lse=problem.lse,
        causal=problem.causal,
        sm_scale=problem.sm_scale,
        q_scale=problem.scales[0],
        kv_scale=problem.scales[1],
    )


def options(problem: Problem, how: How) -> Options:
    """How a problem is emulated, within the tolerance of its dtypes."""
    from mlaprobe.emulation.planned import Options

    return Options(
        tolerance=rules().tolerance(problem.q_dtype, problem.kv_dtype),
        seed=how.seed,
        schedules=how.schedules,
        own_metadata=how.own_metadata,
        force=how.force,
    )

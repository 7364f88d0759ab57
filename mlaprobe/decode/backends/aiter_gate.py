"""Evaluates the installed AITER's own source before the first launch: a check that fails there may
end the whole process, and stages that disagree give wrong results without any error."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from mlaprobe.core.shape import Decision, DecodeShape, PlannerCall, Verdict
from mlaprobe.decode.interface import DecodeError, Launch
from mlaprobe.padding.verdicts import why_not

if TYPE_CHECKING:
    from mlaprobe.deciding.capability import Capability


class RefusedError(DecodeError):
    """The installed AITER is not known to decode this rightly."""

    def __init__(self, decision: Decision | None, message: str) -> None:
        self.decision = decision
        """What its source says; ``None`` where that is not the reason."""
        super().__init__(
            message,
            hint="mlaprobe explain shows why; --force launches it all the same, and may end the "
            "process",
        )


def decide(capability: Capability, launch: Launch) -> Decision:
    """What the installed AITER does with a launch, in the environment of this process."""
    shape = replace(
        launch.decision.shape,
        num_heads=launch.num_heads,
        qlen=launch.layout.max_seqlen_q,
        page_size=launch.layout.page_size,
        batch=launch.layout.batch,
        lse=launch.lse,
        planner=PlannerCall(),
        env=(),
    )
    # Which variables are read is known once the code was followed.
    for _ in range(3):
        decision = capability.decide(shape)
        env = tuple((name, os.environ[name]) for name in capability.knobs if name in os.environ)
        if env == shape.env:
            break
        shape = replace(shape, env=env)
    return decision


def check(capability: Capability, launch: Launch, decision: Decision) -> None:
    """Lets a launch pass that is known to run and to be right.

    Raises:
        RefusedError: any other; the message says why.
    """
    name = f"{launch.num_heads} heads on {decision.shape.arch} with {decision.shape.dtype}"
    if not decision.verdict.runs:
        failing = "would end this process" if _aborts(decision) else "cannot be launched"
        if decision.verdict is Verdict.UNKNOWN:
            failing = "are not known to run"
        elif decision.verdict in (Verdict.INCOHERENT, Verdict.ERRATUM, Verdict.AMBIGUOUS):
            failing = "would run and are known to be unreliable"
        raise RefusedError(
            decision, f"with the installed AITER, {name} {failing}: {why_not(decision)}"
        )
    size = launch.layout.page_size
    if size & (size - 1):
        raise RefusedError(
            None,
            f"AITER's kernels take the logarithm of the page size, and {size} is no power of 2",
        )
    if not launch.causal and launch.layout.max_seqlen_q > 1 and not capability.takes("causal"):
        raise RefusedError(None, "the installed AITER masks always: it takes no causal=False")
    if launch.lse and not _lse_is_wanted(capability, decision.shape):
        raise RefusedError(
            None,
            f"with the installed AITER, {name} have no log-sum-exp: its launch is the same whether "
            "one is wanted or not, and what is returned was never written",
        )


def _aborts(decision: Decision) -> bool:
    return decision.failure is not None and decision.failure.value == "abort"


def _lse_is_wanted(capability: Capability, shape: DecodeShape) -> bool:
    """Whether the launch differs by whether the log-sum-exp is wanted. Where it does not, the
    merge alone writes one, and only for requests that were split."""
    if shape.route.value == "gluon" or capability.dispatcher is None:
        return True
    wanted = capability.dispatcher.decide(replace(shape, lse=True))
    without = capability.dispatcher.decide(replace(shape, lse=False))
    return wanted.passed != without.passed

"""What the resolver asks, and what the answers mean to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mlaprobe.core import reasons
from mlaprobe.core.shape import Decision, DecodeShape, Verdict


class Decider(Protocol):
    """What the resolver asks: a live source or a snapshot."""

    @property
    def archs(self) -> tuple[str, ...]:
        """The archs that the source names."""
        ...

    def decide(self, shape: DecodeShape) -> Decision: ...


# From harmless to harmful; a definite failure is worse than an unknown.
_SEVERITY = (
    *(Verdict.NATIVE, Verdict.FOLDED, Verdict.UNKNOWN, Verdict.REJECTED, Verdict.NO_REDUCER),
    *(Verdict.NO_KERNEL, Verdict.AMBIGUOUS, Verdict.INCOHERENT, Verdict.ERRATUM),
)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The most harmful of some verdicts."""
    return max(verdicts, key=_SEVERITY.index)


def runs(decision: Decision) -> bool:
    """Whether a decode runs, on kernels whose files are not known to be missing."""
    return decision.verdict.runs and not any(
        kernel.co_present is False or kernel.has_symbol is False for kernel in decision.kernels
    )


def native(decision: Decision) -> bool:
    """Whether a decode is native, on kernels whose files are not known to be missing."""
    return decision.verdict is Verdict.NATIVE and runs(decision)


def may_run(decision: Decision) -> bool:
    """Whether a decode runs for all that is known."""
    return decision.verdict is Verdict.UNKNOWN or runs(decision)


def why_not(decision: Decision) -> str:
    """Why a decision is not a target, in words."""
    verdict, at = decision.verdict, f"at qlen {decision.shape.qlen}"
    if verdict.runs and not runs(decision):
        kernel = next(k for k in decision.kernels if k.co_present is False or k.has_symbol is False)
        return f"its kernel's code object {kernel.co} is missing {at}"
    if verdict is Verdict.FOLDED:
        return f"folded {decision.fold * decision.qlen_fold}x {at}"
    text = f"{verdict} {at}"
    if decision.stage is not None:
        text += f" ({decision.stage})"
    message = (reasons.reason(decision, place=True) or "").lstrip(": ")
    return f"{text}: {message}" if message else text

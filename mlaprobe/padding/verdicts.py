"""The consequence of a source's decisions for a launch."""

from __future__ import annotations

from collections.abc import Iterable

from mlaprobe.core import reasons
from mlaprobe.core.shape import Decision, Verdict

_SEVERITY = (
    Verdict.NATIVE,
    Verdict.FOLDED,
    Verdict.UNKNOWN,
    Verdict.REJECTED,
    Verdict.NO_REDUCER,
    Verdict.NO_KERNEL,
    Verdict.AMBIGUOUS,
    Verdict.INCOHERENT,
    Verdict.ERRATUM,
)
"""From harmless to harmful; a definite failure is worse than an unknown."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The most harmful of some verdicts."""
    return max(verdicts, key=_SEVERITY.index)


def worst_of(decisions: Iterable[Decision]) -> Decision:
    """The decision that speaks most against a launch: the worst verdict, or among those of one
    verdict a kernel that does not ship."""
    kept = list(decisions)
    verdict = worst(d.verdict for d in kept)
    missing = [d for d in kept if d.verdict.runs and not runs(d)]
    if verdict.runs and missing:
        return missing[0]
    return next(d for d in kept if d.verdict is verdict)


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


def why_not(decision: Decision, launch: str = "") -> str:
    """Why a decision is no target, in words.

    Args:
        launch: the name of the launch, where a run has several.
    """
    return f"{_why_not(decision)}, in {launch}" if launch else _why_not(decision)


def _why_not(decision: Decision) -> str:
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

"""Why something is refused or not known, as a person reads it."""

from __future__ import annotations

import re

from mlaprobe.core.shape import Decision, Evidence, StageOutcome, Status, Verdict

_NAMELESS = re.compile(r"\w*(?:Error|Exception|exception)")
"""A message that is no more than the kind of an exception."""
_ASSERTION = "AssertionError"


def reason(decision: Decision, *, place: bool = False) -> str | None:
    """Why a decision is what it is: in the source's own words, or by the clause that refused where
    the source has none; ``None`` where there is none.

    Args:
        place: also where that clause stands, for those who show it nowhere else.
    """
    outcome = decision.outcome(decision.stage) if decision.stage else None
    if decision.verdict is not Verdict.REJECTED or outcome is None:
        return decision.message
    return (
        decision.message
        if outcome.message != decision.message
        else stage_reason(outcome, place=place)
    )


def stage_reason(outcome: StageOutcome, *, place: bool = False) -> str | None:
    """The same of one stage."""
    message = outcome.message
    if outcome.status != Status.REJECTED or (message and not _NAMELESS.fullmatch(message)):
        return message
    if not outcome.evidence:
        return message
    clause = outcome.evidence[-1]
    text = _failed(message, clause)
    return f"{text} ({clause.file}:{clause.line})" if place else text


def _failed(message: str | None, clause: Evidence) -> str:
    """What failed: ``assert heads % 8 == 0``."""
    if not message:
        return f"fails the check {clause.text}"
    if message != _ASSERTION:
        return f"{message}: {clause.text}"
    return clause.text if clause.text.startswith("assert") else f"assert {clause.text}"


def deciding_clause(decision: Decision) -> Evidence | None:
    """The clause of the stage that decided, or else the last one in the chain."""
    outcome = decision.outcome(decision.stage) if decision.stage else None
    evidence = outcome.evidence if outcome and outcome.evidence else decision.evidence
    return evidence[-1] if evidence else None

"""From what the stages answer to one verdict.

The verdict is the first failure in call order. Planner and dispatcher that both accept but fold
differently contradict each other, and so does a launch whose tensors are for different requests:
that is the verdict where nothing that follows, host or kernel table, refuses the launch, so that
results are wrong in silence. A verdict is UNKNOWN only if what is unknown could change it.
"""

from __future__ import annotations

from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Failure,
    StageName,
    StageOutcome,
    Status,
    Verdict,
    altered,
)

Stages = tuple[tuple[str, StageOutcome], ...]
_NEEDED = (StageName.SIZING, StageName.PLANNER, StageName.HOST, StageName.REDUCER)
"""Stages without which nothing is known of a call of the assembly entry point."""


def absent(stage: str, why: str) -> StageOutcome:
    """The outcome of a stage that the source does not have."""
    return StageOutcome(stage=stage, status=Status.ABSENT, message=why)


def compose(
    shape: DecodeShape,
    stages: Stages,
    *,
    missing_entry: bool,
    fails_after: str | None = None,
    misfit: str | None = None,
    notes: tuple[str, ...] = (),
) -> Decision:
    """One verdict from the outcomes of the asm route, in call order. ``fails_after`` is what the
    dispatcher raises once the entry point has been called, ``misfit`` what it passes that is for
    other requests than the query."""
    found = dict(stages)
    base = _undecided(shape, stages, notes)
    doubt: tuple[str, StageOutcome] | None = None
    dispatcher = found[StageName.DISPATCHER]
    clashing = clash(found.get(StageName.PLANNER), dispatcher) or _unfit(dispatcher, misfit)
    for stage, outcome in stages:
        if stage == StageName.REDUCER and (fails_after or clashing) is not None:
            break
        if outcome.status == Status.UNKNOWN:
            doubt = doubt or (stage, outcome)
            continue
        failed = _failure(base, stage, outcome, missing_entry)
        # Of several kernels, whichever runs reads another's plan.
        if failed is not None and not (clashing and failed.verdict is Verdict.AMBIGUOUS):
            return failed if doubt is None else _doubtful(base, doubt, failed)
    if fails_after is not None:
        failed = _stopped(base, fails_after)
        return failed if doubt is None else _doubtful(base, doubt, failed)
    if doubt is not None:
        return _unknown(base, *doubt)
    if clashing is not None:
        return altered(
            base, verdict=Verdict.INCOHERENT, stage=StageName.DISPATCHER, message=clashing
        )
    return _running(base, found)


def _undecided(shape: DecodeShape, stages: Stages, notes: tuple[str, ...]) -> Decision:
    """The decision but for its verdict."""
    host = dict(stages).get(StageName.HOST)
    return Decision(
        shape=shape,
        verdict=Verdict.UNKNOWN,
        stages=stages,
        notes=tuple(dict.fromkeys((*(n for _, s in stages for n in s.notes), *notes))),
        kernels=() if host is None else host.kernels,
        key=None if host is None else host.key,
    )


def _stopped(base: Decision, why: str) -> Decision:
    """The dispatcher launches, and then raises before the result is handed back."""
    return altered(
        base,
        verdict=Verdict.REJECTED,
        stage=StageName.DISPATCHER,
        failure=Failure.EXCEPTION,
        message=f"fails after the launch: {why}",
    )


def _doubtful(base: Decision, doubt: tuple[str, StageOutcome], failed: Decision) -> Decision:
    """An earlier stage is unknown and a later one fails. The unknown stage may fail itself, with
    another verdict: only where its own failure would be the same verdict does that stand."""
    if doubt[0] in (StageName.SIZING, StageName.PLANNER) and failed.verdict is Verdict.REJECTED:
        return failed
    return _unknown(base, *doubt)


def _unknown(base: Decision, stage: str, outcome: StageOutcome) -> Decision:
    return altered(base, verdict=Verdict.UNKNOWN, stage=stage, message=outcome.message)


def _failure(
    base: Decision,
    stage: str,
    outcome: StageOutcome,
    missing_entry: bool,
) -> Decision | None:
    """The verdict where this stage is the one that fails."""
    verdict = _FAILURES.get(outcome.status)
    if verdict is None and stage == StageName.DISPATCHER and missing_entry:
        verdict = Verdict.REJECTED
    if verdict is None:
        return None
    return altered(
        base,
        verdict=verdict,
        stage=stage,
        failure=outcome.failure,
        message=outcome.message,
    )


_FAILURES = {
    Status.REJECTED: Verdict.REJECTED,
    Status.NO_KERNEL: Verdict.NO_KERNEL,
    Status.NO_FILE: Verdict.NO_KERNEL,
    Status.OVER_LIMIT: Verdict.NO_KERNEL,
    Status.AMBIGUOUS: Verdict.AMBIGUOUS,
    Status.MISSING: Verdict.NO_REDUCER,
}


def clash(planner: StageOutcome | None, dispatcher: StageOutcome) -> str | None:
    """How planner and dispatcher fold otherwise, though both take the shape; or ``None``."""
    if planner is None or not (planner.status.taken and dispatcher.status.taken):
        return None
    planned = (planner.fold, planner.qlen_fold, planner.final_heads)
    launched = (dispatcher.fold, dispatcher.qlen_fold, dispatcher.final_heads)
    if planned == launched:
        return None
    return f"the planner {_doing(planner)}, the dispatcher {_doing(dispatcher)}"


def _unfit(dispatcher: StageOutcome, misfit: str | None) -> str | None:
    """How what is passed along does not fit the query, or ``None``."""
    if misfit is None:
        return None
    query = "is for the caller's requests"
    if dispatcher.fold > 1:
        query = f"is folded to {dispatcher.fold} times the requests"
    return f"the query {query}, {misfit}"


def _doing(outcome: StageOutcome) -> str:
    parts = []
    if outcome.fold > 1:
        parts.append(f"folds the batch by {outcome.fold}")
    if outcome.qlen_fold > 1:
        parts.append(f"folds the query length by {outcome.qlen_fold}")
    if not parts:
        parts.append("does not fold")
    return f"{' and '.join(parts)} (to {outcome.final_heads} heads)"


def _running(base: Decision, found: dict[str, StageOutcome]) -> Decision:
    dispatcher = found.get(StageName.DISPATCHER)
    if dispatcher is None or not dispatcher.status.taken:
        return altered(
            base,
            verdict=Verdict.UNKNOWN,
            stage=StageName.DISPATCHER,
            message=dispatcher.message if dispatcher is not None else "it was not asked",
        )
    silent = [s for s in _NEEDED if s in found and found[s].status == Status.ABSENT]
    if silent and dispatcher.entry in (None, "asm"):
        return altered(
            base,
            verdict=Verdict.UNKNOWN,
            stage=silent[0],
            message=f"the source has no {silent[0]}: {found[silent[0]].message}",
        )
    fold, qlen_fold = dispatcher.fold, dispatcher.qlen_fold
    folded = fold > 1 or qlen_fold > 1
    verdict = Verdict.FOLDED if folded else Verdict.NATIVE
    return altered(base, verdict=verdict, fold=fold, qlen_fold=qlen_fold)

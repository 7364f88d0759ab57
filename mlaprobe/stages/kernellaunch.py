"""Functions that launch kernels of their own, written in Python: what their paths come to.

Such a kernel has no host and no table. What decides is the function in front of it: its checks, and
which kernel it launches. What the kernel's compiler takes is not evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mlaprobe.core.shape import StageOutcome, Status
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Outcome, Run
from mlaprobe.evaluator.python.values import EntryPoint
from mlaprobe.evaluator.symbolic.symbols import joined, same
from mlaprobe.evaluator.values import Args, Kwargs, Unknown
from mlaprobe.stages.base import how_failed, undecided, unknown
from mlaprobe.stages.batches import Requests, apart, batch_condition
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.evidence import Proof, Trace
from mlaprobe.stages.numbers import calculate, is_whole
from mlaprobe.stages.possible import possible, without_impossible
from mlaprobe.stages.pyfunction import refused

LAUNCH = "launch"
"""The kind of event that a launch is."""
EMPTY = "empty launch"
"""The kind of one with no workgroup: the kernel does not run."""
_GATES = ("batch", "kv")


@dataclass(frozen=True, slots=True)
class Jitted:
    """A kernel that is compiled when it is launched."""

    name: str
    file: str
    line: int
    made_by: tuple[str, ...]
    """The dotted names of its decorators."""


class Launches:
    """Turns launches of kernels into events: they write tensors and return."""

    def __init__(self, session: SourceSession) -> None:
        self._compiled = frozenset(session.names.data["bindings"]["decorators"])

    def called(self, run: Run, entry: EntryPoint, args: Args, kwargs: Kwargs, span: ir.Span) -> Any:
        """A call of a kernel. One of a function that is compiled beforehand, whose checks are
        elsewhere, is not followed."""
        if any(name.rpartition(".")[2] in self._compiled for name in entry.decorators):
            return NotImplemented
        where = entry.function.span
        kernel = Jitted(entry.name, where.file, where.line, entry.decorators)
        run.emit(EMPTY if _is_empty(entry.grid) else LAUNCH, entry.name, (kernel,), {}, span)
        return Unknown(f"the result of {entry.name}", span, free="data", foreign=True)


def _is_empty(grid: Any) -> bool:
    """Whether a grid certainly has no workgroup."""
    return isinstance(grid, (tuple, list)) and any(map(_is_zero, grid))


def _is_zero(size: Any) -> bool:
    """Whether a size certainly is 0, also where it is a multiple of an open batch size."""
    parts = (size.times, size.plus) if isinstance(size, Requests) else (size,)
    return all(is_whole(part) and calculate("==", part, 0) for part in parts)


def launched(outcomes: Sequence[Outcome]) -> tuple[Jitted, ...]:
    """The kernels that some paths launch, in the order of their launches."""
    found = (e.args[0] for o in outcomes for e in o.events if e.kind == LAUNCH)
    return tuple(dict.fromkeys(found))


Pick = Callable[[Trace, Outcome], tuple[ir.Span, ...]]


def first_check(trace: Trace, outcome: Outcome) -> tuple[ir.Span, ...]:
    """The first check that holds."""
    checks = [n for n, v in trace.items if isinstance(n, ir.Check) and v is True]
    return tuple(n.span for n in checks[:1])


def check_and_launch(trace: Trace, outcome: Outcome) -> tuple[ir.Span, ...]:
    """The first check that holds, and the first launch."""
    calls = tuple(e.span for e in outcome.events if e.kind in (LAUNCH, EMPTY))
    return (*first_check(trace, outcome), *calls[:1])


def judged(
    session: SourceSession, stage: str, outcomes: tuple[Outcome, ...], places: Pick = first_check
) -> StageOutcome:
    """What the paths of such a function come to: ``accepted`` where every one that returns has
    launched a kernel, with what else has to hold as notes."""
    outcomes = without_impossible(outcomes, _GATES)
    accepted = [o for o in outcomes if o.kind == "returned"]
    failed = [o for o in outcomes if o.kind == "failed"]
    certain = all(map(_settled, outcomes)) and all(o.kind != "unknown" for o in outcomes)
    if accepted and certain:
        if all(_runs_nothing(path) for path in accepted) and not failed:
            return _nothing_run(session, stage, accepted[0])
        if any(_runs_nothing(path) or not launched([path]) for path in accepted):
            return undecided(stage, "it may return without a kernel that runs")
        notes = _gates(failed)
        if not failed or (notes and _told_apart(accepted, failed)):
            return StageOutcome(
                stage=stage,
                status=Status.ACCEPTED,
                notes=notes,
                evidence=Proof(stage, session.text, places),
            )
    if failed and len(failed) == len(outcomes):
        return _rejected(session, stage, failed[0])
    return unknown(session, stage, outcomes)


def _rejected(session: SourceSession, stage: str, path: Outcome) -> StageOutcome:
    failure = path.failure
    assert failure is not None
    message = failure.message or failure.how
    if failure.message and failure.how != "AssertionError":
        message = joined([failure.how, ": ", failure.message])
    return StageOutcome(
        stage=stage,
        status=Status.REJECTED,
        failure=how_failed(path),
        message=message,
        evidence=Proof(stage, session.text, refused),
    )


def _runs_nothing(path: Outcome) -> bool:
    return any(event.kind == EMPTY for event in path.events)


def _nothing_run(session: SourceSession, stage: str, path: Outcome) -> StageOutcome:
    names = dict.fromkeys(event.name for event in path.events if event.kind == EMPTY)
    return StageOutcome(
        stage=stage,
        status=Status.NO_KERNEL,
        message=f"{', '.join(names)} is launched over no workgroup: nothing is computed",
        evidence=Proof(stage, session.text, check_and_launch),
    )


def _settled(outcome: Outcome) -> bool:
    """Whether only inputs that the question leaves open were guessed at."""
    return all(u.free is not None for u, _ in outcome.decisions)


def _told_apart(accepted: list[Outcome], failed: list[Outcome]) -> bool:
    """Whether for some sizes that the question leaves open a path is taken that does not fail."""
    certain = [path.decisions for path in accepted if possible(path.decisions, _GATES)]
    return any(all(apart(one, other.decisions, _GATES) for other in failed) for one in certain)


def _gates(failed: list[Outcome]) -> tuple[Any, ...]:
    """What a call must meet beyond the shape: conditions on the batch and the KV length."""
    notes: list[Any] = []
    for outcome in failed:
        gates = [(u, choice) for u, choice in outcome.decisions if u.free in _GATES]
        if not gates or outcome.failure is None:
            return ()
        short = gates[-1][0].free == "kv"
        what = "for short KV lengths" if short else batch_condition(gates)
        note = joined([what, " it fails: ", outcome.failure.message or outcome.failure.how])
        if not any(same(note, other) for other in notes):
            notes.append(note)
    return tuple(notes)

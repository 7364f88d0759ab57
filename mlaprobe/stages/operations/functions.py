"""The functions that carry an operation out: its entry point, and what plans the work before.

The entry point's answer is what it does: which compiled functions it calls, with which tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from mlaprobe.core.shape import DecodeShape, StageName, StageOutcome, Status
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.unit import CppModule
from mlaprobe.evaluator.engine.runs import Outcome, Run
from mlaprobe.evaluator.values.kinds import Closure
from mlaprobe.rulefiles.operations import Entry, Function
from mlaprobe.stages.base import (
    CppStage,
    OutcomeStage,
    arguments,
    place_evidence,
    undecided,
)
from mlaprobe.stages.dispatching.dispatched import Dispatched, Reader
from mlaprobe.stages.dispatching.dispatcher import EntryEvents
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.evidence import Proof
from mlaprobe.stages.instantiate import Solved
from mlaprobe.stages.operations.question import arguments_of, family, inputs_of, plan_family
from mlaprobe.stages.operations.refusals import reached, refusals
from mlaprobe.stages.pyfunction import PythonFunction, PythonStage, Start
from mlaprobe.stages.sizing import accepted, passed

Read = Callable[[tuple[Outcome, ...], Mapping[str, Any]], Dispatched]


class EntryStage(PythonStage[DecodeShape, Dispatched]):
    """The entry point of an operation, which calls a compiled function."""

    name = StageName.DISPATCHER
    exported = True
    """Whether what the package exports by the function's name is the same function."""

    def __init__(self, session: SourceSession, entry: Entry) -> None:
        """Raises ``Absent`` where the source has none."""
        self.entry = entry
        function = python_function(session, self.name, entry.function, exported=self.exported)
        super().__init__(session, function)

    def _of(self, outcome: StageOutcome) -> Dispatched:
        return Dispatched(outcome=outcome)

    def _values(self, question: DecodeShape, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        return arguments_of(question, self.entry, self.entry.function, inputs)

    def _evaluated(self, question: DecodeShape, start: Start) -> Solved[Dispatched]:
        return self.session.solve(
            family(question, self.entry, self.name),
            inputs_of(question, self.entry),
            start,
            (question.arch, question.env),
            self._reader(question),
            on_entry=self._on_entry(),
        )

    def _reader(self, question: DecodeShape) -> Read:
        """Reads the answer off the paths."""
        return Reader(self.session, question).answer

    def _on_entry(self) -> Callable[..., Any]:
        """What a call of a compiled function is."""
        return EntryEvents(self.session, compiled=True).called


class EntryCall:
    """The entry point of an operation, called with the tensors of one launch."""

    def __init__(self, session: SourceSession, entry: Entry) -> None:
        """Raises ``Absent`` where the source has none."""
        self._session = session
        self._function = PythonFunction(
            session,
            StageName.DISPATCHER,
            places=entry.function.places,
            roles=session.names.roles("operation"),
        )

    def call(self, run: Run, values: Mapping[str, Any]) -> Any:
        """Calls the function with arguments by what its parameters mean."""
        return self._function.call(run, values)

    @property
    def on_entry(self) -> Callable[..., Any]:
        """What happens where the function calls one that is compiled elsewhere: an event."""
        return EntryEvents(self._session, compiled=True).called


class SizingStage(OutcomeStage[DecodeShape], PythonStage[DecodeShape, StageOutcome]):
    """A function that says how large the buffers of a plan are, or refuses."""

    name = StageName.SIZING

    def __init__(self, session: SourceSession, entry: Entry, function: Function) -> None:
        """Raises ``Absent`` where the source has none."""
        self.entry, self.called = entry, function
        super().__init__(session, python_function(session, self.name, function))

    def _values(self, question: DecodeShape, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        return arguments_of(question, self.entry, self.called, inputs)

    def _evaluated(self, question: DecodeShape, start: Start) -> Solved[StageOutcome]:
        key = plan_family(question, self.entry, self.name, self.called)
        inputs, context = inputs_of(question, self.entry), (question.arch, question.env)
        return self.session.solve(key, inputs, start, context, accepted(self.session, self.name))


class PlannerStage(CppStage[DecodeShape]):
    """A function that plans the work on the host, or refuses."""

    name = StageName.PLANNER

    def __init__(self, session: SourceSession, entry: Entry, function: Function) -> None:
        """Raises ``Absent`` where the source has none."""
        self.entry, self.called = entry, function
        super().__init__(session, function.places)

    def _evaluated(self, question: DecodeShape) -> Solved[StageOutcome]:
        key = plan_family(question, self.entry, self.name, self.called)
        inputs, roles = inputs_of(question, self.entry), self.called.roles

        def start(run: Run, symbols: Mapping[str, Any]) -> Any:
            values = arguments_of(question, self.entry, self.called, symbols)
            args = arguments(self._function.function, roles, values)
            return run.machine.call(run, self._function, args, {}, ir.NOWHERE)

        context = (question.arch, question.env)
        return self.session.solve(key, inputs, start, context, self._read)

    def _read(self, outcomes: tuple[Outcome, ...], inputs: Mapping[str, Any]) -> StageOutcome:
        if all(map(self._returns, outcomes)) and self._obstacle is None:
            return StageOutcome(
                stage=self.name,
                status=Status.ACCEPTED,
                evidence=Proof(self.name, self.session.text, passed),
            )
        found = accepted(self.session, self.name)(outcomes, inputs)
        if found.status != Status.UNKNOWN or self._obstacle is None:
            return found
        places = place_evidence(self.session, self.name, self._obstacle)
        message = f"{self.called.work} may refuse, and its loops are not followed"
        return undecided(self.name, message, places)

    def _returns(self, outcome: Outcome) -> bool:
        """Whether a path returns, or is lost in what only does the work."""
        if outcome.kind == "failed":
            return False
        doubts = [u.span for u, _ in outcome.decisions if u.free is None and u.span != ir.NOWHERE]
        if outcome.kind == "unknown":
            doubts.append(outcome.span)
        return all(map(self._in_work, doubts))

    def _in_work(self, span: ir.Span) -> bool:
        spans = (each.function.span for each in self._work)
        return any(s.file == span.file and s.line <= span.line <= s.end_line for s in spans)

    @cached_property
    def _work(self) -> tuple[Closure, ...]:
        """The function that does the work, with those that it calls."""
        module, name = self._function.module, self.called.work
        assert isinstance(module, CppModule)
        found = None if name is None else module.function(name)
        return () if found is None else reached(found, self._foreign)

    @property
    def _foreign(self) -> tuple[str, ...]:
        return tuple(self.session.names.data["foreign"]["prefixes"])

    @cached_property
    def _obstacle(self) -> ir.Span | None:
        """A place in it that may refuse."""
        return next(refusals(self._work, self._foreign), None)


def python_function(
    session: SourceSession, stage: str, function: Function, *, exported: bool = True
) -> PythonFunction:
    """A function that an operation calls; see ``PythonFunction``."""
    return PythonFunction(
        session, stage, places=function.places, roles=function.roles, exported=exported
    )

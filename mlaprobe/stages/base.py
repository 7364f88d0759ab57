"""What the stages share: finding functions, calling them by role, judging the paths."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.shape import Evidence, Failure, StageOutcome, Status, altered
from mlaprobe.errors import MlaprobeError
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Outcome
from mlaprobe.evaluator.values.kinds import Closure
from mlaprobe.stages.environment.bindings import default_of
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.evidence import evidence
from mlaprobe.stages.instantiate import Solved

logger = logging.getLogger("mlaprobe")
Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")


class Absent(Exception):
    """The source does not have this stage; the text says what is missing."""


class Unreadable(Exception):
    """The source has this stage, and it cannot be read; the text says why."""

    def __init__(self, message: str, file: str) -> None:
        super().__init__(message)
        self.file = file


@dataclass(frozen=True, slots=True, kw_only=True)
class Faulted(StageOutcome):
    """The outcome where mlaprobe itself failed: it holds for this one answer, and is not kept."""


def faulted(stage: str, error: Exception) -> Faulted:
    """The outcome after an unexpected exception of mlaprobe's own."""
    logger.debug("the evaluation of stage %s failed", stage, exc_info=error)
    if isinstance(error, RecursionError):
        message = "the code is nested too deeply to be followed from here"
    else:
        message = f"the evaluator failed: {type(error).__name__}: {error}"
    return Faulted(stage=stage, status=Status.UNKNOWN, message=message)


class Stage(ABC, Generic[Question, Answer]):
    """One stage of one source. Questions are hashable; an answer is kept once it is complete.

    Threads may share it.
    """

    name: ClassVar[str]
    function: ir.Function | None = None
    """The function that it starts from, where that can be read."""

    def __init__(self, session: SourceSession) -> None:
        self.session = session
        self._known: dict[Hashable, Solved[Answer]] = cache(Cache.STAGES)

    def decide(self, question: Question) -> Answer:
        """What the stage answers."""
        return self.solve(question).answer

    def solve(self, question: Question) -> Solved[Answer]:
        """The same, with how it was come to."""
        known = self._known.get(question)
        return known or self._guarded(lambda: self._kept(question, lambda: self._solve(question)))

    def forget(self) -> None:
        """Lets go of remembered answers."""
        with self.session.exclusive:
            self._known.clear()

    def _kept(self, key: Hashable, make: Callable[[], Solved[Answer]]) -> Solved[Answer]:
        """What is made once for a key."""
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = make()
        return known

    def _guarded(self, answer: Callable[[], Solved[Answer]]) -> Solved[Answer]:
        """An answer of one thread. What is raised that should not be costs that answer only: it
        has gone through everything that would have kept it."""
        with self.session.exclusive:
            try:
                return answer()
            except MlaprobeError:
                raise
            except Exception as error:
                return Solved(self._of(faulted(self.name, error)))

    @abstractmethod
    def _solve(self, question: Question) -> Solved[Answer]: ...

    @abstractmethod
    def _of(self, outcome: StageOutcome) -> Answer:
        """The answer that is nothing but an outcome."""


class OutcomeStage(Stage[Question, StageOutcome]):
    """A stage whose answer is its outcome."""

    def _of(self, outcome: StageOutcome) -> StageOutcome:
        return outcome


class CppStage(OutcomeStage[Question]):
    """A stage that starts from a C++ function."""

    def __init__(
        self, session: SourceSession, places: tuple[tuple[str, str], ...] | None = None
    ) -> None:
        """Raises ``Absent`` where the source has none. ``places``: by default the stage's."""
        super().__init__(session)
        self.problem: Unreadable | None = None
        """Why the function cannot be read."""
        try:
            self._function = find_cpp_function(session, self.name, places)
            self.function = self._function.function
        except Unreadable as problem:
            self.problem = problem

    def takes(self, role: str) -> bool:
        """Whether the function has a parameter of that meaning."""
        if self.problem is not None:
            return False
        roles = self.session.names.roles(self.name)
        return any(roles.get(p.name) == role for p in self._function.function.params)

    def _solve(self, question: Question) -> Solved[StageOutcome]:
        if self.problem is not None:
            return Solved(self._unreadable(self.problem))
        return self._evaluated(question)

    @abstractmethod
    def _evaluated(self, question: Question) -> Solved[StageOutcome]:
        """The answer, through what is known of other head counts and query lengths."""

    def _unreadable(self, problem: Unreadable) -> StageOutcome:
        start = ir.Span(problem.file, 1, 1, 1, 2)
        places = place_evidence(self.session, self.name, start)
        return undecided(self.name, str(problem), places)


def find_cpp_function(
    session: SourceSession, stage: str, places: tuple[tuple[str, str], ...] | None = None
) -> Closure:
    """The C++ function that a stage starts from, in ``places`` or those of the stage.

    Raises:
        Absent: no file of this stage is in the source.
        Unreadable: a file is there, and defines no such function that can be read.
    """
    problem: Unreadable | None = None
    places = places or session.names.places(stage)
    for path, name in places:
        if session.text(path) is None:
            continue
        try:
            found = session.cpp(path).function(name)
        except RecursionError:
            raise Unreadable(f"{path} is nested too deeply to be read from here", path) from None
        if found is not None:
            return found
        problem = problem or Unreadable(f"{path} defines no {name} that can be read", path)
    for _, name in places:
        other = session.cpp_function(name) or _bound(session, name)
        if other is not None:
            return other
    if problem is not None:
        raise problem
    path = places[0][0]
    raise Absent(f"there is no {path}")


def _bound(session: SourceSession, name: str) -> Closure | None:
    """The C++ function that a Python stub of that name says it is compiled from."""
    for module in dict.fromkeys(call["module"] for call in session.names.data["calls"].values()):
        stub = session.python.function(module, name)
        other = session.bindings.bound_name(stub, name) if stub is not None else name
        if other != name:
            return session.cpp_function(other)
    return None


def arguments(
    function: ir.Function, roles: Mapping[str, str], values: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Arguments by what each parameter means.

    A parameter of unknown meaning keeps its default, or is unknown.
    """
    result: list[Any] = []
    for param in function.params:
        if param.kind != "normal":
            continue
        role = roles.get(param.name)
        if role is not None and role in values:
            result.append(values[role])
        elif role is None and _is_tensor(param) and values.get("other") is not None:
            result.append(values["other"])
        else:
            result.append(default_of(param))
    return tuple(result)


def _is_tensor(param: ir.Param) -> bool:
    """Whether a parameter without a default is a tensor, by its type."""
    ctype = None if isinstance(param.default, ir.Const) else param.type
    return ctype is not None and ctype.kind == "other" and "tensor" in ctype.name.lower()


def how_failed(outcome: Outcome) -> Failure | None:
    """How a failed path ends."""
    if outcome.failure is None:
        return None
    return Failure.ABORT if outcome.failure.kind == "abort" else Failure.EXCEPTION


def undecided(stage: str, message: Any, evidence: Sequence[Evidence] = ()) -> StageOutcome:
    """The outcome of a stage whose answer is unknown, with the reason."""
    return StageOutcome(stage=stage, status=Status.UNKNOWN, message=message, evidence=evidence)


def why_unknown(outcomes: tuple[Outcome, ...]) -> tuple[str, ir.Span]:
    """The first reason why paths differ or could not be followed, and its place: of an argument,
    which has none, where a path fails."""
    reason, span = _first_doubt(outcomes)
    if span == ir.NOWHERE:
        span = next((o.failure.span for o in outcomes if o.failure is not None), span)
    return reason, span


def _first_doubt(outcomes: tuple[Outcome, ...]) -> tuple[str, ir.Span]:
    for outcome in outcomes:
        for unknown, _ in outcome.decisions:
            if unknown.free is None:
                return unknown.reason, unknown.span
    for outcome in outcomes:
        if outcome.kind == "unknown":
            return outcome.reason, outcome.span
    for outcome in outcomes:
        for unknown, _ in outcome.decisions:
            return unknown.reason, unknown.span
    return "the code could not be followed", ir.NOWHERE


def unknown(
    session: SourceSession,
    stage: str,
    outcomes: tuple[Outcome, ...],
    read: StageOutcome | None = None,
) -> StageOutcome:
    """The outcome of a stage whose paths do not determine its answer; ``read`` is the outcome that
    was read off them, if it has the reason."""
    reason, span = why_unknown(outcomes)
    places = place_evidence(session, stage, span)
    if read is None:
        return undecided(stage, reason, places)
    return altered(read, message=read.message or reason, evidence=read.evidence or places)


def place_evidence(session: SourceSession, stage: str, span: ir.Span) -> tuple[Evidence, ...]:
    """One place as evidence."""
    found = evidence(stage, span, session.text)
    return () if found is None else (found,)

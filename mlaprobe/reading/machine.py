"""The abstract machine: runs the intermediate form for one question, with three-valued logic.

A question is answered by *exploring*: the function is run from its start, and wherever a branch
depends on an unknown, the run takes one side and is repeated for the other. Every run is one
consistent path, so nothing has to be merged, and what all paths agree on holds whatever the
unknown is. The number of paths, the steps of a path and the depth of calls are bounded; a run
that exceeds a bound is abandoned, which makes the answer unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlaprobe.reading.frames import OUTER, RUN
from mlaprobe.reading.ir import NOWHERE, Function, Launch, Node, Span
from mlaprobe.reading.kept import Copies
from mlaprobe.reading.symbols import Sym, SymText
from mlaprobe.reading.values import (
    Builtin,
    Closure,
    EnumMember,
    Model,
    Record,
    Unknown,
    identity,
    rest_of,
)

MAX_PATHS = 64
MAX_STEPS = 10_000
"""Rounds of loops in one path."""
MAX_STEPS_OF_PATHS = 2_000
"""Rounds of loops in all paths together, after which no other path is begun."""
MAX_DEPTH = 40
PROBE = "probe"
"""The ``free`` name of values that only watch a loop (see ``Unordered.probe``): no path forks."""


class Failed(Exception):
    """The program fails: ``kind`` is ``exception``, ``abort`` or ``unknown`` (it may fail)."""

    def __init__(self, kind: str, how: str, message: str | SymText, span: Span) -> None:
        super().__init__(how)
        self.kind = kind
        self.how = how
        self.message: Any = message
        """The text; one with symbols in it until the answer is made for certain inputs."""
        self.span = span

    def again(self, message: Any = None) -> Failed:
        """The same failure to be raised anew, with another message where one is given: one that is
        remembered is raised many times, and belongs to no path."""
        return Failed(self.kind, self.how, self.message if message is None else message, self.span)


class Abandon(Exception):
    """The program cannot be followed any further."""

    def __init__(self, reason: str, span: Span) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


class Again(Exception):
    """The path is to be run once more: what was assumed of a piece of code was seen not to hold."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something the program did to the outside world: a call, a launch."""

    kind: str
    name: str
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]
    span: Span


@dataclass(slots=True)
class Outcome:
    """How one path ended.

    ``kind`` is ``returned``, ``failed`` or ``unknown`` (the path was abandoned).
    """

    kind: str
    value: Any = None
    failure: Failed | None = None
    reason: str = ""
    span: Span = NOWHERE
    events: tuple[Event, ...] = ()
    observations: tuple[tuple[str, Any], ...] = ()
    frame: Mapping[str, Any] = field(default_factory=dict)
    decisions: tuple[tuple[Unknown, int], ...] = ()
    decided: Mapping[Hashable, int] = field(default_factory=dict)
    """The side that was taken of each branch on an unknown, by the unknown's key."""
    trace: Iterable[tuple[Node, Any]] = ()

    @property
    def certain(self) -> bool:
        """Whether the path was taken without guessing at something that cannot be followed."""
        return all(u.free is not None for u, _ in self.decisions)


class Run:
    """The state of one path."""

    def __init__(
        self,
        machine: Machine,
        *,
        context: Hashable = None,
        env: Mapping[str, str] | None = None,
        cache: dict[Any, Any] | None = None,
        script: tuple[int, ...] = (),
        facts: Mapping[str, Any] | None = None,
        decided: Mapping[Hashable, int] | None = None,
        trace: bool = False,
        knobs: set[str] | None = None,
    ) -> None:
        self.machine = machine
        self.context = context
        self.env = env if env is not None else {}
        self.cache: dict[Any, Any] = cache if cache is not None else {}
        self.facts = facts if facts is not None else {}
        self.script = script
        self.taken: list[tuple[int, int, Unknown]] = []
        self.decisions: dict[Hashable, int] = dict(decided or {})
        self.events: list[Event] = []
        self.observations: list[tuple[str, Any]] = []
        """What models noticed, such as a looked-up key; remembered with a memoised call."""
        self.globals: dict[tuple[int, str], Any] = {}
        self.effects = 0
        self.asked = 0
        """How often the path was asked for its side of an unknown: what was computed in between
        holds for this path only."""
        self.steps = 0
        self.depth = 0
        self.trace: list[tuple[Node, Any]] | None = [] if trace else None
        self.frame: dict[str, Any] = {}
        self._copies = Copies()
        self.disturbed = False
        """Whether something that is kept was made unknown on this path: remembered results of
        calls may be of what it was."""
        self.handled: list[Failed] = []
        """The exceptions whose handlers are being run, the innermost last."""
        self.on_entry: Callable[..., Any] | None = None
        self.knobs: set[str] = set() if knobs is None else knobs
        """Environment variables that were asked for."""
        self.resolving: dict[Hashable, int] = {}
        """Names of modules that are being looked up, and how often each was asked for meanwhile."""

    def own(self, value: Any) -> Any:
        """A value that outlives the run, as the run may use it."""
        return self._copies.of(value)

    def changes(self, value: Any, span: Span) -> None:
        """The program changes a value in place.

        Raises:
            Abandon: the value outlives the run, so that earlier calls have changed it, too.
        """
        self.effects += 1
        if value in self._copies:
            raise Abandon("something is changed that keeps its value between calls", span)

    def havocs(self, value: Any, span: Span) -> None:
        """What a value holds is about to become unknown."""
        self.disturbed = self.disturbed or value in self._copies

    def choose(self, count: int, why: Unknown) -> int:
        """One of ``count`` alternatives; every other is taken by a later path."""
        at = len(self.taken)
        choice = self.script[at] if at < len(self.script) else 0
        self.taken.append((choice, count, why))
        self.effects += 1
        return choice

    def decide(self, value: Unknown) -> bool:
        """A side of a branch on an unknown; the same unknown always goes the same way."""
        if value.free == PROBE:
            return False
        self.asked += 1
        key, flip = value.key, False
        while isinstance(key, tuple) and len(key) == 2 and key[0] == "not":
            key, flip = key[1], not flip
        choice = self.decisions.get(key)
        if choice is None:
            choice = self.choose(2, value)
            if flip:
                choice = 1 - choice
            self.decisions[key] = choice
        return (choice == 0) is not flip

    def getenv(self, name: str) -> str | None:
        """The environment variable, and a note that it was asked for."""
        self.knobs.add(name)
        return self.env.get(name)

    def emit(self, kind: str, name: str, args: Any, kwargs: Mapping[str, Any], span: Span) -> None:
        """Record something the program does to the outside world."""
        self.effects += 1
        event = Event(kind, name, tuple(args), tuple(kwargs.items()), span)
        self.events.append(event)
        if self.trace is not None:
            self.trace.append((Launch(span, name, ()), event))


def truth(value: Any) -> Any:
    """``True``, ``False`` or an :class:`Unknown`."""
    if value is True or value is False:
        return value
    kind = type(value)
    if kind is Sym:
        return value.compare("!=", value, 0)
    if kind is SymText:
        return True
    if kind in (list, dict):
        rest = rest_of(value)
        return bool(value) if rest is None or len(value) > 1 else rest.another()
    if kind in (int, float, str, tuple, set, frozenset, range):
        return bool(value)
    if value is None:
        return False
    if isinstance(value, Unknown):
        return value
    if isinstance(value, EnumMember):
        if value.value is None or value.scoped:
            return Unknown(f"truth of {value!r} is not known")
        return bool(value.value)
    if isinstance(value, (Model, Record, Closure, Builtin)):
        return True
    return Unknown(f"truth of a {kind.__name__} is not known")


class Machine:
    """Compiles functions once and runs them for many questions."""

    def __init__(self, *, assume_returns: Callable[[str], bool] = lambda name: False) -> None:
        from mlaprobe.reading.compiler import Compiler

        self.assume_returns = assume_returns
        """Whether a function outside the source, by name, is taken to return normally."""
        self.watch: Callable[[Node], tuple[str, Node] | None] = lambda branch: None
        """For a branch that is compiled: an expression to observe whenever it is reached, and the
        name to observe it under."""
        self.acting: set[Node] = set()
        """Operands of ``and`` and ``or`` that do more than give a value."""
        self._compiler = Compiler(self)

    def call(
        self, run: Run, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span
    ) -> Any:
        """Call a value of the program within the current path."""
        return self._compiler.call(run, value, args, kwargs, span)

    def evaluate(self, run: Run, node: Node, module: Any) -> Any:
        """The value of an expression in a module's scope."""
        return self._compiler.expression(node, module)({OUTER: None, RUN: run})

    def function(self, function: Function, module: Any) -> Closure:
        """A function of a module as a value."""
        return Closure(function, module)

    def explore(
        self,
        start: Callable[[Run], Any],
        make_run: Callable[[tuple[int, ...]], Run],
        *,
        limit: int = MAX_PATHS,
        enough: Callable[[Outcome], bool] = lambda outcome: False,
    ) -> tuple[Outcome, ...]:
        """Every path of ``start``, at most ``limit`` and few where they go round loops often; one
        more, unknown, where there are more. After a path that is ``enough`` no other is taken."""
        outcomes: list[Outcome] = []
        steps = 0
        script: tuple[int, ...] = ()
        while True:
            run, outcome = self._attempt(start, make_run, script)
            outcomes.append(outcome)
            steps += run.steps
            if enough(outcomes[-1]):
                return tuple(outcomes)
            taken = [list(t[:2]) for t in run.taken]
            while taken and taken[-1][0] + 1 >= taken[-1][1]:
                taken.pop()
            if not taken:
                return tuple(outcomes)
            if len(outcomes) >= limit or steps > MAX_STEPS_OF_PATHS:
                reason = run.taken[0][2]
                outcomes.append(
                    Outcome(
                        "unknown",
                        reason=f"too many paths: {reason.reason}",
                        span=reason.span,
                        decisions=((Unknown("too many paths"), 0),),
                    )
                )
                return tuple(outcomes)
            taken[-1][0] += 1
            script = tuple(t[0] for t in taken)

    def _attempt(
        self,
        start: Callable[[Run], Any],
        make_run: Callable[[tuple[int, ...]], Run],
        script: tuple[int, ...],
    ) -> tuple[Run, Outcome]:
        """One path, started again whenever the code turns out to act where it was taken not to."""
        while True:
            run = make_run(script)
            try:
                return run, self._path(start, run)
            except Again:
                continue

    def _path(self, start: Callable[[Run], Any], run: Run) -> Outcome:
        """One path to its end. What the evaluator itself raises is no answer, and goes through
        everything that would remember one."""
        try:
            outcome = Outcome("returned", value=start(run))
        except Failed as failure:
            # What was being handled when it was raised would keep that code's frames.
            failure.__traceback__ = failure.__context__ = failure.__cause__ = None
            if failure.kind == "unknown":
                outcome = Outcome("unknown", reason=failure.message, span=failure.span)
            else:
                outcome = Outcome("failed", failure=failure, span=failure.span)
        except Abandon as stop:
            outcome = Outcome("unknown", reason=stop.reason, span=stop.span)
        outcome.events = tuple(run.events)
        outcome.observations = tuple(run.observations)
        outcome.frame = {slot: v for slot, v in run.frame.items() if slot != RUN}
        outcome.decisions = tuple((u, c) for c, _, u in run.taken)
        outcome.decided = run.decisions
        if run.trace is not None:
            outcome.trace = tuple(run.trace)
        return outcome


def memo_key(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Hashable | None:
    """What a call's result can be remembered by, or ``None``."""
    keys = []
    for value in args:
        key = identity(value)
        if key is None:
            return None
        keys.append(key)
    for name, value in kwargs.items():
        key = identity(value)
        if key is None:
            return None
        keys.append((name, key))
    return tuple(keys)

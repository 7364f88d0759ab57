"""One path through a program: what it did, what it is, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.frames import Frame
from mlaprobe.evaluator.engine.shared import SharedState
from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.ir import NOWHERE, Launch, Node, Span
from mlaprobe.evaluator.objects.objects import ObjectType, called, special
from mlaprobe.evaluator.values import Args, Unknown, Unsure, Value
from mlaprobe.evaluator.values.kept import Copies
from mlaprobe.evaluator.values.kinds import Model, Ref
from mlaprobe.evaluator.values.truth import truth
from mlaprobe.evaluator.values.unknown import STORED

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.machine import Machine
    from mlaprobe.evaluator.objects.metaclasses import Making

MAX_STEPS = 10_000
"""Rounds of loops in one path."""
MAX_ROUNDS = 40_000
"""Rounds of loops over known elements, and calls, in one path."""
MAX_DEPTH = 40
"""Calls within calls."""
PROBE = "probe"
"""The ``free`` name of values that only watch a loop (see ``Unordered.probe``): no path forks."""
_CHANGED = (
    "something is changed that keeps its value between calls: what a later call finds is not known"
)


UNCLEAR = Ref({}, "a reference that is not followed")
"""What a call refers to that may give a reference and does not say to what."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something the program did to the outside world: a call, a launch."""

    kind: str
    name: str
    args: Args
    kwargs: tuple[tuple[str, Value], ...]
    span: Span


@dataclass(slots=True)
class Outcome:
    """How one path ended.

    ``kind`` is ``returned``, ``failed`` or ``unknown`` (the path was abandoned).
    """

    kind: str
    value: Value = None
    failure: Failed | None = None
    reason: str = ""
    span: Span = NOWHERE
    events: tuple[Event, ...] = ()
    observations: tuple[tuple[str, Value], ...] = ()
    frame: Mapping[str, Value] = field(default_factory=dict)
    decisions: tuple[tuple[Unknown, int], ...] = ()
    decided: Mapping[Hashable, int] = field(default_factory=dict)
    """The side that was taken of each branch on an unknown, by the unknown's key."""
    trace: Iterable[tuple[Node, Value]] = ()

    @property
    def certain(self) -> bool:
        """Whether the path was taken without guessing at something that cannot be followed."""
        return all(u.free is not None for u, _ in self.decisions)


@dataclass(eq=False, repr=False)
class Run:
    """The state of one path."""

    machine: Machine
    _: KW_ONLY
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that are set."""
    shared: SharedState = field(default_factory=SharedState)
    script: tuple[int, ...] = ()
    """The choices to make, as far as they are prescribed."""
    facts: Mapping[str, Value] = field(default_factory=dict)
    trace: list[tuple[Node, Value]] | None = None
    """What is computed; ``None`` where that is not wanted."""
    knobs: set[str] = field(default_factory=set)
    """Names of the environment variables that were read."""
    decisions: dict[Hashable, int] = field(default_factory=dict)
    """The side that is taken of an unknown, by its key."""
    on_entry: Callable[..., Value] | None = None
    resolving: dict[Hashable, int] = field(default_factory=dict)
    """Names of modules that are being looked up, and how often each was wanted meanwhile."""
    taken: list[tuple[int, int, Unknown]] = field(default_factory=list)
    """(choice, of how many, why) in order."""
    python: bool = False
    """Whether the outermost call is of Python code."""
    effects: int = 0
    """Counts what the path did to the outside world, and its choices."""
    asked: int = 0
    """Counts the decisions on unknowns: what was computed in between is of this path only."""
    events: list[Event] = field(default_factory=list)
    observations: list[tuple[str, Value]] = field(default_factory=list)
    """What models noticed, such as a looked-up key."""
    globals: dict[tuple[int, str], Value] = field(default_factory=dict)
    """Names of modules that the path has written, by the module's identity."""
    constants: dict[tuple[int, str], Value] = field(default_factory=dict)
    """Constants of modules to which something refers."""
    steps: int = 0
    rounds: int = 0
    """Rounds of loops over known elements, and calls."""
    depth: int = 0
    frame: Frame = field(default_factory=dict)
    """The frame of the outermost call."""
    copies: Copies = field(default_factory=Copies)
    bodies: list[list[Callable[[Value], None]]] = field(default_factory=list)
    """Bodies of ``with`` that functions which are context managers are run around, the innermost
    last; empty where it has been run."""
    referred: Ref | None = None
    """What the last call refers to: ``None`` for a value of its own, ``UNCLEAR`` where that is not
    known."""
    classes: list[ObjectType] = field(default_factory=list)
    """The classes that are made on the path."""
    making: list[Making] = field(default_factory=list)
    """The class statements whose metaclasses are being called, the innermost last."""
    loose: int = 0
    """How many loops around have rounds that are not known, or that have no order."""
    handled: list[Failed] = field(default_factory=list)
    """The exceptions whose handlers are being run, the innermost last."""

    def goes_on(self, span: Span) -> None:
        """Another round of a loop, or a call.

        Raises:
            Unsupported: there are too many.
        """
        self.rounds += 1
        if self.rounds > MAX_ROUNDS:
            raise Unsupported("it takes too long to follow", span)

    def choose(self, count: int, why: Unknown) -> int:
        """One of ``count`` alternatives; every other is taken by a later path."""
        at = len(self.taken)
        choice = self.script[at] if at < len(self.script) else 0
        self.taken.append((choice, count, why))
        self.effects += 1
        return choice

    def decide(self, value: Unknown) -> bool:
        """A side of a branch on an unknown; the same unknown always goes the same way.

        Raises:
            Failed: Python may refuse to tell.
        """
        if value.free == PROBE:
            return False
        if isinstance(value, Unsure) and self.python:
            raise Failed("unknown", "unknown", value.reason, value.span)
        self.asked += 1
        key, flip = value.key, False
        while isinstance(key, tuple) and len(key) > 1:
            if key[0] == "not" and len(key) == 2:
                key, flip = key[1], not flip
            elif key[:2] == (STORED, "bool"):
                key = key[3]
            else:
                break
        choice = self.decisions.get(key)
        if choice is None:
            choice = self.choose(2, value)
            if flip:
                choice = 1 - choice
            self.decisions[key] = choice
        return (choice == 0) is not flip

    def truth(self, value: Value, span: Span = NOWHERE) -> Value:
        """``True``, ``False`` or an unknown, where the code asks at a place."""
        asked = isinstance(value, Model) and not value.always_true
        return value.truth_in(self, span) if asked else truth(value)

    def holds(self, value: Value, span: Span = NOWHERE) -> bool:
        """Whether a value is true on this path; where that is not known, a side is taken."""
        if special(value, "__bool__", "__len__"):
            name = "__bool__" if special(value, "__bool__") else "__len__"
            value = called(self, value, name, (), span)
        known = self.truth(value, span)
        return self.decide(known) if isinstance(known, Unknown) else bool(known)

    def own(self, value: Value) -> Value:
        """A value that outlives the run, as the run may use it."""
        return self.copies.of(value)

    def of_class(self, cls: ObjectType, value: Value) -> Value:
        """An attribute of a class, as the run may use it."""
        return self.own(value)

    def makes(self, cls: ObjectType) -> bool:
        """Whether a class is made on this path: to change it reaches no other."""
        return any(made is cls for made in self.classes)

    def keep(self, value: Value) -> Value:
        """A value that other calls get, too."""
        return self.copies.keep(value)

    def changes(self, value: Value, span: Span) -> None:
        """The program changes a value in place.

        Raises:
            Unsupported: the value outlives the run, so that earlier calls have changed it, too.
        """
        self.effects += 1
        if value in self.copies:
            raise Unsupported(_CHANGED, span)
        if self.loose and self.globals and self.python:
            why = "a value is changed in a loop whose rounds are not known, or have no order"
            raise Unsupported(why, span)

    def havocs(self, value: Value, span: Span) -> None:
        """What a value holds is about to become unknown."""

    def lose_globals(self, why: Unknown) -> None:
        """Something that is not followed may have run any code of the source: what the path has
        written of its modules is not known any more."""
        for key in self.globals:
            self.globals[key] = why.another()

    def getenv(self, name: str) -> str | None:
        """The value of an environment variable, which is noted as read."""
        self.knobs.add(name)
        return self.env.get(name)

    def emit(
        self, kind: str, name: str, args: Value, kwargs: Mapping[str, Value], span: Span
    ) -> None:
        """Record something the program does to the outside world."""
        self.effects += 1
        event = Event(kind, name, tuple(args), tuple(kwargs.items()), span)
        self.events.append(event)
        if self.trace is not None:
            self.trace.append((Launch(span, name, ()), event))

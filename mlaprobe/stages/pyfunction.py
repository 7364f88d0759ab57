"""A Python function of the source that a stage starts from, called by what its parameters mean."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from mlaprobe.core.shape import StageOutcome
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Outcome, Run
from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.objects.members import Bound, Static
from mlaprobe.evaluator.objects.objects import Instance
from mlaprobe.evaluator.python.index import SyntaxProblem
from mlaprobe.evaluator.python.module import PyModule
from mlaprobe.evaluator.python.statements import TRANSPARENT_DECORATORS
from mlaprobe.evaluator.python.stdlib import Partial
from mlaprobe.evaluator.python.values import EntryPoint
from mlaprobe.evaluator.values import Unknown
from mlaprobe.evaluator.values.kinds import Closure
from mlaprobe.stages.base import Absent, Answer, Question, Stage, place_evidence, undecided
from mlaprobe.stages.dispatching.passing import Passing, Taken, passed
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.evidence import Trace
from mlaprobe.stages.instantiate import Solved

Start = Callable[[Run, Mapping[str, Any]], Any]
NO_CONTEXT = ("", ())
"""No arch and no environment."""


class PythonStage(Stage[Question, Answer]):
    """A stage that starts from a Python function, which is called with arguments by their
    meanings."""

    def __init__(self, session: SourceSession, function: PythonFunction | None = None) -> None:
        """Raises ``Absent`` where the source has none. ``function``: by default the one of the
        stage's places."""
        super().__init__(session)
        self._function = function or PythonFunction(session, self.name)
        self.function = self._function.function

    def takes(self, role: str) -> bool:
        """Whether the function has a parameter of that meaning."""
        return role in self._function.parameters

    def _solve(self, question: Question) -> Solved[Answer]:
        if self._function.problem is not None:
            return Solved(self._of(self._function.unreadable()))

        def start(run: Run, inputs: Mapping[str, Any]) -> Any:
            return self._function.call(run, self._values(question, inputs))

        return self._evaluated(question, start)

    @abstractmethod
    def _values(self, question: Question, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments by their meanings; ``inputs`` are numbers and flags, or symbols for
        them."""

    @abstractmethod
    def _evaluated(self, question: Question, start: Start) -> Solved[Answer]:
        """The answer, through what is known of other head counts and query lengths. ``start``
        calls the function with ``_values``."""


def refused(trace: Trace, outcome: Outcome) -> tuple[ir.Span, ...]:
    """The place that a path fails at."""
    return (trace.refusal(),)


def _function_of(value: Any) -> Any:
    """The function that is called where a method, or an object, is bound to a name: with the object
    as its first argument. Anything else as it is."""
    method = value
    if isinstance(value, Instance):
        method = Bound(value.cls.find("__call__"), value)
    if isinstance(method, Bound) and isinstance(method.function, Closure):
        return Partial(method.function, (method.owner,), {})
    return value.function if isinstance(value, Static) and not value.of_class else value


class PythonFunction:
    """The first function of a stage's places that exists in the source."""

    def __init__(
        self,
        session: SourceSession,
        stage: str,
        *,
        places: tuple[tuple[str, str], ...] | None = None,
        roles: Mapping[str, str] | None = None,
        exported: bool = True,
    ) -> None:
        """Raises ``Absent`` where no file of this stage is in the source. ``places`` and what
        parameters mean are by default the stage's in ``layouts.yaml``. ``exported``: whether what
        the package exports by the name is the same function."""
        places = places or session.names.places(stage)
        self.session = session
        self.stage = stage
        self.problem: str | None = None
        self._place: ir.Span | None = None
        """Where the problem is."""
        self._roles = session.names.roles(stage) if roles is None else roles
        self.file = ""
        self.function: ir.Function | None = None
        self._parameters: tuple[str, ...] | None = None
        if not self._found_in(places) and not (exported and self._found_by_package(places)):
            self._explain(places[0][0])

    def _found_in(self, places: tuple[tuple[str, str], ...]) -> bool:
        """Whether one of the places settles it: by a function, or by what cannot be read."""
        python = self.session.python
        for dotted, name in places:
            module = python.module(dotted)
            if module is None:
                continue
            self.module, self.name, self.file = module, name, module.path
            try:
                self.function = python.function(dotted, name) or self._bound(module, name)
            except RecursionError:
                self.function = None
                self.problem = f"{self.file} is nested too deeply to be read from here"
                return True
            if self.function is not None:
                return True
        return False

    def _explain(self, dotted: str) -> None:
        """Why there is no function."""
        if not self.file:
            raise Absent(f"there is no {dotted.replace('.', '/')}.py")
        if self.session.python.module(self.module.dotted) is not None and self._certainly_missing():
            raise Absent(f"{self.file} defines no {self.name}")
        tree = self.module.index.tree
        self.problem = f"{self.file} defines no {self.name} that can be read"
        if isinstance(tree, SyntaxProblem):
            self.problem, self._place = f"{self.file} has a {tree.message}", tree.span

    def _bound(self, module: PyModule, name: str) -> ir.Function | None:
        """The function that a name is bound to, by an import or an assignment."""
        given = module.index.star_imports and self.session.python.may_define(module, name)
        if not module.index.binds(name) and not given:
            return None
        outcomes = self.session.explore(lambda run: self._named(run, module, name), NO_CONTEXT)
        value = outcomes[0].value if len(outcomes) == 1 else None
        while isinstance(value, Partial):
            value = value.function
        return value.function if isinstance(value, Closure) else None

    def _found_by_package(self, places: tuple[tuple[str, str], ...]) -> bool:
        """Whether the package exports the function of one of the places by its name."""
        for _, name in places:
            for module in filter(None, map(self.session.python.module, self.session.python.roots)):
                found = self._bound(module, name) if module.index.binds(name) else None
                if found is not None:
                    self.module, self.name, self.file = module, name, found.span.file
                    self.function = found
                    return True
        return False

    def _certainly_missing(self) -> bool:
        """Whether the file is Python and does not mention the name at all."""
        text = self.session.text(self.file) or ""
        return bool(text.strip()) and self.name not in text

    def unreadable(self) -> StageOutcome:
        """The outcome where the function is there and cannot be read."""
        start = self._place or ir.Span(self.file, 1, 1, 1, 2)
        return undecided(self.stage, self.problem, place_evidence(self.session, self.stage, start))

    @property
    def parameters(self) -> tuple[str, ...]:
        """What the parameters mean, as far as that is known."""
        with self.session.exclusive:
            if self._parameters is None:
                self._parameters = self._meanings()
            return self._parameters

    def _meanings(self) -> tuple[str, ...]:
        if self.function is None:
            return ()
        outcomes = self.session.explore(self._taken, NO_CONTEXT)
        if len(outcomes) == 1 and outcomes[0].kind == "returned":
            return tuple(one.role or "" for one in outcomes[0].value)
        return tuple(self._roles.get(p.name, "") for p in self.function.params)

    def call(self, run: Run, values: Mapping[str, Any]) -> Any:
        """Call the function with arguments by role; what it does not take is left out.

        A parameter without a default whose meaning is not known is unknown.
        """
        if self.function is None:
            raise Unsupported(self.problem or "no function", ir.NOWHERE)
        args, named = passed(run, self._taken(run), values)
        return run.machine.call(run, self._value(run), args, named, self.function.span)

    def _taken(self, run: Run) -> tuple[Taken, ...]:
        return Passing(run, self._roles).taken(self._value(run))

    def _value(self, run: Run) -> Closure | Partial:
        """What the name is bound to."""
        return self._named(run, self.module, self.name)

    def _named(self, run: Run, module: PyModule, name: str) -> Closure | Partial:
        span = ir.NOWHERE if self.function is None else self.function.span
        value = module.lookup(run, name, span)
        if isinstance(value, EntryPoint):
            value = self._decorated(run, value)
        value = _function_of(value)
        if not isinstance(value, (Closure, Partial)):
            reason = value.reason if isinstance(value, Unknown) else f"{name} is no function"
            if isinstance(value, EntryPoint):
                reason = f"{name} is decorated with {', '.join(value.decorators)}"
            place = value.span if isinstance(value, Unknown) and value.span.line else span
            raise Failed("unknown", "unknown", reason, place)
        return value

    def _decorated(self, run: Run, entry: EntryPoint) -> Any:
        """What decorators of the source make of a function."""
        compiled = self.session.names.data["bindings"]["decorators"]
        if any(name.rpartition(".")[2] in compiled for name in entry.decorators):
            return entry
        value: Any = Closure(entry.function, entry.module)
        pairs = zip(entry.function.decorators, entry.decorators, strict=True)
        for node, name in reversed([*pairs]):
            if name in TRANSPARENT_DECORATORS:
                continue
            decorator = run.machine.evaluate(run, node, entry.module)
            if not isinstance(decorator, (Closure, Partial)):
                return entry
            value = run.machine.call(run, decorator, (value,), {}, entry.function.span)
        return value

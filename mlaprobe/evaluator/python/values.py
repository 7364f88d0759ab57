"""Values that stand for Python's modules, classes and entry points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import NOWHERE, Span
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Model

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run
    from mlaprobe.evaluator.python.module import PyModule, View
    from mlaprobe.evaluator.python.project import PyProject


class MissingName(Failed):
    """A module certainly has no such name: what Python makes of it is a ``NameError``."""

    def __init__(self, module: str, name: str, span: Span = NOWHERE) -> None:
        super().__init__("exception", "NameError", f"{module} has no name {name!r}", span)
        self.module = module
        self.name = name


class CircularName(MissingName):
    """A name that is being looked up already: its modules import each other."""


RETURNING = frozenset({"logging", "math", "torch", "triton", "warnings"})
"""Packages outside the source whose functions are taken to return."""


def _failed(how: str, message: str, span: Span) -> Failed:
    return Failed("exception", how, message, span)


def _unfollowed(run: Run, why: Unknown, name: str, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """What the machine makes of a call that cannot be followed."""
    from mlaprobe.evaluator.engine.calls import result_of_unknown

    return result_of_unknown(run, why, name, args, kwargs, span)


@dataclass(slots=True, eq=False, repr=False)
class _Module(Model):
    """A module as a value."""

    project: PyProject
    dotted: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dotted})"


class ModuleRef(_Module):
    """A module of the source."""

    __slots__ = ()

    def get_in(self, run: Run, name: str, span: Span) -> Value:
        """An attribute: a name of the module, or a module inside it.

        Raises:
            Failed: ``AttributeError`` where the module certainly has no such name.
        """
        try:
            return run.own(self.project.attribute(run, self.dotted, name, span))
        except CircularName:
            return Unknown(f"{self.dotted}.{name} depends on itself", span)
        except MissingName:
            message = f"module {self.dotted!r} has no attribute {name!r}"
            raise _failed("AttributeError", message, span) from None


class ExternalModule(_Module):
    """A module outside the source that is taken as installed."""

    __slots__ = ()

    def get(self, name: str, span: Span) -> Value:
        return self.project.external(f"{self.dotted}.{name}", span)


@dataclass(frozen=True, slots=True)
class Later:
    """A value for something of the source that is made at its first use."""

    make: Callable[[Run], Value]


class External(Unknown):
    """Something outside the source of which only the name is known; may be anything."""

    __slots__ = ("dotted", "project")

    def __init__(self, project: PyProject, dotted: str, span: Span) -> None:
        foreign = dotted.split(".")[0] in RETURNING
        reason = f"{dotted} is outside the source"
        super().__init__(reason, span, key=("external", dotted), foreign=foreign)
        self.project = project
        self.dotted = dotted

    def derive(self, op: str, *operands: Value) -> Unknown:
        if op[:1] == "." and op[1:].isidentifier() and not operands:
            return self.project.external(f"{self.dotted}{op}", self.span)  # type: ignore[no-any-return]
        return super().derive(op, *operands)


@dataclass(frozen=True, slots=True, eq=False)
class EntryPoint(Model):
    """A function whose decorator decides what a call does; a stage knows what it means."""

    name: str
    module: PyModule | View
    """The module, as it was where the function stands: for the decorators' arguments."""
    function: ir.Function
    decorators: tuple[str, ...]
    """The decorators' dotted names, imports resolved."""
    gives: bool = False
    """Whether it is annotated to return something."""
    grid: Value = None
    """What it was subscripted with before the call, as the kernels of Triton are."""

    def call(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if run.on_entry is not None:
            found = run.on_entry(run, self, args, kwargs, span)
            if found is not NotImplemented:
                return found
        why = Unknown(f"{self.name} is decorated with {', '.join(self.decorators)}", span)
        return _unfollowed(run, why, self.name, args, kwargs, span)

    def index(self, key: Value, span: Span) -> Value:
        return replace(self, grid=key)

"""What is special in the body of a Python class: methods, properties, fields, bases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.objects import NOTHING
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Model

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run


@dataclass(frozen=True, slots=True, eq=False)
class Bound(Model):
    """A function with its first argument."""

    function: Value
    owner: Value

    def held(self) -> Args:
        return (self.function, self.owner)

    def call(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        return run.machine.call(run, self.function, (self.owner, *args), kwargs, span)


@dataclass(frozen=True, slots=True, eq=False)
class Property(Model):
    """``property``, also one whose value is kept (``cached``)."""

    read: Value
    write: Value = None
    cached: bool = False

    def get(self, name: str, span: Span) -> Value:
        if name == "setter":
            return Builtin(name, lambda run, args, k, s: Property(self.read, args[0]))
        if name in ("getter", "deleter"):
            return Builtin(name, lambda run, args, k, s: Unknown(f"{name} of a property", s))
        return Unknown(f"attribute {name} of a property", span)


@dataclass(frozen=True, slots=True, eq=False)
class Static(Model):
    """``staticmethod`` or ``classmethod``."""

    function: Value
    of_class: bool

    def call(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if self.of_class:
            return Unknown("a class method outside its class", span)
        return run.machine.call(run, self.function, args, kwargs, span)


@dataclass(frozen=True, slots=True, eq=False)
class Abstract(Model):
    """``abstractmethod``: a class that has one makes no objects."""

    function: Value


@dataclass(frozen=True, slots=True, eq=False)
class Base(Model):
    """A base class outside the source that is understood: ``object``, ``abc.ABC``, an enum."""

    name: str
    kind: str = ""
    """``tuple`` for a named tuple, the kind of an enum, else nothing."""

    def index(self, key: Value, span: Span) -> Value:
        return self

    def call(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        return Unknown(f"an object of {self.name} is not followed", span)


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field of a dataclass or a named tuple."""

    name: str
    default: Value = NOTHING
    factory: Value = NOTHING
    init: bool = True
    keyword: bool = False
    compare: bool = True
    shared: bool = True
    """Whether the default is one value for all objects."""

"""Exceptions that are handled, and classes of which only the attributes count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Model

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run


class SettingsBase(Model):
    """A base class outside the source whose subclasses have nothing but their attributes."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class ErrorType(Model):
    """A class of exceptions by its name: one of Python's, or of one that was raised."""

    name: str

    one_of_a_kind = True

    def equals(self, other: Value) -> bool | None:
        if isinstance(other, ErrorType):
            return self.name == other.name
        return False if other is None else None

    def call(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        return Unknown(f"an exception {self.name} as a value is not followed", span, foreign=True)


@dataclass(slots=True, eq=False)
class CaughtError(Model):
    """An exception in the hands of a handler."""

    failure: Value

    def get(self, name: str, span: Span) -> Value:
        if name == "what":
            message = self.failure.message
            return Builtin(name, lambda run, args, kwargs, where: message, symbolic=True)
        return Unknown(f"{name} of an exception", span, foreign=True)

"""Exceptions that are handled, and classes of which only the attributes count."""

from __future__ import annotations

from dataclasses import dataclass

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Model


class SettingsBase(Model):
    """A base class outside the source whose subclasses have nothing but their attributes."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class CaughtError(Model):
    """An exception in the hands of a handler."""

    failure: Value

    def get(self, name: str, span: Span) -> Value:
        if name == "what":
            message = self.failure.message
            return Builtin(name, lambda run, args, kwargs, where: message, symbolic=True)
        return Unknown(f"{name} of an exception", span, foreign=True)

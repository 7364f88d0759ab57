"""``std::optional``: ``None`` where there is nothing, else what there is; a number or a text as an
:class:`Engaged`, because it is something whether or not it is 0."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.symbolic.symbols import Sym, SymText
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Model, identity

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

METHODS = frozenset(("has_value", "value", "value_or"))


class Engaged(Model):
    """A number or a text that an optional holds."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def identity(self) -> Hashable | None:
        inner = identity(self.value)
        return None if inner is None else ("engaged", inner)

    def equals(self, other: Value) -> bool | None:
        from mlaprobe.evaluator.values.comparing import equals

        if other is None:
            return False
        other = other.value if isinstance(other, Engaged) else other
        same = equals(self.value, other, Span("", 0, 0, 0, 0))
        return None if isinstance(same, Unknown) else bool(same)

    def get(self, name: str, span: Span) -> Value:
        if name in METHODS:
            return method(self, name)
        return Unknown(f"{name} of an optional is not modelled", span)


def engaged(value: Value) -> Value:
    """What an optional is that holds a value."""
    return Engaged(value) if isinstance(value, (int, float, str, Sym, SymText)) else value


def held(value: Value) -> Value:
    """What an optional holds."""
    return value.value if type(value) is Engaged else value


def method(obj: Value, name: str) -> Builtin:
    """A method of an optional."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if name == "has_value":
            return obj is not None
        if obj is not None:
            return held(obj)
        if name == "value_or" and args:
            return args[0]
        raise Failed("exception", "std::bad_optional_access", "bad optional access", span)

    return Builtin(name, call, symbolic=True)

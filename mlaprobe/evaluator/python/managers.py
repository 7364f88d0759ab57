"""Context managers of ``contextlib``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.python.generators import MANAGED
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Closure, Model

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run


@dataclass(slots=True, eq=False)
class ManagerFunction(Model):
    """A generator function of the source that ``contextmanager`` decorates."""

    function: Closure

    def call(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        return Managed(self.function, args, kwargs)


@dataclass(slots=True, eq=False)
class Managed(Model):
    """What a call of one gives. The function is run once, around the body of the ``with``: what
    fails there fails where the function yields."""

    function: Closure
    args: Args
    kwargs: Kwargs

    def held(self) -> Args:
        return (*self.args, *self.kwargs.values())

    def around(self, run: Run, inside: Callable[[Value], None], span: Span) -> bool:
        waiting = [inside]
        run.bodies.append(waiting)
        try:
            run.machine.call(run, self.function, self.args, self.kwargs, span)
        finally:
            run.bodies.pop()
        if waiting:
            raise Failed("exception", "RuntimeError", "generator didn't yield", span)
        return True


@dataclass(slots=True, eq=False)
class _Null(Model):
    """``nullcontext``."""

    value: Value

    def around(self, run: Run, inside: Callable[[Value], None], span: Span) -> bool:
        inside(self.value)
        return True


def _managed(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """What stands for ``yield`` in such a function: the body of the ``with``.

    Raises:
        Failed: of what a second yield does, only some is an exception that the function sees.
    """
    waiting = run.bodies.pop() if run.bodies else []
    try:
        if not waiting:
            reason = "a context manager that yields twice is not followed"
            raise Failed("unknown", "unknown", reason, span)
        waiting.pop()(args[0])
    finally:
        run.bodies.append(waiting)
    return None


def _contextmanager(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if len(args) == 1 and isinstance(args[0], Closure) and not kwargs:
        return ManagerFunction(args[0])
    return Unknown("what is made a context manager is not followed", span)


def _nullcontext(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    return _Null(args[0] if args else kwargs.get("enter_result"))


MANAGERS: dict[str, Value] = {
    "contextlib.contextmanager": Builtin("contextmanager", _contextmanager, symbolic=True),
    "contextlib.nullcontext": Builtin("nullcontext", _nullcontext, symbolic=True),
    f"builtins.{MANAGED}": Builtin(MANAGED, _managed, symbolic=True),
}
"""By dotted names."""

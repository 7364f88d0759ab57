"""Python's ``with`` as closures: the way into a context manager and the way out."""

from __future__ import annotations

from collections.abc import Callable

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.exceptions import while_handling
from mlaprobe.evaluator.closures.stores import compile_store
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.objects.objects import Instance, called, class_name, special
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.handled import CaughtError, ErrorType
from mlaprobe.evaluator.values.kinds import Model

Inside = Callable[[Value], None]


def compile_with(unit: Unit, node: ir.With, scope: Scope) -> Eval:
    """``with manager as target``."""
    manager, span = unit.compile(node.manager, scope), node.manager.span
    store = None if node.target is None else compile_store(unit, node.target, scope)
    body = unit.block(node.body, unit.inner(scope))

    def run(e: Frame) -> Value:
        signal: Value = None

        def inside(value: Value) -> None:
            nonlocal signal
            if store is not None:
                store(e, value)
            signal = body(e)

        _around(e[RUN], manager(e), inside, span)
        return signal

    return run


def _around(run: Run, manager: Value, inside: Inside, span: ir.Span) -> None:
    """Runs the body of a ``with``.

    Raises:
        Failed: something fails, and the manager does not swallow it.
    """
    if isinstance(manager, Instance):
        _around_object(run, manager, inside, span)
    elif not isinstance(manager, Model) or not manager.around(run, inside, span):
        _around_anything(manager, inside, span)


def _around_object(run: Run, manager: Instance, inside: Inside, span: ir.Span) -> None:
    if not (special(manager, "__enter__") and special(manager, "__exit__")):
        message = f"{class_name(manager)} is no context manager that is followed"
        raise Failed("unknown", "unknown", message, span)
    value = called(run, manager, "__enter__", (), span)
    try:
        inside(value)
    except Failed as failure:
        if failure.kind != "exception":
            raise
        caught, trace = CaughtError(failure), Unknown("the trace of an exception", span)
        error = (ErrorType(failure.how), caught, trace)
        swallowed = while_handling(
            failure, lambda e: called(run, manager, "__exit__", error, span), {RUN: run}
        )
        if not run.holds(swallowed, span):
            raise failure from None
    else:
        called(run, manager, "__exit__", (None, None, None), span)


def _around_anything(manager: Value, inside: Inside, span: ir.Span) -> None:
    """One of a library is taken to do no more than to wait, or to count; of another it is not known
    what it does with an exception."""
    try:
        inside(Unknown("what a context manager gives is not followed", span))
    except Failed as failure:
        foreign = isinstance(manager, Model) or getattr(manager, "foreign", False)
        if foreign or failure.kind != "exception":
            raise
        reason = "what a context manager does with an exception is not followed"
        raise Failed("unknown", "unknown", reason, span) from None

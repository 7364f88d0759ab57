"""Exceptions of the analysed program as closures: what raises them, and what handles them."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import NamedTuple

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.displays import text_of
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.objects.objects import ObjectType
from mlaprobe.evaluator.symbolic.symbols import joined
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.handled import CaughtError, ErrorType


class _Handler(NamedTuple):
    """A compiled ``except`` or ``catch`` clause."""

    types: tuple[str, ...] | None
    """``None`` for one that catches everything."""
    slot: str | None
    """The slot of the variable that holds the exception."""
    body: Eval
    forgets: bool = False
    """Whether the variable has no value behind it, as in Python."""
    named: tuple[Eval, ...] = ()
    """The values of types that Python has no exceptions by the names of: they may be variables."""


def compile_throw(unit: Unit, node: ir.Throw, scope: Scope) -> Eval:
    """``throw`` or ``raise``."""
    args = node.value.args if isinstance(node.value, (ir.Call, ir.Construct)) else ()
    parts = [unit.compile(a, scope) for a in args if not isinstance(a, ir.Star)]
    how, span, traced = node.how, node.span, unit.traced

    def run(e: Frame) -> Value:
        if traced:
            e[RUN].trace.append((node, None))
        if node.value is None:
            run = e[RUN]
            run.effects += 1  # what is raised depends on who calls
            if run.handled:
                raise run.handled[-1].again()
            raise Unsupported("an exception is raised again, and none is being handled", span)
        texts = [text_of(p(e), "") for p in parts]
        text = joined([t for t in texts if t != "<>"], " ")
        raise Failed("exception", how, text, span)

    return run


def compile_try(unit: Unit, node: ir.Try, scope: Scope) -> Eval:
    """``try`` with its handlers."""
    body, orelse, final = (
        unit.block(part, unit.inner(scope)) for part in (node.body, node.orelse, node.final)
    )
    handlers = [_handler(unit, handler, unit.inner(scope), node.span) for handler in node.handlers]
    span = node.span

    def run(e: Frame) -> Value:
        try:
            signal = body(e)
            if signal is None:
                signal = orelse(e)
        except Failed as failure:
            failed = failure
        else:
            last = final(e)
            return last if last is not None else signal
        if failed.kind != "exception":  # the end of the process, or unknown
            raise failed
        try:
            signal = _handle(handlers, failed, e, span)
        except Failed as failure:
            last = while_handling(failure, final, e)
            if last is not None:
                return last
            raise
        last = final(e)
        return last if last is not None else signal

    return run


def _handler(
    unit: Unit,
    handler: tuple[tuple[str, ...] | None, str | None, tuple[ir.Node, ...]],
    scope: Scope,
    span: ir.Span,
) -> _Handler:
    types, name, body = handler
    if name is not None and unit.lang == "cpp":
        scope.declare(name)
    found = scope.find(name) if name is not None else None
    slot = None if found is None else found[1]
    named: tuple[Eval, ...] = ()
    if unit.lang == "py":
        others = [t for t in types or () if t.isidentifier() and not hasattr(builtins, t)]
        named = tuple(unit.compile(ir.Name(span, t), scope) for t in others)
    forgets = slot is not None and unit.lang == "py"
    return _Handler(types, slot, unit.block(body, scope), forgets, named)


def _handle(handlers: Iterable[_Handler], failure: Failed, e: Frame, span: ir.Span) -> Value:
    """The signal of the first handler that catches an exception.

    Raises:
        Failed: none does.
    """
    run = e[RUN]
    for handler in handlers:
        caught = catches(handler.types, failure.how)
        if caught is None and handler.named:
            caught = catches(_spelled(handler, e), failure.how)
        if caught is None:
            caught = run.decide(Unknown(f"what catches {failure.how}", span))
        if caught:
            if handler.slot is not None:
                e[handler.slot] = CaughtError(failure)
            seen = (failure.kind, failure.how, failure.message, failure.span)
            run.observations.append(("caught", seen))
            try:
                return while_handling(failure, handler.body, e)
            finally:
                if handler.forgets:
                    e.pop(handler.slot or "", None)
    raise failure


def _spelled(handler: _Handler, e: Frame) -> tuple[str, ...]:
    """The types of a handler, those of variables by the names of the exceptions in them."""
    plain = [t for t in handler.types or () if hasattr(builtins, t)]
    unclear = [t for t in handler.types or () if not hasattr(builtins, t)]
    for value in [named(e) for named in handler.named]:
        kinds = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(kind, (ErrorType, ObjectType)) for kind in kinds):
            return (*plain, *unclear)
        plain += [kind.name for kind in kinds]
    return tuple(plain) if len(unclear) == len(handler.named) else (*plain, *unclear)


def while_handling(failure: Failed, body: Eval, e: Frame) -> Value:
    """Runs statements while an exception is being handled: a bare ``raise`` in them, or in what
    they call, raises it again."""
    handled = e[RUN].handled
    handled.append(failure)
    try:
        return body(e)
    finally:
        handled.pop()


def catches(types: tuple[str, ...] | None, how: str) -> bool | None:
    """Whether a handler of those types catches an exception; ``None`` if that is not known."""
    if types is None or "..." in types or "BaseException" in types:
        return True
    if how[:1] in "0123456789\"'-" and how != "":
        other = any("exception" not in name and "error" not in name for name in types)
        return None if other else False
    how = how.rsplit(".", 1)[-1]
    if how == "FrozenInstanceError" and not any(n.rsplit(".", 1)[-1] == how for n in types):
        how = "AttributeError"
    raised = getattr(builtins, how, None)
    unsure = False
    for name in types:
        short = name.rsplit(".", 1)[-1]
        handler = getattr(builtins, short, None)
        if isinstance(raised, type) and isinstance(handler, type):
            if issubclass(raised, handler):
                return True
        elif short in (how, "Exception") or name == "std::exception":
            return True
        else:
            unsure = True
    return None if unsure else False

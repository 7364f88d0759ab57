"""Statements of the intermediate form as closures.

A signal is ``None`` (go on), :data:`BREAK`, :data:`CONTINUE` or a :class:`Returned`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine import boolean, declarations, loops
from mlaprobe.evaluator.engine.calls import havoc
from mlaprobe.evaluator.engine.displays import text_of
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.engine.scope import Scope
from mlaprobe.evaluator.engine.signals import BREAK, CONTINUE, Failed, Returned, Unsupported
from mlaprobe.evaluator.engine.stores import compile_havoc, compile_store
from mlaprobe.evaluator.engine.unit import Unit
from mlaprobe.evaluator.ir import Node
from mlaprobe.evaluator.symbolic.symbols import joined
from mlaprobe.evaluator.values.comparing import equals
from mlaprobe.evaluator.values.kinds import CaughtError
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.evaluator.values.truth import truth
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.evaluator.walk import declared_names, written_names


def writes_outside(body: tuple[Node, ...], scope: Scope) -> bool:
    """Whether a function may write variables that are not its own."""
    own = set(scope.names) | declared_names(body)
    return not written_names(body) <= own


def compile_block(unit: Unit, body: tuple[Node, ...], scope: Scope) -> Eval:
    """Statements one after the other."""
    steps = tuple(compile_statement(unit, node, scope) for node in body)
    if len(steps) == 1:
        return steps[0]

    def run(e: Frame) -> Any:
        for step in steps:
            signal = step(e)
            if signal is not None:
                return signal
        return None

    return run


def compile_statement(unit: Unit, node: Node, scope: Scope) -> Eval:
    """The closure for a statement."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return _opaque(unit, ir.OpaqueStmt(node.span, type(node).__name__, (), True), scope)
    return handler(unit, node, scope)


def _assign(unit: Unit, node: ir.Assign, scope: Scope) -> Eval:
    stores = [compile_store(unit, t, scope) for t in node.targets]
    value = unit.compile(node.value, scope)
    traced, span = unit.traced, node.span
    if node.op is None:
        first = stores[0] if len(stores) == 1 else None

        def run(e: Frame) -> Any:
            v = value(e)
            if first is not None:
                first(e, v)
            else:
                for store in stores:
                    store(e, v)
            if traced:
                e[RUN].trace.append((node, v))
            return None

        return run
    old, op, store = unit.compile(node.targets[0], scope), node.op, stores[0]

    def update(e: Frame) -> Any:
        before, after = old(e), value(e)
        result = binary(op, before, after, span)
        if isinstance(before, list) and unit.lang == "py":
            # a list is changed where it is, under all its names
            e[RUN].changes(before, span)
            if isinstance(result, list):
                before[:] = result
                result = before
            else:
                havoc(before, "added to a list", span)
        store(e, result)
        return None

    return update


def _expression(unit: Unit, node: ir.ExprStmt, scope: Scope) -> Eval:
    value = unit.compile(node.value, scope)

    def run(e: Frame) -> Any:
        value(e)
        return None

    return run


def _block(unit: Unit, node: ir.Block, scope: Scope) -> Eval:
    inner = Scope(scope.function, scope) if node.scoped else scope
    return compile_block(unit, node.body, inner)


def _branch(unit: Unit, body: tuple[Node, ...], scope: Scope) -> Eval:
    inner = Scope(scope.function, scope) if unit.lang == "cpp" else scope
    return compile_block(unit, body, inner)


def _later(unit: Unit, body: tuple[Node, ...], scope: Scope) -> Eval:
    """A branch that is compiled when it is first taken: most of a router's never are."""
    known: list[Eval] = []

    def run(e: Frame) -> Any:
        if not known:
            known.append(_branch(unit, body, scope))
        return known[0](e)

    return run


def _if(unit: Unit, node: ir.If, scope: Scope) -> Eval:
    test = boolean.compile_test(unit, node.test, scope)
    now = scope.frozen() if unit.lang == "cpp" else scope
    then = _later(unit, node.then, now)
    orelse = _later(unit, node.orelse, now) if node.orelse else None
    machine, traced = unit.machine, unit.traced
    watched = machine.watch(node)
    if watched is not None:
        label, watching = watched[0], unit.compile(watched[1], scope)
        test = _observed(machine, label, watching, test)

    def run(e: Frame) -> Any:
        known = test(e)
        if known is not True and known is not False:
            known = truth(known)
            if isinstance(known, Unknown):
                known = e[RUN].decide(known)
        if traced:
            e[RUN].trace.append((node, known))
        if known:
            return then(e)
        return orelse(e) if orelse is not None else None

    return run


def _observed(machine: Any, label: str, watching: Eval, test: Eval) -> Eval:
    """A condition before which something is observed."""

    def run(e: Frame) -> Any:
        e[RUN].observations.append((label, watching(e)))
        return test(e)

    return run


def _switch(unit: Unit, node: ir.Switch, scope: Scope) -> Eval:
    value = unit.compile(node.value, scope)
    inner = Scope(scope.function, scope)
    cases = [
        (
            [None if label is None else unit.compile(label, inner) for label in labels],
            compile_block(unit, body, inner),
        )
        for labels, body in node.cases
    ]
    span = node.span
    default = next((i for i, (labels, _) in enumerate(cases) if None in labels), len(cases))

    def start(e: Frame) -> int:
        v = value(e)
        for at, (labels, _) in enumerate(cases):
            for label in labels:
                if label is None:
                    continue
                same = equals(v, label(e), span)
                if isinstance(same, Unknown):
                    same = e[RUN].decide(same)
                if same:
                    return at
        return default

    def run(e: Frame) -> Any:
        for _, body in cases[start(e) :]:
            signal = body(e)
            if signal is BREAK:
                return None
            if signal is not None:
                return signal
        return None

    return run


def _return(unit: Unit, node: ir.Return, scope: Scope) -> Eval:
    if node.value is None:
        nothing = Returned(None)
        return lambda e: nothing
    value = unit.compile(node.value, scope)
    return lambda e: Returned(value(e))


def _jump(unit: Unit, node: ir.Jump, scope: Scope) -> Eval:
    signal = BREAK if node.kind == "break" else CONTINUE
    return lambda e: signal


def _check(unit: Unit, node: ir.Check, scope: Scope) -> Eval:
    test = boolean.compile_test(unit, node.test, scope)
    message = unit.compile(node.message, scope) if node.message is not None else None
    how, traced = node.how, unit.traced

    def run(e: Frame) -> Any:
        known = truth(test(e))
        if isinstance(known, Unknown):
            known = e[RUN].decide(known)
        if traced:
            e[RUN].trace.append((node, known))
        if known:
            return None
        text = "" if message is None else text_of(message(e), "message")
        raise Failed("exception", how, text, node.span)

    return run


def _throw(unit: Unit, node: ir.Throw, scope: Scope) -> Eval:
    args = node.value.args if isinstance(node.value, (ir.Call, ir.Construct)) else ()
    parts = [unit.compile(a, scope) for a in args if not isinstance(a, ir.Star)]
    how, span = node.how, node.span

    def run(e: Frame) -> Any:
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


def _try(unit: Unit, node: ir.Try, scope: Scope) -> Eval:
    body = _branch(unit, node.body, scope)
    handlers = []
    for types, name, statements in node.handlers:
        inner = Scope(scope.function, scope) if unit.lang == "cpp" else scope
        if name is not None and unit.lang == "cpp":
            inner.declare(name)
        handlers.append((types, name, compile_block(unit, statements, inner), inner))
    orelse = _branch(unit, node.orelse, scope)
    final = _branch(unit, node.final, scope)
    span = node.span

    def handle(e: Frame, failure: Failed) -> Any:
        for types, name, statements, inner in handlers:
            caught = catches(types, failure.how)
            if caught is None:
                caught = e[RUN].decide(Unknown(f"what catches {failure.how}", span))
            if caught:
                if name is not None:
                    found = inner.find(name)
                    if found is not None:
                        e[found[1]] = CaughtError(failure)
                seen = (failure.kind, failure.how, failure.message, failure.span)
                e[RUN].observations.append(("caught", seen))
                return handling(failure, statements, e)
        raise failure

    def run(e: Frame) -> Any:
        try:
            signal = body(e)
            if signal is None:
                signal = orelse(e)
        except Failed as failure:
            failed = failure
        else:
            last = final(e)
            return last if last is not None else signal
        if failed.kind != "exception":  # the end of the process, or nobody knows
            raise failed
        try:
            signal = handle(e, failed)
        except Failed as failure:
            last = handling(failure, final, e)
            if last is not None:
                return last
            raise
        last = final(e)
        return last if last is not None else signal

    return run


def handling(failure: Failed, body: Eval, e: Frame) -> Any:
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
    raised = getattr(builtins, how.rsplit(".", 1)[-1], None)
    unsure = False
    for name in types:
        short = name.rsplit(".", 1)[-1]
        if short == how.rsplit(".", 1)[-1] or short == "Exception" or name == "std::exception":
            return True
        handler = getattr(builtins, short, None)
        if isinstance(raised, type) and isinstance(handler, type):
            if issubclass(raised, handler):
                return True
        else:
            unsure = True
    return None if unsure else False


def _opaque(unit: Unit, node: ir.OpaqueStmt, scope: Scope) -> Eval:
    havoc_all = compile_havoc(unit, node.writes, scope, node.span)
    reason, span, exits = node.reason, node.span, node.exits

    def run(e: Frame) -> Any:
        havoc_all(e, Unknown(reason, span))
        if exits and e[RUN].decide(Unknown(reason, span, key=("exits", span))):
            raise Unsupported(reason, span)
        return None

    return run


_HANDLERS: dict[type, Callable[[Unit, Any, Scope], Eval]] = {
    ir.Decl: declarations.declare,
    ir.Unpack: declarations.unpack,
    ir.Assign: _assign,
    ir.ExprStmt: _expression,
    ir.Block: _block,
    ir.If: _if,
    ir.While: loops.compile_while,
    ir.ForEach: loops.compile_foreach,
    ir.Switch: _switch,
    ir.Return: _return,
    ir.Jump: _jump,
    ir.Check: _check,
    ir.Throw: _throw,
    ir.Try: _try,
    ir.Define: declarations.define,
    ir.LocalClass: declarations.local_class,
    ir.Import: declarations.imported,
    ir.OpaqueStmt: _opaque,
}

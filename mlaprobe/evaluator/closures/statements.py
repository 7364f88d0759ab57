"""Statements of the intermediate form as closures.

A signal is ``None`` (go on), :data:`BREAK`, :data:`CONTINUE` or a :class:`Returned`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures import boolean, declarations, exceptions, loops, rounds
from mlaprobe.evaluator.closures.displays import text_of
from mlaprobe.evaluator.closures.managing import compile_with
from mlaprobe.evaluator.closures.methodcalls.listmethods import removed
from mlaprobe.evaluator.closures.places.returned import compile_returned
from mlaprobe.evaluator.closures.stores import compile_havoc, compile_store
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.calls import havoc
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.engine.signals import BREAK, CONTINUE, Failed, Returned, Unsupported
from mlaprobe.evaluator.ir import Node
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.comparing import equals
from mlaprobe.evaluator.values.operators import binary

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.machine import Machine


def compile_block(unit: Unit, body: tuple[Node, ...], scope: Scope) -> Eval:
    """Statements one after the other."""
    steps = tuple(compile_statement(unit, node, scope) for node in body)
    if len(steps) == 1:
        return steps[0]

    def run(e: Frame) -> Value:
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

        def run(e: Frame) -> Value:
            v = value(e)
            for store in stores:
                store(e, v)
            if traced:
                e[RUN].trace.append((node, v))
            return None

        return run
    old, op, store = unit.compile(node.targets[0], scope), node.op, stores[0]

    def update(e: Frame) -> Value:
        before, after = old(e), value(e)
        result = binary(op, before, after, span)
        if isinstance(before, (list, dict, set)) and unit.lang == "py":
            # it is changed where it is, under all its names
            e[RUN].changes(before, span)
            if not replaced(before, result):
                havoc(before, "something unknown is added", span)
            result = before
        store(e, result)
        return None

    return update


def replaced(value: Value, by: Value) -> bool:
    """Gives a list, a dict or a set the contents of another, where they are known."""
    if isinstance(value, list) and isinstance(by, list):
        value[:] = by
    elif isinstance(value, dict) and isinstance(by, dict):
        items = tuple(by.items())
        value.clear()
        value.update(items)
    elif isinstance(value, set) and isinstance(by, (set, frozenset)):
        items = tuple(by)
        value.clear()
        value.update(items)
    else:
        return False
    return True


def _expression(unit: Unit, node: ir.ExprStmt, scope: Scope) -> Eval:
    value = unit.compile(node.value, scope)

    def run(e: Frame) -> Value:
        value(e)
        return None

    return run


def _block(unit: Unit, node: ir.Block, scope: Scope) -> Eval:
    inner = Scope(scope.function, scope) if node.scoped else scope
    return compile_block(unit, node.body, inner)


def _later(unit: Unit, body: tuple[Node, ...], scope: Scope) -> Eval:
    """A branch that is compiled when it is first taken: most of a router's never are."""
    known: list[Eval] = []

    def run(e: Frame) -> Value:
        if not known:
            known.append(compile_block(unit, body, unit.inner(scope)))
        return known[0](e)

    return run


def _if(unit: Unit, node: ir.If, scope: Scope) -> Eval:
    test = boolean.compile_test(unit, node.test, scope)
    now = scope.frozen() if unit.lang == "cpp" else scope
    then = _later(unit, node.then, now)
    orelse = _later(unit, node.orelse, now) if node.orelse else None
    machine, traced, where = unit.machine, unit.traced, node.test.span
    watched = machine.watch(node)
    if watched is not None:
        label, watching = watched[0], unit.compile(watched[1], scope)
        test = _observed(machine, label, watching, test)

    def run(e: Frame) -> Value:
        known = test(e)
        if known is not True and known is not False:
            known = e[RUN].holds(known, where)
        if traced:
            e[RUN].trace.append((node, known))
        if known:
            return then(e)
        return orelse(e) if orelse is not None else None

    return run


def _observed(machine: Machine, label: str, watching: Eval, test: Eval) -> Eval:
    """A condition before which something is observed."""

    def run(e: Frame) -> Value:
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
                if label is not None and e[RUN].holds(equals(v, label(e), span)):
                    return at
        return default

    def run(e: Frame) -> Value:
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
    if scope.function.refers:
        deduced = scope.function.deduced
        return compile_returned(unit, node.value, scope, deduced=deduced)
    value = unit.compile(node.value, scope)
    return lambda e: Returned(value(e))


def _jump(unit: Unit, node: ir.Jump, scope: Scope) -> Eval:
    signal = BREAK if node.kind == "break" else CONTINUE
    return lambda e: signal


def _check(unit: Unit, node: ir.Check, scope: Scope) -> Eval:
    test = boolean.compile_test(unit, node.test, scope)
    message = unit.compile(node.message, scope) if node.message is not None else None
    how, traced, where = node.how, unit.traced, node.test.span

    def run(e: Frame) -> Value:
        known = e[RUN].holds(test(e), where)
        if traced:
            e[RUN].trace.append((node, known))
        if known:
            return None
        text = "" if message is None else text_of(message(e), "message")
        raise Failed("exception", how, text, node.span)

    return run


def _opaque(unit: Unit, node: ir.OpaqueStmt, scope: Scope) -> Eval:
    havoc_all = compile_havoc(unit, node.writes, scope, node.span)
    reason, span, exits = node.reason, node.span, node.exits

    def run(e: Frame) -> Value:
        havoc_all(e, Unknown(reason, span))
        e[RUN].lose_globals(Unknown(reason, span))
        if exits and e[RUN].decide(Unknown(reason, span, key=("exits", span))):
            raise Unsupported(reason, span)
        return None

    return run


def _outer(unit: Unit, node: ir.Outer, scope: Scope) -> Eval:
    """``global``, which is not followed where a function around has a variable of that name."""
    shadowed = node.of_module and any(scope.find(name) is not None for name in node.names)

    def run(e: Frame) -> Value:
        if shadowed:
            raise Unsupported("a global variable that has the name of another", node.span)
        return None

    return run


def _remove(unit: Unit, node: ir.Remove, scope: Scope) -> Eval:
    steps = tuple(_removal(unit, target, scope) for target in node.targets)

    def run(e: Frame) -> Value:
        for step in steps:
            step(e)
        return None

    return run


def _removal(unit: Unit, target: Node, scope: Scope) -> Eval:
    found = scope.find(target.id) if isinstance(target, ir.Name) else None
    if found is not None and found[0] == 0:
        assert isinstance(target, ir.Name)
        return _forgetting(unit, target, found[1], scope)
    if isinstance(target, ir.Index):
        obj, key = unit.compile(target.obj, scope), unit.compile(target.key, scope)
        return lambda e: removed(e[RUN], obj(e), key(e), target.span)
    return _opaque(unit, ir.OpaqueStmt(target.span, "this del is not followed", (), True), scope)


def _forgetting(unit: Unit, target: ir.Name, slot: str, scope: Scope) -> Eval:
    """``del`` of a variable: an error where it has no value."""
    read, name, span = unit.compile(target, scope), target.id, target.span
    of_class = scope.function.of_class

    def run(e: Frame) -> Value:
        if slot in e:
            return e.pop(slot)
        if of_class:  # a name of the module is not meant
            raise Failed("exception", "NameError", f"name {name!r} is not defined", span)
        read(e)
        raise Unsupported(f"whether {name} has a value to delete is not known", span)

    return run


_HANDLERS: dict[type, Callable[[Unit, Value, Scope], Eval]] = {
    ir.Decl: declarations.declare,
    ir.Unpack: declarations.unpack,
    ir.Assign: _assign,
    ir.ExprStmt: _expression,
    ir.Block: _block,
    ir.If: _if,
    ir.While: loops.compile_while,
    ir.ForEach: rounds.compile_foreach,
    ir.Switch: _switch,
    ir.Return: _return,
    ir.Jump: _jump,
    ir.Check: _check,
    ir.Throw: exceptions.compile_throw,
    ir.Try: exceptions.compile_try,
    ir.With: compile_with,
    ir.Define: declarations.define,
    ir.Import: declarations.imported,
    ir.OpaqueStmt: _opaque,
    ir.Remove: _remove,
    ir.Outer: _outer,
}

"""Loops as closures.

A loop over known elements or with a known test simply runs. One that depends on an unknown is
run for an arbitrary round: what the body may write is unknown before and after it, and a path
that skips the loop is taken as well. The order of a hash map is arbitrary: if several elements
make the body leave the loop, each of them is a path.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mlaprobe.reading import ir
from mlaprobe.reading.displays import elements
from mlaprobe.reading.machine import MAX_STEPS, Abandon, Failed, truth
from mlaprobe.reading.places import compile_store
from mlaprobe.reading.scope import Scope
from mlaprobe.reading.signals import BREAK, CONTINUE, Returned
from mlaprobe.reading.values import Unknown, Unordered
from mlaprobe.reading.walk import written_names

if TYPE_CHECKING:
    from mlaprobe.reading.expressions import Unit

Frame = dict[str, Any]
Exec = Callable[[Frame], Any]


def _spoiler(unit: Unit, nodes: tuple[ir.Node, ...], scope: Scope, reason: str) -> Exec:
    """Makes everything unknown that the nodes may write outside themselves."""
    names = [n for n in sorted(written_names(nodes)) if scope.find(n) is not None]
    span = nodes[0].span if nodes else ir.NOWHERE
    stores = [(compile_store(unit, ir.Name(span, n), scope)) for n in names]

    def run(e: Frame) -> Any:
        for store in stores:
            store(e, Unknown(reason, span))
        return None

    return run


def _some_round(unit: Unit, body: Exec, spoil: Exec, why: Unknown, e: Frame) -> Any:
    """An arbitrary round of a loop whose rounds are not known; the signal that leaves the
    function, if this path takes one."""
    run = unit.machine.run
    spoil(e)
    if run.decide(Unknown(why.reason, why.span, key=("round", why.key), free=why.free)):
        signal = body(e)
        if isinstance(signal, Returned):
            return signal
        spoil(e)
    return None


def compile_while(unit: Unit, node: ir.While, scope: Scope) -> Exec:
    """``while``, ``do`` and C++ ``for`` (whose variable is declared in a block around it)."""
    from mlaprobe.reading.expressions import compile_expression
    from mlaprobe.reading.statements import compile_block

    test = compile_expression(unit, node.test, scope)
    inner = Scope(scope.function, scope) if unit.lang == "cpp" else scope
    body = compile_block(unit, node.body, inner)
    step = compile_expression(unit, node.step, scope) if node.step is not None else None
    orelse = compile_block(unit, node.orelse, scope)
    everything = (*node.body, *((node.step,) if node.step is not None else ()))
    spoil = _spoiler(unit, everything, scope, "written in a loop that cannot be followed")
    machine, span, first = unit.machine, node.span, node.first

    def run(e: Frame) -> Any:
        again = first
        while True:
            if not again:
                known = truth(test(e))
                if isinstance(known, Unknown):
                    return _some_round(unit, body, spoil, known, e)
                if not known:
                    return orelse(e)
            again = False
            machine.run.steps += 1
            if machine.run.steps > MAX_STEPS:
                raise Abandon("a loop runs too long to follow", span)
            signal = body(e)
            if signal is BREAK:
                return None
            if signal is not None and signal is not CONTINUE:
                return signal
            if step is not None:
                step(e)

    return run


def compile_foreach(unit: Unit, node: ir.ForEach, scope: Scope) -> Exec:
    """A loop over elements."""
    from mlaprobe.reading.expressions import compile_expression
    from mlaprobe.reading.statements import compile_block

    source = compile_expression(unit, node.iterable, scope)
    inner = Scope(scope.function, scope) if unit.lang == "cpp" else scope
    if unit.lang == "cpp":
        for name in _names(node.target):
            inner.declare(name)
    store = compile_store(unit, node.target, inner)
    body = compile_block(unit, node.body, inner)
    orelse = compile_block(unit, node.orelse, scope)
    spoil = _spoiler(unit, node.body, scope, "written in a loop that cannot be followed")
    disordered = _spoiler(unit, node.body, scope, "written in the order of a hash map")
    span, machine = node.span, unit.machine

    def run(e: Frame) -> Any:
        container = source(e)
        values = elements(container, span)
        if isinstance(values, Unknown):
            store(e, Unknown("an element of " + values.reason, span))
            return _some_round(unit, body, spoil, values, e)
        if isinstance(container, Unordered):
            return any_order(e, container, values)
        for value in values:
            store(e, value)
            signal = body(e)
            if signal is BREAK:
                return None
            if signal is not None and signal is not CONTINUE:
                return signal
        return orelse(e)

    def any_order(e: Frame, container: Unordered, values: list[Any]) -> Any:
        leaving: list[tuple[Any, Any]] = []
        if container.probe is not None:
            store(e, container.probe)
            with suppress(Failed):
                body(e)
        for value in values:
            store(e, value)
            signal = body(e)
            if signal is not None and signal is not CONTINUE:
                leaving.append((signal, value))
        if not leaving:
            if len(values) > 1:
                disordered(e)
            return orelse(e)
        at = 0
        machine.run.observations.append(("matched", len(leaving)))
        if len(leaving) > 1:
            why = Unknown("the order of a hash map", span, free="hash order")
            at = machine.run.choose(len(leaving), why)
        if len(values) > 1:
            disordered(e)
        signal, value = leaving[at]
        store(e, value)
        return None if signal is BREAK else signal

    return run


def _names(target: ir.Node) -> list[str]:
    if isinstance(target, ir.Name):
        return [target.id]
    if isinstance(target, ir.Sequence):
        return [n for item in target.items for n in _names(item)]
    return []

"""What functions that give references refer to."""

from __future__ import annotations

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.places.lvalues import compile_place
from mlaprobe.evaluator.closures.places.onceonly import compile_once
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.engine.signals import Returned
from mlaprobe.evaluator.ir import Node
from mlaprobe.evaluator.stl.containers import Elsewhere
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import Closure, Ref
from mlaprobe.evaluator.walk import targets


def compile_returned(unit: Unit, node: Node, scope: Scope, *, deduced: bool) -> Eval:
    """``return value`` in a function that gives a reference, or may give one: ``deduced``."""
    place, value = compile_place(unit, node, scope), unit.compile(node, scope)
    constant = _is_constant(unit, node, scope)
    once = None if place is not None else compile_once(unit, node, scope)
    why = Unknown("what a function refers to is not followed", node.span)
    callee = _callee(unit, node, scope)

    def run(e: Frame) -> Value:
        if once is not None:
            found, given = once(e)
            given = given if found is None else found.load()
        else:
            given = value(e)
            found = place(e) if place is not None else None
            if callee is not None and type(callee(e)) is Closure:
                found = e[RUN].referred
        if found is None and not constant:
            found = Ref(Elsewhere(why, writable=False), None)
        if deduced and found is not None:
            found = Ref(Elsewhere(why, writable=False), None)
        return Returned(given, found)

    return run


def _callee(unit: Unit, node: Node, scope: Scope) -> Eval | None:
    """The function that is called by its name."""
    if not isinstance(node, ir.Call) or not isinstance(node.func, ir.Name):
        return None
    return unit.compile(node.func, scope)


def _is_constant(unit: Unit, node: Node, scope: Scope) -> bool:
    """Whether an expression is a part of what nothing writes."""
    names = set(targets(node))
    for name in names:
        found = scope.find(name)
        ctype = None if found is None else found[2]
        if found is None:
            if not unit.module.is_constant(name):
                return False
        elif ctype is None or not ctype.fixed or ctype.ref or ctype.pointer:
            return False
    return bool(names)

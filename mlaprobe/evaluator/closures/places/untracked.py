"""References to what is not followed."""

from __future__ import annotations

from collections.abc import Callable

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.stores import compile_havoc
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.cpp.types import DEDUCED
from mlaprobe.evaluator.engine.frames import Eval, Frame
from mlaprobe.evaluator.ir import CType, Node
from mlaprobe.evaluator.stl.containers import Container, Elsewhere, not_followed
from mlaprobe.evaluator.stl.optionals import Engaged
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import Closure, Model, Pointer, Record, Ref, StructType
from mlaprobe.evaluator.walk import READING, targets, walk

Binding = Callable[[Frame, Value], "Ref | None"]


def compile_untracked(unit: Unit, node: ir.Decl, scope: Scope) -> Binding | None:
    """The binding of a reference to something whose lvalue is not followed (an element of an array
    that is a value here, the result of a method), where it or what it is part of may be written."""
    init = node.init
    if isinstance(init, (ir.Attr, ir.Index, ir.Deref)):
        owners: tuple[Node, ...] = (init,)
    elif isinstance(init, ir.Call) and isinstance(init.func, ir.Attr):
        owners = (init.func.obj,)
    elif isinstance(init, ir.Call):
        owners = init.args
    else:
        return None
    names = {name for owner in owners for name in targets(owner)}
    found = {name: scope.find(name) for name in names}
    open_ = {n for n, f in found.items() if f is None or f[2] is None or _may_change(f[2])}
    watched = open_ if node.type.fixed else {node.name, *open_}
    gives = _gives_reference(unit, init, scope)
    if gives is None and not watched & scope.function.written:
        return None
    havoc_all = None if node.type.fixed else compile_havoc(unit, open_, scope, node.span)
    why = Unknown(f"what {node.name} refers to is not followed", node.span)

    def bind(e: Frame, value: Value) -> Ref | None:
        function = None if gives is None else gives(e)
        if function is False:
            return None
        shared = isinstance(value, (Record, Model, Closure, Pointer, list, dict))
        if shared and type(value) not in (Engaged, Container):
            return None
        if isinstance(value, Unknown) and not not_followed(value):
            return None
        if havoc_all is not None:
            havoc_all(e, why)
        return Ref(Elsewhere(why, writable=True), None)

    return bind


_REFERRING = {f"std::{name}" for name in ("min", "max", "move", "forward", "get")}
"""Functions that only read what they are given, and give references to it."""


def _gives_reference(unit: Unit, init: Node, scope: Scope) -> Eval | None:
    """The function that is called, ``False`` for one that certainly gives no reference; ``None``
    for what is no call by a name, of which that is not known."""
    if not (isinstance(init, ir.Call) and isinstance(init.func, ir.Name)):
        return None
    if init.func.id.startswith("std::"):
        return (lambda e: False) if init.func.id in READING - _REFERRING else None
    callee = unit.compile(init.func, scope)

    def gives(e: Frame) -> Value:
        function = callee(e)
        if type(function) is Closure:
            result = function.function.result
            refers = result is not None and (result.ref or result.name == DEDUCED)
            return function if refers and not _gives_constants(function) else False
        return False if isinstance(function, StructType) else function

    return gives


def _gives_constants(function: Closure) -> bool:
    """Whether a function gives references to what nothing writes, and to no argument of its own."""
    body = function.function.body
    fixed = {n.name for n in walk(body) if isinstance(n, ir.Decl) and n.static and n.type.const}
    found = walk(body, into_functions=False)
    given = [n.value for n in found if isinstance(n, ir.Return) and n.value is not None]
    return all(
        isinstance(value, ir.Name) and (value.id in fixed or function.module.is_constant(value.id))
        for value in given
    )


def _may_change(ctype: CType) -> bool:
    return not ctype.fixed or ctype.ref or ctype.pointer

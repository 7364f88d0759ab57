"""What can be written, as a place: for references and pointers to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlaprobe.reading import ir
from mlaprobe.reading.frames import OUTER, RUN, Frame
from mlaprobe.reading.ir import Node
from mlaprobe.reading.machine import truth
from mlaprobe.reading.scope import Scope
from mlaprobe.reading.values import (
    Builtin,
    Closure,
    EnumMember,
    EnumType,
    Model,
    Pointer,
    Record,
    Ref,
    StructType,
    Unknown,
    rest_of,
)

if TYPE_CHECKING:
    from mlaprobe.reading.expressions import Unit


def compile_place(unit: Unit, node: Node, scope: Scope) -> Callable[[Frame], Ref | None] | None:
    """Where a value is stored, for what can be written: a variable, a member, an element."""
    if isinstance(node, ir.Name):
        return _place_of_name(unit, node, scope)
    from mlaprobe.reading.expressions import compile_expression

    if isinstance(node, ir.Attr):
        obj, name = compile_expression(unit, node.obj, scope), node.name

        def member(e: Frame) -> Ref | None:
            owner = obj(e)
            owner = owner.load() if isinstance(owner, Pointer) else owner
            return Ref(owner.fields, name) if isinstance(owner, Record) else None

        return member
    if isinstance(node, ir.Index):
        obj, key = (compile_expression(unit, n, scope) for n in (node.obj, node.key))

        def element(e: Frame) -> Ref | None:
            owner, at = obj(e), key(e)
            known = isinstance(owner, list) and rest_of(owner) is None
            inside = known and type(at) is int and 0 <= at < len(owner)
            return Ref(owner, at) if inside else None

        return element
    if isinstance(node, ir.Cond):
        return _place_of_conditional(unit, node, scope)
    if isinstance(node, ir.Deref):
        value = compile_expression(unit, node.value, scope)

        def pointed(e: Frame) -> Ref | None:
            pointer = value(e)
            return Ref(pointer.frame, pointer.slot) if isinstance(pointer, Pointer) else None

        return pointed
    return None


def _place_of_conditional(
    unit: Unit, node: ir.Cond, scope: Scope
) -> Callable[[Frame], Ref | None] | None:
    """``test ? one : other``, where both can be written."""
    from mlaprobe.reading.expressions import compile_expression

    test = compile_expression(unit, node.test, scope)
    then, orelse = compile_place(unit, node.then, scope), compile_place(unit, node.orelse, scope)
    if then is None or orelse is None:
        return None

    def chosen(e: Frame) -> Ref | None:
        known = truth(test(e))
        if isinstance(known, Unknown):
            known = e[RUN].decide(known)
        return then(e) if known else orelse(e)

    return chosen


def _place_of_name(unit: Unit, node: ir.Name, scope: Scope) -> Callable[[Frame], Ref | None] | None:
    found = scope.find(node.id)
    if found is None:
        return _place_of_global(unit, node)
    depth, slot, ctype = found
    if ctype is not None and ctype.const and not ctype.ref and not ctype.pointer:
        return None

    def point(e: Frame) -> Ref | None:
        frame = e
        for _ in range(depth):
            frame = frame[OUTER]
        bound = frame.get(slot)
        return bound if type(bound) is Ref else Ref(frame, slot)

    return point


def _place_of_global(unit: Unit, node: ir.Name) -> Callable[[Frame], Ref | None]:
    from mlaprobe.reading.expressions import global_name

    load = global_name(unit, node.id, node.span)
    key = (id(unit.module), node.id.rpartition("::")[2])

    def point(e: Frame) -> Ref | None:
        value = load(e)
        if isinstance(value, (Closure, Builtin, Model, StructType, EnumType, EnumMember)):
            return None
        e[RUN].effects += 1
        e[RUN].globals.setdefault(key, value)
        return Ref(e[RUN].globals, key)

    return point

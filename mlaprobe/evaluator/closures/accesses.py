"""Subscripts, addresses and what pointers point to, as closures."""

from __future__ import annotations

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures import subscripts
from mlaprobe.evaluator.closures.attributes import subscript
from mlaprobe.evaluator.closures.places.lvalues import compile_lvalue, compile_place
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.stl.asking import On
from mlaprobe.evaluator.stl.containers import Container, copied
from mlaprobe.evaluator.stl.elements import index
from mlaprobe.evaluator.stl.optionals import Engaged, held
from mlaprobe.evaluator.stl.owners import pointer_to
from mlaprobe.evaluator.stl.places import Elements, Iterator
from mlaprobe.evaluator.symbolic.symbols import plain
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import (
    Closure,
    EnumMember,
    InValue,
    Model,
    Pointer,
    Record,
    ToObject,
)


def compile_index(unit: Unit, node: ir.Index, scope: Scope) -> Eval:
    if unit.lang == "py":
        return subscripts.compile_index(unit, node, scope)
    obj, span = unit.compile(node.obj, scope), node.span
    key = unit.compile(node.key, scope)
    place, module = compile_place(unit, node.obj, scope), unit.module

    def run(e: Frame) -> Value:
        owner, at = obj(e), key(e)
        if type(at) is EnumMember and not at.scoped and isinstance(owner, (tuple, list, str)):
            at = at.value
        if type(owner) is Container:
            stored = place(e) if place is not None else None
            return index(On(e[RUN], owner, stored, span), at)
        if isinstance(owner, Iterator):
            there = owner.moved(plain(at))
            return Unknown("an element of an array", span) if there is None else there.load()
        if type(owner) is Record:
            found = module.defined(e[RUN], "[]", (owner, at), span)
            if found is not NotImplemented:
                return found
        if type(owner) is str and at == len(owner):
            return "\0"
        return subscript(owner, at, span, python=False)

    return run


def compile_address(unit: Unit, node: ir.AddressOf, scope: Scope) -> Eval:
    value = unit.compile(node.value, scope)
    lvalue = compile_lvalue(unit, node.value, scope)
    if lvalue is None:
        return value
    found = scope.find(node.value.id) if isinstance(node.value, ir.Name) else None
    lvalue_inside = not isinstance(node.value, ir.Name) or (
        found is not None and found[2] is not None and found[2].ref
    )
    declared = None if found is None else found[2]
    is_pointer = declared is not None and declared.pointer
    kind = None if is_pointer else declared

    def run(e: Frame) -> Value:
        current = value(e)
        target = lvalue(e) if _is_value(current) or lvalue_inside else None
        inside = target is not None and isinstance(target.frame, InValue)
        if isinstance(current, _OBJECTS) and not is_pointer and not (inside or _is_value(current)):
            return ToObject(current) if type(current) is Record else current
        target = lvalue(e) if target is None else target
        if target is not None and isinstance(target.frame, Elements):
            return Iterator(target.frame, target.slot)
        return current if target is None else Pointer(target.frame, target.slot, kind)

    return run


def _is_value(value: Value) -> bool:
    """Whether a value is no object of its own: its variable is what is pointed to."""
    return type(value) in (Engaged, Container)


_OBJECTS = (Record, Model, Closure, list, dict)
"""A pointer to one of these is the thing itself, but for objects of a class."""


def compile_new(unit: Unit, node: ir.New, scope: Scope) -> Eval:
    value, owned = unit.compile(node.value, scope), node.owned
    return lambda e: pointer_to(value(e), owned=owned)


def compile_deref(unit: Unit, node: ir.Deref, scope: Scope) -> Eval:
    value, span, cpp = unit.compile(node.value, scope), node.span, unit.lang == "cpp"

    def run(e: Frame) -> Value:
        v = value(e)
        if isinstance(v, Pointer):
            return v.load(Unknown("a pointer to nothing", span))
        if v is None:
            return Unknown("a null pointer is followed", span)
        if type(v) is str and cpp:
            return v[0] if v else "\0"
        if type(v) is Container:
            return copied(v.items[0]) if v.items else Unknown("an array's first element", span)
        if type(v) is str:
            return v[0] if v else "\0"
        return held(v)

    return run

"""Lvalues: where the values of expressions are stored, for references and pointers to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.stores import compile_havoc
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import RUN, Frame, around
from mlaprobe.evaluator.ir import CType, Node
from mlaprobe.evaluator.values import Unknown, Value, rest_of
from mlaprobe.evaluator.values.containers import Container, Elsewhere, not_followed
from mlaprobe.evaluator.values.kinds import (
    Builtin,
    Closure,
    EnumMember,
    EnumType,
    Model,
    Pointer,
    Record,
    Ref,
    StructType,
)
from mlaprobe.evaluator.values.optionals import Engaged, engaged, held
from mlaprobe.evaluator.walk import targets

Lvalue = Callable[[Frame], "Ref | None"]
"""Where a value is stored; ``None`` where it turns out to be stored nowhere."""


def compile_lvalue(unit: Unit, node: Node, scope: Scope) -> Lvalue | None:
    """The lvalue of an expression; ``None`` for one that cannot be written."""
    handler = _HANDLERS.get(type(node))
    return None if handler is None else handler(unit, node, scope)


def _of_member(unit: Unit, node: ir.Attr, scope: Scope) -> Lvalue:
    obj, name = unit.compile(node.obj, scope), node.name

    def member(e: Frame) -> Ref | None:
        owner = obj(e)
        owner = owner.load() if isinstance(owner, Pointer) else owner
        return Ref(owner.fields, name) if isinstance(owner, Record) else _inside(owner)

    return member


def _of_element(unit: Unit, node: ir.Index, scope: Scope) -> Lvalue:
    obj, key = unit.compile(node.obj, scope), unit.compile(node.key, scope)
    whole = compile_lvalue(unit, node.obj, scope)

    def element(e: Frame) -> Ref | None:
        owner, at = obj(e), key(e)
        if isinstance(owner, tuple) and whole is not None and type(at) is int:
            array = whole(e) if 0 <= at < len(owner) else None
            return None if array is None else Ref(_Elements(array), at)
        known = isinstance(owner, list) and rest_of(owner) is None
        inside = known and type(at) is int and 0 <= at < len(owner)
        return Ref(owner, at) if inside else _inside(owner)

    return element


def _of_target(unit: Unit, node: ir.Deref, scope: Scope) -> Lvalue:
    value = unit.compile(node.value, scope)
    whole = compile_lvalue(unit, node.value, scope)

    def target(e: Frame) -> Ref | None:
        pointer = value(e)
        if isinstance(pointer, Pointer):
            return Ref(pointer.frame, pointer.slot)
        if type(pointer) is Engaged:
            optional = whole(e) if whole is not None else None
            return None if optional is None else Ref(_Held(optional), None)
        return _inside(pointer)

    return target


@dataclass(frozen=True, slots=True, eq=False)
class _Elements:
    """The elements of an array that is a value here: writing one gives its variable another."""

    whole: Ref

    def __getitem__(self, at: int) -> Value:
        array = self.whole.load()
        if isinstance(array, tuple) and at < len(array):
            return array[at]
        return Unknown("an element of an array that is not known")

    def __setitem__(self, at: int, value: Value) -> None:
        array = self.whole.load()
        if isinstance(array, tuple) and at < len(array):
            self.whole.store((*array[:at], value, *array[at + 1 :]))


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """What an optional holds."""

    whole: Ref

    def __getitem__(self, slot: Value) -> Value:
        optional = self.whole.load()
        return Unknown("the value of an empty optional") if optional is None else held(optional)

    def __setitem__(self, slot: Value, value: Value) -> None:
        self.whole.store(engaged(value))


Binding = Callable[[Frame, Value], "Ref | None"]


def compile_untracked(unit: Unit, node: ir.Decl, scope: Scope) -> Binding | None:
    """The binding of a reference to something whose lvalue is not followed (an element of an array
    that is a value here, the result of a method), where it or what it is part of may be written."""
    init = node.init
    if isinstance(init, (ir.Attr, ir.Index, ir.Deref)):
        owners: tuple[Node, ...] = (init,)
    elif isinstance(init, ir.Call) and isinstance(init.func, ir.Attr):
        owners = (init.func.obj,)
    elif isinstance(init, ir.Call) and not node.type.const:
        owners = init.args
    else:
        return None
    names = {name for owner in owners for name in targets(owner)}
    found = {name: scope.find(name) for name in names}
    open_ = {n for n, f in found.items() if f is None or f[2] is None or _may_change(f[2])}
    watched = open_ if node.type.const else {node.name, *open_}
    if not watched & scope.function.written:
        return None
    havoc_all = None if node.type.const else compile_havoc(unit, open_, scope, node.span)
    why = Unknown(f"what {node.name} refers to is not followed", node.span)

    def bind(e: Frame, value: Value) -> Ref | None:
        shared = isinstance(value, (Record, Model, Closure, Pointer, list, dict))
        if shared and type(value) is not Engaged:
            return None
        if isinstance(value, Unknown) and not not_followed(value):
            return None
        if havoc_all is not None:
            havoc_all(e, why)
        return Ref(Elsewhere(why, writable=True), None)

    return bind


def _may_change(ctype: CType) -> bool:
    return not ctype.const or ctype.ref or ctype.pointer


def _inside(owner: Value) -> Ref | None:
    """An lvalue inside something that is not followed."""
    if isinstance(owner, Container):
        return Ref(Elsewhere(owner.index(None, ir.NOWHERE), writable=True), None)
    if not_followed(owner):
        return Ref(Elsewhere(owner, writable=False), None)
    return None


def _of_conditional(unit: Unit, node: ir.Cond, scope: Scope) -> Lvalue | None:
    """``test ? one : other``, where both can be written."""
    test = unit.compile(node.test, scope)
    then, orelse = compile_lvalue(unit, node.then, scope), compile_lvalue(unit, node.orelse, scope)
    if then is None or orelse is None:
        return None

    return lambda e: then(e) if e[RUN].holds(test(e)) else orelse(e)


def _of_name(unit: Unit, node: ir.Name, scope: Scope) -> Lvalue | None:
    found = scope.find(node.id)
    if found is None:
        return _of_global(unit, node)
    depth, slot, ctype = found
    if ctype is not None and ctype.const and not ctype.ref and not ctype.pointer:
        return None

    def point(e: Frame) -> Ref | None:
        frame = around(e, depth)
        bound = frame.get(slot)
        return bound if type(bound) is Ref else Ref(frame, slot)

    return point


_NO_VARIABLES = (Closure, Builtin, Model, StructType, EnumType, EnumMember)


def _of_global(unit: Unit, node: ir.Name) -> Lvalue:
    load = unit.global_name(node.id, node.span)
    key = (id(unit.module), node.id.rpartition("::")[2])

    def point(e: Frame) -> Ref | None:
        value = load(e)
        if isinstance(value, _NO_VARIABLES) and type(value) is not Engaged:
            return None
        e[RUN].effects += 1
        e[RUN].globals.setdefault(key, value)
        return Ref(e[RUN].globals, key)

    return point


_HANDLERS: dict[type, Callable[[Unit, Value, Scope], Lvalue | None]] = {
    ir.Name: _of_name,
    ir.Attr: _of_member,
    ir.Index: _of_element,
    ir.Cond: _of_conditional,
    ir.Deref: _of_target,
}

"""What can be written, as a place: for references and pointers to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.frames import OUTER, RUN, Frame
from mlaprobe.evaluator.engine.globalnames import global_name
from mlaprobe.evaluator.engine.scope import Scope
from mlaprobe.evaluator.engine.unit import Unit
from mlaprobe.evaluator.ir import CType, Node
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
from mlaprobe.evaluator.values.truth import truth
from mlaprobe.evaluator.values.unknown import Unknown, rest_of
from mlaprobe.evaluator.walk import targets


def compile_place(unit: Unit, node: Node, scope: Scope) -> Callable[[Frame], Ref | None] | None:
    """Where a value is stored, for what can be written: a variable, a member, an element."""
    if isinstance(node, ir.Name):
        return _place_of_name(unit, node, scope)
    if isinstance(node, ir.Attr):
        obj, name = unit.compile(node.obj, scope), node.name

        def member(e: Frame) -> Ref | None:
            owner = obj(e)
            owner = owner.load() if isinstance(owner, Pointer) else owner
            return Ref(owner.fields, name) if isinstance(owner, Record) else _unseen(owner)

        return member
    if isinstance(node, ir.Index):
        obj, key = (unit.compile(n, scope) for n in (node.obj, node.key))
        whole = compile_place(unit, node.obj, scope)

        def element(e: Frame) -> Ref | None:
            owner, at = obj(e), key(e)
            known = isinstance(owner, list) and rest_of(owner) is None
            inside = known and type(at) is int and 0 <= at < len(owner)
            if isinstance(owner, tuple) and whole is not None and type(at) is int:
                around = whole(e) if 0 <= at < len(owner) else None
                return None if around is None else Ref(_Elements(around), at)
            return Ref(owner, at) if inside else _unseen(owner)

        return element
    if isinstance(node, ir.Cond):
        return _place_of_conditional(unit, node, scope)
    if isinstance(node, ir.Deref):
        value = unit.compile(node.value, scope)
        optional = compile_place(unit, node.value, scope)

        def pointed(e: Frame) -> Ref | None:
            pointer = value(e)
            if isinstance(pointer, Pointer):
                return Ref(pointer.frame, pointer.slot)
            if type(pointer) is Engaged:
                around = optional(e) if optional is not None else None
                return None if around is None else Ref(_Held(around), None)
            return _unseen(pointer)

        return pointed
    return None


class _Elements:
    """The elements of an array that is a value here: writing one gives its variable another."""

    __slots__ = ("whole",)

    def __init__(self, whole: Ref) -> None:
        self.whole = whole

    def __getitem__(self, at: int) -> Any:
        array = self.whole.load()
        if isinstance(array, tuple) and at < len(array):
            return array[at]
        return Unknown("an element of an array that is not known")

    def __setitem__(self, at: int, value: Any) -> None:
        array = self.whole.load()
        if isinstance(array, tuple) and at < len(array):
            self.whole.store((*array[:at], value, *array[at + 1 :]))


class _Held:
    """What an optional holds."""

    __slots__ = ("whole",)

    def __init__(self, whole: Ref) -> None:
        self.whole = whole

    def __getitem__(self, slot: Any) -> Any:
        optional = self.whole.load()
        return Unknown("the value of an empty optional") if optional is None else held(optional)

    def __setitem__(self, slot: Any, value: Any) -> None:
        self.whole.store(engaged(value))


def compile_hidden(
    unit: Unit, node: ir.Decl, scope: Scope
) -> Callable[[Frame, Any], Ref | None] | None:
    """What a reference is bound to whose place is not followed (an element of an array that is a
    value here, the result of a method), where it or what it is part of may be written."""
    from mlaprobe.evaluator.engine.stores import compile_havoc

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
    if not ({node.name, *open_} if not node.type.const else open_) & scope.function.written:
        return None
    havoc_all = None if node.type.const else compile_havoc(unit, open_, scope, node.span)
    why = Unknown(f"what {node.name} refers to is not followed", node.span)

    def bind(e: Frame, value: Any) -> Ref | None:
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


def _unseen(owner: Any) -> Ref | None:
    """A place inside something that is not followed."""
    if isinstance(owner, Container):
        return Ref(Elsewhere(owner.index(None, ir.NOWHERE), writable=True), None)
    if not_followed(owner):
        return Ref(Elsewhere(owner, writable=False), None)
    return None


def _place_of_conditional(
    unit: Unit, node: ir.Cond, scope: Scope
) -> Callable[[Frame], Ref | None] | None:
    """``test ? one : other``, where both can be written."""
    test = unit.compile(node.test, scope)
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


_NO_VARIABLES = (Closure, Builtin, Model, StructType, EnumType, EnumMember)


def _place_of_global(unit: Unit, node: ir.Name) -> Callable[[Frame], Ref | None]:
    load = global_name(unit, node.id, node.span)
    key = (id(unit.module), node.id.rpartition("::")[2])

    def point(e: Frame) -> Ref | None:
        value = load(e)
        if isinstance(value, _NO_VARIABLES) and type(value) is not Engaged:
            return None
        e[RUN].effects += 1
        e[RUN].globals.setdefault(key, value)
        return Ref(e[RUN].globals, key)

    return point

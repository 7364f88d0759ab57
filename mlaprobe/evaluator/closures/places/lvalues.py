"""Lvalues: where the values of expressions are stored, for references and pointers to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.places.choices import compile_choice, is_choice, matters
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import RUN, Frame, around
from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import Node
from mlaprobe.evaluator.stl.asking import On
from mlaprobe.evaluator.stl.containers import Container, Elsewhere, not_followed
from mlaprobe.evaluator.stl.elements import reference
from mlaprobe.evaluator.stl.optionals import Engaged
from mlaprobe.evaluator.stl.places import PAIR, Chars, Elements, Held, Iterator, Members, Parts
from mlaprobe.evaluator.symbolic.symbols import plain
from mlaprobe.evaluator.values import Unknown, Value, rest_of
from mlaprobe.evaluator.values.kinds import (
    Builtin,
    Closure,
    EnumMember,
    EnumType,
    InValue,
    Model,
    Overloaded,
    Pointer,
    Record,
    Ref,
    StructType,
)
from mlaprobe.evaluator.walk import walk

Lvalue = Callable[[Frame], "Ref | None"]
"""Where a value is stored; ``None`` where it turns out to be stored nowhere."""


def compile_lvalue(unit: Unit, node: Node, scope: Scope) -> Lvalue | None:
    """The lvalue of an expression; ``None`` for one that cannot be written."""
    handler = _HANDLERS.get(type(node))
    return None if handler is None else handler(unit, node, scope)


def _of_member(unit: Unit, node: ir.Attr, scope: Scope) -> Lvalue:
    obj, name = unit.compile(node.obj, scope), node.name
    place = compile_place(unit, node.obj, scope)

    def member(e: Frame) -> Ref | None:
        owner = obj(e)
        whole = inside(owner, place, e)
        if isinstance(owner, Pointer):
            owner = owner.load()
        if isinstance(owner, Record):
            return Ref(owner.fields if whole is None else Members(whole), name)
        if name in PAIR and isinstance(owner, tuple):
            whole = place(e) if whole is None and place is not None else whole
            return None if whole is None else Ref(Parts(whole), PAIR.index(name))
        return _inside(owner)

    return member


def inside(owner: Value, place: Lvalue | None, e: Frame) -> Pointer | None:
    """Where an object is stored as a part of a value; ``None`` for one that is one by itself."""
    whole: Pointer | None = None
    if isinstance(owner, Pointer):
        whole = owner
    elif place is not None and isinstance(owner, (Record, tuple, list)):
        whole = place(e)
    return whole if whole is not None and isinstance(whole.frame, InValue) else None


def compile_place(unit: Unit, node: Node, scope: Scope) -> Lvalue | None:
    """Where the value of an expression is stored, for one that can be evaluated twice."""
    if is_choice(node):
        chosen = isinstance(node, ir.Call) and _is_pure(*node.args) and matters(node, scope)
        return compile_lvalue(unit, node, scope) if chosen else None
    return compile_lvalue(unit, node, scope) if _is_pure(node) or _is_access(node) else None


def _is_pure(*nodes: Node) -> bool:
    """Whether nothing is called, made or assigned."""
    again = (ir.AssignExpr, ir.Opaque, ir.Call, ir.Construct, ir.Function)
    return not any(isinstance(n, again) for n in walk(nodes))


def _is_access(node: Node) -> bool:
    """Whether an expression is a method that gives an element, of what is pure."""
    return (
        isinstance(node, ir.Call)
        and isinstance(node.func, ir.Attr)
        and node.func.name in _ACCESS
        and _is_pure(node.func.obj, *node.args)
    )


_ACCESS = ("at", "front", "back", "value")


def _of_call(unit: Unit, node: ir.Call, scope: Scope) -> Lvalue | None:
    """What ``at``, ``front`` or ``back`` of a container gives, or a choice of variables."""
    if is_choice(node):
        places = [compile_place(unit, arg, scope) for arg in node.args]
        return compile_choice(unit, node, places, scope)
    if not _is_access(node) or not isinstance(node.func, ir.Attr):
        return None
    name, obj = node.func.name, unit.compile(node.func.obj, scope)
    place, span = compile_lvalue(unit, node.func.obj, scope), node.span
    owned = holds_text(node.func.obj, scope)
    keys = tuple(unit.compile(a, scope) for a in node.args)

    def element(e: Frame) -> Ref | None:
        owner = obj(e)
        whole = place(e) if place is not None else None
        if type(owner) is Engaged and name == "value":
            return None if whole is None else Ref(Held(whole), None)
        if type(owner) is str and owner and len(keys) == (name == "at"):
            ends = {"front": 0, "back": len(owner) - 1}
            at = keys[0](e) if keys else ends.get(name)
            inside_text = type(at) is int and 0 <= at < len(owner)
            return _character(owner, at, whole if owned else None) if inside_text else None
        if type(owner) is not Container or not owner.items or len(keys) != (name == "at"):
            return None
        on = On(e[RUN], owner, whole, span)
        if name != "at":
            return reference(on, 0 if name == "front" else len(owner.items) - 1)
        key = keys[0](e)
        there = on.contains(key)
        return reference(on, key) if there is True else None

    return element


def _of_element(unit: Unit, node: ir.Index, scope: Scope) -> Lvalue:
    obj, key = unit.compile(node.obj, scope), unit.compile(node.key, scope)
    place, span = compile_place(unit, node.obj, scope), node.span
    owned = holds_text(node.obj, scope)

    def element(e: Frame) -> Ref | None:
        owner, at = obj(e), key(e)
        if type(owner) is str:
            return _character(owner, at, place(e) if owned and place is not None else None)
        if type(owner) is Container:
            stored = place(e) if place is not None else None
            found = reference(On(e[RUN], owner, stored, span), at)
            return _inside(owner) if found is None else found
        if isinstance(owner, Iterator):
            there = owner.moved(plain(at))
            return None if there is None else Ref(there.frame, there.slot)
        whole = inside(owner, place, e)
        if isinstance(owner, tuple) or whole is not None:
            array = place(e) if whole is None and place is not None else whole
            within = type(at) is int and 0 <= at < len(owner) and array is not None
            return Ref(Parts(array), at) if within and array is not None else None
        known = isinstance(owner, list) and rest_of(owner) is None
        within = known and type(at) is int and 0 <= at < len(owner)
        return Ref(owner, at) if within else _inside(owner)

    return element


def holds_text(node: Node, scope: Scope) -> bool:
    """Whether a variable is a ``std::string``, whose characters are its own."""
    found = scope.find(node.id) if isinstance(node, ir.Name) else None
    ctype = None if found is None else found[2]
    return ctype is not None and ctype.kind == "string" and ctype.name.endswith("string")


def _character(text: str, at: Value, whole: Pointer | None) -> Ref:
    """A character of a text, which is written in the variable that holds it."""
    at = plain(at)
    if type(at) is int and 0 <= at < len(text):
        return Ref(Chars(whole, text), at)
    return Ref(Elsewhere(Unknown("a character of a text"), writable=False), None)


def _of_target(unit: Unit, node: ir.Deref, scope: Scope) -> Lvalue:
    value = unit.compile(node.value, scope)
    whole = compile_lvalue(unit, node.value, scope)

    def target(e: Frame) -> Ref | None:
        pointer = value(e)
        if isinstance(pointer, Pointer):
            return Ref(pointer.frame, pointer.slot)
        if type(pointer) is Engaged:
            optional = whole(e) if whole is not None else None
            return None if optional is None else Ref(Held(optional), None)
        return _inside(pointer)

    return target


def references(value: Value, place: Pointer | None) -> list[Ref] | None:
    """References to the parts of a pair, a tuple or an object; ``None`` where they are not known.
    Those of a value that is stored nowhere refer to a copy."""
    within = place if place is not None and isinstance(place.frame, InValue) else None
    if isinstance(value, Record):
        frame: Value = value.fields if within is None else Members(within)
        return [Ref(frame, name) for name in value.fields]
    if isinstance(value, list) and within is None and rest_of(value) is None:
        return [Ref(value, at) for at in range(len(value))]
    if isinstance(value, tuple):
        frame = list(value) if place is None else Parts(place)
        return [Ref(frame, at) for at in range(len(value))]
    if type(value) is Container and value.known and value.shape.fixed:
        return [Ref(Elements(place, value), at) for at in range(len(value.items or ()))]
    return None


def _inside(owner: Value) -> Ref | None:
    """An lvalue inside something that is not followed."""
    if isinstance(owner, Container):
        writable = owner.items is None
        why = owner.unknown("an element", ir.NOWHERE)
        return Ref(Elsewhere(why, writable=writable), None)
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
    if ctype is not None and ctype.fixed and not ctype.ref and not ctype.pointer:
        return None

    def point(e: Frame) -> Ref | None:
        frame = around(e, depth)
        if depth and frame[RUN] is not e[RUN]:
            return None
        bound = frame.get(slot)
        return bound if type(bound) is Ref else Ref(frame, slot)

    return point


_NO_VARIABLES = (Closure, Builtin, Overloaded, Model, StructType, EnumType, EnumMember)


def _of_global(unit: Unit, node: ir.Name) -> Lvalue:
    load = unit.global_name(node.id, node.span)
    constant = cache(lambda: unit.module.is_constant(node.id))
    key = (id(unit.module), node.id.rpartition("::")[2])

    def point(e: Frame) -> Ref | None:
        value = load(e)
        if isinstance(value, _NO_VARIABLES) and type(value) not in (Engaged, Container):
            return None
        e[RUN].effects += 1
        held = e[RUN].constants if constant() else e[RUN].globals
        if held is e[RUN].globals and not unit.module.is_one_variable(node.id):
            why = f"there are several variables {key[1]}: which is written is not followed"
            raise Unsupported(why, node.span)
        held.setdefault(key, value)
        return Ref(held, key)

    return point


_HANDLERS: dict[type, Callable[[Unit, Value, Scope], Lvalue | None]] = {
    ir.Name: _of_name,
    ir.Attr: _of_member,
    ir.Index: _of_element,
    ir.Cond: _of_conditional,
    ir.Deref: _of_target,
    ir.Call: _of_call,
}

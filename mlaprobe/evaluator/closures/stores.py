"""Stores: what an assignment does to a variable, a member, an element."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.places.elementstores import (
    compile_element,
    store_in_list,
    store_somewhere,
    with_element,
)
from mlaprobe.evaluator.closures.places.lvalues import compile_place, holds_text, inside
from mlaprobe.evaluator.closures.places.unpacking import unpacking
from mlaprobe.evaluator.closures.places.written import of_kind, referred_kind
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.cpp.types import SCALARS
from mlaprobe.evaluator.engine.calls import havoc
from mlaprobe.evaluator.engine.frames import RUN, Frame, Store, around
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import CType, Node
from mlaprobe.evaluator.objects.iterables import Cursor
from mlaprobe.evaluator.objects.objects import Instance
from mlaprobe.evaluator.stl.containers import Container, copied, not_followed, spoiled
from mlaprobe.evaluator.stl.optionals import Engaged, engaged
from mlaprobe.evaluator.stl.places import PAIR, Iterator, Parts, with_character
from mlaprobe.evaluator.symbolic.symbols import Sym, plain
from mlaprobe.evaluator.values import Unknown, Value, unknown_in
from mlaprobe.evaluator.values.conversions import convert
from mlaprobe.evaluator.values.kinds import (
    Braced,
    InValue,
    Model,
    Pointer,
    Record,
    Ref,
    StructType,
)
from mlaprobe.evaluator.values.unordered import LooseSet

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.modules import Module

Adapter = Callable[[Frame, Value], Value]
"""What becomes of a value that is stored in a variable of a type."""


def compile_store(unit: Unit, target: Node, scope: Scope) -> Store:
    """``store(frame, value)`` for an assignment target."""

    handler = _HANDLERS.get(type(target))
    if handler is not None:
        return handler(unit, target, scope)
    span = target.span

    def nowhere(e: Frame, v: Value) -> None:
        raise Unsupported("an assignment to something that is not followed", span)

    return nowhere


def _store_through(unit: Unit, target: ir.Deref, scope: Scope) -> Store:
    """``*pointer = value``."""
    value, span = unit.compile(target.value, scope), target.span
    ctype = _type_of(target.value, scope)
    adapt = adapter(unit, None if ctype is None else replace(ctype, pointer=False), span)

    whole = compile_store(unit, target.value, scope)

    def through(e: Frame, v: Value) -> None:
        pointer = value(e)
        if type(pointer) is Engaged:
            return whole(e, engaged(v))
        v = v if adapt is None else adapt(e, v)
        e[RUN].effects += 1
        if isinstance(pointer, Pointer):
            _unless_kept(pointer.load(), span)
            v = copied(v)
            inside_value = isinstance(pointer.frame, InValue)
            pointer.store(v if inside_value else assigned(pointer.load(), v))
        elif isinstance(pointer, list) and pointer:
            pointer[0] = v
        elif not isinstance(pointer, Model) and not (
            isinstance(pointer, Unknown) and pointer.foreign
        ):
            raise Unsupported("a pointer that is written through is not known", span)
        return None

    return through


def compile_havoc(
    unit: Unit, names: Iterable[str], scope: Scope, span: ir.Span
) -> Callable[[Frame, Unknown], None]:
    """Makes variables unknown, and what others see of the objects that they hold."""
    havocs = []
    for name in names:
        found = scope.find(name)
        if found is not None:
            havocs.append((found[0], found[1], compile_store(unit, ir.Name(span, name), scope)))

    def havoc_all(e: Frame, why: Unknown) -> None:
        for depth, slot, store in havocs:
            held = around(e, depth).get(slot)
            if type(held) is Ref:
                held = held.load()
            if isinstance(held, (list, dict, set, Instance, LooseSet, Cursor, Pointer)):
                havoc(held, why.reason, why.span)
            store(e, spoiled(held, why))

    return havoc_all


def _store_name(unit: Unit, target: ir.Name, scope: Scope) -> Store:
    found = scope.find(target.id)
    if found is None:
        return _store_global(unit, target)
    depth, slot, ctype = found
    if ctype is not None and ctype.ref:
        return _store_referred(unit, found, target.span)
    adapt = adapter(unit, ctype, target.span)
    if depth > 0:
        return _store_around(found, adapt, target.span)
    if adapt is None:

        def store_plain(e: Frame, v: Value) -> None:
            e[slot] = v

        return store_plain
    replaced = _replacing(ctype, target.span)
    if ctype is not None and ctype.kind == "auto":

        def store_inferred(e: Frame, v: Value) -> None:
            e[slot] = replaced(e.get(slot), of_kind(e.get(slot), adapt(e, v)))

        return store_inferred

    def store_typed(e: Frame, v: Value) -> None:
        e[slot] = replaced(e.get(slot), adapt(e, v))

    return store_typed


def _replacing(ctype: CType | None, span: ir.Span) -> Callable[[Value, Value], Value]:
    """What a variable of a type holds when it is assigned."""
    if ctype is not None and ctype.pointer:
        return lambda before, value: value

    def replaced(before: Value, value: Value) -> Value:
        if ctype is not None and ctype.kind == "other":
            pointed = type(before) is Record and before.pointed
            return assigned(before, value) if pointed else value
        if type(value) is not Record or before is None:
            return value
        pointed = type(before) is Record and before.pointed
        return assigned(before, value) if pointed else value.copy()

    return replaced


def assigned(before: Value, value: Value) -> Value:
    """What an object is when it is assigned: the same one with other members, as whatever points
    to it goes on pointing to it."""
    if type(before) is not Record or value is before:
        return value
    if isinstance(value, Record) and value.type == before.type:
        before.fields.update(value.copy().fields)
        return before
    why = value if isinstance(value, Unknown) else Unknown("an object is assigned something else")
    before.fields.update({name: why.another() for name in before.fields})
    return value


def _store_global(unit: Unit, target: ir.Name) -> Store:
    key = (id(unit.module), target.id.rpartition("::")[2])
    alone, python = cache(lambda: unit.module.is_one_variable(target.id)), unit.lang == "py"

    def store(e: Frame, v: Value) -> None:
        if not alone():
            why = f"there are several variables {key[1]}: which is written is not followed"
            raise Unsupported(why, target.span)
        run = e[RUN]
        if run.loose and python:
            why = f"{key[1]} is written in a loop whose rounds are not known, or have no order"
            raise Unsupported(why, target.span)
        run.effects += 1
        run.globals[key] = v

    return store


def _store_around(
    found: tuple[int, str, CType | None], adapt: Adapter | None, span: ir.Span
) -> Store:
    """An assignment to a variable of a function further out."""
    depth, slot, ctype = found
    replaced = _replacing(ctype, span)

    def store(e: Frame, v: Value) -> None:
        frame = around(e, depth)
        if frame[RUN] is not e[RUN]:
            raise Unsupported("a variable is written that keeps its value between calls", span)
        e[RUN].effects += 1
        frame[slot] = v if adapt is None else replaced(frame.get(slot), adapt(e, v))

    return store


def _store_referred(unit: Unit, found: tuple[int, str, CType | None], span: ir.Span) -> Store:
    """An assignment to a reference goes to what it is bound to."""
    depth, slot, ctype = found
    assert ctype is not None
    inferred = ctype.kind == "auto" and unit.lang == "cpp"
    adapt = adapter(unit, replace(ctype, ref=False, const=False), span)
    replaced = _replacing(ctype, span)

    def store(e: Frame, v: Value) -> None:
        frame = around(e, depth)
        e[RUN].effects += 1
        v = v if adapt is None else adapt(e, v)
        bound = frame.get(slot)
        if type(bound) is Ref:
            _unless_kept(bound.load(), span)
            v = referred_kind(bound, v, span) if inferred else v
            bound.store(v if isinstance(bound.frame, InValue) else replaced(bound.load(), v))
        elif isinstance(bound, Record) and isinstance(v, Record):
            bound.fields.update(v.copy().fields)
        else:
            frame[slot] = v

    return store


def _unless_kept(value: Value, span: ir.Span) -> None:
    if isinstance(value, Container) and value.kept:
        raise Unsupported("something is changed that keeps its value between calls", span)


def adapter(unit: Unit, ctype: CType | None, span: ir.Span) -> Adapter | None:
    """How a value changes when it is stored in a variable of that type."""
    if ctype is None or unit.lang == "py":
        return None
    compiler, module = unit.compiler, unit.module
    if ctype.kind == "int" and ctype.bits >= 32 and not ctype.pointer:
        limit = 1 << (ctype.bits - 1)

        def to_int(e: Frame, v: Value) -> Value:
            if type(v) is int and -limit <= v < limit:
                return v
            if isinstance(v, Braced):
                return compiler.typed(e[RUN], v, ctype, module, span)
            return convert(v, ctype, span)

        return to_int

    def to_type(e: Frame, v: Value) -> Value:
        if v is True or v is False:
            return v if ctype.kind == "bool" else convert(v, ctype, span)
        if isinstance(v, (Braced, Container)):
            return compiler.typed(e[RUN], v, ctype, module, span)
        return convert(v, ctype, span)

    return to_type


def _store_attr(unit: Unit, target: ir.Attr, scope: Scope) -> Store:
    obj, name = unit.compile(target.obj, scope), target.name
    module, span = unit.module, target.span

    place = compile_place(unit, target.obj, scope) if unit.lang == "cpp" else None

    def store(e: Frame, v: Value) -> None:
        owner = obj(e)
        whole = inside(owner, place, e)
        if isinstance(owner, Pointer):
            owner = owner.load()
        if isinstance(owner, Instance):
            owner.cls.write(e[RUN], owner, name, v, span)
        elif name in PAIR and isinstance(owner, tuple) and unit.lang == "cpp":
            whole = place(e) if whole is None and place is not None else whole
            if whole is None:
                raise Unsupported("which pair is written is not known", span)
            e[RUN].effects += 1
            Parts(whole)[PAIR.index(name)] = v
        elif isinstance(owner, Record):
            if isinstance(v, Braced):
                v = unit.compiler.typed(
                    e[RUN], v, member_type(e[RUN], module, owner, name), module, span
                )
            if unit.lang == "cpp" and type(v) in (int, bool, float, Sym, Unknown, Container):
                v = convert(v, member_type(e[RUN], module, owner, name), span)
            e[RUN].changes(owner, span)
            owner.fields[name] = copied(v) if unit.lang == "cpp" else v
            if whole is not None:
                whole.store(owner)
        elif isinstance(owner, Model):
            e[RUN].effects += 1
            owner.assign_in(e[RUN], name, v, span)
        elif unit.lang == "cpp" and not_followed(owner):
            raise Unsupported(f"what is written is not known: {owner.reason}", span)

    return store


def _type_of(node: Node, scope: Scope) -> CType | None:
    """The declared type of a variable; of an array, that of its elements."""
    found = scope.find(node.id) if isinstance(node, ir.Name) else None
    return None if found is None else found[2]


def member_type(run: Run, module: Module, owner: Record, name: str) -> CType:
    """The declared type of a member, ``auto`` where it is not known."""
    kind = module.lookup(run, owner.type, ir.NOWHERE)
    members = kind.members if isinstance(kind, StructType) else ()
    return next((ctype for member, ctype, _ in members if member == name), CType("auto"))


def _store_index(unit: Unit, target: ir.Index, scope: Scope) -> Store:
    obj = unit.compile(target.obj, scope)
    whole = compile_store(unit, target.obj, scope) if unit.lang == "cpp" else None
    place = compile_place(unit, target.obj, scope) if unit.lang == "cpp" else None
    inner = compile_element(target, place)
    first = _store_through(unit, ir.Deref(target.span, target.obj), scope)
    key = unit.compile(target.key, scope)
    span = target.span
    ctype, owned = _type_of(target.obj, scope), holds_text(target.obj, scope)
    adapt = None
    if ctype is not None and ctype.kind in SCALARS and ctype.pointer:
        adapt = adapter(unit, replace(ctype, pointer=False), span)

    def store(e: Frame, v: Value) -> None:
        owner, at = obj(e), plain(key(e))
        e[RUN].changes(owner, span)
        if type(owner) is Container or isinstance(owner, Iterator):
            return inner(e, owner, at, v)
        if isinstance(owner, Pointer):
            if at != 0:
                raise Unsupported("what is written beside an object is not followed", span)
            return first(e, v)
        stored = inside(owner, place, e)
        if stored is not None and type(at) is int and 0 <= at < len(owner):
            Parts(stored)[at] = v
        elif isinstance(owner, list):
            store_in_list(owner, at, v if adapt is None else adapt(e, v), span)
        elif isinstance(owner, dict) and unknown_in(at) is None:
            owner[at] = v
        elif isinstance(owner, dict):
            store_somewhere(owner, span)
        elif isinstance(owner, Model):
            owner.put_at(at, v, span)
        elif whole is None:
            return
        elif isinstance(owner, tuple):
            whole(e, with_element(owner, at, v, span))
        elif isinstance(owner, Unknown):
            if ctype is not None and ctype.pointer and not owner.foreign:
                raise Unsupported(f"what is written is not known: {owner.reason}", span)
            whole(e, owner.another())
        elif isinstance(owner, str) and not owned:
            raise Unsupported("which text is written is not known", span)
        elif isinstance(owner, str):
            whole(e, with_character(owner, at, v))
        return None

    return store


def _sequence(unit: Unit, target: ir.Sequence, scope: Scope) -> Store:
    stores = [
        compile_store(unit, t.value if isinstance(t, ir.Star) else t, scope) for t in target.items
    ]
    return unpacking(target, stores, python=unit.lang == "py")


_HANDLERS: dict[type, Callable[[Unit, Value, Scope], Store]] = {
    ir.Name: _store_name,
    ir.Attr: _store_attr,
    ir.Index: _store_index,
    ir.Sequence: _sequence,
    ir.Deref: _store_through,
}

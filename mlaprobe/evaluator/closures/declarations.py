"""Declarations of the intermediate form as closures: what gives a name its first value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.places.lvalues import Lvalue, compile_place, references
from mlaprobe.evaluator.closures.places.onceonly import Once, compile_once
from mlaprobe.evaluator.closures.places.proxies import Proxy, proxied
from mlaprobe.evaluator.closures.places.untracked import Binding, compile_untracked
from mlaprobe.evaluator.closures.places.views import view_of_written
from mlaprobe.evaluator.closures.stores import adapter, compile_store, member_type
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.cpp.types import SCALARS, parse_type, template_of, zero_of
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame, Store, setting, storing
from mlaprobe.evaluator.engine.runs import UNCLEAR
from mlaprobe.evaluator.ir import CType
from mlaprobe.evaluator.stl.containers import Container, Elsewhere, copied, lasting
from mlaprobe.evaluator.stl.keptmaps import KeptMap, keeps_objects
from mlaprobe.evaluator.stl.owners import owns
from mlaprobe.evaluator.stl.shapes import Sort, shape_of
from mlaprobe.evaluator.values import UNINITIALISED, Unknown, Value
from mlaprobe.evaluator.values.kinds import Braced, Closure, Record, Ref
from mlaprobe.evaluator.walk import assigned_whole, walk

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.modules import Module


def declare(unit: Unit, node: ir.Decl, scope: Scope) -> Eval:
    """A variable, with or without a value."""
    ctype = node.type
    reference = ctype.ref and unit.lang == "cpp"
    lvalue = None
    if reference and node.init is not None:
        lvalue = compile_place(unit, node.init, scope)
    init = unit.compile(node.init, scope) if node.init is not None else None
    if unit.lang == "cpp" and (why := view_of_written(node, scope)) is not None:
        init = _anything(why)
    if node.static and init is not None:
        init = _unless_owner(init, node)
    slot = scope.declare(node.name, ctype)
    if node.deduced is not None:
        scope.deduced[slot] = node.deduced
    changed = scope.function.assigned if ctype.kind == "other" else scope.function.written
    if node.init is None and keeps_objects(ctype, node.name, scope.function.body):
        return setting(slot, lambda e: KeptMap(filled=node.static))
    outlives = node.static and not ctype.fixed
    guarded = outlives and shape_of(ctype) is not None and not ctype.pointer
    if guarded:
        changed = frozenset(assigned_whole(scope.function.body))
    handed = outlives and node.name in scope.function.handed_out and ctype.kind != "other"
    if outlives and (
        node.name in changed or (handed and unit.module.writes_result(scope.function.name))
    ):
        kept = Unknown(f"{node.name} keeps its value between calls", node.span)
        return setting(slot, lambda e: kept)
    if init is None:
        made = _default_init(unit, node, slot)
        return _kept(made, slot) if outlives else made
    store = _initialiser(unit, node, slot)
    if outlives and not reference:
        return _kept(storing(store, init), slot)
    if reference:
        once = compile_once(unit, node.init, scope) if lvalue is None and node.init else None
        found = _value_of(init) if once is None else once
        if lvalue is not None:
            found = _place_or_value(lvalue, init)
        told = once is not None and isinstance(node.init, ir.Call)  # the call says what it gives
        return _reference(
            unit, node, slot, found, compile_untracked(unit, node, scope), store, told
        )
    proxy = proxied(unit, node, scope) if unit.lang == "cpp" else None
    if proxy is not None:
        return storing(store, _unless_proxy(init, proxy))
    own = isinstance(node.init, ir.Construct)  # what it gives is a new object
    if ctype.kind == "auto" and not (ctype.ref or ctype.pointer or own):
        whole = init
        return storing(store, lambda e: copied(whole(e)))
    return storing(store, init)


def _unless_proxy(init: Eval, proxy: Proxy) -> Eval:
    def value(e: Frame) -> Value:
        found = init(e)
        why = proxy(e)
        return found if why is None else why

    return value


def _anything(why: Unknown) -> Eval:
    return lambda e: why.another()


def _unless_owner(init: Eval, node: ir.Decl) -> Eval:
    """The first value of a variable that outlives the call; what a smart pointer points to may be
    another then."""
    why = f"what {node.name} points to keeps its value between calls"

    def value(e: Frame) -> Value:
        found = init(e)
        return Unknown(why, node.span) if owns(found) else found

    return value


def _kept(begin: Eval, slot: str) -> Eval:
    """The declaration of a variable that keeps what is in it: changing it ends the path."""

    def run(e: Frame) -> Value:
        begin(e)
        value = e[slot] = lasting(e[slot])
        if isinstance(value, Record):
            e[RUN].copies.add(value)
        return None

    return run


def _initialiser(unit: Unit, node: ir.Decl, slot: str) -> Store:
    """Gives a new variable its value."""
    ctype, span = node.type, node.span
    array = ctype.pointer and ctype.kind in SCALARS and isinstance(node.init, ir.Sequence)
    adapt = adapter(unit, replace(ctype, pointer=False) if array else ctype, span)
    compiler, module, traced = unit.compiler, unit.module, unit.traced

    def store(e: Frame, value: Value) -> None:
        if isinstance(value, Braced):
            if not value.items and value.members is None and ctype.kind != "other":
                value = zero_of(ctype, span)
            else:
                value = compiler.typed(e[RUN], value, ctype, module, span)
        e[slot] = value if adapt is None else adapt(e, value)
        if traced:
            e[RUN].trace.append((node, e[slot]))

    return store


def _value_of(init: Eval) -> Once:
    return lambda e: (None, init(e))


def _place_or_value(lvalue: Lvalue, init: Eval) -> Once:
    def once(e: Frame) -> tuple[Ref | None, Value]:
        found = lvalue(e)
        return found, init(e) if found is None else None

    return once


def _reference(
    unit: Unit,
    node: ir.Decl,
    slot: str,
    once: Once,
    untracked: Binding | None,
    store: Store,
    told: bool,
) -> Eval:
    """A C++ reference: bound to an lvalue, or a variable of its own where there is none, as is
    certain where it is ``told``."""
    traced = unit.traced

    def run(e: Frame) -> Value:
        bound, value = once(e)
        if bound is UNCLEAR or (bound is None and not told):
            bound = untracked(e, value) if untracked is not None else None
        if bound is None:
            store(e, value)
            return None
        e[slot] = bound
        if traced:
            e[RUN].trace.append((node, bound.load()))
        return None

    return run


def _default_init(unit: Unit, node: ir.Decl, slot: str) -> Eval:
    ctype, span, module, compiler = node.type, node.span, unit.module, unit.compiler
    if ctype.kind != "other" or ctype.pointer:
        empty: Value = "" if ctype.kind == "string" else Unknown(f"{node.name} has no value", span)
        if node.static and ctype.kind != "string":
            empty = zero_of(ctype, span)
        return setting(slot, lambda e: empty)

    def constructed(e: Frame) -> Value:
        value = compiler.construct_named(e[RUN], ctype, (), module, span)
        if isinstance(value, Record) and not node.static:
            _without_values(value, module, node.name, span)
        elif isinstance(value, Container) and not node.static:
            value = _without_elements(value, node.name, span)
        return value

    return setting(slot, constructed)


def _without_values(value: Record, module: Module, path: str, span: ir.Span) -> None:
    """Members of an aggregate, and of one within, that nothing gives a value hold whatever was
    there."""
    kind = module.struct(value.type)
    if kind is None or not kind.plain:
        return
    for name, ctype, default in kind.members:
        held, here = value.fields.get(name), f"{path}.{name}"
        if default is not None:
            continue
        if ctype.pointer or ctype.kind in SCALARS:
            value.fields[name] = Unknown(f"{here} has no value", span, free=UNINITIALISED)
        elif isinstance(held, Record):
            _without_values(held, module, here, span)
        elif isinstance(held, Container):
            value.fields[name] = _without_elements(held, here, span)


def _without_elements(array: Container, path: str, span: ir.Span) -> Container:
    """An array of numbers or pointers that nothing gives a value."""
    kind = array.shape.element
    if array.shape.sort is not Sort.ARRAY or array.items is None:
        return array
    if kind.pointer or kind.kind in SCALARS or (kind.kind, kind.name) == ("string", "char"):
        items: list[Value] = [
            Unknown(f"{path}[{at}] has no value", span, free=UNINITIALISED)
            for at in range(len(array.items))
        ]
    else:
        parts = (i for i in array.items)
        items = [
            _without_elements(part, f"{path}[{at}]", span) if isinstance(part, Container) else part
            for at, part in enumerate(parts)
        ]
    return array.with_items(tuple(items), span)


def unpack(unit: Unit, node: ir.Unpack, scope: Scope) -> Eval:
    """Names for the parts of a value."""
    init = unit.compile(node.init, scope)
    place = compile_place(unit, node.init, scope) if node.ref else None
    slots = [
        scope.declare(name, CType("auto", ref=True) if node.ref else None) for name in node.names
    ]
    if node.ref:
        once = None if place is not None else compile_once(unit, node.init, scope)
        found = _value_of(init) if once is None else once
        if place is not None:
            found = _both(place, init)
        return _unpack_references(node, found, slots, _part_kinds(unit, node, scope))
    names = tuple(ir.Name(node.span, n) for n in node.names)
    store = compile_store(unit, ir.Sequence(node.span, "tuple", names), scope)

    def parts(e: Frame) -> Value:
        value = init(e)
        return value.items if isinstance(value, Braced) else value

    return storing(store, parts)


def _both(place: Lvalue, init: Eval) -> Once:
    def once(e: Frame) -> tuple[Ref | None, Value]:
        value = init(e)
        return place(e), value

    return once


def _part_kinds(unit: Unit, node: ir.Unpack, scope: Scope) -> Callable[[Frame, Value], list[CType]]:
    """The types of the parts of a value, as far as they are known."""
    found = scope.find(node.init.id) if isinstance(node.init, ir.Name) else None
    head, types = template_of(found[2].name) if found is not None and found[2] else ("", ())
    listed = [parse_type(t) for t in types] if head in ("std::pair", "std::tuple") else []
    module = unit.module

    def kinds(e: Frame, value: Value) -> list[CType]:
        if type(value) is Record:
            return [member_type(e[RUN], module, value, name) for name in value.fields]
        return listed

    return kinds


def _unpack_references(
    node: ir.Unpack, once: Once, slots: list[str], kinds: Callable[[Frame, Value], list[CType]]
) -> Eval:
    """References to the parts of a value."""
    span = node.span

    def run(e: Frame) -> Value:
        place, value = once(e)
        parts = None
        if place is not UNCLEAR:
            value = value if place is None else place.load()
            parts = references(value, place)
            for part, kind in zip(parts or (), kinds(e, value), strict=False):
                part.kind = kind
        if parts is None or len(parts) != len(slots):
            why = Unknown("the parts of a value are not known", span)
            parts = [Ref(Elsewhere(why, writable=False), None) for _ in slots]
        for slot, part in zip(slots, parts, strict=True):
            e[slot] = part
        return None

    return run


def define(unit: Unit, node: ir.Define, scope: Scope) -> Eval:
    """A function inside another."""
    store = compile_store(unit, ir.Name(node.span, node.function.name), scope)
    function, module = node.function, unit.module
    defaults = compile_defaults(unit, function, scope)
    return storing(store, lambda e: Closure(function, module, e, scope, defaults(e)))


def compile_defaults(
    unit: Unit, function: ir.Function, scope: Scope
) -> Callable[[Frame], dict[str, Value]]:
    """Computes the values of parameters where a Python function stands, those that need no call."""
    found = [
        (p.name, unit.compile(p.default, scope))
        for p in function.params
        if p.default is not None and not isinstance(p.default, ir.Const)
        if not any(isinstance(n, ir.Call) for n in walk((p.default,)))
    ]
    return lambda e: {name: value(e) for name, value in found}


def imported(unit: Unit, node: ir.Import, scope: Scope) -> Eval:
    """A name from another module."""
    store = compile_store(unit, ir.Name(node.span, node.alias), scope)
    module = unit.module

    def value(e: Frame) -> Value:
        run = e[RUN]
        return run.own(module.import_name(run, node.module, node.name, node.span))

    return storing(store, value)

"""Expressions of the intermediate form as closures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures import (
    accesses,
    boolean,
    callables,
    declarations,
    displays,
    operations,
    subscripts,
    templates,
)
from mlaprobe.evaluator.closures.attributes import attribute
from mlaprobe.evaluator.closures.places.lvalues import compile_place
from mlaprobe.evaluator.closures.stores import compile_havoc
from mlaprobe.evaluator.closures.unit import FunctionScope, Scope, Unit
from mlaprobe.evaluator.cpp.types import SCALARS
from mlaprobe.evaluator.engine.frames import OUTER, RUN, Eval, Frame, around
from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.ir import CType, Node, Span
from mlaprobe.evaluator.stl.containers import Container, copied
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.conversions import convert, low_bits
from mlaprobe.evaluator.values.kinds import (
    Braced,
    Closure,
    EnumMember,
    EnumType,
    Pointer,
    Record,
    Ref,
    ToObject,
)

if TYPE_CHECKING:
    pass


_SMALL = 128
"""What any integer type holds."""


def compile_expression(unit: Unit, node: Node, scope: Scope) -> Eval:
    """The closure for an expression."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return _opaque(unit, ir.Opaque(node.span, f"{type(node).__name__} as a value"), scope)
    compiled = handler(unit, node, scope)
    if unit.traced and isinstance(node, (ir.Binary, ir.Bool, ir.Unary, ir.Cond, ir.Name, ir.Call)):
        return _traced(unit, node, compiled)
    return compiled


def _traced(unit: Unit, node: Node, compiled: Eval) -> Eval:

    def run(e: Frame) -> Value:
        value = compiled(e)
        e[RUN].trace.append((node, value))
        return value

    return run


def _const(unit: Unit, node: ir.Const, scope: Scope) -> Eval:
    value = node.value
    return lambda e: value


def _name(unit: Unit, node: ir.Name, scope: Scope) -> Eval:
    found = scope.find(node.id)
    if found is not None:
        local = _local(found[0], found[1], _unset(unit, node, scope))
        return _referred(local) if found[2] is not None and found[2].ref else local
    head, _, last = node.id.rpartition("::")
    if head and scope.find(head) is not None:
        return _attr(unit, ir.Attr(node.span, ir.Name(node.span, head), last), scope)
    return unit.global_name(node.id, node.span)


def _referred(local: Eval) -> Eval:
    """A reference stands for what it is bound to."""

    def load(e: Frame) -> Value:
        v = local(e)
        return v.load(Unknown("a reference to nothing")) if type(v) is Ref else v

    return load


def _local(depth: int, slot: str, unset: Eval) -> Eval:
    """A variable of a function; ``unset`` is what one gives that has no value."""
    if depth == 0:

        def here(e: Frame) -> Value:
            try:
                return e[slot]
            except KeyError:
                pass
            return unset(e)

        return here

    def above(e: Frame) -> Value:
        frame = around(e, depth)
        if slot not in frame:
            return unset(e)
        value = frame[slot]
        return value if frame[RUN] is e[RUN] else e[RUN].own(value)

    return above


def _unset(unit: Unit, node: ir.Name, scope: Scope) -> Eval:
    """A variable without a value: Python raises, C++ reads what happens to be there."""
    name, span, owner = node.id, node.span, scope.owner(node.id)
    unclear = Unknown(f"{name} has no value yet", span)
    # In a comprehension it depends on Python's version what is raised.
    in_comprehension = scope.parent is not None
    if unit.lang != "py" or owner is None or name in owner.set_inside or in_comprehension:
        return lambda e: unclear
    own = owner is scope.function
    if owner.of_class:
        return unit.global_name(name, span) if own else lambda e: unclear
    how, kind = ("UnboundLocalError", "local") if own else ("NameError", "free")
    message = f"cannot access {kind} variable {name!r} where it is not associated with a value"

    def unbound(e: Frame) -> Value:
        raise Failed("exception", how, message, span)

    return unbound


def _cond(unit: Unit, node: ir.Cond, scope: Scope) -> Eval:
    test = boolean.compile_test(unit, node.test, scope)
    then = unit.compile(node.then, scope)
    orelse = unit.compile(node.orelse, scope)

    where = node.test.span
    return lambda e: then(e) if e[RUN].holds(test(e), where) else orelse(e)


def _attr(unit: Unit, node: ir.Attr, scope: Scope) -> Eval:
    obj, name, span = unit.compile(node.obj, scope), node.name, node.span
    module, python = unit.module, unit.lang == "py"

    def run(e: Frame) -> Value:
        return attribute(e[RUN], module, obj(e), name, span, python=python)

    return run


def _cast(unit: Unit, node: ir.Cast, scope: Scope) -> Eval:
    value, ctype, span = unit.compile(node.value, scope), node.type, node.span
    module, modulo = unit.module, node.modulo

    def run(e: Frame) -> Value:
        v = value(e)
        if isinstance(v, Braced):
            return unit.compiler.typed(e[RUN], v, ctype, module, span)
        if ctype.kind == "other" and not ctype.pointer and type(v) is int:
            kind = module.lookup(e[RUN], ctype.name, span)
            if isinstance(kind, EnumType):
                found = kind.of_value(v)
                return _without_name(kind, v, span) if found is None else found
        if ctype.kind in ("int", "unsigned") and isinstance(v, EnumMember) and v.scoped:
            v = v.value if v.value is not None else Unknown(f"value of {v!r}", span)
        if isinstance(v, Pointer) and (ctype.pointer or ctype.kind == "string"):
            return _pointed(v, ctype, span)
        return convert(low_bits(v, ctype) if modulo else v, ctype, span)

    return run


def _pointed(value: Pointer, ctype: CType, span: Span) -> Value:
    """A pointer that is cast: followed where what it points to is certainly of that type, as what
    other types show of the same bytes is not."""
    held = value.load() if isinstance(value, ToObject) else None
    if isinstance(held, Record):  # a class that has bases may be named by any of them
        same = ctype.kind == "other" and (held.derived or _bare(ctype.name) == _bare(held.type))
    else:
        kind = value.type or CType("auto")
        same = (kind.kind, kind.bits) == (ctype.kind, ctype.bits)
        same = same and (ctype.kind != "other" or kind.name == ctype.name)
    if same or ctype.kind == "void":
        return value
    return Unknown(f"what a {ctype.name} pointer shows of something else is not followed", span)


def _bare(name: str) -> str:
    return name.split("<", 1)[0].rpartition("::")[2]


def _without_name(kind: EnumType, value: int, span: Span) -> Value:
    """A value of an enum for which it has no name; one that every underlying type holds."""
    if not 0 <= value < _SMALL or not kind.members or kind.members[0].kind is not None:
        return Unknown(f"{value} in {kind.name}", span)
    return EnumMember(kind.name, f"({value})", value, kind.members[0].scoped)


def _construct(unit: Unit, node: ir.Construct, scope: Scope) -> Eval:
    args = tuple(unit.compile(a, scope) for a in node.args)
    compiler, ctype, module, span = unit.compiler, node.type, unit.module, node.span
    braced = node.braced
    if ctype.kind == "auto" and len(args) == 1:
        return args[0]
    stored = tuple(compile_place(unit, a, scope) for a in node.args) if unit.lang == "cpp" else ()

    def run(e: Frame) -> Value:
        return compiler.construct_named(
            e[RUN],
            ctype,
            tuple(a(e) for a in args),
            module,
            span,
            braced=braced,
            places=lambda: tuple(None if at is None else at(e) for at in stored),
        )

    return run


def _lambda(unit: Unit, node: ir.Function, scope: Scope) -> Eval:
    module = unit.module
    if node.captures:
        return _capturing(unit, node, scope)
    if node.copies:
        return lambda e: Closure(node, module, _copied(e), scope)
    if node.lang == "cpp":
        return lambda e: Closure(node, module, e, scope)
    defaults = declarations.compile_defaults(unit, node, scope)
    return lambda e: Closure(node, module, e, scope, defaults(e))


def _capturing(unit: Unit, node: ir.Function, scope: Scope) -> Eval:
    """A lambda with variables of its own."""
    inner = Scope(FunctionScope(scope))
    values = tuple(
        _bound(unit, value, scope) if refers else _own_copy(unit, value, scope)
        for _, value, refers in node.captures
    )
    slots = tuple(
        inner.declare(name, _kind_of(value, scope) if refers else None)
        for name, value, refers in node.captures
    )
    module = unit.module

    def run(e: Frame) -> Value:
        frame: Frame = {OUTER: e, RUN: e[RUN]}
        for slot, value in zip(slots, values, strict=True):
            frame[slot] = value(e)
        return Closure(node, module, frame, inner)

    return run


def _kind_of(node: Node, scope: Scope) -> CType:
    """The type of a reference to a variable."""
    found = scope.find(node.id) if isinstance(node, ir.Name) else None
    ctype = None if found is None else found[2]
    known = ctype is not None and ctype.kind in SCALARS and not ctype.pointer
    return replace(ctype, ref=True) if known and ctype is not None else CType("auto", ref=True)


def _own_copy(unit: Unit, node: Node, scope: Scope) -> Eval:
    value = unit.compile(node, scope)
    return lambda e: _copy(value(e))


def _bound(unit: Unit, node: Node, scope: Scope) -> Eval:
    """What a capture by reference is bound to."""
    place, span = compile_place(unit, node, scope), node.span

    def run(e: Frame) -> Value:
        found = None if place is None else place(e)
        if found is None:
            raise Unsupported("what a lambda captures is not followed", span)
        return found

    return run


def _copied(e: Frame) -> Frame:
    """The variables as a lambda captures them by value."""
    return {
        k: v if k in (OUTER, RUN) else _copy(v.load() if type(v) is Ref else v)
        for k, v in e.items()
    }


def _copy(value: Value) -> Value:
    if isinstance(value, (Record, tuple, Container)):
        return copied(value)
    return list(value) if isinstance(value, list) else value


def _opaque(unit: Unit, node: ir.Opaque, scope: Scope) -> Eval:
    reason, span = node.reason, node.span
    havoc_all = compile_havoc(unit, node.writes, scope, span)

    def run(e: Frame) -> Value:
        unknown = Unknown(reason, span)
        havoc_all(e, unknown)
        e[RUN].lose_globals(unknown)
        return unknown

    return run


def _sequence(unit: Unit, node: ir.Sequence, scope: Scope) -> Eval:
    if node.kind == "braced":
        items = tuple(unit.compile(i, scope) for i in node.items)
        return lambda e: Braced(tuple(i(e) for i in items))
    return displays.compile_sequence(unit, node, scope)


def _class(unit: Unit, node: ir.Class, scope: Scope) -> Eval:
    from mlaprobe.evaluator.closures.classes import compile_class

    return compile_class(unit, node, scope)


_HANDLERS: dict[type, Callable[[Unit, Value, Scope], Eval]] = {
    ir.Const: _const,
    ir.Character: _const,
    ir.Name: _name,
    ir.Unary: operations.compile_unary,
    ir.Binary: operations.compile_binary,
    ir.Bool: boolean.compile_bool,
    ir.Cond: _cond,
    ir.Attr: _attr,
    ir.Index: accesses.compile_index,
    ir.Slice: subscripts.compile_slice,
    ir.Cast: _cast,
    ir.Construct: _construct,
    ir.New: accesses.compile_new,
    ir.AddressOf: accesses.compile_address,
    ir.Deref: accesses.compile_deref,
    ir.AssignExpr: operations.compile_assignment,
    ir.Function: _lambda,
    ir.Opaque: _opaque,
    ir.Sequence: _sequence,
    ir.Members: displays.compile_members,
    ir.Specialised: templates.compile_specialised,
    ir.Fold: templates.compile_fold,
    ir.ArrayInit: displays.compile_array,
    ir.Mapping: displays.compile_mapping,
    ir.Comprehension: displays.compile_comprehension,
    ir.Format: displays.compile_format,
    ir.Call: callables.compile_call,
    ir.Launch: callables.compile_launch,
    ir.Class: _class,
}

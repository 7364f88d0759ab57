"""What references and pointers are bound to where an expression must not be evaluated twice: the
place and the value in one go.
"""

from __future__ import annotations

from collections.abc import Callable

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.places.choices import is_choice
from mlaprobe.evaluator.closures.places.lvalues import compile_lvalue, compile_place
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.engine.runs import UNCLEAR
from mlaprobe.evaluator.ir import Node, Span
from mlaprobe.evaluator.stl.containers import Given
from mlaprobe.evaluator.stl.optionals import held
from mlaprobe.evaluator.stl.places import PAIR, Members, Parts
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import InValue, Pointer, Record, Ref

Once = Callable[[Frame], "tuple[Ref | None, Value]"]
"""Where something is stored, if it is known, and otherwise its value."""
_PASSING = ("std::move", "std::forward", "std::as_const", "std::ref", "std::cref")
"""Functions that give what they are given."""


def compile_once(unit: Unit, node: Node, scope: Scope) -> Once | None:
    """The place that an expression with calls or assignments in it stands for; ``None`` for one
    that is evaluated as a value."""
    handler = _HANDLERS.get(type(node))
    return None if handler is None else handler(unit, node, scope)


def _target(unit: Unit, node: ir.Deref, scope: Scope) -> Once:
    value, span = unit.compile(node.value, scope), node.span

    def once(e: Frame) -> tuple[Ref | None, Value]:
        pointer = value(e)
        if isinstance(pointer, Pointer):
            return Ref(pointer.frame, pointer.slot), None
        if pointer is None:
            return None, Unknown("a null pointer is followed", span)
        return None, held(pointer)

    return once


def _member(unit: Unit, node: ir.Attr, scope: Scope) -> Once:
    obj, name, span = unit.compile(node.obj, scope), node.name, node.span

    def once(e: Frame) -> tuple[Ref | None, Value]:
        owner = obj(e)
        whole = owner if isinstance(owner, Pointer) else None
        if whole is not None:
            owner = whole.load()
        if isinstance(owner, Record) and name in owner.fields:
            if whole is not None and isinstance(whole.frame, InValue):
                return Ref(Members(whole), name), None
            return Ref(owner.fields, name), None
        if name in PAIR and isinstance(owner, tuple) and whole is not None:
            return Ref(Parts(whole), PAIR.index(name)), None
        return None, Unknown(f"what the member {name} is stored in is not followed", span)

    return once


def _assigned(unit: Unit, node: ir.AssignExpr, scope: Scope) -> Once | None:
    """``++n`` and ``n = value`` are the variable itself."""
    place = compile_place(unit, node.target, scope)
    value = unit.compile(node, scope)
    if place is None or node.postfix:
        return None

    def once(e: Frame) -> tuple[Ref | None, Value]:
        found = value(e)
        return place(e), found

    return once


def _last(unit: Unit, node: ir.Index, scope: Scope) -> Once | None:
    """``one, other`` is the other."""
    items = node.obj.items if isinstance(node.obj, ir.Sequence) else ()
    place = compile_place(unit, items[-1], scope) if len(items) == 2 else None
    if place is None:
        return None
    first, last = (unit.compile(item, scope) for item in items)

    def once(e: Frame) -> tuple[Ref | None, Value]:
        first(e)
        found = place(e)
        return found, last(e) if found is None else None

    return once


def _passed(unit: Unit, node: ir.Call, scope: Scope) -> Once | None:
    func = node.func
    if not isinstance(func, ir.Name) or func.id not in _PASSING or len(node.args) != 1:
        return None if is_choice(node) else _called(unit, node, scope)
    place = compile_place(unit, node.args[0], scope)
    value = unit.compile(node.args[0], scope)
    if place is None:
        return None

    def once(e: Frame) -> tuple[Ref | None, Value]:
        found = place(e)
        return found, value(e) if found is None else None

    return once


def _called(unit: Unit, node: ir.Call, scope: Scope) -> Once:
    """What a call refers to, as the function said when it returned."""
    value = unit.compile(node, scope)

    def once(e: Frame) -> tuple[Ref | None, Value]:
        given = value(e)
        return e[RUN].referred, given

    return once


def as_reference(once: Once, span: Span) -> Eval:
    """The value of an expression, as a reference where it is one."""

    def run(e: Frame) -> Value:
        found, given = once(e)
        if found is UNCLEAR:
            return Ref(Given(given, span), None)
        return given if found is None else found

    return run


def _cast(unit: Unit, node: ir.Cast, scope: Scope) -> Once | None:
    """A cast to a reference is what it casts, where the type is that of it."""
    if not node.type.ref:
        return None
    place = compile_place(unit, node.value, scope)
    if is_choice(node.value):
        place = compile_lvalue(unit, node.value, scope)
    value = unit.compile(node, scope)
    if place is None:
        return None

    def once(e: Frame) -> tuple[Ref | None, Value]:
        found = place(e)
        return found, value(e) if found is None else None

    return once


_HANDLERS: dict[type, Callable[[Unit, Value, Scope], Once | None]] = {
    ir.Deref: _target,
    ir.Attr: _member,
    ir.AssignExpr: _assigned,
    ir.Index: _last,
    ir.Call: _passed,
    ir.Cast: _cast,
}

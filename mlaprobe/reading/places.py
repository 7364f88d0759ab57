"""Where values are stored: assignment targets and pointers to variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlaprobe.reading import ir
from mlaprobe.reading.calls import Braced
from mlaprobe.reading.ir import CType, Node
from mlaprobe.reading.machine import Failed
from mlaprobe.reading.operators import convert
from mlaprobe.reading.scope import Scope
from mlaprobe.reading.values import Model, Pointer, Record, Unknown

if TYPE_CHECKING:
    from mlaprobe.reading.expressions import Unit

Frame = dict[str, Any]
Store = Callable[[Frame, Any], None]


def compile_store(unit: Unit, target: Node, scope: Scope) -> Store:
    """``store(frame, value)`` for an assignment target."""
    from mlaprobe.reading.expressions import compile_expression

    if isinstance(target, ir.Name):
        return _store_name(unit, target, scope)
    if isinstance(target, ir.Attr):
        return _store_attr(unit, target, scope)
    if isinstance(target, ir.Index):
        return _store_index(unit, target, scope)
    if isinstance(target, ir.Sequence):
        return _store_sequence(unit, target, scope)
    if isinstance(target, ir.Deref):
        value = compile_expression(unit, target.value, scope)

        def through(e: Frame, v: Any) -> None:
            pointer = value(e)
            if isinstance(pointer, Pointer):
                pointer.frame[pointer.slot] = v
            elif isinstance(pointer, Record) and isinstance(v, Record):
                pointer.fields.update(v.copy().fields)

        return through
    evaluate = compile_expression(unit, target, scope)

    def nowhere(e: Frame, v: Any) -> None:
        evaluate(e)

    return nowhere


def _store_name(unit: Unit, target: ir.Name, scope: Scope) -> Store:
    alias = scope.alias(target.id)
    if alias is not None:
        return compile_store(unit, alias[0], alias[1])  # type: ignore[index]
    found = scope.find(target.id)
    machine, module, span = unit.machine, unit.module, target.span
    if found is None:
        key = (id(module), target.id.rpartition("::")[2])

        def store_global(e: Frame, v: Any) -> None:
            machine.run.effects += 1
            machine.run.globals[key] = v

        return store_global
    depth, slot, ctype = found
    adapt = adapter(unit, ctype, span)
    if depth == 0:
        if adapt is None:

            def store_plain(e: Frame, v: Any) -> None:
                e[slot] = v

            return store_plain

        def store_typed(e: Frame, v: Any) -> None:
            e[slot] = adapt(v)

        return store_typed

    def store_above(e: Frame, v: Any) -> None:
        frame = e
        for _ in range(depth):
            frame = frame["^"]
            if frame is None:
                return
        machine.run.effects += 1
        frame[slot] = v if adapt is None else adapt(v)

    return store_above


def adapter(unit: Unit, ctype: CType | None, span: ir.Span) -> Callable[[Any], Any] | None:
    """How a value changes when it is stored in a variable of that type."""
    if ctype is None or unit.lang == "py":
        return None
    compiler, module = unit.compiler, unit.module
    if ctype.kind == "int" and ctype.bits >= 32 and not ctype.pointer:
        limit = 1 << (ctype.bits - 1)

        def to_int(v: Any) -> Any:
            if type(v) is int and -limit <= v < limit:
                return v
            if isinstance(v, Braced):
                return compiler.construct_named(ctype, v.items, module, span)
            return convert(v, ctype, span)

        return to_int

    def to_type(v: Any) -> Any:
        if v is True or v is False:
            return v if ctype.kind == "bool" else convert(v, ctype, span)
        if isinstance(v, Braced):
            return compiler.construct_named(ctype, v.items, module, span)
        return convert(v, ctype, span)

    return to_type


def _store_attr(unit: Unit, target: ir.Attr, scope: Scope) -> Store:
    from mlaprobe.reading.expressions import compile_expression

    obj, name = compile_expression(unit, target.obj, scope), target.name
    machine, module, span = unit.machine, unit.module, target.span

    def store(e: Frame, v: Any) -> None:
        owner = obj(e)
        if isinstance(owner, Pointer):
            owner = owner.frame.get(owner.slot)
        if isinstance(owner, Record):
            if isinstance(v, Braced):
                v = unit.compiler.construct_named(
                    member_type(machine, module, owner, name), v.items, module, span
                )
            owner.fields[name] = v.copy() if unit.lang == "cpp" and isinstance(v, Record) else v
            machine.run.effects += 1
        elif isinstance(owner, Model):
            machine.run.effects += 1
            put = getattr(owner, "put", None)
            if put is not None:
                put(name, v)

    return store


def member_type(machine: Any, module: Any, owner: Record, name: str) -> CType:
    """The declared type of a member, ``auto`` where it is not known."""
    kind = module.lookup(machine.run, owner.type, ir.NOWHERE)
    for member, ctype, _ in getattr(kind, "members", ()):
        if member == name:
            return ctype  # type: ignore[no-any-return]
    return CType("auto")


def _store_index(unit: Unit, target: ir.Index, scope: Scope) -> Store:
    from mlaprobe.reading.expressions import compile_expression

    obj = compile_expression(unit, target.obj, scope)
    key = compile_expression(unit, target.key, scope)
    machine, span = unit.machine, target.span

    def store(e: Frame, v: Any) -> None:
        owner, at = obj(e), key(e)
        machine.run.effects += 1
        if (isinstance(owner, dict) and not isinstance(at, Unknown)) or (
            isinstance(owner, list) and type(at) is int and -len(owner) <= at < len(owner)
        ):
            owner[at] = v
        elif isinstance(owner, list):
            owner[:] = [Unknown("an element at an unknown place was written", span) for _ in owner]
        elif isinstance(owner, dict):
            for known in owner:
                owner[known] = Unknown("an element at an unknown place was written", span)

    return store


def _store_sequence(unit: Unit, target: ir.Sequence, scope: Scope) -> Store:
    items = target.items
    star = next((i for i, t in enumerate(items) if isinstance(t, ir.Star)), None)
    stores = [compile_store(unit, t.value if isinstance(t, ir.Star) else t, scope) for t in items]
    span, python = target.span, unit.lang == "py"

    def store(e: Frame, v: Any) -> None:
        values = _elements(v)
        if values is not None and star is None and len(values) != len(stores) and python:
            text = f"{len(values)} values for {len(stores)} names"
            raise Failed("exception", "ValueError", text, span)
        if values is None or (star is None and len(values) != len(stores)):
            for each in stores:
                each(e, Unknown("the parts of a value are not known", span))
            return
        if star is not None:
            after = len(stores) - star - 1
            middle = list(values[star : len(values) - after])
            values = (*values[:star], middle, *values[len(values) - after :])
        for each, part in zip(stores, values, strict=False):
            each(e, part)

    return store


def _elements(value: Any) -> tuple[Any, ...] | None:
    if isinstance(value, (tuple, list, range)):
        return tuple(value)
    if isinstance(value, Record):
        return tuple(value.fields.values())
    if isinstance(value, Model):
        found = value.iterate()
        return None if found is None else tuple(found)
    return None


def compile_pointer(unit: Unit, node: Node, scope: Scope) -> Callable[[Frame], Pointer] | None:
    """A pointer to a local variable that may be written, or ``None``."""
    if not isinstance(node, ir.Name):
        return None
    alias = scope.alias(node.id)
    if alias is not None:
        return compile_pointer(unit, alias[0], alias[1])  # type: ignore[index]
    found = scope.find(node.id)
    if found is None or (found[2] is not None and found[2].const):
        return None
    depth, slot, _ = found

    def point(e: Frame) -> Pointer:
        frame = e
        for _ in range(depth):
            frame = frame["^"]
        return Pointer(frame, slot)

    return point

"""Class statements as closures: a body that is run once, and what its names are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.declarations import compile_defaults
from mlaprobe.evaluator.closures.statements import compile_statement
from mlaprobe.evaluator.closures.unit import FunctionScope, Scope, Unit
from mlaprobe.evaluator.engine.frames import OUTER, RUN, Eval, Frame
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.objects.classes import PyClass
from mlaprobe.evaluator.objects.enums import enum_type, numbered
from mlaprobe.evaluator.objects.members import Base, Field, Static
from mlaprobe.evaluator.objects.metaclasses import (
    Making,
    is_type,
    made_by_metaclass,
    metaclass_of,
    told_bases,
)
from mlaprobe.evaluator.objects.objects import NOTHING, called, special
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.handled import SettingsBase
from mlaprobe.evaluator.values.kinds import Builtin, Closure
from mlaprobe.evaluator.walk import assigned_names, walk

CELL = "__class__"
"""What methods call the class that they are defined in."""

Part = Callable[[Frame, Frame], None]
"""A statement of a body: it gets the frame of the body and the one around the methods."""


def compile_class(unit: Unit, node: ir.Class, scope: Scope) -> Eval:
    """The closure for the class of a class statement."""
    cell = Scope(FunctionScope(scope))
    cell.declare(CELL)
    names = assigned_names(node.body)
    inner = Scope(FunctionScope(cell, node.body, of_class=True))
    slots = {name: inner.declare(name) for name in names}
    statement = _Class(
        node=node,
        module=str(getattr(unit.module, "dotted", "")),
        bases=tuple(unit.compile(b, scope) for b in node.bases),
        keywords=tuple((key, unit.compile(value, scope)) for key, value in node.keywords),
        decorators=tuple(unit.compile(d, scope) for d in node.decorators),
        slots=slots,
        parts=tuple(_part(unit, part, inner, cell, slots) for part in node.body),
    )
    return statement.run


def _part(unit: Unit, node: ir.Node, inner: Scope, cell: Scope, slots: dict[str, str]) -> Part:
    if isinstance(node, ir.Define):
        return _method(unit, node.function, inner, cell, slots[node.function.name])
    run = compile_statement(unit, node, inner)
    value = node.value if isinstance(node, ir.Assign) else None
    inside = walk(() if value is None else (value,), into_functions=False)
    calls = [n.func for n in inside if isinstance(n, ir.Call) and _is_named(n.func)]
    callees = tuple(unit.compile(func, inner) for func in calls)
    bound = assigned_names((node,))

    def execute(frame: Frame, around: Frame) -> None:
        # What cannot be followed makes its own name unknown, and not the class.
        for callee in callees:
            found = callee(frame)
            if isinstance(found, Unknown):
                frame.update((slots[name], found.derive("()")) for name in bound)
                return
        run(frame)

    return execute


def _is_named(node: ir.Node) -> bool:
    return isinstance(node, ir.Name) or (isinstance(node, ir.Attr) and _is_named(node.obj))


def _method(unit: Unit, function: ir.Function, inner: Scope, cell: Scope, slot: str) -> Part:
    decorators = [unit.compile(d, inner) for d in function.decorators]
    defaults = compile_defaults(unit, function, inner)
    module, span = unit.module, function.span

    def execute(frame: Frame, around: Frame) -> None:
        value: Value = Closure(function, module, around, cell, defaults(frame))
        for decorator in reversed(decorators):
            found = decorator(frame)
            if not isinstance(found, Builtin):
                value = Unknown(f"decorated method {function.name} is not followed", span)
                break
            value = found.call(frame[RUN], (value,), {}, span)
        frame[slot] = value

    return execute


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Class:
    """A compiled class statement."""

    node: ir.Class
    module: str
    bases: tuple[Eval, ...]
    keywords: tuple[tuple[str | None, Eval], ...]
    decorators: tuple[Eval, ...]
    slots: dict[str, str]
    parts: tuple[Part, ...]

    def run(self, e: Frame) -> Value:
        """The class."""
        node, run = self.node, e[RUN]
        bases = tuple(base(e) for base in self.bases)
        around: Frame = {OUTER: e, RUN: run}
        frame: Frame = {OUTER: around, RUN: run}
        kind = next((b.kind for b in bases if isinstance(b, Base) and "enum" in b.kind), "")
        before: dict[str, Value] = {}
        for part in self.parts:
            part(frame, around)
            if kind:
                named = self._names(frame)
                numbered(named, before, kind)
                frame.update((self.slots[name], value) for name, value in named.items())
        given = {key or "**": value(e) for key, value in self.keywords}
        meta = metaclass_of(given.pop("metaclass", None), bases)
        if isinstance(meta, Unknown) or "**" in given or (kind and given):
            return Unknown(f"how class {node.name} is made is not followed", node.span)

        def make(run: Run, names: dict[str, Value], named: Kwargs) -> Value:
            return self._made(run, around, bases, kind, names, named, meta)

        names = self._names(frame)
        if meta is None:
            value = make(run, names, given)
        else:
            made_by = Making(node.name, self.module, bases, make)
            value = made_by_metaclass(run, meta, made_by, names, given, node.span)
        for decorator in reversed(self.decorators):
            value = run.machine.call(run, decorator(e), (value,), {}, node.span)
        return value

    def _made(
        self,
        run: Run,
        around: Frame,
        bases: Args,
        kind: str,
        names: dict[str, Value],
        given: Kwargs,
        meta: PyClass | None,
    ) -> Value:
        """The class that ``type`` makes of a body."""
        node = self.node
        hook = names.get("__init_subclass__")
        if isinstance(hook, Closure):
            names["__init_subclass__"] = Static(hook, of_class=True)
        made = PyClass(node.name, bases, names, self._reason(bases), node.annotated)
        made.meta = meta
        run.classes.append(made)
        value: Value = made
        if kind:
            value = enum_type(made, f"{self.module}.{node.name}", bases, kind)
        elif made.fields is None and made.tuple:
            made.fields = tuple(self._fields(made))
        around[CELL] = value
        for name, part in tuple(made.attributes.items()):
            if special(part, "__set_name__"):
                called(run, part, "__set_name__", (value, name), node.span)
        why = told_bases(run, made, given, node.span)
        return value if why is None else why

    def _names(self, frame: Frame) -> dict[str, Value]:
        return {name: frame[slot] for name, slot in self.slots.items() if slot in frame}

    def _reason(self, bases: Args) -> str:
        """Why objects of the class are not followed."""
        for base in bases:
            if isinstance(base, PyClass):
                if base.reason:
                    return base.reason
            elif isinstance(base, Unknown):
                return f"objects of class {self.node.name} are not followed: {base.reason}"
            elif is_type(base):
                return "a class that its metaclass makes by a call is not followed"
            elif not isinstance(base, (Base, SettingsBase)):
                return f"objects of class {self.node.name} are not followed"
        return ""

    def _fields(self, made: PyClass) -> Iterator[Field]:
        """Those of a named tuple."""
        for name, _ in self.node.annotated:
            yield Field(name, default=made.attributes.pop(name, NOTHING))

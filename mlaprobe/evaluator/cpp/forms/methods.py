"""Methods of objects: which one is called, and what its body sees of its class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.unit import FunctionScope, Scope
from mlaprobe.evaluator.cpp.templating import instances
from mlaprobe.evaluator.cpp.types import template_of
from mlaprobe.evaluator.engine.frames import OUTER, RUN, Frame
from mlaprobe.evaluator.ir import CType
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.bodies import MethodOf
from mlaprobe.evaluator.values.kinds import Builtin, Closure, Record, Ref, StructType, ToObject

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.unit import CppModule
    from mlaprobe.evaluator.engine.runs import Run

_MOST_CLASSES = 16
"""Classes above a class."""


def above(module: CppModule, struct: StructType) -> tuple[StructType, ...] | None:
    """A class and all that it is derived from, itself first; ``None`` where one is not known."""
    found: list[StructType] = []
    inward: list[StructType] = []
    """Bases that are templates, and know what is derived from them."""
    todo = [struct]
    while todo:
        one = todo.pop(0)
        bases = [module.struct(name) for name in one.bases]
        if (one.template and one not in inward) or len(found) > _MOST_CLASSES or one in found:
            return None
        found.append(one)
        for base, name in zip(bases, one.bases, strict=True):
            if base is None or "virtual" in name:
                return None
            if "<" in name:
                if not _knows_only(base, name, one.name):
                    return None
                inward.append(base)
            todo.append(base)
    return tuple(found)


def _knows_only(base: StructType, written: str, derived: str) -> bool:
    """Whether a base is a template of the class alone that is derived from it, and has no members
    of its own."""
    types = template_of(written)[1]
    return types == (derived,) and len(base.template) == 1 and not base.members


def declared(module: CppModule, struct: StructType, name: str) -> MethodOf | None:
    """The one method of that name which a class declares, wherever it is defined."""
    found = struct.body.method(name)
    header = struct.body.header(name) if found is None else None
    if header is None:
        return found
    functions = module.outside(struct, name)
    if len(functions) != 1:
        return None
    return MethodOf(functions[0], const=header.const, static=header.static)


def method_of(module: CppModule, run: Run, record: Record, name: str) -> Value:
    """A method of an object; ``None`` where the source has none that is followed."""
    struct = module.struct(record.type)
    classes = None if struct is None else above(module, struct)
    if classes is None:
        return None
    head, _, label = name.rpartition("::")
    found = [c for c in classes if c.body.declares(label) and head in ("", c.name)]
    method = declared(module, found[0], label) if found else None
    if method is None:
        return None
    if not head and len(found) > 1 and not _overrides(classes, found, label):
        return Unknown(f"which {label} of a {record.type} is called is not known", ir.NOWHERE)
    if not (method.static or method.const):
        run.changes(record, method.function.span)
    return closure(module, run, found[0], method, record)


def _overrides(classes: tuple[StructType, ...], found: list[StructType], name: str) -> bool:
    """Whether the first of several methods is what a call finds, whatever the object is seen as."""
    return found[-1].body.virtual(name) and all(len(c.bases) < 2 for c in classes)


def closure(
    module: CppModule,
    run: Run,
    struct: StructType,
    method: MethodOf,
    record: Record | None,
    names: dict[str, Value] | None = None,
) -> Closure:
    """A method with what its body sees of its class."""
    scope, frame = seen(module, run, struct, method.function, record, names or {})
    return Closure(method.function, module, frame, scope)


def seen(
    module: CppModule,
    run: Run,
    struct: StructType,
    function: ir.Function,
    record: Record | None,
    names: dict[str, Value],
) -> tuple[Scope, Frame]:
    """The scope around a method: members are references to those of the object."""
    used = module.known.names_in(function)
    scope = Scope(FunctionScope(None))
    frame: Frame = {OUTER: None, RUN: run}
    classes = above(module, struct) or (struct,)
    for name, value in names.items():
        frame[scope.declare(name)] = value
    if record is not None:
        for name, ctype in _members(classes):
            if name in record.fields:
                frame[scope.declare(name, ctype)] = Ref(record.fields, name)
        frame[scope.declare("this")] = ToObject(record)
    for each in classes:
        for name, _ in each.statics:
            if name in used - frame.keys():
                value = instances.static_of(module, run, struct, names, name, ir.NOWHERE)
                frame[scope.declare(name)] = value
    for name in sorted(used - frame.keys()):
        _declare_method(module, classes, name, record, names, scope, frame)
    return scope, frame


def _members(classes: tuple[StructType, ...]) -> Iterator[tuple[str, CType]]:
    for each in classes:
        for name, ctype, _ in each.members:
            yield name, replace(ctype, ref=True)


def _declare_method(
    module: CppModule,
    classes: tuple[StructType, ...],
    name: str,
    record: Record | None,
    names: dict[str, Value],
    scope: Scope,
    frame: Frame,
) -> None:
    """A method that another one of its class may call: found when it is called."""
    head, _, label = name.rpartition("::")
    owners = [c for c in classes if c.body.declares(label) and head in ("", c.name)]
    if not owners:
        return
    method = declared(module, owners[0], label)
    static = method is not None and method.static

    def call(run: Run, args: Args, kwargs: Kwargs, span: ir.Span) -> Value:
        found: Value = None
        if static and method is not None:
            found = closure(module, run, owners[0], method, record, names)
        elif record is not None and not names:
            found = method_of(module, run, record, name)
        if found is None:
            found = Unknown(f"the method {name} is not followed", span)
        return run.machine.call(run, found, args, kwargs, span)

    frame[scope.declare(name)] = Builtin(name, call, symbolic=True, by_place=True)

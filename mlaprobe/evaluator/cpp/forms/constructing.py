"""Objects of the source's classes: what their constructors make of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.forms import methods
from mlaprobe.evaluator.cpp.templating import instances
from mlaprobe.evaluator.cpp.types import zero_of
from mlaprobe.evaluator.engine.calls import havoc
from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Unknown, Value
from mlaprobe.evaluator.values.bodies import Constructor
from mlaprobe.evaluator.values.kinds import Closure, Record, Ref, StructType
from mlaprobe.evaluator.walk import walk

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.unit import CppModule
    from mlaprobe.evaluator.engine.runs import Run

Places = Callable[[], tuple["Ref | None", ...]]
"""Where the arguments are stored; ``None`` for a temporary."""


def made(
    module: CppModule, run: Run, struct: StructType, items: Args, span: Span, places: Places
) -> Value:
    """A new object of a class that is no aggregate.

    Raises:
        Unsupported: what its objects do on their own is not followed.
    """
    refused(module, struct)
    classes = methods.above(module, struct)
    if classes is None:
        return _lost(run, struct, items, span, places)
    for each in classes:
        if each.body.acts:
            return _lost(run, struct, items, span, places, each.body.acts)
    names = [name for each in classes for name, _, _ in each.members]
    if len(set(names)) != len(names) or any(t.ref for c in classes for _, t, _ in c.members):
        return _lost(run, struct, items, span, places)
    if struct.body.made_by_hand:
        return _constructed(module, run, struct, items, span, places)
    if items:
        return _lost(run, struct, items, span, places)
    return _defaulted(module, run, struct, span)


def refused(module: CppModule, struct: StructType) -> None:
    """Refuses a class whose objects do something on their own that is not followed.

    Raises:
        Unsupported: they do.
    """
    place = module.known.acting(struct)
    if place is not None:
        what = f"what the objects of {struct.name} do on their own (destructor, conversion, copy)"
        raise Unsupported(f"{what} is not followed", place.span)


def _lost(
    run: Run, struct: StructType, items: Args, span: Span, places: Places, why: str = ""
) -> Unknown:
    """An object that is not followed; what its constructor is given it may have written."""
    reason = why or f"how a {struct.name} is made is not followed"
    run.lose_globals(Unknown(reason, span))
    for value in (*items, *places()):
        havoc(value, reason, span)
    return Unknown(reason, span)


def _base_parts(
    module: CppModule,
    run: Run,
    struct: StructType,
    span: Span,
    given: Callable[[str], Value],
) -> dict[str, Value] | Unknown:
    """The members that the bases bring; ``given`` makes one, ``None`` where nothing is said."""
    fields: dict[str, Value] = {}
    for name in struct.bases:
        part = given(name)
        base = module.struct(name)
        if part is None and base is not None:
            part = run.machine.compiler.construct(run, base, (), span, module)
        if not isinstance(part, Record):
            return Unknown(f"how a {struct.name} is made is not followed", span)
        fields.update(part.copy().fields)
    return fields


def _defaulted(module: CppModule, run: Run, struct: StructType, span: Span) -> Value:
    """What the constructor makes that the compiler writes."""
    fields = _base_parts(module, run, struct, span, lambda name: None)
    if isinstance(fields, Unknown):
        return fields
    compiler = run.machine.compiler
    for name, ctype, default in struct.members:
        if default is not None:
            seen = {n: v for n, v in fields.items() if n in _named(default)}
            value = instances.evaluated(module, run, default, seen)
            fields[name] = compiler.typed(run, value, ctype, module, span)
        elif ctype.kind == "other" and not ctype.pointer:
            fields[name] = compiler.construct_named(run, ctype, (), module, span)
        elif struct.plain:
            fields[name] = zero_of(ctype, span)
        else:
            fields[name] = Unknown(f"what {struct.name} starts with is not followed", span)
    return Record(struct.name, fields, derived=bool(struct.bases))


def _named(node: ir.Node) -> set[str]:
    return {n.id for n in walk((node,)) if isinstance(n, ir.Name)}


def _constructed(
    module: CppModule, run: Run, struct: StructType, items: Args, span: Span, places: Places
) -> Value:
    """What a constructor of the source makes."""
    chosen = _chosen(struct, items)
    if chosen is None:
        return _lost(run, struct, items, span, places)
    if chosen.defaulted or chosen.function is None:
        return _defaulted(module, run, struct, span)
    function = chosen.function
    args = tuple(
        at if at is not None and param.type is not None and param.type.ref else value
        for value, at, param in zip(
            items, places() or (None,) * len(items), function.params, strict=False
        )
    )

    def given(name: str) -> Value:
        above = chosen.above.get(name)
        if above is None:
            return None
        return run.machine.call(run, Closure(above, module), args, {}, span)

    if "" in chosen.above:
        record = given("")
        if not isinstance(record, Record):
            return _lost(run, struct, items, span, places)
    else:
        fields = _base_parts(module, run, struct, span, given)
        if isinstance(fields, Unknown):
            return _lost(run, struct, items, span, places)
        fields |= {n: Unknown(f"{n} has no value yet", span) for n, _, _ in struct.members}
        record = Record(struct.name, fields, derived=bool(struct.bases))
    scope, frame = methods.seen(module, run, struct, function, record, {})
    run.machine.call(run, Closure(function, module, frame, scope), args, {}, span)
    return record


def _chosen(struct: StructType, items: Args) -> Constructor | None:
    """The one constructor that takes some arguments."""
    found = []
    for each in struct.body.constructors:
        if each.function is None and not each.defaulted:
            return None
        if each.function is None:
            found += [each] if not items else []
            continue
        if any(p.type is not None and "initializer_list" in p.type.name for p in _params(each)):
            return None
        least = sum(1 for p in _params(each) if p.default is None)
        if least <= len(items) <= len(_params(each)):
            found.append(each)
    return found[0] if len(found) == 1 else None


def _params(constructor: Constructor) -> tuple[ir.Param, ...]:
    return () if constructor.function is None else constructor.function.params

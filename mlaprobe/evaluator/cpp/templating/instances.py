"""Templates with arguments, constants of classes, and methods that are called."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.forms import methods
from mlaprobe.evaluator.cpp.forms.templates import PACK
from mlaprobe.evaluator.cpp.templating.specials import special_for
from mlaprobe.evaluator.engine.frames import OUTER, RUN, Frame
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Closure, StructType
from mlaprobe.evaluator.walk import walk

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.definitions import Definition, Specialisation
    from mlaprobe.evaluator.cpp.unit import CppModule
    from mlaprobe.evaluator.engine.runs import Run

_DEEPEST = 16
"""Constants of a class that depend on each other."""


def instance(
    module: CppModule, run: Run, found: list[Definition], args: Args, last: str, span: Span
) -> Value:
    """What a template is for some arguments."""
    special = [d.value for d in found if d.kind == "specialisation"]
    primary = [d for d in found if d.kind in ("template", "struct")]
    name = found[0].name if found else "a template"
    if len(primary) != 1 or len(primary) + len(special) != len(found):
        return Unknown(f"which {name} is meant is not known", span)
    value = primary[0].value
    names = value.template if primary[0].kind == "struct" else value.parameters
    packed = bool(names) and names[-1].endswith(PACK)
    chosen = special_for(module, run, special, args, span, packed=packed)
    if isinstance(chosen, Unknown):
        return chosen
    if chosen is None:
        value = value if primary[0].kind == "struct" else value.value
        bound = bind(names, args)
    else:
        value, bound = chosen.value.value, chosen.bound
    if isinstance(value, StructType) and not last:
        return replace(value, arguments=tuple((bound or {}).items()))
    if bound is None:
        return Unknown(f"the arguments of {name} are not followed", span)
    if isinstance(value, StructType):
        return static_of(module, run, value, bound, last, span)
    if last or not isinstance(value, tuple) or value[1] is None:
        return Unknown(f"the template {name} is not followed", span)
    return evaluated(module, run, value[1], bound)


def bind(names: tuple[str, ...], args: Args) -> dict[str, Value] | None:
    """The values of template parameters; ``None`` where the arguments do not give them."""
    if names and names[-1].endswith(PACK) and len(args) >= len(names) - 1:
        at = len(names) - 1
        return {**dict(zip(names[:at], args, strict=False)), names[at][: -len(PACK)]: args[at:]}
    return dict(zip(names, args, strict=True)) if len(names) == len(args) else None


def specialised(
    module: CppModule, functions: list[ir.Function], special: list[Specialisation]
) -> Builtin:
    """A function template that is another for certain arguments."""
    name = functions[0].name

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        types = kwargs.get("<>", ())
        chosen: Value = Unknown(f"which {name} is called is not known", span)
        if len(functions) == 1 and types:
            chosen = specialised_function(module, run, special, types, span)
            if chosen is None:
                function = Closure(functions[0], module)
                return run.machine.compiler.call_closure(run, function, args, {}, span, types)
        return run.machine.call(run, chosen, args, {}, span)

    return Builtin(name, call, symbolic=True, takes_template=True)


def specialised_function(
    module: CppModule, run: Run, special: list[Specialisation], args: Args, span: Span
) -> Closure | Unknown | None:
    """The function that a template is for explicit arguments; ``None`` for the template itself."""
    chosen = special_for(module, run, special, args, span, packed=False)
    if chosen is None or isinstance(chosen, Unknown):
        return chosen
    return Closure(chosen.value.value, module)


def evaluated(module: CppModule, run: Run, node: ir.Node, names: dict[str, Value]) -> Value:
    """An expression that sees some names besides those of the module."""
    frame: Frame = {OUTER: None, RUN: run, **names}
    return run.machine.compiler.expression_of(node, module, tuple(names))(frame)


def static_of(
    module: CppModule,
    run: Run,
    struct: StructType,
    names: dict[str, Value],
    name: str,
    span: Span,
    depth: int = 0,
) -> Value:
    """A static constant or a static method of a class, with its template's arguments."""
    init = dict(struct.statics).get(name)
    if init is None:
        method = methods.declared(module, struct, name)
        if method is not None and method.static and bound_all(struct, names):
            return methods.closure(module, run, struct, method, None, names)
        if method is None and not struct.body.declares(name) and depth <= _DEEPEST:
            for base in struct.bases:
                above = module.struct(base)
                if above is not None and not above.template and "<" not in base:
                    return static_of(module, run, above, {}, name, span, depth + 1)
        return Unknown(f"{struct.name} has no constant {name}", span)
    if depth > _DEEPEST:
        return Unknown(f"{struct.name}::{name} depends on itself", span)
    used = {n.id for n in walk((init,)) if isinstance(n, ir.Name)}
    if not bound_all(struct, names) and used & {p.removesuffix(PACK) for p in struct.template}:
        return Unknown(f"{struct.name}::{name} depends on its template arguments", span)
    seen = dict(names)
    for other, _ in struct.statics:
        if other in used and other != name:
            seen[other] = static_of(module, run, struct, names, other, span, depth + 1)
    return evaluated(module, run, init, seen)


def bound_all(struct: StructType, names: dict[str, Value]) -> bool:
    """Whether all template parameters of a class have values."""
    return {p.removesuffix(PACK) for p in struct.template} <= names.keys()

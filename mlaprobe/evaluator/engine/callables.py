"""Calls and kernel launches as closures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.attributes import attribute
from mlaprobe.evaluator.engine.calls import result_of_unknown
from mlaprobe.evaluator.engine.displays import compile_items
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.engine.globalnames import global_name
from mlaprobe.evaluator.engine.references import compile_place
from mlaprobe.evaluator.engine.scope import Scope
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.engine.unit import Unit
from mlaprobe.evaluator.symbolic.symbols import plain
from mlaprobe.evaluator.values.kinds import Builtin, Closure, Model, Record
from mlaprobe.evaluator.values.unknown import Unknown, rest_of


def compile_call(unit: Unit, node: ir.Call, scope: Scope) -> Eval:
    """A call: the callee decides whether variables are passed as places."""
    func = node.func
    args = compile_items(unit, node.args, scope)
    kwargs = _compile_kwargs(unit, node, scope)
    pointers = [compile_place(unit, a, scope) for a in node.args] if unit.lang == "cpp" else []
    name = callee_name(func)
    callee: Eval
    if isinstance(func, ir.Attr):
        owner, attr, where = unit.compile(func.obj, scope), func.name, func.span
        module, python = unit.module, unit.lang == "py"

        def method(e: Frame) -> Any:
            return attribute(e[RUN], module, owner(e), attr, where, python=python)

        callee = method
    elif isinstance(func, ir.Name) and scope.find(func.id) is None:
        callee = global_name(unit, func.id, func.span)
    else:
        callee = unit.compile(func, scope)
    return _caller(unit, node, scope, callee, args, kwargs, pointers, name)


def callee_name(func: ir.Node) -> str:
    """What a call is called, for messages."""
    if isinstance(func, ir.Name):
        return func.id
    if isinstance(func, ir.Attr):
        return f"{callee_name(func.obj)}.{func.name}"
    if isinstance(func, ir.Call):
        return f"{callee_name(func.func)}()"
    if isinstance(func, ir.Index):
        return f"{callee_name(func.obj)}[]"
    return "a value"


def _compile_kwargs(unit: Unit, node: ir.Call, scope: Scope) -> Callable[[Frame], Any] | None:
    if not node.kwargs:
        return None
    pairs = [(k, unit.compile(v, scope)) for k, v in node.kwargs]
    span = node.span

    def run(e: Frame) -> Any:
        result: dict[str, Any] = {}
        for key, value in pairs:
            v = value(e)
            if key is not None:
                result[key] = v
            elif isinstance(v, dict) and rest_of(v) is None:
                result.update(v)
            else:
                return Unknown("keyword arguments are not known", span)
        return result

    return run


def _caller(
    unit: Unit,
    node: ir.Call,
    scope: Scope,
    callee: Eval,
    args: Callable[[Frame], Any],
    kwargs: Callable[[Frame], Any] | None,
    pointers: list[Any],
    name: str,
) -> Eval:
    machine, compiler, span = unit.machine, unit.compiler, node.span
    template = tuple(unit.compile(t, scope) for t in node.template)
    writable = any(p is not None for p in pointers)
    locals_ = [
        p if isinstance(a, ir.Name) and scope.find(a.id) is not None else None
        for p, a in zip(pointers, node.args, strict=False)
    ]
    braced = any(isinstance(a, ir.Sequence) and a.kind == "braced" for a in node.args)

    def missing(e: Frame, failure: Failed) -> None:
        """A method that certainly does not exist: the program gets no further, but what it was
        about to call with is worth knowing. Arguments are named as the caller names them."""
        values = args(e)
        if isinstance(node.func, ir.Attr) and not isinstance(values, Unknown):
            named = {
                a.id: v for a, v in zip(node.args, values, strict=False) if isinstance(a, ir.Name)
            }
            e[RUN].emit("missing", node.func.name, values, named, span)
        raise failure

    def run(e: Frame) -> Any:
        try:
            function = callee(e)
        except Failed as failure:
            if failure.how != "AttributeError":
                raise
            missing(e, failure)
        values = args(e)
        named = kwargs(e) if kwargs is not None else {}
        if isinstance(values, Unknown) or isinstance(named, Unknown):
            reason: Any = values if isinstance(values, Unknown) else named
            return result_of_unknown(e[RUN], reason, name, (), {}, span)
        if isinstance(function, Closure):
            if braced:
                values = compiler.unbraced(e[RUN], function, values, span)
            if writable:
                values = _with_places(compiler, function, e, values, pointers)
            if not template:
                return compiler.call_closure(e[RUN], function, tuple(values), named, span)
            types = tuple(t(e) for t in template)
            e[RUN].emit("template", name, values, {"<>": types}, span)
            if e[RUN].facts.get("templates_return"):
                return Unknown(f"the result of {name}", span, foreign=True)
            return compiler.call_closure(e[RUN], function, tuple(values), named, span, types)
        if isinstance(function, Builtin):
            if function.takes_template:
                named = {"<>": tuple(t(e) for t in template)}
            if not function.symbolic:
                values = [plain(v) for v in values]
                named = {k: plain(v) for k, v in named.items()}
            return function.call(e[RUN], tuple(values), named, span)
        if isinstance(function, Unknown):
            returns = machine.assume_returns(name)
            if writable and not (returns and "::" not in name):
                values = [
                    p(e) if p is not None and not isinstance(v, Record) else v
                    for p, v in zip(locals_, values, strict=False)
                ]
            return result_of_unknown(
                e[RUN], function, name, tuple(values), named, span, returns=returns
            )
        if isinstance(function, Model) and function.by_reference and writable:
            values = [v if p is None else p(e) for p, v in zip(locals_, values, strict=False)]
        return compiler.call(e[RUN], function, tuple(values), named, span)

    return run


def _with_places(
    compiler: Any, function: Closure, e: Frame, values: list[Any], pointers: list[Any]
) -> list[Any]:
    """Arguments of non-const reference parameters as pointers to the caller's variables."""
    refs = compiler.code(e[RUN], function).refs
    if not refs:
        return values
    values = list(values)
    for position in refs:
        if position < len(values) and pointers[position] is not None:
            place = pointers[position](e)
            if place is not None:
                values[position] = place
    return values


def compile_launch(unit: Unit, node: ir.Launch, scope: Scope) -> Eval:
    """A GPU kernel launch."""
    args = compile_items(unit, node.args, scope)
    template = tuple(unit.compile(t, scope) for t in node.template)
    config = tuple(unit.compile(c, scope) for c in node.config)
    name, span = node.name, node.span

    def run(e: Frame) -> Any:
        values = args(e)
        known = () if isinstance(values, Unknown) else values
        how: dict[str, Any] = {}
        if e[RUN].facts.get("launches"):
            how = {"<>": tuple(t(e) for t in template), "<<<>>>": tuple(c(e) for c in config)}
        e[RUN].emit("launch", name, known, how, span)
        return None

    return run

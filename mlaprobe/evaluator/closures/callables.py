"""Calls and kernel launches as closures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.arguments import (
    REFERRING,
    callee_name,
    compile_onces,
    compile_referring,
    loaded,
)
from mlaprobe.evaluator.closures.attributes import attribute
from mlaprobe.evaluator.closures.displays import compile_items
from mlaprobe.evaluator.closures.places.lvalues import Lvalue, compile_lvalue, compile_place
from mlaprobe.evaluator.closures.places.onceonly import compile_once
from mlaprobe.evaluator.closures.places.views import is_view
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.calls import result_of_unknown
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.engine.runs import UNCLEAR
from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.ir import CType
from mlaprobe.evaluator.objects.iterables import Cursor
from mlaprobe.evaluator.objects.objects import Instance
from mlaprobe.evaluator.stl import owners
from mlaprobe.evaluator.stl.containers import Container
from mlaprobe.evaluator.stl.methods import bound
from mlaprobe.evaluator.stl.optionals import METHODS
from mlaprobe.evaluator.stl.optionals import method as optional_method
from mlaprobe.evaluator.symbolic.formulas import COMPARE
from mlaprobe.evaluator.symbolic.symbols import plain
from mlaprobe.evaluator.values import Kwargs, Unknown, Value, rest_of
from mlaprobe.evaluator.values.floats import Single
from mlaprobe.evaluator.values.kinds import (
    Builtin,
    Closure,
    InValue,
    Model,
    Overloaded,
    Owner,
    Pointer,
    Record,
    Ref,
    StructType,
)

if TYPE_CHECKING:
    from mlaprobe.evaluator.closures.compiler import Compiler
    from mlaprobe.evaluator.engine.modules import Module


def compile_call(unit: Unit, node: ir.Call, scope: Scope) -> Eval:
    """A call."""
    func, cpp = node.func, unit.lang == "cpp"
    onces = compile_onces(unit, node, scope) if cpp else {}
    args = compile_items(unit, node.args, scope)
    if onces:
        args = compile_referring(unit, node, onces, scope)
    kwargs = _compile_kwargs(unit, node, scope)
    lvalues = tuple(_compile_argument(unit, a, scope) for a in node.args) if cpp else ()
    variables = tuple(
        at if isinstance(a, ir.Name) and scope.find(a.id) is not None else None
        for at, a in zip(lvalues, node.args, strict=False)
    )
    if cpp and isinstance(func, ir.Attr):
        callee = _compile_method(unit, func, scope)
    else:
        callee = unit.compile(func, scope)
    return _CallSite(
        compiler=unit.compiler,
        module=unit.module,
        cpp=cpp,
        node=node,
        callee=callee,
        args=args,
        kwargs=kwargs,
        template=tuple(unit.compile(t, scope) for t in node.template),
        lvalues=lvalues if any(at is not None for at in lvalues) else (),
        variables=variables,
        types=tuple(_declared_type(a, scope) for a in node.args) if cpp else (),
        name=callee_name(func),
        braced=any(
            isinstance(a, ir.Members) or (isinstance(a, ir.Sequence) and a.kind == "braced")
            for a in node.args
        ),
    ).run


def _declared_type(node: ir.Node, scope: Scope) -> CType | None:
    """The type of an argument, as far as it is declared."""
    if isinstance(node, ir.Name):
        found = scope.find(node.id)
        kind = None if found is None else found[2]
        if found is None or kind is None or kind.kind != "auto" or found[0]:
            return kind
        return scope.deduced.get(found[1])
    if isinstance(node, (ir.Cast, ir.Construct)):
        return node.type
    if isinstance(node, ir.Bool) or (
        isinstance(node, (ir.Binary, ir.Unary)) and node.op in (*COMPARE, "not")
    ):
        return CType("bool", "bool")
    if isinstance(node, ir.Character):
        return CType("int", "char", 8)
    if isinstance(node, ir.Const):
        return _LITERALS.get(type(node.value))
    return None


_LITERALS: dict[type, CType] = {
    str: CType("string", "char"),
    float: CType("float", "double", 64),
}
_LITERALS[Single] = CType("float", "float")
_LITERALS[bool] = CType("bool", "bool")


def _compile_argument(unit: Unit, node: ir.Node, scope: Scope) -> Lvalue | None:
    """Where an argument is stored. One that does something itself is not evaluated twice."""
    place = compile_place(unit, node, scope)
    if place is not None or compile_lvalue(unit, node, scope) is None:
        return place
    if compile_once(unit, node, scope) is not None:
        return None
    span = node.span

    def unclear(e: Frame) -> Ref | None:
        raise Unsupported("which variable is passed is not followed", span)

    return unclear


def _compile_method(unit: Unit, func: ir.Attr, scope: Scope) -> Eval:
    """The method of an object; that of a container knows where it is stored."""
    obj, name, span = unit.compile(func.obj, scope), func.name, func.span
    place, module = compile_place(unit, func.obj, scope), unit.module

    def load(e: Frame) -> Value:
        owner = obj(e)
        where = None
        if type(owner) is Owner and name in owners.METHODS:
            return owners.method(None if place is None else place(e), owner, name)
        if isinstance(owner, Pointer) and name not in METHODS:
            where, owner = owner, owner.load()
        if type(owner) is Container and name in METHODS:
            return optional_method(owner, name)
        if type(owner) is Container:
            if where is None and place is not None:
                where = place(e)
            return bound(e[RUN], owner, where, name)
        if isinstance(owner, Record) and name not in owner.fields:
            if where is None and place is not None:
                where = place(e)
            if where is None or not isinstance(where.frame, InValue):
                found = module.method(e[RUN], owner, name)
                if found is not None:
                    return found
                if name in METHODS and not module.has_method(owner, name):
                    return optional_method(owner, name)
        return attribute(e[RUN], module, owner, name, span)

    return load


def _compile_kwargs(
    unit: Unit, node: ir.Call, scope: Scope
) -> Callable[[Frame], Kwargs | Unknown] | None:
    if not node.kwargs:
        return None
    pairs = [(k, unit.compile(v, scope)) for k, v in node.kwargs]
    span = node.span

    def run(e: Frame) -> Kwargs | Unknown:
        result: Kwargs = {}
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


@dataclass(frozen=True, slots=True, eq=False)
class _CallSite:
    """A compiled call."""

    compiler: Compiler
    module: Module
    cpp: bool
    """Whether the code is C++."""
    node: ir.Call
    callee: Eval
    args: Callable[[Frame], list[Value] | Unknown]
    kwargs: Callable[[Frame], Kwargs | Unknown] | None
    template: tuple[Eval, ...]
    lvalues: tuple[Lvalue | None, ...]
    """For each argument of a C++ call, where it is stored; ``None`` for a temporary."""
    variables: tuple[Lvalue | None, ...]
    """The same for local variables alone."""
    types: tuple[CType | None, ...]
    """The types that the arguments are declared with, where that is known."""
    name: str
    """The callee as messages name it."""
    braced: bool
    """Whether a braced list is among the arguments."""

    def run(self, e: Frame) -> Value:
        """The call's result; the callee decides whether variables are passed as lvalues."""
        try:
            function = self.callee(e)
        except Failed as failure:
            if failure.how == "AttributeError":
                self._note_missing(e)
            raise
        run, span = e[RUN], self.node.span
        values = self.args(e)
        named = self.kwargs(e) if self.kwargs is not None else {}
        if isinstance(values, Unknown):
            return result_of_unknown(run, values, self.name, (), {}, span)
        if isinstance(named, Unknown):
            return result_of_unknown(run, named, self.name, (), {}, span)
        if isinstance(function, Overloaded):
            plain_values = [loaded(v) for v in values]
            function = self.compiler.chosen(function, plain_values, self.types, span)
        if isinstance(function, Record) and not isinstance(function, Instance):
            function = self._called_object(e, function)
        if isinstance(function, Closure):
            return self._closure(e, function, values, named)
        value = self._other(e, function, [loaded(v) for v in values], named)
        run.referred = UNCLEAR if self.name.rpartition(".")[2] in REFERRING else None
        return value

    def _other(self, e: Frame, function: Value, values: list[Value], named: Kwargs) -> Value:
        """The result of what is no function of the source."""
        if isinstance(function, StructType) and self.cpp:
            return self._object(e, function, values)
        if isinstance(function, Builtin):
            return self._builtin(e, function, values, named)
        if isinstance(function, Unknown):
            return self._unknown(e, function, values, named)
        if isinstance(function, Model) and function.by_reference and self.lvalues:
            values = [v if at is None else at(e) for at, v in self._paired(values)]
        return self.compiler.call(e[RUN], function, tuple(values), named, self.node.span)

    def _called_object(self, e: Frame, function: Record) -> Value:
        """What is called where an object is."""
        found = self.module.method(e[RUN], function, "operator()")
        return Unknown(f"call of a {function.type}", self.node.span) if found is None else found

    def _object(self, e: Frame, struct: StructType, values: list[Value]) -> Value:
        """``Type(arguments)``."""
        return self.compiler.construct(
            e[RUN],
            struct,
            tuple(values),
            self.node.span,
            self.module,
            lambda: tuple(None if at is None else at(e) for at in self.lvalues),
        )

    def _stored(self, values: list[Value]) -> Iterator[tuple[Lvalue | None, Value]]:
        return zip(self.lvalues, values, strict=False) if self.lvalues else iter(())

    def _by_place(self, e: Frame, at: Lvalue | None, value: Value) -> Value:
        found = None if at is None else at(e)
        return value if found is None else found

    def _paired(self, values: list[Value]) -> Iterator[tuple[Lvalue | None, Value]]:
        return zip(self.variables, values, strict=False)

    def _note_missing(self, e: Frame) -> None:
        """Records a call of a method that certainly does not exist: the program gets no further,
        but the arguments are worth knowing. They are named as the caller names them."""
        func, values = self.node.func, self.args(e)
        if isinstance(func, ir.Attr) and not isinstance(values, Unknown):
            pairs = zip(self.node.args, values, strict=False)
            named = {a.id: v for a, v in pairs if isinstance(a, ir.Name)}
            e[RUN].emit("missing", func.name, values, named, self.node.span)

    def _closure(self, e: Frame, function: Closure, values: list[Value], named: Kwargs) -> Value:
        run, span, compiler = e[RUN], self.node.span, self.compiler
        if self.braced:
            values = compiler.unbraced(run, function, values, span)
        if self.lvalues:
            values = self._with_lvalues(e, function, values)
        types = tuple(t(e) for t in self.template)
        if types:
            run.emit("template", self.name, [loaded(v) for v in values], {"<>": types}, span)
            if run.facts.get("templates_return"):
                return Unknown(f"the result of {self.name}", span, foreign=True)
        return compiler.call_closure(run, function, tuple(values), named, span, types)

    def _with_lvalues(self, e: Frame, function: Closure, values: list[Value]) -> list[Value]:
        """The arguments, those of reference parameters as references to the caller's variables."""
        values = list(values)
        for position in self.compiler.code(e[RUN], function).refs:
            lvalue = self.lvalues[position] if position < len(values) else None
            bound = lvalue(e) if lvalue is not None else None
            if bound is not None:
                values[position] = bound
        if any(type(v) is Ref for v in values):
            self._unless_viewed(e, function, values)
        return values

    def _unless_viewed(self, e: Frame, function: Closure, values: list[Value]) -> None:
        """A text that one parameter looks at and another may change is not followed.

        Raises:
            Unsupported: it is.
        """
        for at, (param, value) in enumerate(zip(function.function.params, values, strict=False)):
            lvalue = self.lvalues[at] if at < len(self.lvalues) else None
            viewed = type(value) is str and param.type is not None and is_view(param.type)
            place = lvalue(e) if viewed and lvalue is not None else None
            if place is not None and any(type(v) is Ref and v.same(place) for v in values):
                why = f"a text is passed as {param.name} and may be changed"
                raise Unsupported(why, self.node.span)

    def _builtin(self, e: Frame, function: Builtin, values: list[Value], named: Kwargs) -> Value:
        if function.takes_template:
            named = {"<>": tuple(t(e) for t in self.template)}
        if any(type(v) is Cursor for v in values):
            e[RUN].effects += 1  # elements are taken from it
        if function.by_place:
            values = [self._by_place(e, at, v) for at, v in self._stored(values)] or values
        if not function.symbolic:
            values = [plain(v) for v in values]
            named = {k: plain(v) for k, v in named.items()}
        return function.call(e[RUN], tuple(values), named, self.node.span)

    def _unknown(self, e: Frame, function: Unknown, values: list[Value], named: Kwargs) -> Value:
        if self.lvalues:
            values = [
                at(e) if at is not None and not isinstance(v, Record) else v
                for at, v in self._paired(values)
            ]
        return result_of_unknown(e[RUN], function, self.name, tuple(values), named, self.node.span)


def compile_launch(unit: Unit, node: ir.Launch, scope: Scope) -> Eval:
    """A GPU kernel launch."""
    args = compile_items(unit, node.args, scope)
    template = tuple(unit.compile(t, scope) for t in node.template)
    config = tuple(unit.compile(c, scope) for c in node.config)
    name, span = node.name, node.span

    def run(e: Frame) -> Value:
        values = args(e)
        known = () if isinstance(values, Unknown) else values
        how: Kwargs = {}
        if e[RUN].facts.get("launches"):
            how = {"<>": tuple(t(e) for t in template), "<<<>>>": tuple(c(e) for c in config)}
        e[RUN].emit("launch", name, known, how, span)
        return None

    return run

"""From the intermediate form to closures that the machine runs.

An expression becomes ``f(frame) -> value``, a statement ``f(frame) -> signal`` where the signal is
``None``, ``BREAK``, ``CONTINUE`` or a :class:`Returned`. A frame is a dict of slots; ``"^"`` is the
frame around it. Compiling happens once per function, running many times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from mlaprobe.core.caches import Cache
from mlaprobe.core.keeping import Memo
from mlaprobe.evaluator.closures import expressions, statements
from mlaprobe.evaluator.closures.unit import FunctionScope, Scope, Unit
from mlaprobe.evaluator.cpp.builtins import message_of
from mlaprobe.evaluator.cpp.forms import overloads
from mlaprobe.evaluator.cpp.forms.templates import PACK
from mlaprobe.evaluator.cpp.templating import deduction
from mlaprobe.evaluator.cpp.types import DEDUCED, template_of, zero_of
from mlaprobe.evaluator.engine import calls
from mlaprobe.evaluator.engine.frames import OUTER, RUN, Eval, Frame
from mlaprobe.evaluator.engine.runs import MAX_DEPTH, Run
from mlaprobe.evaluator.engine.signals import Failed, Returned, Unsupported
from mlaprobe.evaluator.ir import CType, Function, Node, Param, Span
from mlaprobe.evaluator.objects import enums
from mlaprobe.evaluator.objects.iterables import Cursor
from mlaprobe.evaluator.objects.objects import Instance
from mlaprobe.evaluator.stl import making
from mlaprobe.evaluator.stl.containers import Container, copied
from mlaprobe.evaluator.stl.making import Maker
from mlaprobe.evaluator.stl.shapes import CONTAINERS
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value, rest_of
from mlaprobe.evaluator.values.conversions import convert
from mlaprobe.evaluator.values.kinds import (
    Braced,
    Builtin,
    Closure,
    EnumType,
    Model,
    Overloaded,
    Record,
    Ref,
    StructType,
)
from mlaprobe.evaluator.walk import assigned_names

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.machine import Machine
    from mlaprobe.evaluator.engine.modules import Module


MOST_CODES = 20_000
"""How many compiled functions are kept."""


class Code:
    """A compiled function."""

    __slots__ = ("body", "function", "params", "refs", "reports", "result", "template")

    def __init__(self, function: Function) -> None:
        self.function = function
        self.params: tuple[tuple[Param, str, Eval | None], ...] = ()
        self.body: Eval = lambda frame: None
        self.template: dict[str, str] = {}
        """The names of template parameters by their slots."""
        self.refs: tuple[int, ...] = ()
        """Positions of reference parameters, where one of them can be written."""
        self.result: CType | None = function.result
        self.reports = function.never_returns
        """Whether the function only reports a failure, so that its arguments are the message."""


class Compiler:
    """Compiles and calls; holds what is compiled."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._codes: Memo[Code] = Memo(Cache.CODE, MOST_CODES)
        """By function and whether it is traced. A cold report of v0.1.20 takes 3.5 s of
        CPU time with it, and 21 s without."""

    # --- compiling -------------------------------------------------------------------------------

    def expression(self, node: Node, module: Module) -> Eval:
        """An expression of a module's own scope."""
        return self.expression_of(node, module, ())

    def expression_of(self, node: Node, module: Module, names: tuple[str, ...]) -> Eval:
        """An expression that sees some names besides those of its module."""
        unit = Unit(self.machine, self, module, module.lang, traced=False)
        scope = Scope(FunctionScope(None))
        for name in names:
            scope.declare(name)
        return unit.compile(node, scope)

    def statements(self, body: tuple[Node, ...], module: Module) -> Eval:
        """Statements of a module, which bind its names on the path that runs them."""
        unit = Unit(self.machine, self, module, module.lang, traced=False)
        return unit.block(body, Scope(FunctionScope(None, body)))

    def compiled(self, unit: Unit, node: Node, scope: Scope) -> Eval:
        """An expression of a function."""
        return expressions.compile_expression(unit, node, scope)

    def block(self, unit: Unit, body: tuple[Node, ...], scope: Scope) -> Eval:
        """Statements of a function."""
        return statements.compile_block(unit, body, scope)

    def code(self, run: Run, closure: Closure) -> Code:
        """The compiled body of a function."""
        traced = run.trace is not None and not closure.function.never_returns
        key = (closure.function, traced)
        return self._codes.of(key, lambda: self._compile(closure, traced))

    def _compile(self, closure: Closure, traced: bool) -> Code:
        function = closure.function
        unit = Unit(self.machine, self, closure.module, function.lang, traced=traced)
        result = function.result
        deduced = result is not None and result.name == DEDUCED
        refers = deduced or (result is not None and result.ref)
        inside = FunctionScope(
            closure.scope,
            function.body,
            function.name if function.gives_reference else "",
            refers=refers,
            deduced=deduced,
        )
        scope = Scope(inside)
        code = Code(function)
        names = (name.removesuffix(PACK) for name in function.template)
        code.template = {scope.declare(name): name for name in names}
        params: list[tuple[Param, str, Eval | None]] = []
        refs: list[tuple[int, bool]] = []
        for position, param in enumerate(function.params):
            slot = scope.declare(param.name, param.type)
            default = None
            if param.default is not None:
                default = unit.compile(param.default, scope)
            params.append((param, slot, default))
            ctype = param.type
            if ctype is not None and ctype.ref:
                refs.append((position, not ctype.fixed))
        if function.lang == "py":
            for name in assigned_names(function.body):
                if name not in scope.names:
                    scope.declare(name)
        writing = refers or any(writes for _, writes in refs)
        code.params = tuple(params)
        code.refs = tuple(position for position, _ in refs) if writing else ()
        code.body = unit.block(function.body, scope)
        return code

    # --- calling ---------------------------------------------------------------------------------

    def call(self, run: Run, value: Value, args: Args, kwargs: Kwargs, span: Span) -> Value:
        """Call a value."""
        if isinstance(value, Closure):
            return self.call_closure(run, value, args, kwargs, span)
        if isinstance(value, Builtin):
            return value.call(run, args, kwargs, span)
        if isinstance(value, Overloaded):
            value = self.chosen(value, args, (), span)
            return self.call(run, value, args, kwargs, span)
        if isinstance(value, Model):
            return value.call(run, args, kwargs, span)
        if isinstance(value, StructType):
            return self.construct(run, value, args, span, None)
        if isinstance(value, EnumType):
            if len(args) != 1 or kwargs:
                return Unknown(f"a member of {value.name}", span)
            return enums.looked_up(run, value, args[0], span)
        if isinstance(value, Instance):
            if not value.cls.defines("__call__"):
                message = f"{value.cls.name!r} object is not callable"
                raise Failed("exception", "TypeError", message, span)
            return self.call(run, value.cls.read(run, value, "__call__", span), args, kwargs, span)
        if isinstance(value, Unknown):
            return calls.result_of_unknown(run, value, "a call", args, kwargs, span)
        return Unknown("call of something that is no function", span)

    def chosen(
        self,
        overloaded: Overloaded,
        args: Sequence[Value],
        types: Sequence[CType | None],
        span: Span,
    ) -> Closure | Unknown:
        """The function that a call of several of one name means."""
        values = [a.load() if type(a) is Ref else a for a in args]
        function = overloads.chosen(overloaded, values, types)
        if function is None:
            return Unknown(f"which {overloaded.name} is called is not known", span)
        return Closure(function, overloaded.module)

    def call_closure(
        self,
        run: Run,
        closure: Closure,
        args: Args,
        kwargs: Kwargs,
        span: Span,
        types: Args = (),
    ) -> Value:
        """Call a function of the source. ``types`` are the template arguments."""
        code = self.code(run, closure)
        if run.depth >= MAX_DEPTH:
            raise Unsupported("calls are nested too deeply", span)
        run.goes_on(span)
        frame: Frame = {OUTER: closure.frame, RUN: run}
        if types:
            frame.update(self._template(code, deduction.explicit(closure.function, types)))
        known = closure.defaults or {}
        calls.bind(code.params, closure.function, frame, args, kwargs, span, known)
        if not code.template.keys() <= frame.keys():
            given = {param.name: frame[slot] for param, slot, _ in code.params}
            frame.update(self._template(code, deduction.deduced(closure.function, given)))
        if run.depth == 0:
            run.frame, run.python = frame, closure.function.lang == "py"
        run.depth += 1
        try:
            signal = code.body(frame)
        except Failed as failure:
            if closure.function.generator and failure.kind == "exception":
                return Unknown(f"{closure.function.name} fails on the way", span)
            if code.reports and not failure.message:
                raise failure.again(message_of(args)) from None
            raise
        finally:
            run.depth -= 1
        if not isinstance(signal, Returned):
            return None
        run.referred = signal.place
        if closure.function.generator:
            return self._generated(run, closure, args, kwargs, signal.value, span)
        if closure.function.cached:
            return self._kept(run, closure.function, args, kwargs, signal.value, span)
        if code.result is None:
            return copied(signal.value) if closure.function.lang == "cpp" else signal.value
        return self.typed(run, signal.value, code.result, closure.module, span)

    def _template(self, code: Code, values: Mapping[str, Value]) -> Frame:
        """The slots of template parameters, of values by their names."""
        return {slot: values[name] for slot, name in code.template.items() if name in values}

    def _generated(
        self, run: Run, closure: Closure, args: Args, kwargs: Kwargs, value: Value, span: Span
    ) -> Value:
        """The iterator that a generator gives."""
        changing = (list, dict, set, Record, Model)
        given = any(isinstance(a, changing) for a in (*args, *kwargs.values()))
        known = isinstance(value, list) and rest_of(value) is None
        if given or closure.frame is not None or run.globals or not known:
            reason = f"what {closure.function.name} is given may change before it is run"
            return Unknown(reason, span)
        return Cursor(value)

    def _kept(
        self, run: Run, function: Function, args: Args, kwargs: Kwargs, value: Value, span: Span
    ) -> Value:
        """A result that Python keeps for later calls with these arguments."""
        if any(isinstance(a, (list, dict, set)) for a in (*args, *kwargs.values())):
            message = f"{function.name} is called with what cannot be hashed"
            raise Failed("exception", "TypeError", message, span)
        return run.keep(value)

    def unbraced(self, run: Run, closure: Closure, args: list[Value], span: Span) -> list[Value]:
        """Arguments of which a braced list takes the type of its parameter."""
        params = closure.function.params
        return [
            self.typed(run, a, params[at].type or CType("auto"), closure.module, span)
            if isinstance(a, Braced) and at < len(params)
            else a
            for at, a in enumerate(args)
        ]

    def construct_named(
        self,
        run: Run,
        ctype: CType,
        items: Args,
        module: Module,
        span: Span,
        *,
        braced: bool = True,
        places: Callable[[], Args] = tuple,
    ) -> Value:
        """``Type{items}``, or ``Type(items)``."""
        if ctype.kind == "auto" and items:
            ctype = CType("other", "std::initializer_list")
        if ctype.kind in ("int", "unsigned", "bool", "float", "string") and not ctype.pointer:
            empty: Value = {"string": "", "float": 0.0, "bool": False}.get(ctype.kind, 0)
            if len(items) > 1:
                return Unknown(f"how a {ctype.name} is made is not followed", span)
            return convert(items[0] if items else empty, ctype, span)

        made = making.made(ctype, items, Maker(self, run, module, span), braced=braced)
        if made is not NotImplemented:
            return made
        kind = module.lookup(run, ctype.name.split("<", 1)[0], span)
        if isinstance(kind, StructType):
            return self.construct(run, kind, items, span, module, places)
        if isinstance(kind, (Builtin, Model)):
            value = self.call(run, kind, items, {}, span)
            # an object is like no other: what happens to one does not happen to the others
            return value.another() if isinstance(value, Unknown) else value
        if isinstance(kind, EnumType) and len(items) < 2:
            return self.call(run, kind, items or (0,), {}, span)
        return Unknown(f"type {ctype.name} is not known", span)

    def construct(
        self,
        run: Run,
        struct: StructType,
        items: Args,
        span: Span,
        module: Module | None,
        places: Callable[[], Args] = tuple,
    ) -> Value:
        """An object: an aggregate from its members in declaration order, another by what its
        constructor does. ``places`` are those of the arguments."""
        if len(items) == 1 and isinstance(items[0], Record) and items[0].type == struct.name:
            return items[0].copy()
        if _may_convert(struct, module):
            if module is not None:
                module.made(run, struct, items, span, places)  # refuses one that does something
            return Unknown(f"what a {struct.name} converts to is not followed", span)
        body = struct.body
        if module is not None and (not struct.plain or body.implicit or body.acts):
            return module.made(run, struct, items, span, places)
        if len(items) > len(struct.members) or not struct.plain:
            return Unknown(f"how a {struct.name} is made is not followed", span)
        if any(ctype.ref for _, ctype, _ in struct.members):
            return Unknown(f"what a {struct.name} refers to is not followed", span)
        fields: dict[str, Value] = {}
        for position, (name, ctype, default) in enumerate(struct.members):
            if position < len(items):
                fields[name] = self.typed(run, items[position], ctype, module, span)
            elif default is not None and module is not None:
                seen = tuple(fields)
                value = self.expression_of(default, module, seen)({OUTER: None, RUN: run, **fields})
                fields[name] = self.typed(run, value, ctype, module, span)
            elif ctype.kind == "other" and module is not None:
                fields[name] = self.construct_named(run, ctype, (), module, span)
            else:
                fields[name] = zero_of(ctype, span)
        return Record(struct.name, fields)

    def typed(
        self, run: Run, value: Value, ctype: CType, module: Module | None, span: Span
    ) -> Value:
        """A value as a place of a type receives it: a braced list takes that type."""
        if isinstance(value, Container) and _converts(value, ctype):
            value = Braced((value,))
        if not isinstance(value, Braced):
            return convert(value, ctype, span)
        if module is None:
            return Unknown(f"how a {ctype.name} is made is not followed", span)
        if value.members is not None:
            return self._designated(run, ctype, value.members, module, span)
        return self.construct_named(run, ctype, value.items, module, span)

    def _designated(
        self, run: Run, ctype: CType, members: dict[str, Value], module: Module, span: Span
    ) -> Value:
        """An aggregate of which a list names the members."""
        kind = module.lookup(run, ctype.name.split("<", 1)[0], span)
        names = [n for n, _, _ in kind.members] if isinstance(kind, StructType) else []
        if not isinstance(kind, StructType) or not kind.plain or not set(members) <= set(names):
            return Unknown(f"how a {ctype.name} is made is not followed", span)
        made = self.construct(run, kind, (), span, module)
        for name, member_type, _ in kind.members:
            if name in members and isinstance(made, Record):
                made.fields[name] = self.typed(run, members[name], member_type, module, span)
        return made


_DEEPEST_BASES = 8
"""Classes above a class."""


def _converts(value: Container, ctype: CType) -> bool:
    """Whether a container becomes one of another type."""
    head = template_of(ctype.name)[0]
    return head in CONTAINERS and head != value.shape.name and not ctype.pointer


def _may_convert(struct: StructType, module: Module | None, depth: int = 0) -> bool:
    """Whether objects of a struct may become something else by an operator, its own or a base's."""
    if struct.converts or not struct.bases:
        return struct.converts
    if module is None or depth > _DEEPEST_BASES:
        return True
    bases = [module.struct(name) for name in struct.bases]
    return any(base is None or _may_convert(base, module, depth + 1) for base in bases)

"""Python statements and functions to the intermediate form."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import replace

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.python.expressions import BINARY_OPS, MAX_DEPTH, Expressions
from mlaprobe.evaluator.python.generators import MANAGED, is_followed_generator, is_manager
from mlaprobe.evaluator.python.match import Patterns
from mlaprobe.evaluator.python.names.touched import names_of
from mlaprobe.evaluator.python.place import (
    called_name,
    dotted_name,
    own_nodes,
    type_names,
    written_names,
)
from mlaprobe.evaluator.values import Value
from mlaprobe.evaluator.walk import walk

TRANSPARENT_DECORATORS = frozenset(
    {
        "functools.lru_cache",
        "lru_cache",
        "functools.cache",
        "cache",
        "functools.wraps",
        "wraps",
        "torch.no_grad",
        "torch.inference_mode",
        "torch.jit.ignore",
        "torch.compiler.disable",
        "torch._dynamo.disable",
        "staticmethod",
    }
)
"""Decorators of a function that computes what its body computes."""

CACHING = frozenset(("functools.lru_cache", "lru_cache", "functools.cache", "cache"))
"""Decorators that keep a function's results from call to call."""
DECORATED = "<decorated>"
"""The name of the function that calls decorators; no program can have it."""
YIELDED = "#yielded"
"""The variable for what a generator yields."""
_GENERATOR = (ast.Yield, ast.YieldFrom, ast.Await)
_EXITS = (ast.Return, ast.Raise, ast.Assert, ast.Break, ast.Continue)
_SUPPRESS = frozenset({"suppress", "contextlib.suppress"})


class Statements(Patterns, Expressions):
    """Translates the statements of one function or of module level."""

    def opaque_stmt(self, node: ast.stmt, reason: str) -> ir.OpaqueStmt:
        """A statement that is not followed."""
        exits = any(isinstance(n, _EXITS) for n in own_nodes(node))
        return ir.OpaqueStmt(self.span(node), reason, written_names(node), exits)

    def body(self, nodes: Iterable[ast.stmt]) -> tuple[ir.Node, ...]:
        """A list of statements."""
        return tuple([part for node in nodes for part in self.stmt(node)])

    def stmt(self, node: ast.stmt) -> tuple[ir.Node, ...]:
        """One statement, which may become none or several."""
        handler = _STATEMENTS.get(type(node))
        if handler is None:
            return (self.opaque_stmt(node, f"{type(node).__name__} is not followed"),)
        if self.depth > MAX_DEPTH:
            return (self.opaque_stmt(node, "nested too deeply"),)
        self.depth += 1
        try:
            result = handler(self, node)
        finally:
            self.depth -= 1
        return (result,) if isinstance(result, ir.Node) else result

    # --- assignment and expressions ---

    def _expression(self, node: ast.Expr) -> tuple[ir.Node, ...]:
        if isinstance(node.value, ast.Constant):
            return ()
        if isinstance(node.value, (ast.Yield, ast.YieldFrom)):
            return (self._yielded(node.value),)
        return (ir.ExprStmt(self.span(node), self.expr(node.value)),)

    def _yielded(self, node: ast.Yield | ast.YieldFrom) -> ir.Node:
        """A generator's elements are put into a list."""
        span = self.span(node)
        how = "append" if isinstance(node, ast.Yield) else "extend"
        value = ir.Const(span, None) if node.value is None else self.expr(node.value)
        if self.manages:
            return ir.ExprStmt(span, ir.Call(span, ir.Name(span, MANAGED), (value,)))
        method = ir.Attr(span, ir.Name(span, YIELDED), how)
        return ir.ExprStmt(span, ir.Call(span, method, (value,)))

    def _assign(self, node: ast.Assign) -> ir.Node:
        return ir.Assign(self.span(node), self.exprs(node.targets), self.expr(node.value))

    def _annotated(self, node: ast.AnnAssign) -> tuple[ir.Node, ...]:
        if node.value is None:
            return ()
        return (ir.Assign(self.span(node), (self.expr(node.target),), self.expr(node.value)),)

    def _augmented(self, node: ast.AugAssign) -> ir.Node:
        op = BINARY_OPS.get(type(node.op))
        if op is None:
            return self.opaque_stmt(node, f"operator {type(node.op).__name__} is not followed")
        return ir.Assign(self.span(node), (self.expr(node.target),), self.expr(node.value), op)

    def _delete(self, node: ast.Delete) -> ir.Node:
        return ir.Remove(self.span(node), self.exprs(node.targets))

    def _global(self, node: ast.Global) -> ir.Node:
        return ir.Outer(self.span(node), tuple(node.names), of_module=True)

    def _nonlocal(self, node: ast.Nonlocal) -> ir.Node:
        return ir.Outer(self.span(node), tuple(node.names))

    def _pass(self, node: ast.Pass) -> tuple[ir.Node, ...]:
        return ()

    # --- branches and loops ---

    def _if(self, node: ast.If) -> ir.Node:
        return ir.If(
            self.span(node), self.expr(node.test), self.body(node.body), self.body(node.orelse)
        )

    def _while(self, node: ast.While) -> ir.Node:
        test, body, orelse = self.expr(node.test), self.body(node.body), self.body(node.orelse)
        return ir.While(self.span(node), test, body, orelse=orelse)

    def _for(self, node: ast.For) -> ir.Node:
        target, iterable = self.expr(node.target), self.expr(node.iter)
        body, orelse = self.body(node.body), self.body(node.orelse)
        return ir.ForEach(self.span(node), target, iterable, body, orelse)

    def _jump(self, node: ast.Break | ast.Continue) -> ir.Node:
        return ir.Jump(self.span(node), type(node).__name__.lower())

    def _return(self, node: ast.Return) -> ir.Node:
        if self.generates:
            return ir.Return(self.span(node), ir.Name(self.span(node), YIELDED))
        return ir.Return(self.span(node), self.optional(node.value))

    # --- failures ---

    def _assert(self, node: ast.Assert) -> ir.Node:
        return ir.Check(self.span(node), self.expr(node.test), self.optional(node.msg))

    def _raise(self, node: ast.Raise) -> ir.Node:
        exc, span = node.exc, self.span(node)
        if exc is None or (isinstance(exc, ast.Name) and exc.id in self.handlers[-1:]):
            return ir.Throw(span, None)
        name = dotted_name(exc.func if isinstance(exc, ast.Call) else exc)
        how = name.split(".")[-1] if name else ""
        return ir.Throw(span, self.expr(exc), how if how.lstrip("_")[:1].isupper() else "exception")

    def _try(self, node: ast.Try) -> ir.Node:
        body = self.body(node.body)
        handlers = tuple([self._handler(h) for h in node.handlers])
        orelse, final = self.body(node.orelse), self.body(node.finalbody)
        return ir.Try(self.span(node), body, handlers, orelse, final)

    def _handler(
        self, node: ast.ExceptHandler
    ) -> tuple[tuple[str, ...] | None, str | None, tuple[ir.Node, ...]]:
        self.handlers.append(node.name)
        try:
            body = self.body(node.body)
        finally:
            self.handlers.pop()
        return (None if node.type is None else type_names([node.type])), node.name, body

    def _with(self, node: ast.With) -> ir.Node:
        span, body = self.span(node), self.body(node.body)
        for item in reversed(node.items):
            call, target = item.context_expr, item.optional_vars
            if isinstance(call, ast.Call) and dotted_name(call.func) in _SUPPRESS:
                handler = (tuple(type_names(call.args)), None, ())
                body = (ir.Try(span, body, (handler,)),)
                continue
            to = None if target is None else self.expr(target)
            body = (ir.With(span, self.expr(call), to, body),)
        return ir.Block(span, body)

    # --- definitions ---

    def _define(self, node: ast.FunctionDef) -> tuple[ir.Node, ...]:
        """A function inside another statement; decorators of the source are called with it."""
        span = self.span(node)
        parts: list[ir.Node] = [ir.Define(span, self.definition(node))]
        for decorator in reversed(node.decorator_list):
            name = called_name(decorator) or "?"
            if name in TRANSPARENT_DECORATORS or name.endswith(".wraps"):
                continue
            if name == "?" or any(getattr(n, "id", "") == node.name for n in ast.walk(decorator)):
                value = ir.Opaque(span, f"a function decorated with {name} is not followed")
                return (ir.Assign(span, (ir.Name(span, node.name),), value),)
            parts.append(self._decorated(node.name, name, decorator))
        return tuple(parts)

    def _decorated(self, function: str, name: str, node: ast.expr) -> ir.Node:
        """What a decorator makes of a function."""
        span = self.span(node)
        call = node if isinstance(node, ast.Call) else None
        plain = (ir.Const(span, name), ir.Const(span, call is not None), ir.Name(span, function))
        args: tuple[ir.Node, ...] = (self.expr(node if call is None else call.func), *plain)
        named: tuple[tuple[str | None, ir.Node], ...] = ()
        if call is not None:
            args = (*args, *self.exprs(call.args))
            named = tuple([(k.arg, self.expr(k.value)) for k in call.keywords])
        made = ir.Call(span, ir.Name(span, DECORATED), args, named)
        return ir.Assign(span, (ir.Name(span, function),), made)

    def definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ir.Function:
        """A function; of one that is a generator or asynchronous, a call is unknown."""
        params = self.parameters(node.args)
        decorators = self.exprs(node.decorator_list)
        span = self.span(node)
        manages = is_manager(node)
        generates = not manages and is_followed_generator(node)
        if not (generates or manages) and (
            isinstance(node, ast.AsyncFunctionDef)
            or any(isinstance(n, _GENERATOR) for n in own_nodes(node))
        ):
            opaque = ir.Opaque(span, f"{node.name} is a generator or asynchronous")
            body: tuple[ir.Node, ...] = (ir.Return(span, opaque),)
        else:
            first = params[0].name if params else ""
            inner = Statements(
                self.place,
                self.depth,
                owner=self.owner,
                first=first,
                generates=generates,
                manages=manages,
            )
            body = inner.body(node.body)
            if generates:
                made = ir.Name(span, YIELDED)
                start = ir.Assign(span, (made,), ir.Sequence(span, "list", ()))
                body = (start, *body, ir.Return(span, made))
        return ir.Function(
            span,
            self.mangled(node.name),
            params,
            body,
            decorators=decorators,
            lang="py",
            cached=not CACHING.isdisjoint(map(called_name, node.decorator_list)),
            generator=generates,
        )

    def _class(self, node: ast.ClassDef) -> ir.Node:
        span = self.span(node)
        return ir.Assign(span, (ir.Name(span, node.name),), self.class_statement(node))

    def class_statement(self, node: ast.ClassDef) -> ir.Class:
        """The class of a class statement."""
        inner = Statements(self.place, self.depth, owner=node.name)
        own = frozenset(name for stmt in node.body for name in names_of(stmt).bound)
        fields = [s for s in node.body if isinstance(s, ast.AnnAssign)]
        return ir.Class(
            self.span(node),
            node.name,
            self.exprs(node.bases),
            tuple([(k.arg, self.expr(k.value)) for k in node.keywords]),
            self.exprs(node.decorator_list),
            tuple([part for stmt in node.body for part in inner.member(stmt, own)]),
            tuple(
                (s.target.id, ast.unparse(s.annotation))
                for s in fields
                if isinstance(s.target, ast.Name)
            ),
        )

    def member(self, node: ast.stmt, own: frozenset[str]) -> tuple[ir.Node, ...]:
        """A statement of a class body that binds these names."""
        if not isinstance(node, ast.FunctionDef):
            return self.stmt(node)
        function = self.definition(node)
        params = tuple([_seen_outside(p, own) for p in function.params])
        kept = zip(node.decorator_list, function.decorators, strict=True)
        transparent = TRANSPARENT_DECORATORS - {"staticmethod"}
        decorators = tuple([d for n, d in kept if called_name(n) not in transparent])
        function = replace(function, params=params, decorators=decorators)
        return (ir.Define(self.span(node), function),)

    def _unfollowed(self, node: ast.ClassDef | ast.AsyncFunctionDef) -> ir.Node:
        reason = f"{type(node).__name__} {node.name} is not followed"
        return ir.OpaqueStmt(self.span(node), reason, (node.name,))

    def _import(self, node: ast.Import) -> tuple[ir.Node, ...]:
        parts, span = [], self.span(node)
        for alias in node.names:
            top = alias.name.split(".")[0]
            if alias.asname or top == alias.name:
                parts.append(ir.Import(span, alias.name, None, alias.asname or top))
            else:
                parts.append(ir.Import(span, alias.name, None, self.temporary()))
                parts.append(ir.Import(span, top, None, top))
        return tuple(parts)

    def _import_from(self, node: ast.ImportFrom) -> tuple[ir.Node, ...]:
        module = self.place.absolute(node.module, node.level)
        if not module or any(alias.name == "*" for alias in node.names):
            return (self.opaque_stmt(node, "this import is not followed"),)
        span = self.span(node)
        return tuple([ir.Import(span, module, a.name, a.asname or a.name) for a in node.names])


def _seen_outside(param: ir.Param, own: frozenset[str]) -> ir.Param:
    """A parameter of a method; a default that is made of names of the class is not followed."""
    parts = [*walk(() if param.default is None else (param.default,))]
    if param.default is None or not any(isinstance(n, ir.Call) for n in parts):
        return param
    if not any(isinstance(n, ir.Name) and n.id in own for n in parts):
        return param
    unclear = ir.Opaque(param.default.span, f"the default of {param.name} is of its class")
    return replace(param, default=unclear)


_STATEMENTS: dict[type[ast.stmt], Callable[[Value, Value], ir.Node | tuple[ir.Node, ...]]] = {
    ast.Expr: Statements._expression,
    ast.Assign: Statements._assign,
    ast.AnnAssign: Statements._annotated,
    ast.AugAssign: Statements._augmented,
    ast.Delete: Statements._delete,
    ast.Global: Statements._global,
    ast.Nonlocal: Statements._nonlocal,
    ast.Pass: Statements._pass,
    ast.If: Statements._if,
    ast.While: Statements._while,
    ast.For: Statements._for,
    ast.Break: Statements._jump,
    ast.Continue: Statements._jump,
    ast.Return: Statements._return,
    ast.Assert: Statements._assert,
    ast.Raise: Statements._raise,
    ast.Try: Statements._try,
    ast.With: Statements._with,
    ast.FunctionDef: Statements._define,
    ast.AsyncFunctionDef: Statements._unfollowed,
    ast.ClassDef: Statements._class,
    ast.Import: Statements._import,
    ast.ImportFrom: Statements._import_from,
    ast.Match: Statements._match,
}


def _is_docstring(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)

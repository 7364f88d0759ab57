"""Python statements and functions to the intermediate form."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.python.expressions import BINARY_OPS, MAX_DEPTH, Expressions
from mlaprobe.evaluator.python.match import Patterns
from mlaprobe.evaluator.python.place import Place, dotted_name, own_nodes, written_names
from mlaprobe.evaluator.values import Value

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

_GENERATOR = (ast.Yield, ast.YieldFrom, ast.Await)
_EXITS = (ast.Return, ast.Raise, ast.Assert, ast.Break, ast.Continue)
_SUPPRESS = frozenset({"suppress", "contextlib.suppress"})


def _rebound_inside(node: ast.AST) -> frozenset[str]:
    """The variables that functions nested in this one declare ``nonlocal``."""
    nested = (n for n in own_nodes(node) if isinstance(n, ast.FunctionDef) and n is not node)
    inner = (n for function in nested for n in ast.walk(function))
    return frozenset(name for n in inner if isinstance(n, ast.Nonlocal) for name in n.names)


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
        return (ir.ExprStmt(self.span(node), self.expr(node.value)),)

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
        return self.opaque_stmt(node, "del is not followed")

    def _scope(self, node: ast.Global | ast.Nonlocal) -> ir.Node:
        kind = type(node).__name__.lower()
        return ir.OpaqueStmt(self.span(node), f"{kind} variable", tuple(node.names))

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
        return ir.Throw(span, self.expr(exc), how if how[:1].isupper() else "exception")

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
        before: list[ir.Node] = []
        suppressed: list[str] = []
        for item in node.items:
            call, span = item.context_expr, self.span(item.context_expr)
            if isinstance(call, ast.Call) and dotted_name(call.func) in _SUPPRESS:
                suppressed += type_names(call.args)
                continue
            before.append(ir.ExprStmt(span, self.expr(call)))
            if item.optional_vars is not None:
                value = ir.Opaque(span, "what a context manager gives is not followed")
                before.append(ir.Assign(span, (self.expr(item.optional_vars),), value))
        body = self.body(node.body)
        if suppressed:
            handler = (tuple(suppressed), None, ())
            body = (ir.Try(self.span(node), (*before, *body), (handler,)),)
            before = []
        return ir.Block(self.span(node), (*before, *body))

    # --- definitions ---

    def _define(self, node: ast.FunctionDef) -> ir.Node:
        span = self.span(node)
        decorators = (d.func if isinstance(d, ast.Call) else d for d in node.decorator_list)
        names = (dotted_name(d) or "?" for d in decorators)
        unclear = next((name for name in names if name not in TRANSPARENT_DECORATORS), None)
        if unclear is not None:
            value = ir.Opaque(span, f"a function decorated with {unclear} is not followed")
            return ir.Assign(span, (ir.Name(span, node.name),), value)
        return ir.Define(span, self.definition(node))

    def definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ir.Function:
        """A function; of one that is a generator or asynchronous, a call is unknown."""
        params = self.parameters(node.args)
        decorators = self.exprs(node.decorator_list)
        span = self.span(node)
        if isinstance(node, ast.AsyncFunctionDef) or any(
            isinstance(n, _GENERATOR) for n in own_nodes(node)
        ):
            opaque = ir.Opaque(span, f"{node.name} is a generator or asynchronous")
            body: tuple[ir.Node, ...] = (ir.Return(span, opaque),)
        else:
            inner = Statements(self.place, self.volatile | _rebound_inside(node), self.depth)
            body = inner.body(node.body)
        return ir.Function(span, node.name, params, body, decorators=decorators, lang="py")

    def _class(self, node: ast.ClassDef) -> ir.Node:
        attributes: list[tuple[str, ir.Node]] = []
        for stmt in node.body:
            target = stmt.targets[0] if isinstance(stmt, ast.Assign) else None
            if isinstance(stmt, ast.Assign) and isinstance(target, ast.Name):
                if len(stmt.targets) > 1 or target.id.startswith("_"):
                    return self._unfollowed(node)
                attributes.append((target.id, self.expr(stmt.value)))
            elif not (isinstance(stmt, ast.Pass) or _is_docstring(stmt)):
                return self._unfollowed(node)
        if node.decorator_list or node.keywords:
            return self._unfollowed(node)
        bases = self.exprs(node.bases)
        return ir.LocalClass(self.span(node), node.name, bases, tuple(attributes))

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


def translate_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, place: Place
) -> ir.Function:
    """A function or lambda.

    Raises:
        RecursionError: the stack is too short; so it is with the other two.
    """
    statements = Statements(place)
    if isinstance(node, ast.Lambda):
        return statements.function(node)
    return statements.definition(node)


def translate_expr(node: ast.expr, place: Place) -> ir.Node:
    """An expression; what is not followed of it is ``Opaque``."""
    return Statements(place).expr(node)


def type_names(nodes: Iterable[ast.expr]) -> tuple[str, ...]:
    """The last parts of exception types' names; ``?`` for what has no name."""
    names: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Tuple):
            names += type_names(node.elts)
        else:
            names.append((dotted_name(node) or "?").split(".")[-1])
    return tuple(names)


_STATEMENTS: dict[type[ast.stmt], Callable[[Value, Value], ir.Node | tuple[ir.Node, ...]]] = {
    ast.Expr: Statements._expression,
    ast.Assign: Statements._assign,
    ast.AnnAssign: Statements._annotated,
    ast.AugAssign: Statements._augmented,
    ast.Delete: Statements._delete,
    ast.Global: Statements._scope,
    ast.Nonlocal: Statements._scope,
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

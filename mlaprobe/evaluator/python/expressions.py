"""Python expressions to the intermediate form."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import cast

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.python.place import Place, is_pure, written_names
from mlaprobe.evaluator.values import Value

MAX_DEPTH = 120
"""How deep a tree may nest before it is not followed any further."""

BINARY_OPS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
COMPARE_OPS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
UNARY_OPS: dict[type[ast.unaryop], str] = {
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not",
}


@dataclass(slots=True)
class Expressions:
    """Translates expressions of one function or of module level."""

    place: Place
    depth: int = 0
    fixed: ir.Span | None = None
    """The span to give to everything, inside formatted strings."""
    temporaries: int = 0
    handlers: list[str | None] = field(default_factory=list)
    """The names of the exceptions of the enclosing ``except`` clauses."""
    owner: str = ""
    """The class around."""
    first: str = ""
    """The first parameter of the function around."""
    generates: bool = False
    """Whether the function around is a generator."""
    manages: bool = False
    """Whether it is a context manager, which yields where the body of a ``with`` is run."""

    def span(self, node: ast.AST) -> ir.Span:
        """Where a node stands."""
        return self.fixed or self.place.span(node)

    def temporary(self) -> str:
        """A variable name that no source can spell."""
        self.temporaries += 1
        return f"#{self.temporaries}"

    def opaque(self, node: ast.AST, reason: str) -> ir.Node:
        """An expression that is not followed."""
        span = self.span(node)
        result: ir.Node = ir.Opaque(span, reason, written_names(node))
        for name in walrus_names(node):
            result = ir.AssignExpr(span, ir.Name(span, name), result)
        return result

    def expr(self, node: ast.expr) -> ir.Node:
        """Value expression."""
        handler = _EXPRESSIONS.get(type(node))
        if handler is None:
            return self.opaque(node, f"{type(node).__name__} is not followed")
        if self.depth > MAX_DEPTH:
            return self.opaque(node, "nested too deeply")
        self.depth += 1
        try:
            return handler(self, node)
        finally:
            self.depth -= 1

    def exprs(self, nodes: Iterable[ast.expr]) -> tuple[ir.Node, ...]:
        """Several expressions."""
        return tuple([self.expr(node) for node in nodes])

    def optional(self, node: ast.expr | None) -> ir.Node | None:
        """An expression that may be absent."""
        return None if node is None else self.expr(node)

    # --- leaves and operators ---

    def constant(self, node: ast.Constant) -> ir.Node:
        if node.value in (None, ...) or isinstance(node.value, (bool, int, float, str)):
            return ir.Const(self.span(node), node.value)
        return self.opaque(node, f"a {type(node.value).__name__} literal is not followed")

    def name(self, node: ast.Name) -> ir.Node:
        return ir.Name(self.span(node), self.mangled(node.id))

    def unary(self, node: ast.UnaryOp) -> ir.Node:
        return ir.Unary(self.span(node), UNARY_OPS[type(node.op)], self.expr(node.operand))

    def binary(self, node: ast.BinOp) -> ir.Node:
        op = BINARY_OPS.get(type(node.op))
        if op is None:
            return self.opaque(node, f"operator {type(node.op).__name__} is not followed")
        return ir.Binary(self.span(node), op, self.expr(node.left), self.expr(node.right))

    def boolean(self, node: ast.BoolOp) -> ir.Node:
        op = "and" if isinstance(node.op, ast.And) else "or"
        return ir.Bool(self.span(node), op, self.exprs(node.values))

    def compare(self, node: ast.Compare) -> ir.Node:
        left, parts = self.expr(node.left), []
        start = node.left
        for index, (op, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = again = self.expr(right_node)
            if index + 1 < len(node.ops) and not is_pure(right_node):
                again = ir.Name(right.span, self.temporary())
                right = ir.AssignExpr(right.span, again, right)
            span = self.span(start)
            end = self.span(right_node)
            span = span._replace(end_line=end.end_line, end_column=end.end_column)
            parts.append(ir.Binary(span, COMPARE_OPS[type(op)], left, right))
            left, start = again, right_node
        return parts[0] if len(parts) == 1 else ir.Bool(self.span(node), "and", tuple(parts))

    def cond(self, node: ast.IfExp) -> ir.Node:
        return ir.Cond(
            self.span(node), self.expr(node.test), self.expr(node.body), self.expr(node.orelse)
        )

    def walrus(self, node: ast.NamedExpr) -> ir.Node:
        return ir.AssignExpr(self.span(node), self.expr(node.target), self.expr(node.value))

    # --- access ---

    def call(self, node: ast.Call) -> ir.Node:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return self._super(node)
        kwargs = tuple([(k.arg, self.expr(k.value)) for k in node.keywords])
        return ir.Call(self.span(node), self.expr(node.func), self.exprs(node.args), kwargs)

    def _super(self, node: ast.Call) -> ir.Node:
        if not (self.owner and self.first):
            return self.opaque(node, "super() is not followed here")
        span = self.span(node)
        names = tuple(ir.Name(span, name) for name in ("__class__", self.first))
        return ir.Call(span, ir.Name(span, "super"), names)

    def attribute(self, node: ast.Attribute) -> ir.Node:
        return ir.Attr(self.span(node), self.expr(node.value), self.mangled(node.attr))

    def mangled(self, name: str) -> str:
        """A name as Python makes it private to the class around."""
        private = name.startswith("__") and not name.endswith("__") and self.owner
        return f"_{self.owner.lstrip('_')}{name}" if private else name

    def subscript(self, node: ast.Subscript) -> ir.Node:
        return ir.Index(self.span(node), self.expr(node.value), self.expr(node.slice))

    def slice(self, node: ast.Slice) -> ir.Node:
        parts = (self.optional(node.lower), self.optional(node.upper), self.optional(node.step))
        return ir.Slice(self.span(node), *parts)

    def starred(self, node: ast.Starred) -> ir.Node:
        return ir.Star(self.span(node), self.expr(node.value))

    # --- displays ---

    def sequence(self, node: ast.Tuple | ast.List | ast.Set) -> ir.Node:
        return ir.Sequence(self.span(node), type(node).__name__.lower(), self.exprs(node.elts))

    def mapping(self, node: ast.Dict) -> ir.Node:
        pairs = zip(node.keys, node.values, strict=True)
        return ir.Mapping(
            self.span(node), tuple([(self.optional(k), self.expr(v)) for k, v in pairs])
        )

    def comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> ir.Node:
        if any(g.is_async for g in node.generators):
            return self.opaque(node, "an asynchronous comprehension is not followed")
        if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(node)):
            return self.opaque(node, "a comprehension that yields is not followed")
        if isinstance(node, ast.DictComp):
            pair = (self.expr(node.key), self.expr(node.value))
            kind, element = "dict", cast(ir.Node, ir.Sequence(pair[0].span, "tuple", pair))
        else:
            kind = {ast.ListComp: "list", ast.SetComp: "set"}.get(type(node), "generator")
            element = self.expr(node.elt)
        clauses = [
            (self.expr(g.target), self.expr(g.iter), self.exprs(g.ifs)) for g in node.generators
        ]
        return ir.Comprehension(self.span(node), kind, element, tuple(clauses))

    # --- strings ---

    def formatted(self, node: ast.JoinedStr) -> ir.Node:
        span, outer = self.span(node), self.fixed
        # Before Python 3.12 the places inside a formatted string are not to be trusted.
        self.fixed = span
        try:
            parts = [self._format_part(value) for value in node.values]
        finally:
            self.fixed = outer
        return ir.Format(span, tuple(p for p, _ in parts), tuple(label for _, label in parts))

    def _format_part(self, node: ast.expr) -> tuple[ir.Node, str]:
        if not isinstance(node, ast.FormattedValue):
            value = self.expr(node)
            return value, str(value.value) if isinstance(value, ir.Const) else _text(node)
        value, span = self.expr(node.value), self.span(node)
        convert = {114: "repr", 97: "ascii", 115: "str"}.get(node.conversion)
        if convert:
            value = ir.Call(span, ir.Name(span, convert), (value,))
        if node.format_spec is not None:
            value = ir.Call(span, ir.Name(span, "format"), (value, self.expr(node.format_spec)))
        return value, _text(node.value)

    # --- functions ---

    def parameters(self, args: ast.arguments) -> tuple[ir.Param, ...]:
        """The parameters of a function, in order."""
        plain = [*args.posonlyargs, *args.args]
        defaults = [None] * (len(plain) - len(args.defaults)) + [*args.defaults]
        kinds = ["placed"] * len(args.posonlyargs) + ["normal"] * len(args.args)
        params = [*map(self._param, plain, defaults, kinds)]
        if args.vararg:
            params.append(self._param(args.vararg, None, "*"))
        pairs = zip(args.kwonlyargs, args.kw_defaults, strict=True)
        params += [self._param(a, d, "keyword") for a, d in pairs]
        if args.kwarg:
            params.append(self._param(args.kwarg, None, "**"))
        return tuple(params)

    def _param(self, node: ast.arg, default: ast.expr | None, kind: str) -> ir.Param:
        return ir.Param(self.span(node), self.mangled(node.arg), self.optional(default), kind)

    def function(self, node: ast.Lambda) -> ir.Function:
        """A lambda."""
        params, span = self.parameters(node.args), self.span(node)
        body = (ir.Return(self.span(node.body), self.expr(node.body)),)
        return ir.Function(span, "<lambda>", params, body, lang="py")


def walrus_names(node: ast.AST) -> tuple[str, ...]:
    """The names that ``:=`` binds in an expression."""
    found = (n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
    return tuple(dict.fromkeys(found))


def _text(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):
        return "..."


_EXPRESSIONS: dict[type[ast.expr], Callable[[Value, Value], ir.Node]] = {
    ast.Constant: Expressions.constant,
    ast.Name: Expressions.name,
    ast.UnaryOp: Expressions.unary,
    ast.BinOp: Expressions.binary,
    ast.BoolOp: Expressions.boolean,
    ast.Compare: Expressions.compare,
    ast.IfExp: Expressions.cond,
    ast.NamedExpr: Expressions.walrus,
    ast.Call: Expressions.call,
    ast.Attribute: Expressions.attribute,
    ast.Subscript: Expressions.subscript,
    ast.Slice: Expressions.slice,
    ast.Starred: Expressions.starred,
    ast.Tuple: Expressions.sequence,
    ast.List: Expressions.sequence,
    ast.Set: Expressions.sequence,
    ast.Dict: Expressions.mapping,
    ast.ListComp: Expressions.comprehension,
    ast.SetComp: Expressions.comprehension,
    ast.GeneratorExp: Expressions.comprehension,
    ast.DictComp: Expressions.comprehension,
    ast.JoinedStr: Expressions.formatted,
    ast.Lambda: Expressions.function,
}

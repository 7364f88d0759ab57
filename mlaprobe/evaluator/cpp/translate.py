"""C++ functions and static types from the syntax tree to the intermediate form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.expressions import expression
from mlaprobe.evaluator.cpp.forms.captures import captured
from mlaprobe.evaluator.cpp.forms.streams import is_stream
from mlaprobe.evaluator.cpp.forms.typing import NOTHING, Outside, static_type
from mlaprobe.evaluator.cpp.literals import names_in
from mlaprobe.evaluator.cpp.literals import opaque as opaque_expression
from mlaprobe.evaluator.cpp.memo import Knowledge, StatementMemo
from mlaprobe.evaluator.cpp.statements import STATEMENTS
from mlaprobe.evaluator.cpp.tree import Syntax, Tree, field, find_declarator, name_of
from mlaprobe.evaluator.cpp.types import DEDUCED, parse_type, template_of
from mlaprobe.evaluator.ir import CType, Node
from mlaprobe.evaluator.walk import targets

_EXITS = re.compile(r"\b(return|throw|goto|abort|exit)\b|CHECK|check|assert|fail")


_MAYBE_TEXT = (ir.Name, ir.Call, ir.Attr, ir.Index, ir.Cond, ir.Deref, ir.AssignExpr)
"""Conditions that may be a C string, which holds if it is there, or a character."""


def _wraps(ctype: CType) -> int:
    return ctype.bits if ctype.kind == "unsigned" and ctype.bits >= 32 and not ctype.pointer else 0


class Translator:
    """Translates the pieces of one tree."""

    def __init__(self, tree: Tree, outside: Outside = NOTHING) -> None:
        self.tree = tree
        self.result_type = outside.result
        self.member_type = outside.member
        self._variable = outside.variable
        self.span = tree.span
        self.source = tree.source
        self.room = outside.size
        """``sizeof`` of a type of the source."""
        self.hoist = outside.hoist
        """Gives the unit a type that a function defines, by a name of its own."""
        self.alias = outside.alias
        """What a type is another name for, outside functions."""
        self._types: list[dict[str, CType]] = [{}]
        self.template_types: Mapping[str, CType] = {}
        """The types of template parameters that are unsigned numbers."""
        self.unsigned_literals: dict[Node, int] = {}
        """Unsigned literals and their bits."""
        self.long_literals: set[Node] = set()
        self._tables: dict[str, dict[str, Knowledge]] = {"alias": {}, "array": {}}
        self._memo = StatementMemo(self._look_up, self._apply)
        self.result: CType | None = None
        """What the current function returns."""
        self.pack = ""
        """The parameter pack of the current function."""
        self.packs: frozenset[str] = frozenset()
        """Names of the parameter packs that are seen."""
        self.parameters: frozenset[str] = frozenset()
        """Template parameters of the current definition."""

    # --- static types ----------------------------------------------------------------------------

    def declare(self, name: str, ctype: CType) -> None:
        """Remember the type of a variable of the current function."""
        self._apply("type", name, ctype)

    def is_local(self, name: str) -> bool:
        """Whether a name is a variable of the current function."""
        return self._used("type", name) is not None

    def declared_type(self, name: str) -> CType | None:
        """The type that a variable is declared with."""
        found = cast("CType | None", self._used("type", name))
        return self._variable(name) if found is None else found

    def declare_array(self, name: str, element: CType) -> None:
        """Remember an array of numbers, whose size can be computed."""
        if element.kind in ("int", "unsigned"):
            self._apply("array", name, element)

    def array_of(self, name: str) -> CType | None:
        """The element type of an array of numbers."""
        return cast("CType | None", self._used("array", name))

    def _apply(self, kind: str, name: str, value: Knowledge) -> None:
        """Declares something."""
        where = self._types[-1] if kind == "type" else self._tables[kind]
        where[name] = value
        self._memo.declared(kind, name, value)

    def _look_up(self, kind: str, name: str) -> Knowledge:
        """What is known of a name: the ``type`` of a variable, the elements of an ``array``, what
        an ``alias`` stands for in this function, or outside functions."""
        if kind == "type":
            found = (types[name] for types in reversed(self._types) if name in types)
            return next(found, None) or self.template_types.get(name)
        return self.alias(name) if kind == "outside" else self._tables[kind].get(name)

    def _used(self, kind: str, name: str) -> Knowledge:
        value = self._look_up(kind, name)
        self._memo.used(kind, name, value)
        return value

    def is_unsigned(self, *nodes: Node) -> int:
        """The bits after which arithmetic over these wraps around; 0 where it does not."""
        return max(self._unsigned(n) for n in nodes)

    def _unsigned(self, node: Node) -> int:
        if isinstance(node, ir.Name):
            ctype = self._used("type", node.id)
            return 0 if ctype is None else _wraps(ctype)
        if isinstance(node, ir.Binary):
            return node.unsigned
        if isinstance(node, (ir.Cast, ir.Construct)):
            return _wraps(node.type)
        if isinstance(node, (ir.Attr, ir.Index, ir.Call)):
            found = static_type(self, node)
            return 0 if found is None else _wraps(found)
        if isinstance(node, ir.Const):
            return self.unsigned_literals.get(node, 0)
        if isinstance(node, ir.Unary) and node.op in ("-", "+", "~"):
            return self._unsigned(node.value)
        if isinstance(node, ir.Cond):
            return self.is_unsigned(node.then, node.orelse)
        return self._unsigned(node.target) if isinstance(node, ir.AssignExpr) else 0

    def type_of(self, text: str, *, ref: bool = False, pointer: bool = False) -> CType:
        """A type from its text, aliases resolved."""
        ctype = parse_type(text, ref=ref, pointer=pointer)
        for _ in range(8):
            if ctype.kind != "other":
                break
            alias = self._used("alias", ctype.name) or self._used("outside", ctype.name)
            if alias is None:
                break
            const = "const " if ctype.const else ""
            ctype = parse_type(const + alias, ref=ctype.ref, pointer=ctype.pointer)
        if "<" in ctype.name and ctype.name.startswith("std::"):
            return replace(ctype, name=self._with_resolved(ctype.name))
        return ctype

    def _with_resolved(self, name: str) -> str:
        """A class template with its arguments' aliases resolved."""
        head, types = template_of(name)
        parts = []
        for text in types:
            written = parse_type(text).name
            if written.split("<", 1)[0].replace("::", "").isidentifier():
                text = text.replace(written, self.type_of(written).name, 1)
            parts.append(text)
        return f"{head}<{','.join(parts)}>"

    def declare_alias(self, name: str, text: str) -> None:
        """Remember what a type is called inside a function."""
        self._apply("alias", name, text)

    def is_float(self, node: Node) -> bool:
        """Whether an expression is certainly of a floating type."""
        if isinstance(node, ir.Const):
            return isinstance(node.value, float)
        if isinstance(node, ir.Name):
            ctype = self._used("type", node.id)
            return ctype is not None and ctype.kind == "float" and not ctype.pointer
        if isinstance(node, (ir.Cast, ir.Construct)):
            return node.type.kind == "float" and not node.type.pointer
        if isinstance(node, ir.Binary) and node.op in ("+", "-", "*", "c/"):
            return self.is_float(node.left) or self.is_float(node.right)
        return isinstance(node, ir.Unary) and node.op in ("+", "-") and self.is_float(node.value)

    def tested(self, node: Node) -> Node:
        """A condition: of an optional or a C string, whether there is one."""
        if not isinstance(node, _MAYBE_TEXT):
            return node
        found = static_type(self, node)
        if is_stream(self, node):
            return ir.Opaque(
                node.span, "the state of a stream is not followed", tuple(targets(node))
            )
        if found is None or found.kind == "auto" or (found.kind, found.bits) == ("int", 8):
            return ir.Cast(node.span, CType("bool", "bool"), node)
        if found.name.startswith("std::optional") and not found.pointer:
            return ir.Call(node.span, ir.Attr(node.span, node, "has_value"), ())
        if found.kind == "string" and found.name == "char":
            return ir.Binary(node.span, "!=", node, ir.Const(node.span, None))
        return node

    def is_text(self, node: Node) -> bool:
        """Whether a variable of the current function is a string."""
        if not isinstance(node, ir.Name):
            return False
        found = self._used("type", node.id)
        return found is not None and found.kind == "string" and found.name != "char"

    def may_change(self, node: Node) -> bool:
        """Whether something is a string that can be written."""
        found = static_type(self, node)
        if found is None or found.const or found.pointer:
            return False
        return found.kind == "string" and found.name.endswith("string")

    # --- functions -------------------------------------------------------------------------------

    def function(
        self, node: Syntax, name: str, template: tuple[str, ...] = ()
    ) -> ir.Function | None:
        """A function definition; ``template`` are the names of its template parameters."""
        declarator = find_declarator(field(node, "declarator"))
        body = field(node, "body")
        if declarator is None or body is None or body.type != "compound_statement":
            return None
        params = self._params(field(declarator, "parameters"))
        result = self._result(node, declarator)
        statements = self._body(params, body, result)
        return ir.Function(
            self.span(node), name, params, statements, result=result, template=template
        )

    def _result(self, node: Syntax, declarator: Syntax) -> CType | None:
        trailing = self._trailing(declarator)
        if trailing is not None:
            return trailing
        kind = field(node, "type")
        if kind is None:
            return None
        outer = field(node, "declarator")
        text = self.source(outer) if outer is not None else ""
        head = text.split("(", 1)[0]
        ctype = self.type_of(self.source(kind), ref="&" in head, pointer="*" in head)
        if ctype.name == DEDUCED:
            return ctype
        return None if ctype.kind in ("void", "auto") and not ctype.ref else ctype

    def _trailing(self, declarator: Syntax | None) -> CType | None:
        """The type behind ``->``."""
        children = declarator.children if declarator is not None else ()
        trailing = next((c for c in children if c.type == "trailing_return_type"), None)
        if trailing is None:
            return None
        return parse_type(self.source(trailing).removeprefix("->").strip())

    def lambda_function(self, node: Syntax) -> Node:
        """A lambda; it sees the variables around it."""
        declarator = field(node, "declarator")
        body = field(node, "body")
        parameters = field(declarator, "parameters") if declarator else None
        params = self._params(parameters)
        result = self._trailing(declarator)
        statements = self._body(params, body, result)
        found = captured(self, node, statements)
        if found is None:
            return opaque_expression(self, node, "what a lambda captures is not followed")
        copies, own = found
        return ir.Function(
            self.span(node),
            "<lambda>",
            params,
            statements,
            result=result,
            copies=copies,
            captures=own,
        )

    def expression(self, node: Syntax) -> Node:
        """An expression."""
        return expression(self, node)

    def _body(
        self, params: tuple[ir.Param, ...], body: Syntax, result: CType | None
    ) -> tuple[Node, ...]:
        """The statements of a function."""
        around, self.result = self.result, result
        self._types.append({})
        self._memo.keep_apart()
        mark = self._memo.mark()
        for param in params:
            if param.type is not None:
                self.declare(param.name, param.type)
        outer, self.pack = self.pack, next((p.name for p in params if p.kind == "*"), "")
        packs, self.packs = self.packs, self.packs | {p.name for p in params if p.kind == "*"}
        try:
            return self.block(body)
        finally:
            self.result = around
            self.packs = packs
            self._types.pop()
            self._memo.end_scope(mark, "type")
            self.pack = outer

    def _params(self, node: Syntax) -> tuple[ir.Param, ...]:
        params: list[ir.Param] = []
        for child in node.named_children if node is not None else ():
            if child.type not in (
                "parameter_declaration",
                "optional_parameter_declaration",
                "variadic_parameter_declaration",
            ):
                continue
            name, ctype = self.declared(child)
            if ctype.kind == "void" and not name:
                continue
            default = field(child, "default_value")
            value = expression(self, default) if default is not None else None
            kind = "*" if child.type == "variadic_parameter_declaration" else "normal"
            name = name or f"<unnamed {len(params)}>"
            params.append(ir.Param(self.span(child), name, value, kind, ctype))
        return tuple(params)

    def declared(self, node: Syntax) -> tuple[str, CType]:
        """Name and type of a declaration with one declarator."""
        declarator = field(node, "declarator")
        name, ref, pointer = name_of(declarator, self.tree)
        return name, self.type_of(self.tree.head(node, declarator), ref=ref, pointer=pointer)

    # --- statements ------------------------------------------------------------------------------

    def block(self, node: Syntax) -> tuple[Node, ...]:
        """The statements of a compound statement."""
        result: list[Node] = []
        for child in node.children:
            if child.type in ("{", "}", "comment", ";"):
                continue
            result.append(self.statement(child))
        return tuple(result)

    def statement(self, node: Syntax) -> Node:
        """One statement; what cannot be followed becomes opaque."""
        tokens = self.tree.repeated(node)
        if tokens is None:
            return self._statement(node)
        return self._memo.translated((self.pack, self.result, tokens), node, self._statement)

    def _statement(self, node: Syntax) -> Node:
        if node.type == "ERROR" or node.is_missing:
            return self.opaque(node, "the code could not be parsed")
        handler = STATEMENTS.get(node.type)
        if handler is None:
            return self.opaque(node, f"{node.type.replace('_', ' ')} is not followed")
        broken = [c for c in node.children if c.type == "ERROR" or c.is_missing]
        if broken and not _only_semicolon_missing(node, broken):
            return self.opaque(node, "the code could not be parsed")
        return handler(self, node)

    def body(self, node: Syntax) -> tuple[Node, ...]:
        """A statement as the body of another."""
        if node is None:
            return ()
        if node.type == "compound_statement":
            return self.block(node)
        return (self.statement(node),)

    def opaque(self, node: Syntax, reason: str) -> ir.OpaqueStmt:
        """A statement that cannot be followed."""
        text = self.source(node)
        return ir.OpaqueStmt(self.span(node), reason, names_in(text), bool(_EXITS.search(text)))


def _only_semicolon_missing(node: Syntax, broken: list[Syntax]) -> bool:
    """The one repair: a ``;`` missing directly after a call that stands alone."""
    return (
        node.type == "expression_statement"
        and len(broken) == 1
        and broken[0].is_missing
        and broken[0].type == ";"
        and node.named_child_count >= 1
        and node.named_children[0].type == "call_expression"
    )

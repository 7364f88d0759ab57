"""C++ statements, functions and types from the syntax tree to the intermediate form."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mlaprobe.reading import ir
from mlaprobe.reading.cppexpr import expression, names_in
from mlaprobe.reading.cpptree import Tree
from mlaprobe.reading.cpptypes import parse_type
from mlaprobe.reading.ir import CType, Node

_EXITS = re.compile(r"\b(return|throw|goto|abort|exit)\b|CHECK|check|assert|fail")
_MULTI = re.compile(r"\b(break|continue|goto|co_await|co_yield|co_return)\b")


def _wraps(ctype: CType) -> int:
    return ctype.bits if ctype.kind == "unsigned" and ctype.bits >= 32 and not ctype.pointer else 0


class Translator:
    """Translates the pieces of one tree."""

    def __init__(self, tree: Tree, alias: Callable[[str], str | None] = lambda name: None) -> None:
        self.tree = tree
        self.alias = alias
        """What a type is another name for, outside functions."""
        self._types: list[dict[str, CType]] = [{}]
        self.unsigned_literals: dict[Node, int] = {}
        """Unsigned literals and their bits."""
        self._aliases: dict[str, str] = {}
        self._arrays: dict[str, CType] = {}
        self.pack = ""
        """The parameter pack of the current function."""

    # --- static types ----------------------------------------------------------------------------

    def declare(self, name: str, ctype: CType) -> None:
        """Remember the type of a variable of the current function."""
        self._types[-1][name] = ctype

    def declare_array(self, name: str, element: CType) -> None:
        """Remember an array of numbers, whose size can be computed."""
        if element.kind in ("int", "unsigned"):
            self._arrays[name] = element

    def array_of(self, name: str) -> CType | None:
        """The element type of an array of numbers."""
        return self._arrays.get(name)

    def is_unsigned(self, *nodes: Node) -> int:
        """The bits after which arithmetic over these wraps around; 0 where it does not."""
        return max(self._unsigned(n) for n in nodes)

    def _unsigned(self, node: Node) -> int:
        if isinstance(node, ir.Name):
            found = (types[node.id] for types in reversed(self._types) if node.id in types)
            return _wraps(next(found, CType("auto")))
        if isinstance(node, ir.Binary):
            return node.unsigned
        if isinstance(node, (ir.Cast, ir.Construct)):
            return _wraps(node.type)
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
            alias = self._aliases.get(ctype.name) or self.alias(ctype.name)
            if ctype.kind != "other" or alias is None:
                break
            const = "const " if ctype.const else ""
            ctype = parse_type(const + alias, ref=ctype.ref, pointer=ctype.pointer)
        return ctype

    def declare_alias(self, name: str, text: str) -> None:
        """Remember what a type is called inside a function."""
        self._aliases[name] = text

    def is_text(self, node: Node) -> bool:
        """Whether a variable of the current function is a string."""
        if not isinstance(node, ir.Name):
            return False
        found = next((types[node.id] for types in reversed(self._types) if node.id in types), None)
        return found is not None and found.kind == "string" and found.name != "char"

    # --- functions -------------------------------------------------------------------------------

    def function(self, node: Any, name: str, template: tuple[str, ...] = ()) -> ir.Function | None:
        """A function definition; ``template`` are the names of its template parameters."""
        declarator = _find_declarator(node.child_by_field_name("declarator"))
        body = node.child_by_field_name("body")
        if declarator is None or body is None or body.type != "compound_statement":
            return None
        params = self._params(declarator.child_by_field_name("parameters"))
        result = self._result(node, declarator)
        span = self.tree.span(node)
        function = self._function(span, name, params, body, result, captures=False)
        return replace(function, template=template) if template else function

    def _result(self, node: Any, declarator: Any) -> CType | None:
        trailing = next((c for c in declarator.children if c.type == "trailing_return_type"), None)
        if trailing is not None:
            return parse_type(self.tree.source(trailing).removeprefix("->").strip())
        kind = node.child_by_field_name("type")
        if kind is None:
            return None
        outer = node.child_by_field_name("declarator")
        text = self.tree.source(outer) if outer is not None else ""
        head = text.split("(", 1)[0]
        ctype = self.type_of(self.tree.source(kind), ref="&" in head, pointer="*" in head)
        return None if ctype.kind in ("void", "auto") else ctype

    def lambda_function(self, node: Any) -> Node:
        """A lambda; it sees the variables around it."""
        declarator = node.child_by_field_name("declarator")
        body = node.child_by_field_name("body")
        parameters = declarator.child_by_field_name("parameters") if declarator else None
        params = self._params(parameters)
        result = None
        if declarator is not None:
            trailing = next(
                (c for c in declarator.children if c.type == "trailing_return_type"), None
            )
            if trailing is not None:
                result = parse_type(self.tree.source(trailing).removeprefix("->").strip())
        copies = _captures_by_value(self.tree.source(node))
        if copies is None:
            return ir.Opaque(self.tree.span(node), "a lambda with mixed captures is not followed")
        span = self.tree.span(node)
        function = self._function(span, "<lambda>", params, body, result, captures=True)
        return replace(function, copies=True) if copies else function

    def _function(
        self,
        span: ir.Span,
        name: str,
        params: tuple[ir.Param, ...],
        body: Any,
        result: CType | None,
        *,
        captures: bool,
    ) -> ir.Function:
        self._types.append({p.name: p.type for p in params if p.type is not None})
        outer, self.pack = self.pack, next((p.name for p in params if p.kind == "*"), "")
        try:
            statements = self.block(body)
        finally:
            self._types.pop()
            self.pack = outer
        return ir.Function(span, name, params, statements, captures, result)

    def _params(self, node: Any) -> tuple[ir.Param, ...]:
        params: list[ir.Param] = []
        for child in node.named_children if node is not None else ():
            if child.type not in (
                "parameter_declaration",
                "optional_parameter_declaration",
                "variadic_parameter_declaration",
            ):
                continue
            name, ctype = self._declared(child)
            if ctype.kind == "void" and not name:
                continue
            default = child.child_by_field_name("default_value")
            value = expression(self, default) if default is not None else None
            kind = "*" if child.type == "variadic_parameter_declaration" else "normal"
            params.append(
                ir.Param(
                    self.tree.span(child), name or f"<unnamed {len(params)}>", value, kind, ctype
                )
            )
        return tuple(params)

    def _declared(self, node: Any) -> tuple[str, CType]:
        """Name and type of a declaration with one declarator."""
        declarator = node.child_by_field_name("declarator")
        end = declarator.start_byte if declarator is not None else node.end_byte
        text = self.tree.text[node.start_byte : end].decode("utf-8", "replace")
        name, ref, pointer = _name_of(declarator, self.tree)
        return name, self.type_of(text, ref=ref, pointer=pointer)

    # --- statements ------------------------------------------------------------------------------

    def block(self, node: Any) -> tuple[Node, ...]:
        """The statements of a compound statement."""
        result: list[Node] = []
        for child in node.children:
            if child.type in ("{", "}", "comment", ";"):
                continue
            result.append(self.statement(child))
        return tuple(result)

    def statement(self, node: Any) -> Node:
        """One statement; what cannot be followed becomes opaque."""
        if node.type == "ERROR" or node.is_missing:
            return self.opaque(node, "the code could not be parsed")
        handler = _STATEMENTS.get(node.type)
        if handler is None:
            return self.opaque(node, f"{node.type.replace('_', ' ')} is not followed")
        broken = [c for c in node.children if c.type == "ERROR" or c.is_missing]
        if broken and not _only_semicolon_missing(node, broken):
            return self.opaque(node, "the code could not be parsed")
        return handler(self, node)

    def body(self, node: Any) -> tuple[Node, ...]:
        """A statement as the body of another."""
        if node is None:
            return ()
        if node.type == "compound_statement":
            return self.block(node)
        return (self.statement(node),)

    def opaque(self, node: Any, reason: str) -> ir.OpaqueStmt:
        """A statement that cannot be followed."""
        text = self.tree.source(node)
        return ir.OpaqueStmt(
            self.tree.span(node), reason, names_in(text), bool(_EXITS.search(text))
        )


def _captures_by_value(text: str) -> bool | None:
    """Whether a lambda captures by value; ``None`` where it does for some variables only."""
    names = [part.strip() for part in text[1 : text.find("]")].split(",") if part.strip()]
    by_ref = [name.startswith("&") for name in names]
    if not any(by_ref):
        return bool(names)
    return False if all(by_ref) else None


def _only_semicolon_missing(node: Any, broken: list[Any]) -> bool:
    """The one repair: a ``;`` missing directly after a call that stands alone."""
    return (
        node.type == "expression_statement"
        and len(broken) == 1
        and broken[0].is_missing
        and broken[0].type == ";"
        and node.named_child_count >= 1
        and node.named_children[0].type == "call_expression"
    )


def _find_declarator(node: Any) -> Any:
    while node is not None and node.type != "function_declarator":
        node = node.child_by_field_name("declarator") or next(
            (c for c in node.named_children if c.type.endswith("declarator")), None
        )
    return node


def _name_of(node: Any, tree: Tree) -> tuple[str, bool, bool]:
    """(name, is a reference, is a pointer) of a declarator."""
    ref = pointer = False
    while node is not None:
        if node.type in ("reference_declarator", "abstract_reference_declarator"):
            ref = True
        elif node.type in (
            "pointer_declarator",
            "abstract_pointer_declarator",
            "array_declarator",
            "abstract_array_declarator",
        ):
            pointer = True
        elif node.type in ("identifier", "field_identifier", "type_identifier"):
            return tree.source(node), ref, pointer
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next(
                (
                    c
                    for c in node.named_children
                    if c.type.endswith("declarator") or c.type in ("identifier", "field_identifier")
                ),
                None,
            )
        node = inner
    return "", ref, pointer


# --- one function per statement ------------------------------------------------------------------


def _declaration(tr: Translator, node: Any) -> Node:
    first = next(
        (c for i, c in enumerate(node.children) if node.field_name_for_child(i) == "declarator"),
        None,
    )
    if first is None:
        return ir.Block(tr.tree.span(node), ())
    head = tr.tree.text[node.start_byte : first.start_byte].decode("utf-8", "replace")
    parts = [
        _declarator(tr, c, head)
        for i, c in enumerate(node.children)
        if node.field_name_for_child(i) == "declarator"
    ]
    return parts[0] if len(parts) == 1 else ir.Block(tr.tree.span(node), tuple(parts))


def _declarator(tr: Translator, node: Any, head: str) -> Node:
    span = tr.tree.span(node)
    if node.type == "function_declarator":
        return ir.Block(span, ())
    binding = _binding(node)
    if binding is not None:
        value = node.child_by_field_name("value")
        if value is None:
            return tr.opaque(node, "a structured binding without a value")
        names = tuple(tr.tree.source(c) for c in binding.named_children)
        return ir.Unpack(span, names, expression(tr, value))
    name, ref, pointer = _name_of(node, tr.tree)
    if not name:
        return tr.opaque(node, "a declaration that is not followed")
    ctype = tr.type_of(head, ref=ref, pointer=pointer)
    static = bool(re.search(r"\bstatic\b", head))
    value = node.child_by_field_name("value") if node.type == "init_declarator" else None
    init = _initialiser(tr, value, ctype) if value is not None else None
    tr.declare(name, ctype)
    array = node.child_by_field_name("declarator") if node.type == "init_declarator" else node
    if array is not None and array.type == "array_declarator":
        tr.declare_array(name, ctype)
    if pointer and value is None and "[" in tr.tree.source(node):
        init = ir.Opaque(span, "an array without values")
    return ir.Decl(span, name, ctype, init, static)


def _binding(node: Any) -> Any:
    while node is not None:
        if node.type == "structured_binding_declarator":
            return node
        node = next((c for c in node.named_children if c.type.endswith("declarator")), None)
    return None


def _initialiser(tr: Translator, node: Any, ctype: CType) -> Node:
    if node.type == "argument_list":
        args = tuple(expression(tr, c) for c in node.named_children if c.type != "comment")
        if ctype.kind != "other" and len(args) == 1:
            return args[0]
        return ir.Construct(tr.tree.span(node), ctype, args, braced=False)
    if node.type == "initializer_list":
        args = tuple(expression(tr, c) for c in node.named_children if c.type != "comment")
        if ctype.pointer and "[" not in ctype.name:
            return ir.Sequence(tr.tree.span(node), "tuple" if ctype.const else "list", args)
        return ir.Construct(tr.tree.span(node), ctype, args)
    return expression(tr, node)


def _expression_statement(tr: Translator, node: Any) -> Node:
    parts = [c for c in node.named_children if c.type != "comment"]
    if not parts:
        return ir.Block(tr.tree.span(node), ())
    return ir.ExprStmt(tr.tree.span(node), expression(tr, parts[0]))


def _if(tr: Translator, node: Any) -> Node:
    span = tr.tree.span(node)
    condition = node.child_by_field_name("condition")
    initial = condition.child_by_field_name("initializer") if condition is not None else None
    value = condition.child_by_field_name("value") if condition is not None else None
    prefix: list[Node] = []
    if initial is not None:
        prefix.append(_initial_statement(tr, initial))
    if value is not None and value.type == "declaration":
        declared = _condition_declaration(tr, value)
        if declared is None:
            return tr.opaque(node, "a condition that declares something")
        prefix.append(declared)
        test: Node = ir.Name(declared.span, declared.name)
    elif value is not None:
        test = expression(tr, value)
    else:
        test = expression(tr, condition)
    then = tr.body(node.child_by_field_name("consequence"))
    alternative = node.child_by_field_name("alternative")
    orelse: tuple[Node, ...] = ()
    if alternative is not None:
        inner = [c for c in alternative.named_children if c.type != "comment"]
        if len(inner) != 1:
            return tr.opaque(node, "an else that could not be parsed")
        orelse = tr.body(inner[0])
    branch = ir.If(span, test, then, orelse)
    return ir.Block(span, (*prefix, branch), scoped=True) if prefix else branch


def _initial_statement(tr: Translator, node: Any) -> Node:
    """The first part of ``if (statement; condition)``."""
    inner = [c for c in node.named_children if c.type != "comment"]
    return tr.statement(inner[0] if node.type == "init_statement" and len(inner) == 1 else node)


def _condition_declaration(tr: Translator, node: Any) -> ir.Decl | None:
    """``if (type name = value)``."""
    value, declarator = node.child_by_field_name("value"), node.child_by_field_name("declarator")
    if value is None or declarator is None:
        declared = _declaration(tr, node)
        return declared if isinstance(declared, ir.Decl) else None
    name, ctype = tr._declared(node)
    tr.declare(name, ctype)
    initial = _initialiser(tr, value, ctype)
    return ir.Decl(tr.tree.span(node), name, ctype, initial) if name else None


def _for(tr: Translator, node: Any) -> Node:
    span = tr.tree.span(node)
    parts: list[Node] = []
    initial = node.child_by_field_name("initializer")
    if initial is not None:
        if initial.type == "declaration":
            parts.append(_declaration(tr, initial))
        else:
            parts.append(ir.ExprStmt(span, expression(tr, initial)))
    condition = node.child_by_field_name("condition")
    update = node.child_by_field_name("update")
    test = expression(tr, condition) if condition is not None else ir.Const(span, True)
    step = expression(tr, update) if update is not None else None
    loop = ir.While(span, test, tr.body(node.child_by_field_name("body")), step)
    return ir.Block(span, (*parts, loop), scoped=True)


def _for_range(tr: Translator, node: Any) -> Node:
    declarator = node.child_by_field_name("declarator")
    span = tr.tree.span(node)
    binding = _binding(declarator)
    target: Node
    if binding is not None:
        names = tuple(ir.Name(span, tr.tree.source(c)) for c in binding.named_children)
        target = ir.Sequence(span, "tuple", names)
    else:
        target = ir.Name(span, _name_of(declarator, tr.tree)[0])
    iterable = expression(tr, node.child_by_field_name("right"))
    if isinstance(iterable, ir.Sequence):
        iterable = ir.Sequence(iterable.span, "tuple", iterable.items)
    body = tr.body(node.child_by_field_name("body"))
    text = tr.tree.source(declarator)
    if text.startswith("&") and isinstance(target, ir.Name) and _assigns(body, target.id):
        return tr.opaque(node, "a loop that writes its elements is not followed")
    loop = ir.ForEach(span, target, iterable, body)
    initial = node.child_by_field_name("initializer")
    if initial is not None:
        return ir.Block(span, (tr.statement(initial), loop), scoped=True)
    return loop


def _assigns(body: tuple[Node, ...], name: str) -> bool:
    """Whether a variable itself may be written."""
    from mlaprobe.reading.walk import walk

    return any(
        (isinstance(n, ir.AssignExpr) and isinstance(n.target, ir.Name) and n.target.id == name)
        or (isinstance(n, ir.Call) and any(getattr(a, "id", "") == name for a in n.args))
        or (isinstance(n, ir.AddressOf) and getattr(n.value, "id", "") == name)
        or (isinstance(n, ir.Decl) and n.type.ref and getattr(n.init, "id", "") == name)
        for n in walk(body)
    )


def _while(tr: Translator, node: Any) -> Node:
    condition = node.child_by_field_name("condition")
    value = condition.child_by_field_name("value")
    if value is not None and value.type == "declaration":
        return tr.opaque(node, "a loop condition that declares something")
    test = expression(tr, value if value is not None else condition)
    return ir.While(tr.tree.span(node), test, tr.body(node.child_by_field_name("body")))


def _do(tr: Translator, node: Any) -> Node:
    test = expression(tr, node.child_by_field_name("condition"))
    body = tr.body(node.child_by_field_name("body"))
    if isinstance(test, ir.Const) and not test.value and not _jumps(body):
        return ir.Block(tr.tree.span(node), body, scoped=True)
    return ir.While(tr.tree.span(node), test, body, first=True)


def _jumps(body: tuple[Node, ...]) -> bool:
    from mlaprobe.reading.walk import walk

    return any(isinstance(n, ir.Jump) for n in walk(body))


def _switch(tr: Translator, node: Any) -> Node:
    span = tr.tree.span(node)
    condition = node.child_by_field_name("condition")
    value = condition.child_by_field_name("value") or condition
    initial = condition.child_by_field_name("initializer")
    prefix = [] if initial is None else [_initial_statement(tr, initial)]
    declared = _condition_declaration(tr, value) if value.type == "declaration" else None
    cases: list[tuple[tuple[Node | None, ...], tuple[Node, ...]]] = []
    for case in node.child_by_field_name("body").named_children:
        if case.type == "comment":
            continue
        if case.type != "case_statement":
            return tr.opaque(node, "a switch that could not be parsed")
        label = case.child_by_field_name("value")
        key = expression(tr, label) if label is not None else None
        body = tuple(
            tr.statement(c)
            for c in case.named_children
            if c.type != "comment" and (label is None or c.start_byte != label.start_byte)
        )
        cases.append(((key,), body))
    if declared is None:
        switch = ir.Switch(span, expression(tr, value), tuple(cases))
    else:
        prefix.append(declared)
        switch = ir.Switch(span, ir.Name(declared.span, declared.name), tuple(cases))
    return ir.Block(span, (*prefix, switch), scoped=True) if prefix else switch


def _return(tr: Translator, node: Any) -> Node:
    parts = [c for c in node.named_children if c.type != "comment"]
    return ir.Return(tr.tree.span(node), expression(tr, parts[0]) if parts else None)


def _jump(tr: Translator, node: Any) -> Node:
    return ir.Jump(tr.tree.span(node), "break" if node.type == "break_statement" else "continue")


def _throw(tr: Translator, node: Any) -> Node:
    parts = [c for c in node.named_children if c.type != "comment"]
    if not parts:
        return ir.Throw(tr.tree.span(node), None)
    text = tr.tree.source(parts[0])
    how = re.sub(r"\s+", "", re.split(r"[({]", text, maxsplit=1)[0])
    return ir.Throw(tr.tree.span(node), expression(tr, parts[0]), how or "exception")


def _try(tr: Translator, node: Any) -> Node:
    handlers: list[tuple[tuple[str, ...] | None, str | None, tuple[Node, ...]]] = []
    for clause in (c for c in node.named_children if c.type == "catch_clause"):
        parameters = clause.child_by_field_name("parameters")
        body = tr.block(clause.child_by_field_name("body"))
        declared = next(
            (c for c in parameters.named_children if c.type == "parameter_declaration"), None
        )
        if declared is None:
            handlers.append((None, None, body))
            continue
        name, ctype = tr._declared(declared)
        handlers.append(((ctype.name,), name or None, body))
    return ir.Try(tr.tree.span(node), tr.block(node.child_by_field_name("body")), tuple(handlers))


def _nothing(tr: Translator, node: Any) -> Node:
    return ir.Block(tr.tree.span(node), ())


def _alias(tr: Translator, node: Any) -> Node:
    """``using Name = Type;`` inside a function: a name for the type."""
    name, kind = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is None or kind is None:
        return _nothing(tr, node)
    ctype = parse_type(tr.tree.source(kind))
    tr.declare_alias(tr.tree.source(name), tr.tree.source(kind))
    span = tr.tree.span(node)
    value = ir.Name(span, ctype.name.split("<", 1)[0].replace(" ", ""))
    return ir.Decl(span, tr.tree.source(name), CType("auto"), value)


def _compound(tr: Translator, node: Any) -> Node:
    return ir.Block(tr.tree.span(node), tr.block(node), scoped=True)


def _attributed(tr: Translator, node: Any) -> Node:
    inner = [c for c in node.named_children if c.type not in ("attribute_declaration", "comment")]
    return tr.statement(inner[-1]) if inner else _nothing(tr, node)


def _label(tr: Translator, node: Any) -> Node:
    """A label may be jumped to from anywhere in the function."""
    return ir.OpaqueStmt(tr.tree.span(node), "a label", names_in(tr.tree.source(node)), True)


_STATEMENTS: dict[str, Callable[[Translator, Any], Node]] = {
    "declaration": _declaration,
    "expression_statement": _expression_statement,
    "compound_statement": _compound,
    "if_statement": _if,
    "for_statement": _for,
    "for_range_loop": _for_range,
    "while_statement": _while,
    "do_statement": _do,
    "switch_statement": _switch,
    "return_statement": _return,
    "break_statement": _jump,
    "continue_statement": _jump,
    "throw_statement": _throw,
    "try_statement": _try,
    "attributed_statement": _attributed,
    "labeled_statement": _label,
    "alias_declaration": _alias,
    "type_definition": _nothing,
    "using_declaration": _nothing,
    "static_assert_declaration": _nothing,
    "struct_specifier": _nothing,
    "class_specifier": _nothing,
    "enum_specifier": _nothing,
    "empty_declaration": _nothing,
}

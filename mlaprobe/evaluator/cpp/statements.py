"""C++ statements from the syntax tree to the intermediate form: one function per kind."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.expressions import expression, expressions_in, listed
from mlaprobe.evaluator.cpp.forms.arrays import array_initialiser, dimensions
from mlaprobe.evaluator.cpp.forms.constructions import constructed
from mlaprobe.evaluator.cpp.forms.localtypes import local_type
from mlaprobe.evaluator.cpp.forms.templates import class_template
from mlaprobe.evaluator.cpp.forms.typing import deduced, element_of
from mlaprobe.evaluator.cpp.forms.widths import narrowed
from mlaprobe.evaluator.cpp.literals import Handler, names_in
from mlaprobe.evaluator.cpp.tree import Syntax, field, name_of, named
from mlaprobe.evaluator.cpp.types import SCALARS, STREAMS, parse_type
from mlaprobe.evaluator.ir import CType, Node
from mlaprobe.evaluator.walk import is_name, walk

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator


def _declaration(tr: Translator, node: Syntax) -> Node:
    declarators = node.children_by_field_name("declarator")
    if not declarators:
        return ir.Block(tr.span(node), ())
    head = tr.tree.head(node, declarators[0])
    parts = [_declarator(tr, declarator, head) for declarator in declarators]
    return parts[0] if len(parts) == 1 else ir.Block(tr.span(node), tuple(parts))


def _declarator(tr: Translator, node: Syntax, head: str) -> Node:
    span = tr.span(node)
    if node.type == "function_declarator":
        return constructed(tr, node, head) or ir.Block(span, ())
    binding = _binding(node)
    if binding is not None:
        value = field(node, "value")
        if value is None:
            return tr.opaque(node, "a structured binding without a value")
        names = tuple(tr.source(c) for c in binding.named_children)
        bound = head.rstrip() + tr.source(node).split("[", 1)[0]
        ref = "&" in bound and "const" not in bound.split()
        return ir.Unpack(span, names, expression(tr, value), ref)
    name, ref, pointer = name_of(node, tr.tree)
    if not name:
        return tr.opaque(node, "a declaration that is not followed")
    ctype = tr.type_of(head, ref=ref, pointer=pointer)
    static = bool(re.search(r"\bstatic\b", head))
    value = field(node, "value") if node.type == "init_declarator" else None
    array = field(node, "declarator") if node.type == "init_declarator" else node
    init: Node | None = array_initialiser(tr, array, head, value)
    if init is None and value is not None:
        init = _initialiser(tr, value, ctype)
    kind = deduced(tr, ctype, init)
    tr.declare(name, kind)
    told = ctype.ref or (isinstance(init, (ir.Name, ir.Attr, ir.Index)) and kind.kind != "bool")
    if ctype.kind == "auto" and told and kind.kind in SCALARS and not kind.pointer:
        ctype = replace(kind, ref=ctype.ref, const=ctype.const)
    sizes = dimensions(tr, array)
    if sizes:
        ctype = replace(ctype, pointer=True)
        if len(sizes) == 1:
            tr.declare_array(name, ctype)
    if pointer and value is None and "[" in tr.source(node):
        init = ir.Opaque(span, "an array without values")
    return ir.Decl(span, name, ctype, init, static, kind if ctype.kind == "auto" else None)


def _binding(node: Syntax) -> Syntax:
    """The names of a structured binding; ``None`` for any other declarator."""
    while node is not None:
        if node.type == "structured_binding_declarator":
            return node
        node = next((c for c in node.named_children if c.type.endswith("declarator")), None)
    return None


def _initialiser(tr: Translator, node: Syntax, ctype: CType) -> Node:
    if node.type == "argument_list":
        args = expressions_in(tr, node)
        if ctype.name in STREAMS and not ctype.ref:
            return ir.Opaque(tr.span(node), "a stream that begins with a text")
        if ctype.kind != "other" and len(args) == 1:
            return args[0]
        return ir.Construct(tr.span(node), ctype, args, braced=False)
    if node.type == "initializer_list":
        args = expressions_in(tr, node)
        if ctype.pointer and "[" not in ctype.name:
            return ir.Sequence(tr.span(node), "tuple" if ctype.const else "list", args)
        return listed(tr, node, ctype)
    return narrowed(tr, expression(tr, node), ctype)


def _expression_statement(tr: Translator, node: Syntax) -> Node:
    parts = named(node)
    if not parts:
        return ir.Block(tr.span(node), ())
    value = expression(tr, parts[0])
    if isinstance(value, ir.Binary) and value.op == ">>":
        return tr.opaque(node, "what is read from a stream is not followed")
    return ir.ExprStmt(tr.span(node), value)


def _if(tr: Translator, node: Syntax) -> Node:
    span = tr.span(node)
    condition = field(node, "condition")
    initial = field(condition, "initializer") if condition is not None else None
    value = field(condition, "value") if condition is not None else None
    prefix: list[Node] = []
    if initial is not None:
        prefix.append(_initial_statement(tr, initial))
    if value is not None and value.type == "declaration":
        declared = _condition_declaration(tr, value)
        if declared is None:
            return tr.opaque(node, "a condition that declares something")
        prefix.append(declared)
        test: Node = tr.tested(ir.Name(declared.span, declared.name))
    elif value is not None:
        test = tr.tested(expression(tr, value))
    else:
        test = tr.tested(expression(tr, condition))
    then = tr.body(field(node, "consequence"))
    alternative = field(node, "alternative")
    orelse: tuple[Node, ...] = ()
    if alternative is not None:
        inner = named(alternative)
        if len(inner) != 1:
            return tr.opaque(node, "an else that could not be parsed")
        orelse = tr.body(inner[0])
    branch = ir.If(span, test, then, orelse)
    return ir.Block(span, (*prefix, branch), scoped=True) if prefix else branch


def _initial_statement(tr: Translator, node: Syntax) -> Node:
    """The first part of ``if (statement; condition)``."""
    inner = named(node)
    return tr.statement(inner[0] if node.type == "init_statement" and len(inner) == 1 else node)


def _condition_declaration(tr: Translator, node: Syntax) -> ir.Decl | None:
    """``if (type name = value)``."""
    value, declarator = field(node, "value"), field(node, "declarator")
    if value is None or declarator is None:
        declared = _declaration(tr, node)
        return declared if isinstance(declared, ir.Decl) else None
    name, ctype = tr.declared(node)
    tr.declare(name, ctype)
    initial = _initialiser(tr, value, ctype)
    return ir.Decl(tr.span(node), name, ctype, initial) if name else None


def _for(tr: Translator, node: Syntax) -> Node:
    span = tr.span(node)
    parts: list[Node] = []
    initial = field(node, "initializer")
    if initial is not None:
        if initial.type == "declaration":
            parts.append(_declaration(tr, initial))
        else:
            parts.append(ir.ExprStmt(span, expression(tr, initial)))
    condition = field(node, "condition")
    update = field(node, "update")
    test = tr.tested(expression(tr, condition)) if condition is not None else ir.Const(span, True)
    step = expression(tr, update) if update is not None else None
    loop = ir.While(span, test, tr.body(field(node, "body")), step)
    return ir.Block(span, (*parts, loop), scoped=True)


def _for_range(tr: Translator, node: Syntax) -> Node:
    declarator = field(node, "declarator")
    span = tr.span(node)
    binding = _binding(declarator)
    ref = tr.source(declarator).startswith("&")
    ctype = tr.type_of(tr.tree.head(node, declarator).rpartition("(")[2])
    target: Node
    if binding is not None:
        names = tuple(ir.Name(span, tr.source(c)) for c in binding.named_children)
        target = ir.Sequence(span, "tuple", names)
    else:
        target = ir.Name(span, name_of(declarator, tr.tree)[0])
    iterable = expression(tr, field(node, "right"))
    if isinstance(target, ir.Name):
        found = element_of(tr, iterable) if ctype.kind == "auto" else None
        tr.declare(target.id, ctype if found is None else found)
        if found is not None and found.kind in SCALARS and not found.pointer:
            ctype = found
    if isinstance(iterable, ir.Sequence):
        iterable = ir.Sequence(iterable.span, "tuple", iterable.items)
    body = tr.body(field(node, "body"))
    const = _is_const(tr, node)
    if ref and const and isinstance(target, ir.Name) and _keeps_address(body, target.id):
        return tr.opaque(node, "a loop that keeps the address of an element")
    loop = ir.ForEach(span, target, iterable, body, (), ref and not const, ctype)
    initial = field(node, "initializer")
    if initial is not None:
        return ir.Block(span, (tr.statement(initial), loop), scoped=True)
    return loop


def _is_const(tr: Translator, node: Syntax) -> bool:
    """Whether the elements of a loop are declared ``const``: nothing in its body writes them."""
    kinds = [c for c in node.children if c.type == "type_qualifier"]
    return any(tr.source(c) == "const" for c in kinds)


def _keeps_address(body: tuple[Node, ...], name: str) -> bool:
    """Whether the address of an element may be used after its round, unless it is returned."""
    returned = {n.value for n in walk(body) if isinstance(n, ir.Return)}
    taken = (n for n in walk(body) if isinstance(n, ir.AddressOf) and is_name(n.value, name))
    return any(n not in returned for n in taken)


def _while(tr: Translator, node: Syntax) -> Node:
    condition = field(node, "condition")
    value = field(condition, "value")
    if value is not None and value.type == "declaration":
        return tr.opaque(node, "a loop condition that declares something")
    test = tr.tested(expression(tr, value if value is not None else condition))
    return ir.While(tr.span(node), test, tr.body(field(node, "body")))


def _do(tr: Translator, node: Syntax) -> Node:
    test = expression(tr, field(node, "condition"))
    body = tr.body(field(node, "body"))
    jumps = any(isinstance(n, ir.Jump) for n in walk(body))
    if isinstance(test, ir.Const) and not test.value and not jumps:
        return ir.Block(tr.span(node), body, scoped=True)
    return ir.While(tr.span(node), test, body, first=True)


def _switch(tr: Translator, node: Syntax) -> Node:
    span = tr.span(node)
    condition = field(node, "condition")
    value = field(condition, "value") or condition
    initial = field(condition, "initializer")
    prefix = [] if initial is None else [_initial_statement(tr, initial)]
    declared = _condition_declaration(tr, value) if value.type == "declaration" else None
    cases: list[tuple[tuple[Node | None, ...], tuple[Node, ...]]] = []
    for case in field(node, "body").named_children:
        if case.type in ("comment", "using_declaration"):
            continue
        if case.type != "case_statement":
            return tr.opaque(node, "a switch that could not be parsed")
        label = field(case, "value")
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


def _return(tr: Translator, node: Syntax) -> Node:
    parts = named(node)
    if not parts:
        return ir.Return(tr.span(node), None)
    value = expression(tr, parts[0])
    return ir.Return(tr.span(node), value if tr.result is None else narrowed(tr, value, tr.result))


def _jump(tr: Translator, node: Syntax) -> Node:
    return ir.Jump(tr.span(node), "break" if node.type == "break_statement" else "continue")


def _throw(tr: Translator, node: Syntax) -> Node:
    parts = named(node)
    if not parts:
        return ir.Throw(tr.span(node), None)
    text = tr.source(parts[0])
    how = re.sub(r"\s+", "", re.split(r"[({]", text, maxsplit=1)[0])
    return ir.Throw(tr.span(node), expression(tr, parts[0]), how or "exception")


def _try(tr: Translator, node: Syntax) -> Node:
    handlers: list[tuple[tuple[str, ...] | None, str | None, tuple[Node, ...]]] = []
    for clause in (c for c in node.named_children if c.type == "catch_clause"):
        parameters = field(clause, "parameters")
        body = tr.block(field(clause, "body"))
        declared = next(
            (c for c in parameters.named_children if c.type == "parameter_declaration"), None
        )
        if declared is None:
            handlers.append((None, None, body))
            continue
        name, ctype = tr.declared(declared)
        handlers.append(((ctype.name,), name or None, body))
    return ir.Try(tr.span(node), tr.block(field(node, "body")), tuple(handlers))


def _nothing(tr: Translator, node: Syntax) -> Node:
    return ir.Block(tr.span(node), ())


def _alias(tr: Translator, node: Syntax) -> Node:
    """``using Name = Type;`` or ``typedef Type Name;`` in a function: a name for the type."""
    name, kind = field(node, "name") or field(node, "declarator"), field(node, "type")
    if name is None or kind is None or name.type != "type_identifier":
        return _nothing(tr, node)
    ctype = parse_type(tr.source(kind))
    tr.declare_alias(tr.source(name), tr.source(kind))
    span = tr.span(node)
    value = class_template(tr, kind)
    if value is None:
        value = ir.Name(span, ctype.name.split("<", 1)[0].replace(" ", ""))
    return ir.Decl(span, tr.source(name), CType("auto"), value)


def _compound(tr: Translator, node: Syntax) -> Node:
    return ir.Block(tr.span(node), tr.block(node), scoped=True)


def _attributed(tr: Translator, node: Syntax) -> Node:
    inner = [c for c in node.named_children if c.type not in ("attribute_declaration", "comment")]
    return tr.statement(inner[-1]) if inner else _nothing(tr, node)


def _label(tr: Translator, node: Syntax) -> Node:
    """A label may be jumped to from anywhere in the function."""
    return ir.OpaqueStmt(tr.span(node), "a label", names_in(tr.source(node)), True)


STATEMENTS: dict[str, Handler] = {
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
    **dict.fromkeys(("alias_declaration", "type_definition"), _alias),
    **dict.fromkeys(("struct_specifier", "class_specifier", "enum_specifier"), local_type),
    **dict.fromkeys(("using_declaration", "empty_declaration"), _nothing),
    "static_assert_declaration": _nothing,
}

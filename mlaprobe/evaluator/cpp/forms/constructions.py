"""Variables whose declaration reads like that of a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.tree import Syntax, field, named
from mlaprobe.evaluator.ir import Node

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator


def constructed(tr: Translator, node: Syntax, head: str) -> Node | None:
    """``Type name(variable);`` or ``Type name(table[place]);``, which read like the declaration of
    a function."""
    inner, listed = field(node, "declarator"), field(node, "parameters")
    args = [] if listed is None else named(listed)
    if inner is None or inner.type != "identifier" or not args:
        return None
    given = tuple(_given(tr, arg) for arg in args)
    known = tuple(g for g in given if g is not None)
    if len(known) < len(given):
        return None
    ctype, span = tr.type_of(head), tr.span(node)
    tr.declare(tr.source(inner), ctype)
    made: Node = ir.Construct(span, ctype, known, braced=False)
    if ctype.kind != "other" and len(known) == 1:
        made = known[0]
    return ir.Decl(span, tr.source(inner), ctype, made, "static" in head.split())


def _given(tr: Translator, node: Syntax) -> Node | None:
    """A parameter that is a variable, or an element of one; ``None`` for one that may be a type."""
    kind, span = field(node, "type"), tr.span(node)
    if node.type != "parameter_declaration" or kind is None:
        return None
    name, declarator = tr.source(kind), field(node, "declarator")
    if tr.declared_type(name) is None:
        return None
    if declarator is None:
        return ir.Name(span, name) if tr.source(node) == name else None
    size = field(declarator, "size")
    whole = (
        declarator.type == "abstract_array_declarator" and field(declarator, "declarator") is None
    )
    if not whole or size is None:
        return None
    return ir.Index(span, ir.Name(span, name), tr.expression(size))

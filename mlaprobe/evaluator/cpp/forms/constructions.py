"""Variables whose declaration reads like that of a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.tree import Syntax, field, named
from mlaprobe.evaluator.ir import Node

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator


def constructed(tr: Translator, node: Syntax, head: str) -> Node | None:
    """``Type name(variable);``, which reads like the declaration of a function."""
    inner, listed = field(node, "declarator"), field(node, "parameters")
    args = [] if listed is None else named(listed)
    names = [tr.source(a) for a in args]
    if inner is None or inner.type != "identifier" or not names:
        return None
    if not all(a.type == "parameter_declaration" for a in args) or not all(
        tr.is_local(name) for name in names
    ):
        return None
    ctype, span = tr.type_of(head), tr.span(node)
    given = tuple(ir.Name(tr.span(a), name) for a, name in zip(args, names, strict=True))
    tr.declare(tr.source(inner), ctype)
    made: Node = ir.Construct(span, ctype, given, braced=False)
    if ctype.kind != "other" and len(given) == 1:
        made = given[0]
    return ir.Decl(span, tr.source(inner), ctype, made, "static" in head.split())

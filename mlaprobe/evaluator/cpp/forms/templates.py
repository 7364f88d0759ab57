"""Templates from the syntax tree to the intermediate form: specialisations, packs and folds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.literals import opaque
from mlaprobe.evaluator.cpp.tree import Syntax, field, named
from mlaprobe.evaluator.cpp.types import TYPE, bytes_of, parse_type
from mlaprobe.evaluator.ir import Node
from mlaprobe.evaluator.stl.numberpacks import MAKERS, SEQUENCES
from mlaprobe.evaluator.walk import walk

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator

PACK = "..."
"""What the name of a template parameter ends with that stands for several arguments."""


def template_arguments(tr: Translator, node: Syntax) -> tuple[Node, ...]:
    """The arguments of a template: values, and types as constants that stand for them."""
    listed = field(node, "arguments")
    found: list[Node] = []
    for child in named(listed) if listed is not None else ():
        text = re.sub(r"\s+", " ", tr.source(child))
        is_type = child.type == "type_descriptor"
        known = is_type and parse_type(text).kind not in ("other", "auto")
        if known or bytes_of(text) is not None:
            found.append(ir.Const(tr.span(child), TYPE + text))
        elif is_type:
            found.append(ir.Name(tr.span(child), text))
        elif child.type == "parameter_pack_expansion":
            found.append(_expanded(tr, child))
        else:
            found.append(tr.expression(child))
    return tuple(found)


def _expanded(tr: Translator, node: Syntax) -> Node:
    """``pack...`` among template arguments, where the pack reads like a type."""
    pattern = field(node, "pattern")
    name = "" if pattern is None else tr.source(pattern)
    if name in tr.packs:
        return ir.Star(tr.span(node), ir.Name(tr.span(node), name))
    return opaque(tr, node, "a parameter pack")


def specialised(tr: Translator, node: Syntax) -> Node:
    """``name<arguments>``, a variable template."""
    name = field(node, "name")
    if name is None or name.type != "identifier":
        return opaque(tr, node, "a template")
    return ir.Specialised(tr.span(node), tr.source(name), template_arguments(tr, node))


def class_template(tr: Translator, node: Syntax) -> Node | None:
    """``name<arguments>`` where a type stands; ``None`` for any other type, and the library's."""
    kind = field(node, "type") if node.type == "type_descriptor" else node
    if kind is None or kind.type != "template_type":
        return None
    name, inner = tr.source(field(kind, "name")), template_arguments(tr, kind)
    return ir.Specialised(tr.span(node), name, inner)


def number_pack(tr: Translator, node: Syntax) -> Node | None:
    """``std::index_sequence<numbers>`` and its kin, which are made by a call of that name; ``None``
    for any other type."""
    head = "".join(tr.source(node).split()).partition("<")[0]
    kind = field(node, "name") if node.type == "qualified_identifier" else None
    if kind is None or kind.type != "template_type" or head not in (*SEQUENCES, *MAKERS):
        return None
    span = tr.span(node)
    return ir.Call(span, ir.Name(span, head), (), (), template_arguments(tr, kind))


def qualified(tr: Translator, node: Syntax) -> Node | None:
    """``name<arguments>::last``; ``None`` for any other qualified name."""
    prefix: list[str] = []
    while True:
        scope, name = field(node, "scope"), field(node, "name")
        if name is None:
            return None
        if scope is not None and scope.type == "template_type":
            break
        if name.type == "template_function" and prefix is not None:
            inner = specialised(tr, name)
            if isinstance(inner, ir.Specialised) and tr.source(scope or node) != "std":
                where = "::".join((*prefix, tr.source(scope) if scope is not None else ""))
                return ir.Specialised(inner.span, f"{where}::{inner.name}", inner.args)
            return None
        if name.type != "qualified_identifier":
            return None
        prefix.append(tr.source(scope) if scope is not None else "")
        node = name
    if name.type != "identifier" or field(scope, "name") is None:
        return None
    label = "::".join((*prefix, tr.source(field(scope, "name"))))
    return ir.Specialised(tr.span(node), label, template_arguments(tr, scope), tr.source(name))


_FOLDED = {
    "||": "or",
    "or": "or",
    "&&": "and",
    "and": "and",
    "+": "+",
    "*": "*",
    "|": "|",
    "&": "&",
    ",": ",",
    "<<": "<<",
}


def fold(tr: Translator, node: Syntax) -> Node:
    """A fold over a parameter pack, by an operator for which the side does not count."""
    left, right = field(node, "left"), field(node, "right")
    op = _FOLDED.get(tr.source(field(node, "operator")))
    if left is None or right is None or op is None:
        return opaque(tr, node, "a fold expression")
    sides = [tr.expression(s) for s in (left, right) if s.type != "..."]
    packs = [_packs_in(tr, side) for side in sides]
    with_pack = [at for at, found in enumerate(packs) if found]
    if len(with_pack) != 1 or len(packs[with_pack[0]]) != 1:
        return opaque(tr, node, "a fold expression")
    at = with_pack[0]
    if op == "<<" and (at == 0 or len(sides) == 1):
        return opaque(tr, node, "a fold expression")
    first = next((side for n, side in enumerate(sides) if n != at), None)
    return ir.Fold(tr.span(node), op, sides[at], packs[at].pop(), first)


def _packs_in(tr: Translator, node: Node) -> set[str]:
    return {n.id for n in walk((node,)) if isinstance(n, ir.Name) and n.id in tr.packs}


def expansion(tr: Translator, node: Syntax) -> Node:
    """``pack...`` among arguments."""
    pattern = field(node, "pattern")
    inner = tr.expression(pattern) if pattern is not None else None
    if isinstance(inner, ir.Name) and inner.id in tr.packs:
        return ir.Star(tr.span(node), inner)
    return opaque(tr, node, "a parameter pack")

"""Texts that are changed, and pointers into them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.forms.typing import static_type
from mlaprobe.evaluator.cpp.forms.widths import width
from mlaprobe.evaluator.cpp.literals import opaque
from mlaprobe.evaluator.cpp.tree import Syntax
from mlaprobe.evaluator.ir import Node

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator

_TEXT_CHANGES = {"clear", "append", "push_back", "pop_back", "assign", "insert", "erase", "resize"}
_TEXT_CHANGES |= {"replace", "swap"}
"""Methods of ``std::string`` that change it."""


def text_method(
    tr: Translator, node: Syntax, callee: ir.Attr, args: tuple[Node, ...]
) -> Node | None:
    """A method that changes a string, which is an assignment to it, or lets it be changed; ``None``
    for any other method."""
    if callee.name == "data" and tr.may_change(callee.obj):
        return opaque(tr, node, "what is written through data() of a text is not followed")
    if callee.name not in _TEXT_CHANGES or not tr.is_text(callee.obj):
        return None
    span, name = tr.span(node), callee.name
    if name == "clear" and not args:
        return ir.AssignExpr(span, callee.obj, ir.Const(span, ""))
    if name in ("append", "push_back", "assign") and len(args) == 1:
        return ir.AssignExpr(span, callee.obj, args[0], None if name == "assign" else "+")
    return opaque(tr, node, f"{name} of a string is not followed")


def moved_text(tr: Translator, span: ir.Span, left: Node, right: Node) -> Node | None:
    """A pointer to a character further on in a C string; ``None`` for another sum."""
    if not (isinstance(left, ir.Call) and isinstance(left.func, ir.Attr) and not left.args):
        return None
    if left.func.name not in ("c_str", "data") or width(tr, right) is None:
        return None
    ctype = static_type(tr, left.func.obj)
    if ctype is None or ctype.kind != "string" or ctype.pointer:
        return None
    return ir.Call(span, ir.Attr(span, left, "substr"), (right,))


def into_text(tr: Translator, value: Node) -> bool:
    """Whether something is a character of a text."""
    owner: Node = value
    if isinstance(owner, ir.Call):
        owner = owner.func
    return isinstance(owner, (ir.Index, ir.Attr)) and tr.may_change(owner.obj)

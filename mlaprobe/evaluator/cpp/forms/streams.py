"""Streams that texts are written to: variables that hold what has been written so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.forms.typing import static_type
from mlaprobe.evaluator.cpp.forms.widths import is_character, width
from mlaprobe.evaluator.cpp.types import STREAMS
from mlaprobe.evaluator.ir import Node, Span
from mlaprobe.evaluator.walk import is_name, targets

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator

WRITTEN = "operator <<stream"
"""The function that puts a value at the end of a text."""
HELD = "operator str()stream"
"""The function that gives what has been written."""
EMPTIED = "operator str(empty)stream"
"""The function that takes away what has been written: what changes how things are written stays."""


_UNREAD = "what is read from a stream is not followed"


def _may_be_read(tr: Translator, node: Node) -> bool:
    """Whether an expression is of a class of the library that is no container of bits."""
    found = static_type(tr, node)
    return found is not None and found.name.startswith("std::") and "stream" in found.name


def is_stream(tr: Translator, node: Node) -> bool:
    """Whether an expression is a stream."""
    if isinstance(node, ir.AssignExpr):
        return is_stream(tr, node.target)
    found = static_type(tr, node)
    return found is not None and found.name in STREAMS and not found.pointer


def streamed(tr: Translator, span: Span, op: str, left: Node, right: Node) -> Node | None:
    """``stream << value``; ``None`` where there is no stream."""
    if op not in ("<<", ">>"):
        return None
    if isinstance(left, ir.Opaque) or (op == ">>" and _may_be_read(tr, left)):
        before = left.writes if isinstance(left, ir.Opaque) else tuple(targets(left))
        return ir.Opaque(span, _UNREAD, (*before, *targets(right)))
    if not is_stream(tr, left):
        return None
    target = left.target if isinstance(left, ir.AssignExpr) else left
    if op == "<<" and isinstance(target, (ir.Name, ir.Attr)):
        value = ir.Const(span, "\n") if is_name(right, "std::endl") else right
        shown = ir.Const(span, _is_shown(tr, value))
        text = ir.Call(span, ir.Name(span, WRITTEN), (left, value, shown))
        return ir.AssignExpr(span, target, text)
    why = "what is written to a stream is not followed" if op == "<<" else _UNREAD
    return ir.Opaque(span, why, (*targets(target), *targets(right)))


def _is_shown(tr: Translator, node: Node) -> bool:
    """Whether an expression is certainly a text, or a number that is written with its digits."""
    if isinstance(node, ir.Const) and isinstance(node.value, str):
        return True
    ctype = static_type(tr, node)
    if ctype is not None and ctype.kind == "string":
        return ctype.name not in STREAMS and not (ctype.pointer and ctype.name != "char")
    char = ctype is not None and (ctype.bits < 16 or ctype.kind == "bool")
    return width(tr, node) is not None and not char and not is_character(tr, node)


def stream_method(
    tr: Translator, span: Span, callee: ir.Attr, args: tuple[Node, ...]
) -> Node | None:
    """A method of a stream; ``None`` where there is no stream."""
    if not is_stream(tr, callee.obj):
        return None
    if callee.name == "str" and not args:
        return ir.Call(span, ir.Name(span, HELD), (callee.obj,))
    empty = len(args) == 1 and isinstance(args[0], ir.Const) and args[0].value == ""
    if callee.name == "str" and empty:
        text = ir.Call(span, ir.Name(span, EMPTIED), (callee.obj,))
        return ir.AssignExpr(span, callee.obj, text)
    why = f"{callee.name} of a stream is not followed"
    return ir.Opaque(span, why, tuple(targets(callee.obj)))

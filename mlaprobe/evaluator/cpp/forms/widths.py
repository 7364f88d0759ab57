"""The types that C++ computes numbers in: signed or not, and how wide."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.forms.typing import static_type
from mlaprobe.evaluator.ir import CType, Node
from mlaprobe.evaluator.symbolic.formulas import COMPARE

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator

_ACCESS = ("at", "front", "back")
_PLACES = (ir.Name, ir.Attr, ir.Index, ir.Call, ir.Cast, ir.Construct)


class Width(NamedTuple):
    """A type of whole numbers, after the promotion of narrow ones."""

    unsigned: bool
    bits: int


_INT = Width(False, 32)


def width(tr: Translator, node: Node) -> Width | None:
    """What an expression is computed in; ``None`` where that is not certain."""
    if isinstance(node, ir.Const):
        return _of_literal(tr, node)
    if isinstance(node, ir.Binary):
        return _of_binary(tr, node)
    if isinstance(node, ir.Bool):
        return _INT
    if isinstance(node, ir.Unary):
        return _INT if node.op == "not" else width(tr, node.value)
    if isinstance(node, ir.Cond):
        return wider(width(tr, node.then), width(tr, node.orelse))
    if is_character(tr, node):
        return _INT
    ctype = static_type(tr, node) if isinstance(node, _PLACES) else None
    return None if ctype is None else of_type(ctype)


def of_type(ctype: CType) -> Width | None:
    """What numbers of a type are computed in."""
    if ctype.pointer or ctype.kind not in ("int", "unsigned", "bool"):
        return None
    if ctype.kind == "bool" or ctype.bits < 32:
        return _INT
    return Width(ctype.kind == "unsigned", ctype.bits) if ctype.bits in (32, 64) else None


def wider(one: Width | None, other: Width | None) -> Width | None:
    """What two numbers are converted to."""
    if one is None or other is None:
        return None
    if one.bits == other.bits:
        return Width(one.unsigned or other.unsigned, one.bits)
    return one if one.bits > other.bits else other


def _of_literal(tr: Translator, node: ir.Const) -> Width | None:
    if isinstance(node, ir.Character) or type(node.value) is bool:
        return _INT
    if type(node.value) is not int:
        return None
    if node in tr.unsigned_literals:
        return Width(True, tr.unsigned_literals[node])
    return Width(False, 64) if node in tr.long_literals or node.value >= 2**31 else _INT


def _of_binary(tr: Translator, node: ir.Binary) -> Width | None:
    if node.op in COMPARE:
        return _INT
    left, right = width(tr, node.left), width(tr, node.right)
    return left if node.op in ("<<", ">>") else wider(left, right)


def is_character(tr: Translator, node: Node) -> bool:
    """Whether an expression is a ``char``."""
    if isinstance(node, ir.Character):
        return True
    if isinstance(node, ir.Index) and _is_text(tr, node.obj):
        return True
    if isinstance(node, ir.Deref):
        return _is_text(tr, node.value)
    owner = node.func if isinstance(node, ir.Call) else None
    if isinstance(owner, ir.Attr) and owner.name in _ACCESS and _is_text(tr, owner.obj):
        return True
    ctype = static_type(tr, node) if isinstance(node, _PLACES) else None
    return ctype is not None and ctype.name == "char" and ctype.kind == "int" and not ctype.pointer


def _is_text(tr: Translator, node: Node) -> bool:
    ctype = static_type(tr, node.target if isinstance(node, ir.AssignExpr) else node)
    return ctype is not None and ctype.kind == "string" and not ctype.pointer


def as_number(tr: Translator, node: Node) -> Node:
    """An operand of arithmetic: of a character, its number."""
    if isinstance(node, ir.Character):
        return ir.Const(node.span, ord(node.value))
    return ir.Cast(node.span, CType("int", "int", 32), node) if is_character(tr, node) else node


def narrowed(tr: Translator, node: Node, ctype: CType) -> Node:
    """A number that is converted to a type with fewer bits, of which it keeps as many."""
    if ctype.kind != "int" or ctype.pointer or ctype.ref or ctype.bits > 32:
        return node
    found = width(tr, node)
    if found is None or found == _INT:
        return node
    return ir.Cast(node.span, ctype, node, modulo=True)

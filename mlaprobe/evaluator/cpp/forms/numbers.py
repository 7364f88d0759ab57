"""Arithmetic of C++ by the types of its operands: what is unsigned wraps around, characters are
numbers, and a pointer into a text moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.forms.typing import static_type
from mlaprobe.evaluator.cpp.types import SCALARS
from mlaprobe.evaluator.ir import CType, Node, Span

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator

MOVED, WRAPPED = "operator char*", "operator int32"
"""Functions that move a pointer into a text, and take a number modulo what an int holds."""
_INT = CType("int", "int")
_WRAPPING = frozenset("+-*&|^")
_ARITHMETIC = _WRAPPING | {"c/", "c%", "<<", ">>"}
_COMPARED = frozenset(("==", "!=", "<", "<=", ">", ">="))
Kind = tuple[str, int]


def is_char(tr: Translator, node: Node) -> bool:
    """Whether an expression is certainly a character."""
    if isinstance(node, ir.Character):
        return True
    found = static_type(tr, node)
    return found is not None and not found.pointer and (found.kind, found.name) == ("int", "char")


def is_pointer_to_text(tr: Translator, node: Node) -> bool:
    """Whether an expression is certainly a C string that is no literal."""
    found = static_type(tr, node)
    return found is not None and (found.kind, found.name) == ("string", "char")


def number_kind(tr: Translator, node: Node) -> Kind | None:
    """Of what kind and how many bits a number is, after promotion; ``None`` where that is not
    known."""
    if isinstance(node, ir.Const):
        return _literal(tr, node)
    if isinstance(node, ir.Binary) and node.op in _ARITHMETIC:
        sides = number_kind(tr, node.left), number_kind(tr, node.right)
        return sides[0] if node.op in ("<<", ">>") else _common(*sides)
    if isinstance(node, ir.Unary) and node.op in ("-", "+", "~"):
        return number_kind(tr, node.value)
    if isinstance(node, ir.Cond):
        return _common(number_kind(tr, node.then), number_kind(tr, node.orelse))
    found = static_type(tr, node)
    if found is None or found.pointer or found.kind not in SCALARS:
        return None
    if found.kind == "float":
        return "float", 64
    return ("int", 32) if found.kind == "bool" or found.bits < 32 else (found.kind, found.bits)


def _literal(tr: Translator, node: ir.Const) -> Kind | None:
    if isinstance(node.value, bool) or isinstance(node, ir.Character):
        return "int", 32
    if isinstance(node.value, float):
        return "float", 64
    if not isinstance(node.value, int):
        return None
    bits = tr.unsigned_literals.get(node)
    if bits:
        return "unsigned", bits
    return "int", 32 if -(2**31) <= node.value < 2**31 else 64


def _common(one: Kind | None, other: Kind | None) -> Kind | None:
    """The type that two numbers are converted to before they are computed with."""
    if one is None or other is None:
        return None
    if "float" in (one[0], other[0]):
        return "float", 64
    bits = max(one[1], other[1])
    unsigned = any(kind == ("unsigned", bits) for kind in (one, other))
    return ("unsigned" if unsigned else "int"), bits


def computed(tr: Translator, span: Span, op: str, left: Node, right: Node) -> Node:
    """``left op right`` for an arithmetic operator."""
    if op in ("+", "-") and is_pointer_to_text(tr, left) and number_kind(tr, right) is not None:
        return moved(span, left, right if op == "+" else ir.Unary(span, "-", right))
    left, right = _as_numbers(tr, op, left, right)
    kinds = number_kind(tr, left), number_kind(tr, right)
    bits = tr.is_unsigned(left) if op in ("<<", ">>") else tr.is_unsigned(left, right)
    common = kinds[0] if op == "<<" else _common(*kinds)
    if common is not None and common[0] == "unsigned" and (op in _WRAPPING or op == "<<"):
        kind = CType("unsigned", "unsigned", common[1])
        return ir.Cast(span, kind, ir.Binary(span, op, left, right))
    return ir.Binary(span, op, left, right, bits)


def _as_numbers(tr: Translator, op: str, left: Node, right: Node) -> tuple[Node, Node]:
    """The operands, characters as numbers."""
    chars = is_char(tr, left), is_char(tr, right)
    if not any(chars):
        return left, right
    if op == "+" and not all(chars):
        other = right if chars[0] else left
        if number_kind(tr, other) is None:
            return left, right  # which may be a text
    return tuple(  # type: ignore[return-value]
        ir.Cast(side.span, _INT, side) if char else side
        for side, char in zip((left, right), chars, strict=True)
    )


def compared(tr: Translator, left: Node, right: Node) -> tuple[Node, Node]:
    """The operands of a comparison, of which one may be a character and the other a number."""
    chars = is_char(tr, left), is_char(tr, right)
    if all(chars) and (type(left) is ir.Name or type(right) is ir.Name):
        return _as_numbers(tr, "-", left, right)
    if chars[0] is chars[1]:
        return left, right
    other = right if chars[0] else left
    if number_kind(tr, other) is None:
        return left, right
    return _as_numbers(tr, "-", left, right)


def compares_pointers(tr: Translator, left: Node, right: Node) -> bool:
    """Whether two C strings are compared, which is by where they are."""
    sides = [is_pointer_to_text(tr, side) for side in (left, right)]
    literal = [type(side) is ir.Const and isinstance(side.value, str) for side in (left, right)]
    return any(sides) and all(s or t for s, t in zip(sides, literal, strict=True))


def moved(span: Span, pointer: Node, by: Node) -> Node:
    """A pointer into a text, so many characters further on."""
    return ir.Call(span, ir.Name(span, MOVED), (pointer, by))


def updated_text(tr: Translator, span: Span, target: Node, by: Node, postfix: bool) -> Node | None:
    """``p += n`` and ``p++`` of a pointer into a text; ``None`` for anything else."""
    if not isinstance(target, ir.Name) or not is_pointer_to_text(tr, target):
        return None
    after = ir.AssignExpr(span, target, moved(span, target, by))
    if not postfix:
        return after
    both = ir.Sequence(span, "tuple", (target, after))
    return ir.Index(span, both, ir.Const(span, 0))


def narrowed(tr: Translator, ctype: CType, value: Node) -> Node:
    """What becomes an ``int`` of 32 bits, of a number that may be wider."""
    if ctype.kind != "int" or ctype.bits != 32 or ctype.pointer or ctype.ref:
        return value
    kind = number_kind(tr, value)
    if kind is None or kind[0] == "float" or kind == ("int", 32):
        return value
    return ir.Call(value.span, ir.Name(value.span, WRAPPED), (value,))


def accumulated(tr: Translator, span: Span, callee: Node, args: tuple[Node, ...]) -> Node:
    """``std::accumulate``, whose sum has the type of what it starts with."""
    call, kind = ir.Call(span, callee, args), static_type(tr, args[2])
    if kind is None or kind.kind not in ("int", "unsigned") or kind.pointer:
        return call
    call = ir.Call(call.span, callee, args, (), (ir.Const(call.span, kind),))
    return ir.Cast(call.span, kind, call)

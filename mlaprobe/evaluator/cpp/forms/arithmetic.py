"""Arithmetic and comparisons of C++ in the types that their operands are converted to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.forms.typing import static_type
from mlaprobe.evaluator.cpp.forms.widths import as_number, is_character, wider, width
from mlaprobe.evaluator.ir import CType, Node

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator

_RINGS, _WIDEST = ("+", "-", "*", "&", "|", "^"), 64
"""Operators whose last bits depend on the last bits of the operands only."""


def arithmetic(tr: Translator, span: ir.Span, op: str, left: Node, right: Node) -> Node:
    """An operation on numbers, in the type that both are converted to."""
    if not (tr.is_text(left) or tr.is_text(right)):
        left, right = as_number(tr, left), as_number(tr, right)
    if tr.is_float(left) or tr.is_float(right):
        return ir.Binary(span, op, left, right)
    found = width(tr, ir.Binary(span, op, left, right))
    if found is None:
        bits = tr.is_unsigned(left, right)
        return ir.Binary(span, op, left, right, bits, modulo=bits == _WIDEST and op in _RINGS)
    bits = found.bits if found.unsigned else 0
    if bits and op in ("c/", "c%"):
        kind = CType("unsigned", "unsigned", bits)
        left, right = (s if tr.is_unsigned(s) else ir.Cast(s.span, kind, s) for s in (left, right))
    return ir.Binary(span, op, left, right, bits, modulo=found.unsigned)


def comparison(tr: Translator, span: ir.Span, op: str, left: Node, right: Node) -> Node:
    """A comparison; signed with unsigned compares as unsigned, which a negative value shows."""
    if _are_c_strings(tr, left, right):
        return ir.Opaque(span, "where two texts are stored is not known")
    if is_character(tr, left) != is_character(tr, right):
        left, right = as_number(tr, left), as_number(tr, right)
    found = wider(width(tr, left), width(tr, right))
    if found is not None and not found.unsigned:
        return ir.Binary(span, op, left, right)
    if bool(tr.is_unsigned(left)) == bool(tr.is_unsigned(right)):
        return ir.Binary(span, op, left, right)
    wide = CType("unsigned", "unsigned", 64 if found is None else found.bits)
    left, right = (s if tr.is_unsigned(s) else ir.Cast(s.span, wide, s) for s in (left, right))
    return ir.Binary(span, op, left, right)


def _are_c_strings(tr: Translator, left: Node, right: Node) -> bool:
    """Whether two C strings are compared, which is by where they are."""
    kinds = [static_type(tr, side) for side in (left, right)]
    stored = [k is not None and (k.kind, k.name) == ("string", "char") for k in kinds]
    literal = [type(s) is ir.Const and isinstance(s.value, str) for s in (left, right)]
    return any(stored) and all(s or t for s, t in zip(stored, literal, strict=True))


def accumulated(tr: Translator, span: ir.Span, callee: Node, args: tuple[Node, ...]) -> Node:
    """``std::accumulate``, whose sum has the type of what it starts with."""
    call, kind = ir.Call(span, callee, args), static_type(tr, args[2])
    if kind is None or kind.kind not in ("int", "unsigned") or kind.pointer:
        return call
    call = ir.Call(call.span, callee, args, (), (ir.Const(call.span, kind),))
    return ir.Cast(call.span, kind, call)

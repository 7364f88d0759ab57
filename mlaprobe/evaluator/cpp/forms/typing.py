"""The static types of C++ expressions, as far as declarations show them.

They matter where arithmetic wraps around: that of an unsigned element, member or result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.types import parse_type, template_of
from mlaprobe.evaluator.ir import CType, Node

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator

_ELEMENTS = ("at", "front", "back", "value")
_COUNTS = ("size", "length", "capacity", "count", "max_size")
_WIDE = CType("unsigned", "size_t", 64)
_CHAR = CType("int", "char", 8)
_POINTER = CType("string", "char", const=True)
_DEEPEST = 12


class Outside(NamedTuple):
    """What the rest of the unit says of names outside functions."""

    alias: Callable[[str], str | None]
    """What a type is another name for."""
    member: Callable[[str, str], CType | None]
    """The type of a member of a struct."""
    result: Callable[[str], CType | None]
    """The type of a function's result."""
    variable: Callable[[str], CType | None]
    """The type of a variable of a namespace."""
    hoist: Callable[[str, Any], None]
    """Takes a type that a function defines, by a name of its own."""
    size: Callable[[CType], int | None]
    """``sizeof`` of a type."""


NOTHING = Outside(
    lambda name: None,
    lambda struct, name: None,
    lambda name: None,
    lambda name: None,
    lambda name, definition: None,
    lambda ctype: None,
)


def type_of_variable(one: Callable[[str, str], Any], name: str) -> CType | None:
    """The type of a variable of a namespace, or of an enumerator whose enum says it. ``one``: what
    defines a name, where it is one thing of a kind."""
    found, member = one(name, "variable"), one(name, "enumerator")
    if found is not None:
        ctype: CType | None = found[0]
        return ctype
    enum = None if member is None else one(member.enum, "enum")
    return None if enum is None else enum.underlying


def static_type(tr: Translator, node: Node, depth: int = 0) -> CType | None:
    """The type of an expression; ``None`` where it is not known."""
    if depth > _DEEPEST:
        return None
    depth += 1
    if isinstance(node, ir.Name):
        return tr.declared_type(node.id)
    if isinstance(node, (ir.Cast, ir.Construct)):
        return node.type
    if isinstance(node, ir.Attr):
        return _member(tr, static_type(tr, node.obj, depth), node.name)
    if isinstance(node, ir.Index):
        return _element(static_type(tr, node.obj, depth))
    if isinstance(node, ir.Cond):
        return static_type(tr, node.then, depth)
    if isinstance(node, ir.Deref):
        pointed = static_type(tr, node.value, depth)
        text = pointed is not None and (pointed.kind, pointed.name) == ("string", "char")
        return _CHAR if text else None
    if isinstance(node, ir.Character):
        return _CHAR
    if isinstance(node, ir.Call):
        return _result(tr, node, depth)
    return None


def _result(tr: Translator, node: ir.Call, depth: int) -> CType | None:
    func = node.func
    if isinstance(func, ir.Name):
        if func.id in ("std::size", "sizeof"):
            return _WIDE
        if func.id in ("std::min", "std::max", "std::clamp") and node.args:
            return static_type(tr, node.args[0], depth)
        return tr.result_type(func.id)
    if not isinstance(func, ir.Attr):
        return None
    owner = static_type(tr, func.obj, depth)
    if func.name in _COUNTS and not node.args:
        return _WIDE
    if func.name in ("c_str", "data") and owner is not None and owner.kind == "string":
        return _POINTER
    if func.name == "count" and owner is not None and owner.name.startswith("std::"):
        return _WIDE
    return _element(owner) if func.name in _ELEMENTS else None


def _element(ctype: CType | None) -> CType | None:
    """The type of an element of an array or a container."""
    if ctype is None:
        return None
    if ctype.pointer:
        return replace(ctype, pointer=False, ref=False)
    if ctype.kind == "string":
        return _CHAR
    head, types = template_of(ctype.name)
    if not types or not head.startswith("std::"):
        return None
    keyed = head in ("std::map", "std::unordered_map") and len(types) > 1
    return parse_type(types[1] if keyed else types[0])


def element_of(tr: Translator, node: Node) -> CType | None:
    """The type of what a loop over an expression is given."""
    ctype = static_type(tr, node)
    if ctype is None:
        return None
    head, types = template_of(ctype.name)
    if "map" in head and len(types) > 1:
        return parse_type(f"std::pair<{types[0]},{types[1]}>")
    return _element(ctype)


def _member(tr: Translator, ctype: CType | None, name: str) -> CType | None:
    if ctype is None:
        return None
    head, types = template_of(ctype.name)
    if head == "std::pair" and name in ("first", "second") and len(types) == 2:
        return parse_type(types[name == "second"])
    if head.startswith("std::"):
        return None
    return tr.member_type(ctype.name, name)


def deduced(tr: Translator, ctype: CType, init: Node | None) -> CType:
    """The type of a variable, that of its initial value where it is declared ``auto``."""
    if ctype.kind != "auto" or init is None:
        return ctype
    bits = tr.is_unsigned(init)
    if bits:
        return CType("unsigned", "unsigned", bits)
    found = static_type(tr, init)
    return ctype if found is None else replace(found, ref=False)

"""``sizeof`` of types, arrays and packs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.tree import Syntax, field
from mlaprobe.evaluator.cpp.types import bytes_of, parse_type
from mlaprobe.evaluator.ir import Node

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator


_COUNTED = re.compile(r"sizeof\(?(\w+)\)?/sizeof\(?(?:(\w+)\[0\]|\*(\w+))\)?")


def counted_array(tr: Translator, node: Syntax) -> str:
    """The array in ``sizeof(array) / sizeof(array[0])``; empty for anything else."""
    found = _COUNTED.fullmatch(re.sub(r"\s+", "", tr.source(node)))
    if found is None or found.group(1) not in found.groups()[1:]:
        return ""
    name: str = found.group(1)
    return name if tr.array_of(name) is not None or not tr.is_local(name) else ""


_TYPE_NAME = re.compile(r"(?:const )?(?:struct |union |enum )?[\w:]+(?:<[\w:<>, ]*>)?\s*[*&]?")


def _of_source(tr: Translator, name: str) -> int | None:
    """The size of a type that the source defines, or of a pointer."""
    if not _TYPE_NAME.fullmatch(name) or name in tr.parameters:
        return None
    ctype = tr.type_of(name)
    if ctype.ref:
        return None
    if ctype.kind == "other" and ctype.name in tr.parameters:
        return None
    return tr.room(ctype)


def size_of(tr: Translator, node: Syntax) -> Node:
    """What ``sizeof`` gives, a number of 64 bits without a sign."""
    found = _size_of(tr, node)
    if isinstance(found, ir.Const):
        tr.unsigned_literals[found] = 64
    return found


def _size_of(tr: Translator, node: Syntax) -> Node:
    """``sizeof...(pack)`` is the number of arguments; that of an object is what ``sizeof`` says."""
    span = tr.span(node)
    text = tr.source(node).replace(" ", "")
    if text.startswith("sizeof...("):
        pack = text[10:-1] if text[10:-1] in tr.packs else tr.pack
        return ir.Call(span, ir.Name(span, "std::size"), (ir.Name(span, pack),))
    inner = field(node, "type") or field(node, "value")
    name = tr.source(inner).strip("() ") if inner is not None else ""
    element = tr.array_of(name)
    if element is not None:
        count = ir.Call(span, ir.Name(span, "std::size"), (ir.Name(span, name),))
        return ir.Binary(span, "*", count, ir.Const(span, element.bits // 8))
    size = bytes_of(name)
    if size is not None:
        return ir.Const(span, size)
    known = None if tr.is_local(name) else _of_source(tr, name)
    if known is not None:
        return ir.Const(span, known)
    if name.isidentifier() and parse_type(name).kind == "other":
        return ir.Call(
            span, ir.Name(span, "sizeof"), (ir.Name(span, name), ir.Const(span, tr.room))
        )
    return ir.Opaque(span, f"the size of {name[:60] or 'something'} is not followed")

"""Structs and enums that a function defines for itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.literals import names_in
from mlaprobe.evaluator.cpp.tree import Syntax, field
from mlaprobe.evaluator.ir import CType, Node
from mlaprobe.evaluator.values.kinds import EnumType, StructType

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator

_UNKNOWN_BASE = "<a function's>"
"""What a class counts as derived from whose methods see variables of the function."""


def local_type(tr: Translator, node: Syntax) -> Node:
    """A type that a function defines. The unit gets it under a name of its own, which no other
    type has; in the function its name stands for that."""
    from mlaprobe.evaluator.cpp.definitions import DefinitionReader

    span, name = tr.span(node), field(node, "name")
    body = field(node, "body")
    if body is None:
        return ir.Block(span, ())
    reader = DefinitionReader(tr, span.file, "")
    reader.read_type(node)
    own = "" if name is None else f"{tr.source(name)}@{span.line}_{span.column}"
    found: list[Node] = []
    for each in reader.found:
        value = each.value
        if isinstance(value, StructType):
            seen = set(names_in(tr.source(body))) - {name for name, _, _ in value.members}
            if any(map(tr.is_local, seen)):
                value = replace(value, bases=(_UNKNOWN_BASE,), plain=False)
        if each.kind in ("struct", "enum") and each.name == own.partition("@")[0]:
            value = _renamed(value, own)
            tr.hoist(own, each._replace(name=own, value=value))
            tr.declare_alias(each.name, own)
        elif each.kind in ("enumerator", "member"):
            value = replace(value, enum=own or value.enum)
        if each.kind != "member":
            found.append(ir.Decl(span, each.name, CType("auto"), ir.Const(span, value)))
    return ir.Block(span, tuple(found))


def _renamed(value: Any, name: str) -> Any:
    if isinstance(value, EnumType):
        members = tuple(replace(m, enum=name) for m in value.members)
        return replace(value, name=name, members=members)
    return replace(value, name=name)

"""C arrays from the syntax tree to the intermediate form."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.expressions import expression, expressions_in
from mlaprobe.evaluator.cpp.tree import Syntax, field

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator


def dimensions(tr: Translator, node: Syntax) -> tuple[ir.Node | None, ...]:
    """The sizes of an array from the outside in; empty for a declarator of no array."""
    sizes: list[ir.Node | None] = []
    while node is not None:
        if node.type == "array_declarator":
            size = field(node, "size")
            sizes.insert(0, None if size is None else expression(tr, size))
        node = field(node, "declarator") if node.type.endswith("declarator") else None
    return tuple(sizes)


def array_initialiser(
    tr: Translator, declarator: Syntax, head: str, value: Syntax
) -> ir.ArrayInit | None:
    """The braced list of an array; ``None`` for a declaration of something else."""
    if value is None or value.type != "initializer_list":
        return None
    sizes = dimensions(tr, declarator)
    if not sizes:
        return None
    pointer = any("*" in part for part in re.split(r"\[.*", tr.source(declarator))[:1])
    element = tr.type_of(head, pointer=pointer)
    const = element.const and not pointer
    items = expressions_in(tr, value)
    return ir.ArrayInit(tr.span(value), replace(element, ref=False), items, sizes, const)


def array_type(tr: Translator, declarator: Syntax, element: ir.CType) -> ir.CType | None:
    """The type of a member that is a C array, as that of the library's array; ``None`` for any
    other, and where its sizes are no numbers or constants."""
    sizes = _sizes(tr, declarator)
    if not sizes or not all(size.replace("::", "").replace("_", "").isalnum() for size in sizes):
        return None
    star = "*" if "*" in tr.source(declarator).split("[", 1)[0] else ""
    name = f"{'const ' if star and element.const else ''}{element.name}{star}"
    for size in reversed(sizes):
        name = f"std::array<{name},{size}>"
    return ir.CType("other", name, const=element.const)


def _sizes(tr: Translator, node: Syntax) -> list[str]:
    """The sizes of an array from the outside in, as texts."""
    found: list[str] = []
    while node is not None:
        if node.type == "array_declarator":
            size = field(node, "size")
            found.insert(0, "" if size is None else tr.source(size).strip())
        node = field(node, "declarator") if node.type.endswith("declarator") else None
    return found

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

"""The names that C++ declarators declare."""

from __future__ import annotations

from mlaprobe.evaluator.cpp.tree import Syntax, Tree, field


def find_declarator(node: Syntax) -> Syntax:
    """The function declarator at or below a declarator; ``None`` where there is none."""
    while node is not None and node.type != "function_declarator":
        node = field(node, "declarator") or next(
            (c for c in node.named_children if c.type.endswith("declarator")), None
        )
    return node


def name_of(node: Syntax, tree: Tree) -> tuple[str, bool, bool]:
    """(name, is a reference, is a pointer) of a declarator."""
    ref = pointer = False
    while node is not None:
        if node.type in ("reference_declarator", "abstract_reference_declarator"):
            ref = True
        elif node.type in (
            "pointer_declarator",
            "abstract_pointer_declarator",
            "array_declarator",
            "abstract_array_declarator",
        ):
            pointer = True
        elif node.type in ("identifier", "field_identifier", "type_identifier"):
            return tree.source(node), ref, pointer
        inner = field(node, "declarator")
        if inner is None:
            inner = next(
                (
                    c
                    for c in node.named_children
                    if c.type.endswith("declarator") or c.type in ("identifier", "field_identifier")
                ),
                None,
            )
        node = inner
    return "", ref, pointer

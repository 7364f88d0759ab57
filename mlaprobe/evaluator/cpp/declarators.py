"""The names that C++ declarators declare."""

from __future__ import annotations

from typing import Any

from mlaprobe.evaluator.cpp.tree import Tree


def find_declarator(node: Any) -> Any:
    while node is not None and node.type != "function_declarator":
        node = node.child_by_field_name("declarator") or next(
            (c for c in node.named_children if c.type.endswith("declarator")), None
        )
    return node


def name_of(node: Any, tree: Tree) -> tuple[str, bool, bool]:
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
        inner = node.child_by_field_name("declarator")
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

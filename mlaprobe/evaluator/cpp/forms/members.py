"""Members of structs and enums, as they are written."""

from __future__ import annotations

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.tree import Syntax, Tree, field, find_declarator
from mlaprobe.evaluator.symbolic.formulas import ARITHMETIC
from mlaprobe.evaluator.values.kinds import EnumMember


def is_odd(member: Syntax) -> bool:
    """Whether the size of a member does not follow from its type."""
    kinds = ("bitfield_clause", "array_declarator", "alignas_qualifier", "attribute_specifier")
    return any(child.type in kinds for child in member.children)


def makes(member: Syntax, name: str, tree: Tree) -> bool:
    """Whether a member of a struct is a constructor, or hides others from list initialisation."""
    if member.type == "access_specifier":
        return tree.source(member).split(":")[0] != "public"
    declarator = find_declarator(field(member, "declarator"))
    inner = field(declarator, "declarator") if declarator is not None else None
    return inner is not None and tree.source(inner) == name


def constant(node: ir.Node, members: list[EnumMember]) -> int | None:
    """The value of an enumerator's initialiser, where it is simple."""
    if isinstance(node, ir.Const) and isinstance(node.value, int):
        return int(node.value)
    if isinstance(node, ir.Unary) and node.op == "-":
        inner = constant(node.value, members)
        return -inner if inner is not None else None
    if isinstance(node, ir.Name):
        return next((m.value for m in members if m.name == node.id), None)
    if isinstance(node, ir.Binary) and node.op in ("<<", "+", "-", "*", "|"):
        left, right = constant(node.left, members), constant(node.right, members)
        if left is not None and right is not None and 0 <= right < 64:
            return int(ARITHMETIC[node.op](left, right))
    return None

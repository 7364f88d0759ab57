"""The intermediate form as short text, for tests."""

from __future__ import annotations

from typing import Any

from mlaprobe.evaluator import ir


def show(node: Any) -> str:
    """A node, or a tuple of nodes, as text without places."""
    if isinstance(node, tuple):
        return "(" + " ".join(show(part) for part in node) + ")"
    if isinstance(node, ir.Name):
        return node.id
    if isinstance(node, ir.Const):
        return repr(node.value)
    if isinstance(node, ir.Opaque):
        return f"?{list(node.writes)}"
    if isinstance(node, ir.Node):
        skipped = {"span", "captures", "lang", "decorators", "template", "type", "result"}
        fields = [f for f in type(node).__dataclass_fields__ if f not in skipped]
        parts = [
            show(value) for f in fields if (value := getattr(node, f)) not in (None, (), False)
        ]
        return f"{type(node).__name__}({', '.join(parts)})"
    return str(node)

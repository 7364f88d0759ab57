"""What a C++ lambda captures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.tree import Syntax, field
from mlaprobe.evaluator.ir import Node
from mlaprobe.evaluator.walk import walk

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator

Own = tuple[tuple[str, Node, bool], ...]
"""Variables of a lambda's own: name, first value, whether it is a reference."""


def captured(tr: Translator, node: Syntax, body: tuple[Node, ...]) -> tuple[bool, Own] | None:
    """Whether a lambda copies all variables that it sees, and those that it has of its own where it
    copies only some; ``None`` where that is not followed."""
    listed = field(node, "captures")
    parts = _split(tr.source(listed)[1:-1]) if listed is not None else []
    if any(part in ("this", "*this") or part.endswith("...") for part in parts):
        return None
    if any("=" in part[1:] for part in parts):
        return _with_values(tr, listed, parts)
    by_ref = [part.startswith("&") for part in parts]
    if not any(by_ref) or all(by_ref):
        return bool(parts) and not by_ref[0], ()
    references = {part[1:].strip() for part in parts if part.startswith("&")}
    if "=" in parts:
        seen = {n.id for n in walk(body) if isinstance(n, ir.Name) and tr.is_local(n.id)}
    else:
        seen = {part for part in parts if not part.startswith("&")}
    return False, _copies(tr, node, seen - references)


def _copies(tr: Translator, node: Syntax, names: set[str]) -> Own:
    return tuple((name, ir.Name(tr.span(node), name), False) for name in sorted(names))


def _with_values(tr: Translator, listed: Syntax, parts: list[str]) -> tuple[bool, Own] | None:
    """Captures with values of their own: ``[table = make()]``."""
    own: list[tuple[str, Node, bool]] = []
    for child in listed.named_children:
        if child.type == "lambda_capture_initializer":
            left, right = field(child, "left"), field(child, "right")
            if left is None or right is None:
                return None
            name = tr.source(left)
            own.append((name, tr.expression(right), f"&{name}" in tr.source(child).split("=")[0]))
        elif child.type != "identifier":
            return None
    plain = [part for part in parts if "=" not in part[1:]]
    if any(part in ("=", "&") for part in plain):
        return None
    copied = {part for part in plain if not part.startswith("&")}
    return False, (*own, *_copies(tr, listed, copied))


def _split(text: str) -> list[str]:
    """The captures, separated by commas outside brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "(<{[") - (char in ")>}]")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]

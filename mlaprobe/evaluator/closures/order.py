"""Whether the order of a loop's rounds makes a difference.

It makes none where each round only adds to variables that it does not read, in a way in which the
order does not count (``+=``, ``|=``, ``std::max`` of whole numbers), or gives them one and the same
value. Rounds that leave the loop, call something or write anything else have an order.
"""

from __future__ import annotations

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.ir import Node
from mlaprobe.evaluator.walk import ASKING, bound_names, is_name, walk

_ORDERED: tuple[type[Node], ...] = (ir.Return, ir.Throw, ir.Opaque, ir.OpaqueStmt, ir.Function)
_ORDERED += (ir.AddressOf, ir.Deref, ir.Launch, ir.Try, ir.With, ir.Define)
_ADDING = ("+", "|", "&", "^")
_EXTREMES = ("std::min", "std::max", "min", "max")


def keeps_no_order(node: ir.ForEach) -> bool:
    """Whether the rounds of a C++ loop may come in any order."""
    inside = list(walk(node.body))
    own = set(bound_names(node.target))
    own.update(n.name for n in inside if isinstance(n, ir.Decl))
    ways: dict[str, set[object]] = {}
    reads: dict[str, int] = {}
    for part in inside:
        if isinstance(part, _ORDERED) or _leaves(part) or not _is_pure_call(part):
            return False
        if isinstance(part, ir.Decl) and (part.static or part.type.ref):
            return False
        if isinstance(part, ir.Name):
            reads[part.id] = reads.get(part.id, 0) + 1
        elif isinstance(part, ir.AssignExpr):
            way = _way(part)
            if way is None or not isinstance(part.target, ir.Name) or part.target.id in own:
                return False
            ways.setdefault(part.target.id, set()).add(way[0])
            reads[part.target.id] = reads.get(part.target.id, 0) - way[1]
    return all(len(how) == 1 and not reads[name] for name, how in ways.items())


def _leaves(node: Node) -> bool:
    return isinstance(node, ir.Jump) and node.kind == "break"


def _is_pure_call(node: Node) -> bool:
    if not isinstance(node, ir.Call):
        return True
    if isinstance(node.func, ir.Attr):
        return node.func.name in ASKING
    return isinstance(node.func, ir.Name) and node.func.id in _EXTREMES


def _way(node: ir.AssignExpr) -> tuple[object, int] | None:
    """How a variable is written, and how often it is named for that; ``None`` where the order may
    count."""
    if node.op is not None:
        return (node.op, 1) if node.op in _ADDING and _is_whole(node.value) else None
    if isinstance(node.value, ir.Const):
        return ("=", type(node.value.value), node.value.value), 1
    if isinstance(node.value, ir.Call) and isinstance(node.value.func, ir.Name):
        name = node.target.id if isinstance(node.target, ir.Name) else ""
        mine = sum(is_name(a, name) for a in node.value.args)
        if node.value.func.id in _EXTREMES and len(node.value.args) == 2 and mine == 1:
            return node.value.func.id.removeprefix("std::"), 2
    return None


def _is_whole(node: Node) -> bool:
    return not any(isinstance(n, ir.Const) and isinstance(n.value, float) for n in walk((node,)))

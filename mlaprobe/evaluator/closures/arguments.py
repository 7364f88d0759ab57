"""Arguments of C++ calls that are references to what an expression gives that does something."""

from __future__ import annotations

from collections.abc import Callable

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.places.lvalues import compile_place
from mlaprobe.evaluator.closures.places.onceonly import Once, as_reference, compile_once
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import Frame
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import Ref

REFERRING = frozenset(
    (
        *("front", "back", "at", "value", "emplace_back", "emplace_front", "top", "get"),
        *("std::get", "std::min", "std::max"),
    )
)
"""Functions of the library that may give references."""
_MOVING = ("std::move", "std::forward")
"""What is moved is another value afterwards."""


def compile_onces(unit: Unit, node: ir.Call, scope: Scope) -> dict[int, Once]:
    """The arguments that refer to something and do something themselves."""
    if any(isinstance(a, ir.Star) for a in node.args):
        return {}
    passing = isinstance(node.func, ir.Name) and node.func.id.startswith("std::")
    kinds = (ir.Deref, ir.AssignExpr, ir.Call, ir.Attr)
    found: dict[int, Once] = {}
    for at, arg in enumerate(node.args):
        moves = isinstance(arg, ir.Call) and callee_name(arg.func) in _MOVING
        if isinstance(arg, kinds) and not moves and compile_place(unit, arg, scope) is None:
            once = None if passing and not _swaps(node) else compile_once(unit, arg, scope)
            if once is not None:
                found[at] = once
    return found


def _swaps(node: ir.Call) -> bool:
    return isinstance(node.func, ir.Name) and node.func.id in ("std::swap", "std::exchange")


def compile_referring(
    unit: Unit, node: ir.Call, onces: dict[int, Once], scope: Scope
) -> Callable[[Frame], list[Value] | Unknown]:
    """Arguments of which some are evaluated as references."""
    values = [
        as_reference(onces[at], arg.span) if at in onces else unit.compile(arg, scope)
        for at, arg in enumerate(node.args)
    ]
    return lambda e: [value(e) for value in values]


def loaded(value: Value) -> Value:
    """The value of an argument that was evaluated as a reference."""
    return value.load() if type(value) is Ref else value


def callee_name(func: ir.Node) -> str:
    """What a call is called, for messages."""
    if isinstance(func, ir.Name):
        return func.id
    if isinstance(func, ir.Attr):
        return f"{callee_name(func.obj)}.{func.name}"
    if isinstance(func, ir.Call):
        return f"{callee_name(func.func)}()"
    if isinstance(func, ir.Index):
        return f"{callee_name(func.obj)}[]"
    return "a value"

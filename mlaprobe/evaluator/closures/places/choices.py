"""Which of its arguments ``std::min``, ``std::max`` or ``std::clamp`` refers to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.frames import RUN, Frame
from mlaprobe.evaluator.ir import Node, Span
from mlaprobe.evaluator.values import Value
from mlaprobe.evaluator.values.comparing import compare
from mlaprobe.evaluator.values.kinds import Ref
from mlaprobe.evaluator.walk import targets

if TYPE_CHECKING:
    from mlaprobe.evaluator.closures.unit import Scope, Unit
    from mlaprobe.evaluator.engine.runs import Run

Lvalue = Callable[[Frame], "Ref | None"]
_COUNTS = {"std::min": 2, "std::max": 2, "std::clamp": 3}


def is_choice(node: Node) -> bool:
    """Whether a call gives a reference to one of its arguments."""
    return (
        isinstance(node, ir.Call)
        and isinstance(node.func, ir.Name)
        and _COUNTS.get(node.func.id) == len(node.args)
    )


def matters(node: ir.Call, scope: Scope) -> bool:
    """Whether anything that a choice may refer to is written in the function."""
    names = {name for arg in node.args for name in targets(arg)}
    return bool(names & scope.function.written)


def compile_choice(
    unit: Unit, node: ir.Call, places: Sequence[Lvalue | None], scope: Scope
) -> Lvalue:
    """The place that a choice refers to. What is no variable is one of its own."""
    values = tuple(unit.compile(arg, scope) for arg in node.args)
    name, span = node.func.id if isinstance(node.func, ir.Name) else "", node.span

    def chosen(e: Frame) -> Ref:
        found = tuple(value(e) for value in values)
        at = _chosen(e[RUN], name, found, span)
        place = places[at]
        there = None if place is None else place(e)
        return Ref({"": found[at]}, "") if there is None else there

    return chosen


def _chosen(run: Run, name: str, found: tuple[Value, ...], span: Span) -> int:
    """Which argument it is: of equal ones the first."""

    def less(one: int, other: int) -> bool:
        return run.holds(compare("<", found[one], found[other], span))

    if name == "std::clamp":
        return 1 if less(0, 1) else 2 if less(2, 0) else 0
    return int(less(1, 0) if name == "std::min" else less(0, 1))

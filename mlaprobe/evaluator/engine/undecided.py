"""``and`` and ``or`` from an operand on that is not known.

A later operand may still settle the whole, so operands without effects are evaluated ahead. One
that does anything else (it assigns, calls something with an effect, fails) happens only where the
ones before it let it be reached: there the path forks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.engine.signals import Failed, Restart
from mlaprobe.evaluator.values import Unknown, Unsure, Value
from mlaprobe.evaluator.values.truth import truth
from mlaprobe.evaluator.walk import walk

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.machine import Machine

Parts = tuple[Eval, ...]


def note_acting(machine: Machine, node: ir.Bool) -> None:
    """Remembers the operands that assign something themselves."""
    machine.acting.update(part for part in node.parts if _assigns(part))


def _assigns(node: ir.Node) -> bool:
    inside = walk((node,), into_functions=False)
    return any(
        isinstance(n, ir.AssignExpr)
        or (isinstance(n, (ir.Opaque, ir.OpaqueStmt)) and bool(n.writes))
        for n in inside
    )


def undecided(
    machine: Machine, node: ir.Bool, first: Unknown, parts: Parts, at: int, e: Frame
) -> Value:
    """The value where ``first``, the operand before ``at``, is not known.

    Raises:
        Failed: Python may refuse to tell whether an operand is true.
        Restart: an operand that was evaluated ahead turned out to act; it is known from now on.
    """
    stop, run = node.op == "or", e[RUN]
    unknowns = [first]
    if isinstance(first, Unsure) and run.python:
        run.decide(first)
    for position in range(at, len(parts)):
        if node.parts[position] in machine.acting:
            if any(run.decide(u) is stop for u in unknowns):
                return stop
            return _in_turn(node, position, parts, e)
        before = run.effects - len(run.taken)
        try:
            later = truth(parts[position](e))
        except Failed:
            if any(run.decide(u) is stop for u in unknowns):
                return stop
            raise
        if run.effects - len(run.taken) != before:
            machine.acting.add(node.parts[position])
            raise Restart
        if isinstance(later, Unsure) and run.python:  # Python asks where it is reached
            if any(run.decide(u) is stop for u in unknowns):
                return stop
            return _in_turn(node, position, parts, e)
        if later is stop:
            return stop
        if isinstance(later, Unknown):
            unknowns.append(later)
    return first if len(unknowns) == 1 else first.derive(node.op, *unknowns)


def _in_turn(node: ir.Bool, start: int, parts: Parts, e: Frame) -> Value:
    """The operands from one that acts on, each evaluated only where it is reached."""
    stop, value = node.op == "or", None
    for position in range(start, len(parts)):
        value = parts[position](e)
        if e[RUN].holds(value, node.parts[position].span) is stop:
            break
    else:
        return (not stop) if node.coerce else value
    return stop if node.coerce else value

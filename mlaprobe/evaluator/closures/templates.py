"""Templates with their arguments, and folds over packs, as closures."""

from __future__ import annotations

from collections.abc import Callable

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.displays import compile_items
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.evaluator.values.truth import truth
from mlaprobe.evaluator.walk import walk

Joined = Callable[[Frame, list[Value], tuple[Value, ...]], Value]
"""``and`` or ``or`` over values that are there, and over the elements of a pack."""


def compile_specialised(unit: Unit, node: ir.Specialised, scope: Scope) -> Eval:
    """A variable template, or a member of a class template."""
    args = compile_items(unit, node.args, scope)
    module, name, last, span = unit.module, node.name, node.last, node.span

    def run(e: Frame) -> Value:
        given = args(e)
        if isinstance(given, Unknown):
            return Unknown(given.reason, span)
        return module.instance(e[RUN], name, tuple(given), last, span)

    return run


def compile_fold(unit: Unit, node: ir.Fold, scope: Scope) -> Eval:
    """A fold: the pattern for every element of the pack."""
    pack = unit.compile(ir.Name(node.span, node.pack), scope)
    inner = Scope(scope.function, scope)
    slot = inner.declare(node.pack)
    pattern = unit.compile(node.pattern, inner)
    first = None if node.first is None else unit.compile(node.first, scope)
    op, span = node.op, node.span
    joined = _joining(op, slot, pattern, span)
    acts = any(isinstance(n, (ir.AssignExpr, ir.Call)) for n in walk((node.pattern,)))

    def run(e: Frame) -> Value:
        elements = pack(e)
        if not isinstance(elements, tuple):
            why = f"the parameter pack {node.pack} is not known"
            if acts:
                raise Unsupported(why, span)
            return Unknown(why, span)
        values = [] if first is None else [first(e)]
        if op in ("and", "or"):
            return joined(e, values, elements)
        for element in elements:
            e[slot] = element
            values.append(pattern(e))
        if op == ",":
            return values[-1] if values else None
        if not values:
            return Unknown("a fold over nothing", span)
        total = values[0]
        for value in values[1:]:
            total = binary(op, total, value, span)
        return total

    return run


def _joining(op: str, slot: str, pattern: Eval, span: Span) -> Joined:
    """``and`` or ``or`` over a pack: the first value that decides it."""

    def joined(e: Frame, values: list[Value], elements: tuple[Value, ...]) -> Value:
        stop, run = op == "or", e[RUN]
        unknowns: list[Unknown] = []
        pending = [*values, *elements]
        for at, element in enumerate(pending):
            if at < len(values):
                known = truth(element)
            else:
                e[slot] = element
                before = run.effects - len(run.taken)
                known = truth(pattern(e))
                if unknowns and run.effects - len(run.taken) != before:
                    return Unknown("a fold over what does something itself", span)
            if known is stop:
                return stop
            if isinstance(known, Unknown):
                unknowns.append(known)
        if not unknowns:
            return not stop
        return unknowns[0] if len(unknowns) == 1 else unknowns[0].derive(op, *unknowns)

    return joined

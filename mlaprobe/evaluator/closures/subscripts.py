"""Subscripts and slices as closures."""

from __future__ import annotations

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.attributes import may_be_missing, subscript
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects import objects
from mlaprobe.evaluator.objects.iterables import DefaultDict
from mlaprobe.evaluator.objects.mappings import put_entry
from mlaprobe.evaluator.values import Unknown, Value, rest_of, unknown_in
from mlaprobe.evaluator.values.comparing import entry_of
from mlaprobe.evaluator.values.kinds import Model


def compile_index(unit: Unit, node: ir.Index, scope: Scope) -> Eval:
    """``obj[key]``."""
    obj, span = unit.compile(node.obj, scope), node.span
    key = unit.compile(node.key, scope)
    python = unit.lang == "py"
    if not python:
        return lambda e: subscript(obj(e), key(e), span, python=False)
    sliced = isinstance(node.key, ir.Slice)

    def run(e: Frame) -> Value:
        owner, at = obj(e), key(e)
        if objects.special(owner, "__getitem__"):
            return objects.called(e[RUN], owner, "__getitem__", (at,), span)
        if isinstance(owner, DefaultDict) and not isinstance(at, Unknown):
            return _with_default(e[RUN], owner, at, span)
        if isinstance(owner, Model):
            return owner.index_in(e[RUN], at, span)
        unclear = unknown_in(at) if isinstance(at, (Unknown, tuple)) and not sliced else None
        if unclear is not None and isinstance(owner, (list, tuple, dict)):
            may_be_missing(e[RUN], owner, unclear, span)
        return subscript(owner, at, span, python=True)

    return run


def _with_default(run: Run, owner: DefaultDict, key: Value, span: Span) -> Value:
    """An element of a default dict, which is made where it is asked for."""
    found, value = entry_of(owner, key, span)
    if found is not False:
        return value if found is True else Unknown("a key that cannot be compared", span)
    if owner.factory is None or rest_of(owner) is not None:
        return subscript(owner, key, span, python=True)
    run.changes(owner, span)
    value = run.machine.call(run, owner.factory, (), {}, span)
    why = put_entry(owner, key, value, span)
    return value if why is None else why.another()


def compile_slice(unit: Unit, node: ir.Slice, scope: Scope) -> Eval:
    """``lower:upper:step``, of which each may be unknown."""
    parts = [
        unit.compile(p, scope) if p is not None else (lambda e: None)
        for p in (node.lower, node.upper, node.step)
    ]
    return lambda e: slice(*[p(e) for p in parts])

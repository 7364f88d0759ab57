"""What a top-level statement makes of a value, where that is more than to bind it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.python.names.touched import names_of
from mlaprobe.evaluator.python.settle import MISSING, settle
from mlaprobe.evaluator.python.translate import translate_statement
from mlaprobe.evaluator.python.values import MissingName
from mlaprobe.evaluator.values import Value
from mlaprobe.evaluator.values.kept import Copies
from mlaprobe.evaluator.values.kinds import Closure

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.module import PyModule


def executed(
    module: PyModule, run: Run, node: ast.stmt, name: str, before: Value, position: int
) -> Value:
    """The value of a name after a statement that is run for it; ``before`` is what it was, or
    ``MISSING``. The other names that the statement writes are as they were before it."""
    names = names_of(node)
    values = {} if before is MISSING else {name: Copies().of(before)}
    for other in sorted((names.bound | names.changed) - {name}):
        try:
            found = module.before(run, other, position, module.place.span(node))
        except MissingName:
            continue
        values[other] = Copies().of(found)
    span = module.place.span(node)
    body = (*translate_statement(node, module.place), ir.Return(span, ir.Name(span, name)))
    params = tuple(ir.Param(span, n, None, "normal") for n in values)
    function = ir.Function(span, module.dotted, params, body, lang="py")
    closure = Closure(function, module)

    def start(child: Run) -> Value:
        return child.machine.call(child, closure, tuple(values.values()), {}, span)

    return settle(run, start, (module.dotted, position)).value

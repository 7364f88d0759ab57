"""Names of a module, as compiled code finds them."""

from __future__ import annotations

from mlaprobe.evaluator.closures.unit import Unit
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values.value import Value


def global_name(unit: Unit, name: str, span: Span) -> Eval:
    """A name of the module; written globals first."""
    module = unit.module
    key, written = (id(module), name), (id(module), name.rpartition("::")[2])

    def load(e: Frame) -> Value:
        run = e[RUN]
        if run.globals and written in run.globals:
            return run.globals[written]
        value = run.shared.names.get(key, run)
        if value is run:
            before = run.effects, run.asked
            value = module.lookup(run, name, span)
            if (run.effects, run.asked) == before:  # else it is of this path
                run.shared.names[key] = value
        return run.own(value)

    return load

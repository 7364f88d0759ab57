"""What compiling one function needs besides its scope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.evaluator.closures.scope import Scope
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.ir import Node, Span
from mlaprobe.evaluator.values.value import Value

if TYPE_CHECKING:
    from mlaprobe.evaluator.closures.compiler import Compiler
    from mlaprobe.evaluator.engine.machine import Machine
    from mlaprobe.evaluator.engine.modules import Module


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A function that is being compiled, or an expression of a module."""

    machine: Machine
    compiler: Compiler
    module: Module
    lang: str
    """``cpp`` or ``py``."""
    traced: bool
    """Whether what is computed is written down, for evidence."""

    def compile(self, node: Node, scope: Scope) -> Eval:
        """The closure for an expression."""
        return self.compiler.compiled(self, node, scope)

    def inner(self, scope: Scope) -> Scope:
        """The scope of a block inside another: in Python the same."""
        return Scope(scope.function, scope) if self.lang == "cpp" else scope

    def block(self, body: tuple[Node, ...], scope: Scope) -> Eval:
        """The closure for statements one after the other."""
        return self.compiler.block(self, body, scope)

    def global_name(self, name: str, span: Span) -> Eval:
        """A name of the module; written globals first."""
        module = self.module
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

"""What compiling one function needs besides its scope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlaprobe.evaluator.engine.frames import Eval
from mlaprobe.evaluator.engine.scope import Scope
from mlaprobe.evaluator.ir import Node


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A function that is being compiled, or an expression of a module."""

    machine: Any
    compiler: Any
    module: Any
    lang: str
    """``cpp`` or ``py``."""
    traced: bool
    """Whether what is computed is written down, for evidence."""

    def compile(self, node: Node, scope: Scope) -> Eval:
        """The closure for an expression."""
        return self.compiler.compiled(self, node, scope)  # type: ignore[no-any-return]

    def block(self, body: tuple[Node, ...], scope: Scope) -> Eval:
        """The closure for statements one after the other."""
        return self.compiler.block(self, body, scope)  # type: ignore[no-any-return]

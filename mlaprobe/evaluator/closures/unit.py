"""What compiling one function needs: the scopes of its names, and the unit that it belongs to.

A name lives in a slot of the running function, in one of the functions around it, or in the module.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.ir import Comprehension, CType, Node, Return, Span
from mlaprobe.evaluator.values import Value
from mlaprobe.evaluator.walk import rebound_names, targets, walk, written_names

if TYPE_CHECKING:
    from mlaprobe.evaluator.closures.compiler import Compiler
    from mlaprobe.evaluator.engine.machine import Machine
    from mlaprobe.evaluator.engine.modules import Module


class FunctionScope:
    """One function's frame: every variable has a slot of its own, shadowed ones too."""

    def __init__(
        self,
        outer: Scope | None,
        body: tuple[Node, ...] = (),
        name: str = "",
        *,
        refers: bool = False,
        deduced: bool = False,
        of_class: bool = False,
    ) -> None:
        self.outer = outer
        self.of_class = of_class
        """Whether it is the body of a class, where a name without a value is one of the module."""
        self.refers = refers
        """Whether the function gives a reference."""
        self.deduced = deduced
        """Whether it does so if what it returns is one."""
        self.body = body
        self.name = name
        """The name of a function that gives a reference which can be written."""
        self._counts: dict[str, int] = {}

    def slot(self, name: str) -> str:
        """A fresh slot for a new variable."""
        count = self._counts.get(name, 0)
        self._counts[name] = count + 1
        return name if count == 0 else f"{name}@{count}"

    @cached_property
    def written(self) -> frozenset[str]:
        """Names that the function's body may write."""
        return frozenset(written_names(self.body, references=True))

    @cached_property
    def texts_written(self) -> frozenset[str]:
        """Names that the body assigns, or gives to a call that it makes for its own sake."""
        return frozenset(written_names(self.body, through_pointers=False))

    @cached_property
    def handed_out(self) -> frozenset[str]:
        """Variables to which the function gives references."""
        returned = [n.value for n in walk(self.body) if isinstance(n, Return)] if self.name else []
        return frozenset(name for value in returned if value is not None for name in targets(value))

    @cached_property
    def rebound(self) -> frozenset[str]:
        """Variables that functions inside it write, whenever they are called."""
        return rebound_names(self.body)

    @cached_property
    def set_inside(self) -> frozenset[str]:
        """Variables that functions and comprehensions inside it write, of which it may not be known
        whether they were run."""
        inside = (n for n in walk(self.body) if isinstance(n, Comprehension))
        return self.rebound.union(*map(written_names, ((each,) for each in inside)))

    @cached_property
    def assigned(self) -> frozenset[str]:
        """Names that the body may write itself, not through a pointer that it takes."""
        return frozenset(
            written_names(self.body, through_pointers=False, references=True, methods=False)
        )


class Scope:
    """A block of a function at compile time."""

    __slots__ = ("deduced", "function", "names", "parent", "types")

    def __init__(self, function: FunctionScope, parent: Scope | None = None) -> None:
        self.function = function
        self.parent = parent
        self.names: dict[str, str] = {}
        self.types: dict[str, CType] = {}
        self.deduced: dict[str, CType] = {} if parent is None else parent.deduced
        """By slot, what ``auto`` stands for where a variable is declared so."""

    def declare(self, name: str, ctype: CType | None = None) -> str:
        """A new variable in this block; its slot."""
        slot = self.function.slot(name)
        self.names[name] = slot
        if ctype is not None:
            self.types[slot] = ctype
        return slot

    def frozen(self) -> Scope:
        """The names as they are now: what a later declaration adds, earlier code does not see."""
        parent = self.parent.frozen() if self.parent is not None else None
        copy = Scope(self.function, parent)
        copy.names, copy.types, copy.deduced = dict(self.names), self.types, self.deduced
        return copy

    def owner(self, name: str) -> FunctionScope | None:
        """The function that has a variable, or ``None`` for a name of the module."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.function.outer if scope.parent is None else scope.parent
        return None if scope is None else scope.function

    def find(self, name: str) -> tuple[int, str, CType | None] | None:
        """(how many frames up, slot, type), or ``None`` for a name of the module."""
        scope: Scope | None = self
        depth = 0
        while scope is not None:
            slot = scope.names.get(name)
            if slot is not None:
                return depth, slot, scope.types.get(slot)
            if scope.parent is None:
                scope = scope.function.outer
                depth += 1
            else:
                scope = scope.parent
        return None


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

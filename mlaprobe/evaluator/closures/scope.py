"""Where a name lives: slots of the running function, of the functions around it, or the module."""

from __future__ import annotations

from functools import cached_property

from mlaprobe.evaluator.ir import CType, Node
from mlaprobe.evaluator.walk import written_names


class FunctionScope:
    """One function's frame: every variable has a slot of its own, shadowed ones too."""

    def __init__(self, outer: Scope | None, body: tuple[Node, ...] = ()) -> None:
        self.outer = outer
        self.body = body
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
    def assigned(self) -> frozenset[str]:
        """Names that the body may write itself, not through a pointer that it takes."""
        return frozenset(written_names(self.body, through_pointers=False, references=True))


class Scope:
    """A block of a function at compile time."""

    __slots__ = ("function", "names", "parent", "types")

    def __init__(self, function: FunctionScope, parent: Scope | None = None) -> None:
        self.function = function
        self.parent = parent
        self.names: dict[str, str] = {}
        self.types: dict[str, CType] = {}

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
        copy.names, copy.types = dict(self.names), self.types
        return copy

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

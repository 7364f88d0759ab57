"""Answers with the runs over symbols that they come from."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from mlaprobe.evaluator.symbolic.formulas import Tree
from mlaprobe.stages.instantiate import PathSummary

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Leaf:
    """The run over symbols that answered a question."""

    tree: Tree
    inputs: tuple[int, ...]
    run: PathSummary
    """Questions with one run take the same paths."""

    @property
    def clauses(self) -> Hashable:
        """What questions share that are decided by the same clauses."""
        return self.run, self.run.reason(self.inputs)

    def other(self, **changed: int) -> Leaf | None:
        """The same question with some inputs changed, where a run has answered it."""
        names = self.tree.names
        if not changed.keys() <= set(names):
            return None
        inputs = tuple(
            changed.get(name, value) for name, value in zip(names, self.inputs, strict=True)
        )
        run = self.tree.find(inputs)
        return None if run is None else Leaf(self.tree, inputs, run)


@dataclass(frozen=True, slots=True)
class Solved(Generic[T]):
    """An answer, and how it was come to."""

    answer: T
    leaf: Leaf | None = None
    """``None`` where the question had a run of its own, or none was needed."""

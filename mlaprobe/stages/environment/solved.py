"""Answers with the runs over symbols that they come from."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from mlaprobe.stages.instantiate import PathSummary

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Leaf:
    """The run over symbols that answered a question."""

    inputs: tuple[int, ...]
    run: PathSummary
    """Questions with one run take the same paths."""

    @property
    def clauses(self) -> Hashable:
        """What questions share that are decided by the same clauses."""
        return self.run, self.run.reason(self.inputs)


@dataclass(frozen=True, slots=True)
class Solved(Generic[T]):
    """An answer, and how it was come to."""

    answer: T
    leaf: Leaf | None = None
    """``None`` where the question had a run of its own, or none was needed."""

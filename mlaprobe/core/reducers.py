"""The head counts that AITER's reducer merges partial results of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from mlaprobe.core.shape import StageOutcome, Status

MOST_HEADS = 256
"""More query heads per rank than any model has."""


class ReduceHeads(ABC):
    """What can be asked of whatever knows the reducer's answers."""

    __slots__ = ()

    def reduce_heads(self, head_dim: int = 512) -> tuple[int, ...]:
        """The head counts up to 256 that the reducer merges partial results of; a snapshot knows of
        those that it holds.

        Args:
            head_dim: values per head: 512 for a decode, 128 for a prefill with work metadata.
        """
        return instantiated(lambda heads: self.reducer_pair(heads, head_dim))

    def next_reduce_heads(self, num_heads: int, head_dim: int = 512) -> int | None:
        """The least of them that is not below a count; ``None`` where there is none."""
        return next((h for h in self.reduce_heads(head_dim) if h >= num_heads), None)

    @abstractmethod
    def reducer_pair(self, heads: int, head_dim: int) -> StageOutcome:
        """What the reducer says to a head count and a head dimension."""


def instantiated(ask: Callable[[int], StageOutcome]) -> tuple[int, ...]:
    """The counts for which an answer says so."""
    counts = range(1, MOST_HEADS + 1)
    return tuple(heads for heads in counts if ask(heads).status == Status.INSTANTIATED)

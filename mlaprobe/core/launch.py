"""What the dispatcher does with a shape, as far as the stages after it depend on it."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlaprobe.core.enums import Unwritten
from mlaprobe.core.shape import DecodeShape, StageOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The dispatcher's answer, and what it means for the stages after it."""

    outcome: StageOutcome
    entry: str | None = None
    """The entry point's own name."""
    missing: bool = False
    """Whether the package does not define the entry point."""
    fails_after: str | None = None
    """What fails after the entry point was called."""
    misfit: str | None = None
    """What is passed to the entry point for other requests, tokens or heads than the query."""
    unwritten_lse: Unwritten = field(default=Unwritten.NEVER, compare=False)
    """Whether nothing but the entry point gets the log-sum-exp that is returned."""
    partial_heads: int | None = field(default=None, compare=False)
    """The head count of the partial results that the reducer gets, where it is called."""
    partial_dim: int | None = field(default=None, compare=False)
    """Their values per head; ``None``: those of a decode."""

    def reduced_heads(self, shape: DecodeShape) -> int:
        """The head count of the reducer's question."""
        return self.partial_heads or self.outcome.final_heads or shape.num_heads

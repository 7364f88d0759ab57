"""Decisions of no AITER: some head counts have kernels, others fold.

For measuring what folding costs on a device, apart from what some release happens to fold.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlaprobe.core.shape import Decision, DecodeShape, Failure, StageName, Verdict

TILE = 16
"""AITER folds to so many heads."""


# Without slots: the resolver keeps what it found by weak reference.
@dataclass(frozen=True, kw_only=True)
class Pretended:
    """Head counts that have a kernel, for every dtype and query length; other multiples of 16 are
    folded to 16."""

    native: tuple[int, ...]
    archs: tuple[str, ...]
    """The archs that it answers for."""

    @property
    def label(self) -> str:
        """What it is, for people."""
        counts = ", ".join(map(str, self.native))
        return f"nobody's: kernels for {counts} heads, other multiples of {TILE} folded"

    def decide(self, shape: DecodeShape) -> Decision:
        """What happens to a shape."""
        if shape.num_heads in self.native:
            return Decision(shape=shape, verdict=Verdict.NATIVE)
        if shape.num_heads % TILE == 0:
            return Decision(shape=shape, verdict=Verdict.FOLDED, fold=shape.num_heads // TILE)
        return Decision(
            shape=shape,
            verdict=Verdict.REJECTED,
            failure=Failure.EXCEPTION,
            stage=StageName.PLANNER,
            message=f"{shape.num_heads} is no multiple of {TILE}",
        )

"""Which head count to launch an operation besides decode with: the least that runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mlaprobe.core.protocols import Decider
from mlaprobe.core.shape import Decision, DecodeShape, Operation, Verdict
from mlaprobe.errors import UsageError
from mlaprobe.padding.verdicts import runs, worst_of
from mlaprobe.rulefiles.operations import entry_of

MOST_HEADS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastCount:
    """The head count to launch for a shape at several query lengths."""

    shape: DecodeShape
    """As the caller has it, at the first length."""
    qlens: tuple[int, ...]
    num_heads: int | None
    """The least count from the shape's own on that runs at every length, as far as is known;
    ``None`` where none up to 256 does."""
    own: Decision
    """The answer for the shape's own count that speaks most against it."""
    taken: Decision | None
    """The answer for the count to launch."""
    undecided: bool
    """Whether a lower count may run as well, for all that is known, or any where none runs."""

    @property
    def runs(self) -> bool:
        """Whether there is a count to launch."""
        return self.num_heads is not None


def least_count(capability: Decider, shape: DecodeShape, qlens: tuple[int, ...]) -> LeastCount:
    """The least head count that runs.

    Raises:
        UsageError: the shape is a decode, which ``plan`` is for; it names KV heads, which padding
            would leave with other query heads; or the operation has no argument for something
            that it says.
    """
    if shape.op is Operation.DECODE:
        raise UsageError("a decode is resolved by mlaprobe.plan")
    if shape.num_kv_heads is not None:
        raise UsageError(
            "padding would give query heads to other KV heads than they have",
            hint="leave the KV heads out: whole heads are padded",
        )
    entry_of(shape)
    own: Decision | None = None
    undecided = False
    for heads in range(shape.num_heads, MOST_HEADS + 1):
        found = worst_of(
            capability.decide(replace(shape, num_heads=heads, qlen=qlen)) for qlen in qlens
        )
        own = own or found
        if runs(found):
            return LeastCount(
                shape=shape,
                qlens=qlens,
                num_heads=heads,
                own=own,
                taken=found,
                undecided=undecided,
            )
        undecided |= found.verdict is Verdict.UNKNOWN
    assert own is not None
    return LeastCount(
        shape=shape, qlens=qlens, num_heads=None, own=own, taken=None, undecided=undecided
    )

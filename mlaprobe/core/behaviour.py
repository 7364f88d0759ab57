"""What a caller would notice of an answer."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.numbers import Interner
from mlaprobe.core.shape import Decision, Failure, StageName, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """A decision without its proof: two that are equal are the same to a caller."""

    verdict: Verdict
    fold: int = 1
    qlen_fold: int = 1
    failure: Failure | None = None
    kernels: tuple[str, ...] = ()
    """Symbols, where it runs."""
    files: tuple[str | None, ...] = ()
    """The git blob ids of their code objects, ``None`` where one is not at hand."""
    entry: str | None = None
    """The entry point that is reached, where it runs."""
    persistent: bool | None = None
    """Whether the persistent path is run, where it runs."""

    @property
    def passes(self) -> int:
        """How often the KV cache is read."""
        return self.fold * self.qlen_fold

    def replaces(self, other: Behaviour) -> bool:
        """Whether it is another but for the contents of files, and both know theirs."""
        known = None not in (*self.files, *other.files)
        return known and self != other and self == replace(other, files=self.files)

    @property
    def words(self) -> str:
        """The answer in words: ``native``, ``fold 2``, ``no kernel``."""
        if self.verdict is not Verdict.FOLDED:
            words: str = self.verdict.value.lower().replace("_", " ")
            return words
        parts = [f"fold {self.fold}"] * (self.fold > 1 or self.qlen_fold <= 1)
        parts += [f"query length fold {self.qlen_fold}"] * (self.qlen_fold > 1)
        return " and ".join(parts)


def behaviour_of(decision: Decision) -> Behaviour:
    """What a caller notices of a decision."""
    if not decision.verdict.runs:
        return Behaviour(verdict=decision.verdict, failure=decision.failure)
    dispatcher = decision.outcome(StageName.DISPATCHER)
    return Behaviour(
        verdict=decision.verdict,
        fold=decision.fold,
        qlen_fold=decision.qlen_fold,
        kernels=tuple(kernel.symbol for kernel in decision.kernels),
        files=tuple(kernel.blob for kernel in decision.kernels),
        entry=None if dispatcher is None else dispatcher.entry,
        persistent=None if dispatcher is None else dispatcher.persistent,
    )


Row = tuple[int, ...]
"""The behaviours of one head count, by their numbers: for every query length in turn,
without and with the LSE as the grid has it."""


class Numbering(Interner[Behaviour]):
    """Numbers behaviours: those of several sources are compared by the number."""

    def __init__(self) -> None:
        super().__init__()
        self.alike: dict[Hashable, int] = cache(Cache.ROWS)
        """Numbers by what stands for all shapes that are answered so."""

"""What launches need, found by asking: what becomes of one that runs with one thing otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mlaprobe.core.enums import Failure, TextEnum
from mlaprobe.core.shape import DecodeShape, Evidence

Setting = int | bool | str | tuple[int, ...]
"""What to pass for a parameter of AITER's; a tuple holds one value per query length."""


class Consequence(TextEnum):
    """What becomes of a launch that runs where one thing is otherwise: another verdict, or the same
    one for another launch."""

    REJECTED = "REJECTED"
    NO_KERNEL = "NO_KERNEL"
    NO_REDUCER = "NO_REDUCER"
    AMBIGUOUS = "AMBIGUOUS"
    INCOHERENT = "INCOHERENT"
    ERRATUM = "ERRATUM"
    OTHER_FOLD = "OTHER_FOLD"
    """It runs, and folds otherwise."""
    OTHER_KERNEL = "OTHER_KERNEL"
    """It runs on another kernel."""
    OTHER_METADATA = "OTHER_METADATA"
    """It runs, and the planner hands other values to its device code. What that means for the
    result or its speed is not evaluated."""
    UNKNOWN = "UNKNOWN"
    """Whether it runs is not known."""

    @property
    def other(self) -> bool:
        """Whether it runs all the same, as another launch."""
        return self.value.startswith("OTHER_")

    @property
    def certain(self) -> bool:
        """Whether it is known to be another than that of the launch."""
        return self is not Consequence.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that a launch needs: with it otherwise, the source answers otherwise."""

    id: str
    """Of the change that was tried (``rules/variations.yaml``)."""
    change: str
    """What was otherwise."""
    text: str
    """What to do."""
    outcome: Consequence
    failure: Failure | None = None
    """How it fails, where it does."""
    stage: str | None = None
    """Which stage decides that."""
    message: str | None = None
    """Why, in the source's own words where it has some."""
    settings: tuple[tuple[str, Setting], ...] = ()
    """AITER's parameter names and what to pass, where that is no tensor."""
    reference: tuple[str, ...] = ()
    """Public reports of what comes of the change."""
    evidence: Sequence[Evidence] = ()
    """The clauses that decided; a live source looks for them when they are asked for."""


@runtime_checkable
class Needing(Protocol):
    """An object that can be asked what launches need."""

    def records_needs(self, shape: DecodeShape) -> bool:
        """Whether it knows what a launch needs; a snapshot holds that of the usual ones, or of
        none."""

    def needs(self, shape: DecodeShape) -> tuple[Need, ...]:
        """What a launch needs, in the order of the changes; nothing where it does not run."""

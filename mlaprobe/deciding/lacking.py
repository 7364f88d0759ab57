"""Which stages a source lacks, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mlaprobe.core.shape import StageOutcome
from mlaprobe.deciding.compose import absent
from mlaprobe.stages.base import Absent

T = TypeVar("T")


class Lacking:
    """The stages that could not be opened."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}
        """Why the source has no such stage, by its name."""

    def opened(self, name: str, make: Callable[[], T]) -> T | None:
        """A stage, ``None`` where the source has none."""
        try:
            return make()
        except Absent as why:
            self.reasons[name] = str(why)
            return None

    def outcome(self, name: str) -> StageOutcome:
        """What a stage that is not there answers."""
        return absent(name, self.reasons[name])

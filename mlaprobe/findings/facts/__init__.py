"""What holds in one AITER, as plain facts. Which of them is a finding is decided by
the rules under ``rules/findings``, which are data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mlaprobe.core.boxes import Cell
from mlaprobe.core.shape import Evidence


def nowhere() -> tuple[Evidence, ...]:
    """No evidence."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something that holds in a source, by fields that rules select and messages quote."""

    about: str
    """What kind of fact it is; rules name one."""
    values: Mapping[str, Any]
    cell: Cell | None = None
    """The shape that it is about, where it is about one."""
    proof: Callable[[], tuple[Evidence, ...]] = nowhere
    """Finds the places that show it. Called for what is reported only: tracing takes time."""
    identity: str = ""
    """What it is about, where that is no shape."""

"""The checks of ``mlaprobe doctor``, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mlaprobe.core.enums import TextEnum
from mlaprobe.core.shape import DecodeShape


class Severity(TextEnum):
    """How bad the result of a check is, the worst first."""

    FAULT = "fault"
    """The main job cannot run."""
    WARNING = "warning"
    """Something to do: answers would be about something else, or a part does not work."""
    NOTE = "note"
    """Something to know."""
    OK = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing to look at, and the result."""

    topic: str
    """What: ``AITER``, ``GPU``, ..."""
    severity: Severity
    found: str
    """The result, in a sentence."""
    how: str = ""
    """The place, or the way to it."""
    more: tuple[str, ...] = ()
    """Further facts, a line each."""
    advice: str = ""
    """What to do about it; empty where there is nothing to do."""
    shape: DecodeShape | None = None
    """A shape to look at, where the advice is about one."""
    detail: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The same for programs, as JSON values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """All checks."""

    checks: tuple[Check, ...]

    @property
    def works(self) -> bool:
        """Whether the main job can run."""
        return all(check.severity is not Severity.FAULT for check in self.checks)

    def of(self, *severities: Severity) -> tuple[Check, ...]:
        """The checks of some severities."""
        return tuple(check for check in self.checks if check.severity in severities)

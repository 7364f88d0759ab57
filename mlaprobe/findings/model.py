"""A finding: one thing, where it is, and the evidence for it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mlaprobe.core.axes import Region
from mlaprobe.core.enums import TextEnum
from mlaprobe.core.shape import DecodeShape, Evidence


class Level(TextEnum):
    """How much a finding matters, the worst first."""

    ERROR = "error"
    """Wrong results, or a call that fails although AITER says that it is supported."""
    WARNING = "warning"
    """Slower than it needs to be, or a trap."""
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return tuple(Level).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What kind of finding it is."""

    id: str
    title: str
    """What is wrong, in a few words."""
    level: Level
    why: str
    """Why it matters."""
    fix: str
    """What to do about it."""

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Rule:
        """A rule as a rule file writes it."""
        why, fix = (" ".join(entry[name].split()) for name in ("why", "fix"))
        level = Level(entry["level"])
        return cls(id=entry["id"], title=entry["title"], level=level, why=why, fix=fix)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, and where."""

    rule: Rule
    level: Level
    """The rule's, or another where this one matters more or less."""
    message: str
    """One line that stands for itself."""
    shape: DecodeShape | None = None
    """A concrete shape that shows it; ``None`` where it is about no shape."""
    region: Region | None = None
    """Every shape that it concerns."""
    evidence: tuple[Evidence, ...] = ()
    """Places in AITER's source; the first is where it is."""
    identity: str = ""
    """A key among the findings of its rule, independent of lines."""
    detail: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What there is to know besides, as JSON values."""
    waiver: str | None = None
    """The reason of the waiver that covers it."""

    @property
    def location(self) -> Evidence | None:
        """Where it is."""
        return self.evidence[0] if self.evidence else None

    @property
    def deployments(self) -> tuple[str, ...]:
        """The deployments that it hits, where the command is about some."""
        return tuple(self.detail.get("deployments", ()))

    @property
    def fingerprint(self) -> str:
        """The same for the same finding in another release, wherever it stands there."""
        text = "\0".join((self.rule.id, self.identity or self.message))
        return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]

"""Accesses outside of what a launch may access, and who made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Addresses: TypeAlias = npt.NDArray[np.int64]
Kind: TypeAlias = Literal["read", "write"]

NULL = "(null)"
"""The name that an access near address 0 is recorded under."""
LDS = "(lds)"
"""The name that an access behind the end of LDS is recorded under."""


class Site(Protocol):
    """The instruction that accesses memory."""

    @property
    def offset(self) -> int:
        """The address of its first byte in the code object."""

    @property
    def text(self) -> str:
        """Its disassembly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideAccess:
    """What one instruction read or wrote outside any region, near one region."""

    kind: Kind
    """``read`` or ``write``."""
    region: str
    """The name of the nearest region; ``(null)`` for the neighbourhood of address 0,
    ``(lds)`` for what is behind the end of LDS."""
    size: int
    """Bytes of that region."""
    lowest: int
    """The least byte offset from the region's first byte; negative before the region."""
    highest: int
    """The greatest such offset."""
    instruction: int
    """The address of the instruction in the code object."""
    text: str
    """The instruction, disassembled."""
    count: int
    """How many times a lane did so."""


@dataclass(slots=True, kw_only=True)
class _Entry:
    """What is known of the accesses of one instruction near one region."""

    size: int
    site: Site
    lowest: int
    highest: int
    count: int


class Record:
    """Accesses outside, by kind, instruction and nearest region."""

    def __init__(self) -> None:
        self._entries: dict[tuple[Kind, int, str], _Entry] = {}

    def add(self, kind: Kind, region: str, size: int, offsets: Addresses, site: Site) -> None:
        """Records accesses by their byte offsets from a region of ``size`` bytes."""
        lowest, highest = int(offsets.min()), int(offsets.max())
        key = (kind, site.offset, region)
        entry = self._entries.get(key)
        if entry is None:
            entry = _Entry(size=size, site=site, lowest=lowest, highest=highest, count=0)
            self._entries[key] = entry
        entry.lowest = min(entry.lowest, lowest)
        entry.highest = max(entry.highest, highest)
        entry.count += len(offsets)

    @property
    def accesses(self) -> tuple[OutsideAccess, ...]:
        """What was recorded, reads first, by the address of the instruction."""
        return tuple(
            OutsideAccess(
                kind=kind,
                region=region,
                size=entry.size,
                lowest=entry.lowest,
                highest=entry.highest,
                instruction=offset,
                text=entry.site.text,
                count=entry.count,
            )
            for (kind, offset, region), entry in sorted(self._entries.items(), key=lambda e: e[0])
        )

"""Accesses outside any buffer, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlaprobe.emulator.memory import OutsideAccess


def outside_line(access: OutsideAccess) -> str:
    """An outside access in words."""
    times = "once" if access.count == 1 else f"{access.count} times"
    way = "reads" if access.kind == "read" else "writes"
    if access.lowest == access.highest:
        place = f"{access.lowest}"
    else:
        place = f"{access.lowest} to {access.highest}"
    if access.kind == "read" and access.lowest >= 0 and access.highest < access.size:
        where = f"a page of {access.region} that no request has,"
        return (
            f"{way} {where} at byte {place}, {times}: {access.text.strip()} at "
            f"{access.instruction:#x}"
        )
    return (
        f"{way} outside {access.region} ({access.size} bytes) at byte {place}, {times}: "
        f"{access.text.strip()} at {access.instruction:#x}"
    )

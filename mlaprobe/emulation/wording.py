"""What became of an emulated launch, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlaprobe.emulation.outcome import Emulated
    from mlaprobe.emulator.memory import OutsideAccess
    from mlaprobe.emulator.races import Race
    from mlaprobe.stages.kernelargs import ArgumentBlock

_MOST = 4
"""Members of an argument block that are named."""


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


def race_line(race: Race) -> str:
    """A use of registers that a load is still on its way to, in words."""
    times = "once" if race.count == 1 else f"{race.count} times"
    return (
        f"{race.use_text.strip()} at {race.use:#x} does not wait for {race.load_text.strip()} at "
        f"{race.load:#x}, {times}"
    )


def details(run: Emulated) -> tuple[str, ...]:
    """Where the result is, if not in the output; which requests of several are not right; and what
    of the argument block the result hangs on that the host stores nothing in."""
    found = []
    if run.returned:
        found.append("nothing writes the output: compared was what is returned")
    lens = sorted({run.batch.kv_lens[request] for request in run.wrong})
    if lens and run.batch.requests > 1:
        found.append(f"not right are the requests of {', '.join(map(str, lens))} KV tokens")
    if run.block is not None and any(check.zeros and not check.same for check in run.checks):
        names = unset_names(run.block)
        found.append(f"the result hangs on what is in {names}, where the host stores nothing")
    return tuple(found)


def unset_names(block: ArgumentBlock) -> str:
    """The members that the host stores nothing in, those of structs within (which are mostly
    padding) last."""
    names = sorted((slot.name for slot in block.uninitialised), key=lambda name: "." in name)
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more

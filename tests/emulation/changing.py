"""Changes of an argument block, for launches that have to go wrong."""

from __future__ import annotations

import numpy as np

from mlaprobe.emulation.launch import Change
from mlaprobe.stages.launching import Launched


def slot(launched: Launched, name: str) -> slice:
    found = launched.block.slot(name)
    assert found is not None, name
    return slice(found.offset, found.offset + found.size)


def adding(name: str, amount: int) -> Change:
    """Adds to a number or an address."""

    def change(block: bytearray, launched: Launched) -> None:
        at = slot(launched, name)
        value = int.from_bytes(block[at], "little") + amount
        block[at] = value.to_bytes(at.stop - at.start, "little")

    return change


def doubling(name: str) -> Change:
    """Doubles a float."""

    def change(block: bytearray, launched: Launched) -> None:
        at = slot(launched, name)
        block[at] = (2 * np.frombuffer(bytes(block[at]), np.float32)).tobytes()

    return change


def swapping(one: str, other: str) -> Change:
    """Exchanges two arguments."""

    def change(block: bytearray, launched: Launched) -> None:
        first, second = slot(launched, one), slot(launched, other)
        block[first], block[second] = block[second], block[first]

    return change


def null(name: str) -> Change:
    """A null pointer."""
    return lambda block, launched: block.__setitem__(slot(launched, name), bytes(8))

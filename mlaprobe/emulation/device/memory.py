"""Buffers that threads share: bytes, what was written of them, and who touched them when."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlaprobe.emulation.device.kinds import ArrayOf, PointerTo, Scalar, Struct, Type
from mlaprobe.emulation.device.signals import NotFollowed, OutsideAccess, Undetermined
from mlaprobe.emulation.device.values import (
    UNDEFINED,
    Address,
    Array,
    Mask,
    Undefined,
    Value,
    as_number,
    scalar,
    spread,
    storage,
)

_NOBODY = -1
_MANY = -2
"""Who touched a byte: a wave, none, or several."""


class Touched:
    """Which wave has touched which byte since the last barrier."""

    __slots__ = ("_size", "_waves")

    def __init__(self, size: int) -> None:
        self._size = size
        self._waves: NDArray[np.int32] | None = None

    def clear(self) -> None:
        """Nobody has touched anything."""
        self._waves = None

    def by_others(self, places: Array, waves: Array) -> Mask | None:
        """Which of some places another wave has touched; ``None`` for none of them."""
        if self._waves is None:
            return None
        known = self._waves[places]
        other: Mask = (known != _NOBODY) & (known != waves)
        return other if other.any() else None

    def note(self, places: Array, waves: Array) -> None:
        """Each place is touched by a wave."""
        if self._waves is None:
            self._waves = np.full(self._size, _NOBODY, np.int32)
        before = self._waves[places]
        self._waves[places] = np.where((before == _NOBODY) | (before == waves), waves, _MANY)
        several = self._waves[places] != waves  # two waves at once, or one after the other
        self._waves[places[several]] = _MANY


class Block:
    """A buffer. Reading a byte that nothing wrote, or one that another wave writes or has written
    since the last barrier, ends the run: what is read then is not determined."""

    __slots__ = ("_readers", "_writers", "bytes", "name", "pointers", "written")

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.bytes: NDArray[np.uint8] = np.zeros(size, np.uint8)
        self.written: NDArray[np.bool_] = np.zeros(size, np.bool_)
        self.pointers: dict[int, Address] = {}
        """Addresses that were stored here, by offset."""
        self._writers, self._readers = Touched(size), Touched(size)

    def barrier(self) -> None:
        """All threads have come so far: what they did is done."""
        self._writers.clear()
        self._readers.clear()

    def _check(self, kind: str, offsets: Any, size: int) -> None:
        low, high = int(np.min(offsets)), int(np.max(offsets))
        if low < 0 or high + size > len(self.bytes):
            raise OutsideAccess(kind, self.name, low if low < 0 else high, len(self.bytes))
        if (np.asarray(offsets) % size).any():
            raise Undetermined(f"an access to {self.name} that is not aligned")

    # --- reading ---------------------------------------------------------------------------------

    def read(self, offset: int | Array, kind: Scalar, mask: Mask, waves: Array | None) -> Any:
        """A number, or one for each thread of the mask. ``waves`` is each thread's wave, ``None``
        where there is only one."""
        many = isinstance(offset, np.ndarray)
        at = offset[mask] if isinstance(offset, np.ndarray) else np.asarray([offset])
        self._check("read", at, kind.size)
        places = (at[:, None] + np.arange(kind.size)).ravel()
        if not self.written[places].all():
            raise Undetermined(f"{self.name} is read where nothing was written")
        if self.pointers and not self.pointers.keys().isdisjoint((places // 8 * 8).tolist()):
            raise NotFollowed(f"an address in {self.name} is read as a number")
        if waves is not None:
            self._note_read(places, np.repeat(waves[mask], kind.size if many else 1))
        raw = self.bytes[places].view(_stored(kind))
        if not many:
            return as_number(raw[0])
        found = np.zeros(len(mask), storage(kind))
        found[mask] = raw
        return found

    def _note_read(self, places: Array, waves: Array) -> None:
        if len(waves) != len(places):  # all threads of the mask read one place
            for wave in np.unique(waves):
                self._note_read(places, np.full(len(places), wave))
            return
        if self._writers.by_others(places, waves) is not None:
            raise Undetermined(f"{self.name} is read while another wave writes it")
        self._readers.note(places, waves)

    # --- writing ---------------------------------------------------------------------------------

    def write(
        self, offset: int | Array, kind: Scalar, data: Any, mask: Mask, waves: Array | None
    ) -> None:
        """Store a number, or one for each thread of the mask."""
        lanes = len(mask)
        many = isinstance(offset, np.ndarray) or isinstance(data, np.ndarray) or waves is not None
        if many:
            at = np.broadcast_to(np.asarray(offset), lanes)[mask]
            numbers = spread(data, kind, lanes)[mask]
        else:
            at, numbers = np.asarray([offset]), np.asarray([data])
        self._check("write", at, kind.size)
        raw = numbers.astype(_stored(kind)).view(np.uint8)
        places = (at[:, None] + np.arange(kind.size)).ravel()
        if waves is not None:
            self._note_write(places, raw, np.repeat(waves[mask], kind.size))
        self.bytes[places] = raw
        if (self.bytes[places] != raw).any():
            raise Undetermined(f"threads write different values to one place of {self.name}")
        self.written[places] = True
        for each in set((at // 8 * 8).tolist()) & self.pointers.keys():
            del self.pointers[each]

    def _note_write(self, places: Array, raw: Array, waves: Array) -> None:
        if self._readers.by_others(places, waves) is not None:
            raise Undetermined(f"{self.name} is written while another wave reads it")
        others = self._writers.by_others(places, waves)
        if others is not None and (others & (self.bytes[places] != raw)).any():
            raise Undetermined(f"two waves write different values to {self.name}")
        self._writers.note(places, waves)


def _stored(kind: Scalar) -> np.dtype[Any]:
    return np.dtype(np.bool_ if kind.kind == "b" else f"{kind.kind}{kind.size}")


def load(block: Block, offset: int | Array, kind: Type, mask: Mask, waves: Array | None) -> Value:
    """A value of any type from memory."""
    if isinstance(kind, Scalar):
        return Value(kind, block.read(offset, kind, mask, waves))
    if isinstance(kind, PointerTo):
        found = block.pointers.get(offset) if isinstance(offset, int) else None
        if found is None:
            raise NotFollowed(f"an address in {block.name} that is not known")
        return Value(kind, found)
    if isinstance(kind, Struct):
        own = [m for m in kind.members.values() if not m.overlaid]
        return Value(
            kind, {m.name: load(block, offset + m.offset, m.type, mask, waves) for m in own}
        )
    if isinstance(kind, ArrayOf):
        size = kind.element.size
        parts = (
            load(block, offset + i * size, kind.element, mask, waves) for i in range(kind.count)
        )
        return Value(kind, tuple(parts))
    raise NotFollowed(f"a {kind.name} is read from memory")


def store(block: Block, offset: int | Array, value: Value, mask: Mask, waves: Array | None) -> None:
    """Write a value of any type to memory."""
    kind, data = value.type, value.data
    if isinstance(data, Undefined):
        raise Undetermined(f"what is written to {block.name} has no value")
    if isinstance(data, Address):
        if not isinstance(offset, int):
            raise NotFollowed(f"addresses are written to several places of {block.name}")
        block.write(offset, Scalar("address", "u", 64), 0, mask, waves)
        block.pointers[offset] = data
    elif isinstance(kind, Scalar):
        block.write(offset, kind, scalar(value)[1], mask, waves)
    elif isinstance(kind, Struct) and isinstance(data, dict):
        for name, member in data.items():
            if member.data is not UNDEFINED:
                store(block, offset + kind.members[name].offset, member, mask, waves)
    elif isinstance(kind, ArrayOf) and isinstance(data, tuple):
        for at, element in enumerate(data):
            store(block, offset + at * kind.element.size, element, mask, waves)
    else:
        raise NotFollowed(f"a {kind.name} is written to memory")

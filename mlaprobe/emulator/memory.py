"""The address space of an emulated launch.

Buffers are regions with wide unmapped zones around them. What a kernel reads or writes outside of
them is recorded and does no harm; which bytes it wrote is known for each region.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mlaprobe.emulator.accesses import LDS, NULL, Addresses, Kind, Record, Site
from mlaprobe.emulator.accesses import OutsideAccess as OutsideAccess

Words: TypeAlias = npt.NDArray[np.uint32]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Lanes: TypeAlias = npt.NDArray[np.intp]
Array: TypeAlias = npt.NDArray[Any]

_FIRST = 0x7F40_C020_0000
"""Where the first region is: above 32 bits, and less than 1 GiB below a carry into bit 32."""
_GUARD = 1 << 33
"""Unmapped bytes between two regions: more than an offset that wraps at 32 bits can cross."""
_NULL_BITS = 32
"""Addresses of no more bits are taken for offsets from a null pointer."""
_BYTES = np.arange(4)
POISON = 0x7FC0_DEAD
"""What a read outside any region gets: as float32 and, in its upper half, as bf16 a NaN."""
_SPARE = 16
"""Bytes of backing store behind a region, so that a word at its end can be addressed."""


def signed_address(address: int) -> int:
    """An address, of which 64 bits count, as the number that ``Addresses`` have for it."""
    address &= (1 << 64) - 1
    return address - (address >> 63 << 64)


class _Region:
    """A contiguous range of addresses with its bytes."""

    __slots__ = ("data", "end", "name", "size", "start", "words", "writable", "written")

    def __init__(self, name: str, start: int, raw: Bytes, writable: bool) -> None:
        self.name = name
        self.start = start
        self.size = raw.size
        self.end = start + raw.size
        self.writable = writable
        self.data = np.zeros(raw.size // _SPARE * _SPARE + 2 * _SPARE, np.uint8)
        self.data[: raw.size] = raw
        self.words: Words = self.data.view(np.uint32)
        self.written: npt.NDArray[np.bool_] = np.zeros(self.data.size if writable else 0, np.bool_)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """A named range: one region, or many with holes between them."""

    name: str
    start: int
    size: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fill: int | None
    """The word that holes read as; ``None``: a read there is outside."""


class Memory:
    """Regions of an address space, and the records of what was done with them."""

    def __init__(self) -> None:
        self._spans: dict[str, _Span] = {}
        self._regions: list[_Region] = []
        self._starts: list[int] = []
        self._next = _FIRST
        self._outside = Record()
        self._last: dict[int, _Region] = {}
        self._views: dict[int, Words | None] = {}

    def place(self, name: str, array: Array, *, writable: bool = False) -> int:
        """The address of a new region that holds a copy of ``array``.

        :raises ValueError: the name is taken.
        """
        return self._place(name, array, {0: array}, array.nbytes, writable, None)

    def spread(
        self,
        name: str,
        nbytes: int,
        parts: Mapping[int, Array],
        *,
        writable: bool = False,
        fill: int | None = None,
    ) -> int:
        """The address of a new range of ``nbytes`` of which only ``parts`` have memory.

        ``parts`` are arrays by their byte offset. An access between them is an access outside,
        unless ``fill`` says which word of 32 bits a read gets there.

        :raises ValueError: the name is taken, or parts overlap or do not fit.
        """
        shape = np.zeros(0, np.uint8)
        return self._place(name, shape, parts, nbytes, writable, fill)

    def _place(
        self,
        name: str,
        like: Array,
        parts: Mapping[int, Array],
        nbytes: int,
        writable: bool,
        fill: int | None,
    ) -> int:
        if name in self._spans or name in (NULL, LDS):
            raise ValueError(f"the name of a region is taken: {name}")
        start, end = self._next, 0
        regions = []
        for offset, array in sorted(parts.items()):
            raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            if offset < end or offset + raw.size > nbytes:
                raise ValueError(f"a part of {name} at {offset} overlaps another or does not fit")
            end = offset + raw.size
            if raw.size:
                regions.append(_Region(name, start + offset, raw, writable))
        self._spans[name] = _Span(
            name=name, start=start, size=nbytes, dtype=like.dtype, shape=like.shape, fill=fill
        )
        self._regions += regions
        self._views.clear()
        self._starts += [region.start for region in regions]
        self._next = start + (nbytes + _GUARD - 1) // _GUARD * _GUARD + _GUARD
        return start

    def address(self, name: str) -> int:
        """Where a region starts."""
        return self._spans[name].start

    def read(self, name: str) -> Array:
        """What a region holds, as an array of the dtype and shape that it was placed with."""
        span = self._spans[name]
        if not span.size:
            return np.zeros(span.shape, span.dtype)
        region = self._only(name)
        held: Array = region.data[: region.size].view(span.dtype).reshape(span.shape).copy()
        return held

    def written(self, name: str) -> npt.NDArray[np.bool_]:
        """Which elements of a region were written, at least one byte of them."""
        span = self._spans[name]
        if not span.size or not self._only(name).writable:
            return np.zeros(span.shape, np.bool_)
        region = self._only(name)
        each = region.written[: region.size].reshape(-1, span.dtype.itemsize)
        return each.any(axis=1).reshape(span.shape)

    def _only(self, name: str) -> _Region:
        regions = [region for region in self._regions if region.name == name]
        if len(regions) != 1 or regions[0].size != self._spans[name].size:
            raise ValueError(f"{name} is spread over several parts")
        return regions[0]

    @property
    def outside(self) -> tuple[OutsideAccess, ...]:
        """The accesses outside any region, by instruction and nearest region."""
        return self._outside.accesses

    # What the engine does.

    def load(self, addresses: Addresses, count: int, site: Site) -> Words:
        """``count`` words of 32 bits from each address, as an array ``(count, addresses)``."""
        region = self._last.get(site.offset)
        if region is None:
            region = self._region(int(addresses[0]))
        if region is not None:
            offsets = addresses - region.start
            union = _inside(offsets, region.size, 4 * count)
            if union is not None:
                self._last[site.offset] = region
                return gather(region.words, offsets, count, union)
        return self._load_each(addresses, count, site)

    def store(self, addresses: Addresses, values: Words, site: Site) -> None:
        """Stores ``values[k, i]`` at the address ``addresses[i] + 4 * k``."""
        count = len(values)
        region = self._last.get(site.offset)
        if region is None:
            region = self._region(int(addresses[0]))
        if region is not None and region.writable:
            offsets = addresses - region.start
            union = _inside(offsets, region.size, 4 * count)
            if union is not None:
                self._last[site.offset] = region
                _scatter(region.words, offsets, values, union)
                _scatter(region.written.view(np.uint32), offsets, _MARKS[:count], union)
                return
        self._store_each(addresses, values, site)

    def view(self, address: int) -> Words | None:
        """The words from an address on to the end of its region, to be read only; ``None`` where
        it is in no region or not aligned."""
        if address not in self._views:
            region = self._region(address)
            offset = 0 if region is None else address - region.start
            aligned = region is not None and offset % _SPARE == 0
            found = region.words[offset // 4 : region.size // 4] if region and aligned else None
            self._views[address] = found
        return self._views[address]

    def load_words(self, address: int, count: int, site: Site) -> list[int]:
        """``count`` words from one address."""
        address = signed_address(address)
        region = self._last.get(site.offset) or self._region(address)
        if region is not None:
            offset = address - region.start
            if 0 <= offset <= region.size - 4 * count and not offset & 3:
                self._last[site.offset] = region
                words: list[int] = region.words[offset // 4 : offset // 4 + count].tolist()
                return words
        found = self.load(np.array([address], np.int64), count, site)
        return [int(word) for word in found[:, 0]]

    def _load_each(self, addresses: Addresses, count: int, site: Site) -> Words:
        """The same where lanes hit several regions, or none, or are not aligned."""
        out = np.empty((count, len(addresses)), np.uint32)
        for k in range(count):
            at = addresses + 4 * k
            left = np.ones(len(at), np.bool_)
            for region, lanes, offsets in self._hits(at):
                out[k, lanes] = region.data[offsets[:, np.newaxis] + _BYTES].view(np.uint32)[:, 0]
                left[lanes] = False
            if left.any():
                out[k, left] = self._load_outside(at[left], site)
        return out

    def _store_each(self, addresses: Addresses, values: Words, site: Site) -> None:
        for k, row in enumerate(values):
            at = addresses + 4 * k
            left = np.ones(len(at), np.bool_)
            for region, lanes, offsets in self._hits(at):
                if region.writable:
                    places = offsets[:, np.newaxis] + _BYTES
                    region.data[places] = row[lanes].reshape(-1, 1).view(np.uint8)
                    region.written[places] = True
                    left[lanes] = False
            self._record("write", at[left], site)

    def _hits(self, addresses: Addresses) -> Iterator[tuple[_Region, Lanes, Addresses]]:
        """Each region that has all four bytes of some accesses, which these are, and their
        offsets."""
        starts = np.array(self._starts, np.int64)
        index = np.searchsorted(starts, addresses, side="right") - 1
        for number in np.unique(index[index >= 0]).tolist():
            region = self._regions[number]
            offsets = addresses - region.start
            lanes = np.flatnonzero((index == number) & (offsets + 4 <= region.size))
            if len(lanes):
                yield region, lanes, offsets[lanes]

    def _load_outside(self, addresses: Addresses, site: Site) -> Words:
        out = np.full(len(addresses), POISON, np.uint32)
        recorded = np.ones(len(addresses), np.bool_)
        for span in self._spans.values():
            if span.fill is not None:
                inside = (addresses >= span.start) & (addresses < span.start + span.size)
                out[inside] = span.fill
                recorded &= ~inside
        self._record("read", addresses[recorded], site)
        return out

    def _region(self, address: int) -> _Region | None:
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._regions[at].end:
            return None
        return self._regions[at]

    def record_lds(self, kind: Kind, offsets: Addresses, size: int, site: Site) -> None:
        """Records accesses behind the end of an LDS of ``size`` bytes."""
        self._outside.add(kind, LDS, size, offsets, site)

    def _record(self, kind: Kind, addresses: Addresses, site: Site) -> None:
        """Records accesses by the region that is nearest to each."""
        spans = list(self._spans.values())
        near_null = (addresses >> _NULL_BITS == 0) | (not spans)
        if near_null.any():
            self._outside.add(kind, NULL, 0, addresses[near_null], site)
            addresses = addresses[~near_null]
        # Regions are placed upward: half way between two is where the next becomes the nearest.
        middles = [(a.start + a.size + b.start) // 2 for a, b in pairwise(spans)]
        nearest = np.searchsorted(np.array(middles, np.int64), addresses, side="right")
        for number in np.unique(nearest).tolist():
            span, near = spans[number], addresses[nearest == number]
            self._outside.add(kind, span.name, span.size, near - span.start, site)


def _inside(offsets: Addresses, size: int, width: int) -> int | None:
    """The bits of all offsets together, if each is a multiple of 4 from 0 to ``size - width``."""
    # It bounds the largest offset from above, and shows the lowest bits.
    union = int(np.bitwise_or.reduce(offsets))
    if union < 0 or union & 3:
        return None
    return union if union + width <= size or int(offsets.max()) + width <= size else None


_UNITS: dict[int, tuple[np.dtype[Any], int]] = {2: (np.dtype("u8"), 3), 4: (np.dtype("c16"), 4)}
"""What numpy moves as a whole, by its size in words; with the binary logarithm of its bytes."""
_MARKS: Words = np.full((4, 1), 0x01010101, np.uint32)
"""Four bytes of ``True`` for each word."""


def _scatter(words: Words, offsets: Addresses, values: Words, union: int) -> None:
    """Stores ``values[k, i]``, or ``values[k, 0]`` for all, behind the byte offset of each lane.

    ``union`` are the bits of all offsets together, which are multiples of 4.
    """
    count = len(values)
    if count in _UNITS and not union & 4 * count - 1:
        unit, shift = _UNITS[count]
        words.view(unit)[offsets >> shift] = values.T.copy().view(unit)[:, 0]
        return
    for k, row in enumerate(values):
        words[(offsets >> 2) + k] = row


def gather(words: Words, offsets: npt.NDArray[Any], count: int, union: int) -> Words:
    """``count`` words from each byte offset, which is a multiple of 4, as ``(count, offsets)``.

    ``union`` are the bits of all offsets together.
    """
    if count == 1:
        single: Words = words.take(offsets >> 2)[np.newaxis]
        return single
    if count in _UNITS and not union & 4 * count - 1:
        unit, shift = _UNITS[count]
        whole = words[: len(words) // count * count].view(unit)
        taken: Words = whole.take(offsets >> shift).view(np.uint32).reshape(len(offsets), count)
        found: Words = taken.T
        return found
    out = np.empty((count, len(offsets)), np.uint32)
    for k in range(count):
        words.take((offsets >> 2) + k, out=out[k], mode="clip")
    return out

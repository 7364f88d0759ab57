"""Instructions that do the same in every lane, and many of them carried out as one.

Kernels scale or clear whole matrices register by register. numpy takes hardly longer for sixteen
registers than for one, so such instructions are carried out together where their registers follow
each other and none of them uses what another has written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import compress
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mlaprobe.emulator.modes import subnormal_among
from mlaprobe.emulator.wave import Row, Wave

Step: TypeAlias = Callable[[Wave], None]
"""What an instruction does to the wave that executes it."""
Fetch: TypeAlias = Callable[[Wave], npt.NDArray[Any]]

_EXPONENT = np.uint32(0x7F80_0000)
_SIGN = np.uint32(0x8000_0000)


class Kind(Enum):
    """What a source is."""

    ROW = "row"
    """A vector register."""
    NUMBER = "number"
    """The same 32 bits always."""
    SCALAR = "scalar"
    """A scalar register."""
    MASK = "mask"
    """A pair of scalar registers, as a mask of lanes."""


@dataclass(frozen=True, slots=True)
class Source:
    """A source of an instruction that does the same in every lane."""

    kind: Kind
    """What it is."""
    value: int
    """The number of the register, or the 32 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanewise:
    """An instruction that computes its registers from sources lane by lane, where EXEC is set."""

    name: str
    """The mnemonic."""
    function: Callable[..., object]
    """Takes arrays of sources, and the array for the result. It works on any shape, and on a result
    that is one of the sources."""
    sources: tuple[Source, ...]
    """What it reads. A number is not subnormal where subnormal sources count as zero."""
    out: int
    """The row that it writes."""
    width: int = 1
    """How many registers each operand has."""
    real: bool = False
    """Whether the function is one of float32."""
    flush_inputs: bool = False
    """Whether a subnormal source counts as zero."""
    flush_results: bool = False
    """Whether a subnormal result becomes zero."""

    @property
    def reads(self) -> int:
        """The rows that it reads, as bits of a number."""
        rows = (source.value for source in self.sources if source.kind is Kind.ROW)
        return _bits(rows, self.width)

    @property
    def writes(self) -> int:
        """The rows that it writes, as bits of a number."""
        return _bits((self.out,), self.width)

    def like(self, other: Lanewise) -> bool:
        """Whether another one does the same with other registers."""
        if self.name != other.name or self.width != other.width:
            return False
        pairs = zip(self.sources, other.sources, strict=True)
        return all(mine.kind is its.kind for mine, its in pairs)


def _bits(rows: Iterable[int], width: int) -> int:
    bits = 0
    for row in rows:
        bits |= (1 << width) - 1 << row
    return bits


class Member:
    """An instruction of a group."""

    __slots__ = ("does", "reads", "step", "writes")

    def __init__(self, does: Lanewise, step: Step) -> None:
        self.does = does
        """What it does."""
        self.step = step
        """The same, alone."""
        self.reads, self.writes = does.reads, does.writes
        """Rows, as bits of a number."""


class Group:
    """Instructions that can be carried out together."""

    __slots__ = ("_distances", "first", "members", "reads", "steps", "writes")

    def __init__(self, first: Member) -> None:
        self.first = first.does
        """The first of them."""
        self.members = [first.does]
        """All of them."""
        self.steps = [first.step]
        """What each does alone."""
        self.reads, self.writes = first.reads, first.writes
        """Rows, as bits of a number."""
        self._distances: tuple[int, ...] = ()
        """From a register of one to that of the next, of each source and the result."""

    def add(self, other: Member) -> bool:
        """Adds an instruction, if it fits: says whether it does."""
        distances = self._distances_to(other.does)
        if distances is None or (self._distances and distances != self._distances):
            return False
        if not self._independent(other, distances):
            return False
        self._distances = distances
        self.members.append(other.does)
        self.steps.append(other.step)
        self.reads |= other.reads
        self.writes |= other.writes
        return True

    def _distances_to(self, other: Lanewise) -> tuple[int, ...] | None:
        last = self.members[-1]
        if not last.like(other):
            return None
        distances = []
        for mine, others in zip(last.sources, other.sources, strict=True):
            distance = others.value - mine.value
            if distance and (mine.kind is not Kind.ROW or not self._follows(distance)):
                return None
            distances.append(distance)
        distance = other.out - last.out
        return (*distances, distance) if self._follows(distance) else None

    def _follows(self, distance: int) -> bool:
        width = self.first.width
        return distance == width if width > 1 else distance > 0

    def _independent(self, other: Member, distances: tuple[int, ...]) -> bool:
        """Whether neither reads what the other writes, but for a source that is the result. What
        they write is never the same."""
        written, first = self.writes | other.writes, self.first
        for place, source in enumerate(first.sources):
            itself = source.value == first.out and distances[place] == distances[-1]
            if source.kind is Kind.ROW and not itself:
                rows = (member.sources[place].value for member in (*self.members, other.does))
                if _bits(rows, first.width) & written:
                    return False
        return True

    def step(self) -> Step:
        """What all of them do."""
        if len(self.members) == 1:
            return self.steps[0]
        return _together(self.members, tuple(self.steps))


def _together(members: Sequence[Lanewise], alone: tuple[Step, ...]) -> Step:
    first = members[0]
    fetches = [
        _fetch([m.sources[place] for m in members], first) for place in range(len(first.sources))
    ]
    put = _rows([m.out for m in members], first.width)
    if first.real:
        return _real_step(first, fetches, put, alone)
    function = first.function

    def step(wave: Wave) -> None:
        if wave.full:
            function(*[fetch(wave) for fetch in fetches], put(wave))
        else:
            for each in alone:
                each(wave)

    return step


def _real_step(first: Lanewise, fetches: list[Fetch], put: Fetch, alone: tuple[Step, ...]) -> Step:
    function, inputs, results = first.function, first.flush_inputs, first.flush_results
    varying = [source.kind is not Kind.NUMBER for source in first.sources]

    def step(wave: Wave) -> None:
        sources = [fetch(wave) for fetch in fetches]
        tested = compress(sources, varying)
        if not wave.full or (inputs and subnormal_among(tested)):
            for each in alone:
                each(wave)
            return
        out = put(wave)
        function(*[source.view(np.float32) for source in sources], out.view(np.float32))
        if results:
            exponents = out & _EXPONENT
            if np.count_nonzero(exponents) != exponents.size:
                np.bitwise_and(out, _SIGN, out=out, where=exponents == 0)

    return step


def _fetch(sources: Sequence[Source], first: Lanewise) -> Fetch:
    """An array of a source of some instructions, with an axis for them where it is not the same."""
    source = sources[0]
    value = source.value
    if source.kind is Kind.ROW:
        return _rows([s.value for s in sources], first.width)
    if source.kind is Kind.MASK:
        return lambda wave: wave.pair(value)
    cell: Row = np.full(1, value & 0xFFFF_FFFF, np.uint32)
    if source.kind is Kind.NUMBER:
        return lambda wave: cell

    def scalar(wave: Wave) -> Row:
        cell[0] = wave.sgpr[value]
        return cell

    return scalar


def _rows(rows: Sequence[int], width: int) -> Fetch:
    """An array of registers, one for each instruction or the same for all."""
    start, distance = rows[0], rows[1] - rows[0]
    if not distance:
        end = start + width
        return lambda wave: wave.vgpr[start:end] if width > 1 else wave.rows[start]
    span = slice(start, rows[-1] + width, distance if width == 1 else 1)
    if width == 1:
        return lambda wave: wave.vgpr[span]
    shape = (len(rows), width, -1)
    return lambda wave: wave.vgpr[span].reshape(shape)

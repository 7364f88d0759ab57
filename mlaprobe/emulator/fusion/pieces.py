"""Pieces of straight code, and the order in which a piece is carried out.

Instructions that do the same in every lane may change places where none of them uses what the other
writes. So those that do alike come together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from mlaprobe.emulator.fusion.lanewise import Group, Lanewise, Member, Step

_LONGEST = 64
"""Instructions of a piece: where a load arrives meanwhile in one of its registers, all of it has to
be carried out one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """An instruction that only its own wave notices."""

    step: Step
    """What it does."""
    cycles: int
    """How long its wave is busy with it."""
    matrix_cycles: int = 0
    """How long the matrix core is busy with it."""
    lanewise: Lanewise | None = None
    """What it does, if that is the same in every lane."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Instructions one behind the other."""

    parts: tuple[tuple[Step, int, int], ...]
    """What each does, its cycles, and cycles of the matrix core."""
    fused: tuple[Step, ...]
    """The same with those together that do alike; empty where there are none."""
    cycles: int
    """Cycles of all of them, if the matrix core has no part in it."""
    head: int
    """Cycles until the last of them begins, likewise."""
    rows: int
    """The rows that the fused ones read or write, as bits of a number."""


def pieces_of(parts: Sequence[Part]) -> tuple[Piece, ...]:
    """The pieces of some straight code."""
    pieces = []
    for lanewise, stretch in groupby(parts, lambda part: part.lanewise is not None):
        if lanewise:
            pieces += [_piece(some) for some in _chunks(list(stretch))]
        else:
            pieces.append(_plain(list(stretch)))
    return tuple(pieces)


def _chunks(parts: list[Part]) -> Iterable[list[Part]]:
    return (parts[at : at + _LONGEST] for at in range(0, len(parts), _LONGEST))


def _plain(parts: list[Part], fused: tuple[Step, ...] = (), rows: int = 0) -> Piece:
    cycles = sum(part.cycles for part in parts)
    return Piece(
        parts=tuple((part.step, part.cycles, part.matrix_cycles) for part in parts),
        fused=fused,
        cycles=cycles,
        head=cycles - parts[-1].cycles,
        rows=rows,
    )


def _piece(parts: list[Part]) -> Piece:
    if len(parts) == 1:
        return _plain(parts)
    groups: list[Group] = []
    rows = 0
    for part in parts:
        assert part.lanewise is not None
        member = Member(part.lanewise, part.step)
        rows |= member.reads | member.writes
        if not _joins(groups, member):
            groups.append(Group(member))
    if len(groups) == len(parts):
        return _plain(parts)
    return _plain(parts, tuple(group.step() for group in groups), rows)


def _joins(groups: list[Group], member: Member) -> bool:
    """Adds an instruction to the last group that it fits in, if it may come before all that stand
    behind that group."""
    reads, writes = member.reads, member.writes
    for group in reversed(groups):
        if group.add(member):
            return True
        if writes & (group.reads | group.writes) or reads & group.writes:
            return False
    return False

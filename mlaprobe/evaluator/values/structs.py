"""Where the members of a C++ struct lie, by the Itanium C++ ABI, which x86-64 and the GPU share:
naturally aligned, or one right after the other in a packed struct.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mlaprobe.evaluator.ir import NOWHERE, CType
from mlaprobe.evaluator.values import Unknown
from mlaprobe.evaluator.values.kinds import StructType

Lookup = Callable[[str], StructType | None]
"""A struct by its name."""
POINTER = 8
_DOUBLE, _FLOAT = 8, 4
_DEEPEST = 16
"""Structs within structs: no layout is so deep, and one that contains itself has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member of a struct with its place."""

    name: str
    type: CType
    offset: int
    """Bytes from the start of the struct."""
    size: int
    """Bytes."""
    inner: StructLayout | None = None
    """The members of a member that is a struct itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StructLayout:
    """The places of all members, and the size of the whole."""

    name: str
    size: int
    """Bytes, with what follows the last member up to the alignment."""
    align: int
    """Bytes."""
    members: tuple[Member, ...] = field(repr=False)


def struct_layout(struct: StructType, lookup: Lookup, depth: int = 0) -> StructLayout | Unknown:
    """The layout of a struct; unknown where it does not follow from a member's type."""
    if not struct.plain or struct.odd or depth > _DEEPEST:
        what = struct.odd[0] if struct.odd else struct.name
        return Unknown(f"how much room {what} takes in {struct.name} is not followed", NOWHERE)
    members: list[Member] = []
    end, align = 0, 1
    for name, ctype, _ in struct.members:
        room = _room(ctype, lookup, depth)
        if isinstance(room, Unknown):
            return room
        size, natural, inner = room
        natural = 1 if struct.packed else natural
        start = -(-end // natural) * natural
        members.append(Member(name=name, type=ctype, offset=start, size=size, inner=inner))
        end, align = start + size, max(align, natural)
    whole = -(-end // align) * align
    return StructLayout(name=struct.name, size=whole, align=align, members=tuple(members))


def _room(
    ctype: CType, lookup: Lookup, depth: int
) -> tuple[int, int, StructLayout | None] | Unknown:
    """(size, alignment, members) of a type."""
    size = _scalar(ctype)
    if size is not None:
        return size, size, None
    found = lookup(ctype.name) if ctype.kind == "other" else None
    if found is not None and not found.template:
        inner = struct_layout(found, lookup, depth + 1)
        return inner if isinstance(inner, Unknown) else (inner.size, inner.align, inner)
    return Unknown(f"the size of a {ctype.name} is not known", NOWHERE)


def _scalar(ctype: CType) -> int | None:
    if ctype.pointer or ctype.ref or (ctype.kind, ctype.name) == ("string", "char"):
        return POINTER
    if ctype.kind in ("int", "unsigned"):
        return ctype.bits // 8
    if ctype.kind == "float":
        return _DOUBLE if ctype.name.endswith("double") else _FLOAT
    return 1 if ctype.kind == "bool" else None

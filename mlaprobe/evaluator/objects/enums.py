"""Python's enums: which members a class body makes, and what is done with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.classes import PyClass
from mlaprobe.evaluator.objects.flags import flag_of
from mlaprobe.evaluator.objects.members import Base, Property, Static
from mlaprobe.evaluator.objects.objects import NOTHING
from mlaprobe.evaluator.symbolic.symbols import plain
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.comparing import equals
from mlaprobe.evaluator.values.kinds import Builtin, Closure, EnumMember, EnumType, Model

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

_NUMBERS = ("enum.IntEnum", "enum.IntFlag", "enum.StrEnum")
_FLAGS = ("enum.Flag", "enum.IntFlag")


class Auto(Model):
    """``enum.auto()``: the value that follows."""

    __slots__ = ()


def numbered(names: dict[str, Value], before: dict[str, Value], kind: str) -> None:
    """Gives the names that are new their value, where that is the one that follows those before."""
    for name, value in names.items():
        if name in before or not _is_member(name, value):
            continue
        if isinstance(value, Auto):
            names[name] = _following(name, names, before, kind)
        before[name] = names[name]


def _following(
    name: str, names: Mapping[str, Value], before: Mapping[str, Value], kind: str
) -> Value:
    values = [v for v in before.values() if v is not None]
    unclear = Unknown(f"the value of {name} that follows the others is not known")
    if "_generate_next_value_" in names:
        return unclear
    if kind == "enum.StrEnum":
        return name.lower()
    if not all(type(v) is int for v in values):
        return unclear
    last = max(values, default=0)
    if kind in _FLAGS:
        return (1 << last.bit_length()) if last >= 0 else unclear
    # Python 3.13 follows the largest, others the last.
    return last + 1 if not values or values[-1] == last else unclear


def _is_member(name: str, value: Value) -> bool:
    own = isinstance(value, (Closure, Property, Static, PyClass))
    return not own and not name.startswith("_")


def enum_type(made: PyClass, full: str, bases: Args, kind: str) -> EnumType:
    """The enum that a class body makes."""
    mixed = any(isinstance(b, Builtin) and b.name in ("int", "str") for b in bases)
    scoped = kind not in _NUMBERS and not mixed
    made.flag, made.enum_kind = kind in _FLAGS, kind
    made.reason = ""
    if made.defines("__new__", "_generate_next_value_") or any(
        isinstance(b, Unknown) or (isinstance(b, Builtin) and b.name not in ("int", "str"))
        for b in bases
    ):
        made.reason = f"how the members of {made.name} are made is not followed"
    members: list[EnumMember] = []
    for name, value in tuple(made.attributes.items()):
        if not _is_member(name, value):
            continue
        del made.attributes[name]
        unclear = isinstance(value, (Unknown, Model)) or bool(made.reason)
        known = None if unclear else plain(value)
        members.append(EnumMember(full, name, known, scoped=scoped, kind=made))
    if made.defines("__init__"):
        made.reason = f"what members of {made.name} have besides a value is not followed"
    found = EnumType(full, _aliased(members), made)
    made.enum = found
    return found


def _aliased(members: list[EnumMember]) -> tuple[EnumMember, ...]:
    """The members, each with the name of the first that has its value as its own."""
    first: dict[str, EnumMember] = {}
    for member in members:
        key = repr(member.value)
        first.setdefault(key, member)
    found: list[EnumMember] = []
    for member in members:
        own = first[repr(member.value)]
        found.append(
            member if member.value is None or own is member else replace(member, alias=own)
        )
    return tuple(found)


def members_of(kind: EnumType) -> tuple[EnumMember, ...] | Unknown:
    """The members that a loop sees."""
    unclear = next((m for m in kind.members if m.value is None), None)
    if unclear is not None:
        return Unknown(f"the value of {unclear!r} is not known")
    own = tuple(m for m in kind.members if m.alias is None)
    if any(isinstance(m.kind, PyClass) and m.kind.flag for m in own) and any(
        m.value <= 0 or m.value & (m.value - 1) for m in own
    ):
        return Unknown(f"which members of {kind.name} are counted depends on Python's version")
    return own


def attribute_of_type(run: Run, kind: EnumType, name: str, span: Span) -> Value:
    """``Kind.name``."""
    found = kind.member(name)
    if found is not None:
        return found.alias or found
    cls = kind.cls
    if isinstance(cls, PyClass):
        if name == "__members__":
            return {m.name: m.alias or m for m in kind.members}
        return cls.get_in(run, name, span)
    return Unknown(f"{kind.name} has no {name}", span)


def attribute_of_member(run: Run, member: EnumMember, name: str, span: Span) -> Value:
    """``member.name``."""
    cls = member.kind
    if isinstance(cls, PyClass) and cls.find(name) is not NOTHING:
        return cls.read(run, member, name, span)
    if name in ("value", "_value_"):
        return member.value if member.value is not None else Unknown("an enum's value", span)
    if name in ("name", "_name_"):
        return member.name if "|" not in member.name else Unknown("the name of a flag", span)
    return Unknown(f"attribute {name} of an enum member", span)


_ALWAYS = 128
"""Numbers below this are values of any C++ enum with enumerators, whatever its type is."""


def looked_up(run: Run, kind: EnumType, value: Value, span: Span) -> Value:
    """``Kind(value)``.

    Raises:
        Failed: no member certainly has it.
    """
    if isinstance(value, EnumMember) and value.enum == kind.name:
        return value
    cls = kind.cls
    if not isinstance(cls, PyClass):
        number = plain(value)
        found = kind.of_value(number)
        if (
            found is None
            and cls is None
            and kind.members
            and type(number) is int
            and 0 <= number < _ALWAYS
        ):
            return EnumMember(kind.name, str(number), number, scoped=kind.members[0].scoped)
        return found if found is not None else Unknown(f"a member of {kind.name}", span)
    for member in kind.members:
        if member.value is None:
            return Unknown(f"the value of {member!r} is not known", span)
        if run.holds(equals(value, member.value, span)):
            return member.alias or member
    if cls.defines("_missing_"):
        return Unknown(f"what {cls.name} makes of other values is not followed", span)
    if cls.flag:
        return _flag(kind, cls, value, span)
    raise Failed("exception", "ValueError", f"not a valid {cls.name}", span)


def _flag(kind: EnumType, cls: PyClass, value: Value, span: Span) -> Value:
    """``Kind(number)`` for a flag that has no member of that value.

    Raises:
        Failed: the number has bits of no member, which a ``Flag`` refuses.
    """
    number = plain(value)
    member = next(iter(kind.members), None)
    if member is None or type(number) is not int or number < 0:
        return Unknown(f"a flag of {kind.name} by this value is not followed", span)
    known = 0
    for other in kind.members:
        known |= other.value
    if number & ~known and member.scoped:
        raise Failed("exception", "ValueError", f"invalid value {number} of {cls.name}", span)
    return flag_of(member, number)


def enum_text(member: EnumMember, *, formatted: bool) -> str | None:
    """The text that Python makes of a member, where every version makes the same. ``formatted``:
    as a part of a formatted text."""
    cls = member.kind
    if not isinstance(cls, PyClass) or member.value is None or cls.defines("__str__", "__format__"):
        return None
    if cls.enum_kind == "enum.StrEnum":
        return str(member.value)
    if cls.enum_kind == "enum.Enum" and member.scoped:
        return f"{cls.name}.{member.name}"
    return str(member.value) if cls.enum_kind == "enum.IntEnum" and formatted else None


def _auto(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    return Auto()


ENUMS: dict[str, Value] = {
    "enum.auto": Builtin("enum.auto", _auto),
    "enum.unique": Builtin("enum.unique", lambda run, args, kwargs, span: args[0]),
    **{
        f"enum.{name}": Base(name, f"enum.{name}")
        for name in ("Enum", "IntEnum", "IntFlag", "Flag", "StrEnum")
    },
}
"""What an enum is made with, by dotted names."""

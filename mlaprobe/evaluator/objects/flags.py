"""Python's flags: enums whose members are combined."""

from __future__ import annotations

from dataclasses import replace

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.classes import PyClass
from mlaprobe.evaluator.objects.objects import NOTHING
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import EnumMember


def combined(op: str, left: Value, right: Value) -> Value:
    """A flag that an operator makes; ``NOTHING`` where it makes none."""
    member = left if isinstance(left, EnumMember) else right
    cls = member.kind if isinstance(member, EnumMember) else None
    if not isinstance(cls, PyClass) or not cls.flag or op not in ("|", "&", "^"):
        return NOTHING
    values: list[int] = []
    for side in (left, right):
        value = side.value if isinstance(side, EnumMember) and side.kind is cls else side
        if type(value) is not int or (side is value and member.scoped):
            return NOTHING
        values.append(value)
    result = {"|": values[0] | values[1], "&": values[0] & values[1]}.get(op, values[0] ^ values[1])
    return flag_of(member, result)


def flag_of(member: EnumMember, value: int) -> EnumMember:
    """The flag of a value, of the same enum."""
    cls = member.kind
    found = cls.enum.of_value(value) if isinstance(cls, PyClass) and cls.enum else None
    if found is not None:
        return found.alias or found
    return replace(member, name=f"|{value}", value=value, alias=None)


def inverted(member: EnumMember) -> Value:
    """``~flag``."""
    cls = member.kind
    if not isinstance(cls, PyClass) or not cls.flag or member.value is None or cls.enum is None:
        return NOTHING
    if not member.scoped:
        return flag_of(member, ~member.value)
    everything = 0
    for other in cls.enum.members:
        if other.value is None:
            return NOTHING
        everything |= other.value
    return flag_of(member, everything & ~member.value)


def has_flag(flags: EnumMember, item: Value, span: Span) -> Value:
    """``item in flags``."""
    same = isinstance(item, EnumMember) and item.enum == flags.enum
    if not same or not isinstance(flags.kind, PyClass) or not flags.kind.flag:
        return Unknown("membership in an enum member", span)
    if item.value is None or flags.value is None:
        return Unknown("the value of a flag is not known", span)
    return item.value & flags.value == item.value

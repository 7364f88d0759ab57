"""The argument block that a host function hands to a kernel: the struct of its source with what it
stored in each member, as bytes once addresses are known.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.builtins import size_of_type
from mlaprobe.evaluator.cpp.unit import CppModule
from mlaprobe.evaluator.engine.modules import Module
from mlaprobe.evaluator.ir import CType
from mlaprobe.evaluator.values.kinds import Builtin, Record, ToObject
from mlaprobe.evaluator.values.structs import Member, StructLayout, struct_layout
from mlaprobe.evaluator.values.unknown import UNINITIALISED, Unknown
from mlaprobe.stages.environment.placed import Placed

Address = Callable[[str, Placed], int]
"""The device address of a tensor's first element, for the slot of that name."""
Unset = Callable[[int], bytes]
"""So many bytes that the host stores nothing in: ``bytes`` gives zeros."""
_PRAGMA = "pragma pack"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A member of the block that holds a value of its own."""

    name: str
    """As the struct has it; that of a struct within is ``outer.inner``."""
    offset: int
    """Bytes from the start of the block."""
    size: int
    """Bytes."""
    type: CType
    value: Placed | int | float | Unknown | None
    """A tensor for a pointer to its first element, ``None`` for a null pointer."""

    @property
    def is_pointer(self) -> bool:
        """Whether it holds an address."""
        return self.type.pointer

    @property
    def uninitialised(self) -> bool:
        """Whether the host stores nothing in it, so that the kernel gets whatever was there."""
        return isinstance(self.value, Unknown) and self.value.free == UNINITIALISED

    def pack(self, address: Address, unset: Unset = bytes) -> bytes:
        """Its bytes, the lowest first; of an uninitialised one what ``unset`` gives.

        Raises:
            ValueError: the value is unknown, or does not fit.
        """
        if self.uninitialised:
            return unset(self.size)
        if isinstance(self.value, Unknown):
            raise ValueError(f"{self.name} is not known: {self.value.reason}")
        if isinstance(self.value, Placed):
            number = address(self.name, self.value)
        elif self.type.kind == "float" and not self.type.pointer:
            return struct.pack("<f" if self.size == 4 else "<d", self.value or 0.0)
        else:
            number = int(self.value or 0)
        try:
            return number.to_bytes(self.size, "little", signed=number < 0)
        except OverflowError:
            raise ValueError(f"{self.name} is {number}, beyond {self.size} bytes") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentBlock:
    """What a kernel is launched with."""

    struct: str
    """The name of its struct."""
    size: int
    """Bytes."""
    slots: tuple[Slot, ...]
    """In the order of the struct, padding members included."""

    def slot(self, name: str) -> Slot | None:
        """The slot of that name."""
        return next((slot for slot in self.slots if slot.name == name), None)

    def at(self, offset: int) -> Slot | None:
        """The slot that a byte belongs to."""
        found = (s for s in self.slots if s.offset <= offset < s.offset + s.size)
        return next(found, None)

    @property
    def unknown(self) -> Slot | None:
        """The first slot whose value is not known."""
        found = (s for s in self.slots if isinstance(s.value, Unknown) and not s.uninitialised)
        return next(found, None)

    @property
    def uninitialised(self) -> tuple[Slot, ...]:
        """The slots that the host stores nothing in."""
        return tuple(slot for slot in self.slots if slot.uninitialised)

    def pack(self, address: Address, unset: Unset = bytes) -> bytes:
        """All bytes. ``unset`` gives those of members that the host stores nothing in, and those
        between members.

        Raises:
            ValueError: a value is unknown, or does not fit.
        """
        data = bytearray(unset(self.size))
        for slot in self.slots:
            data[slot.offset : slot.offset + slot.size] = slot.pack(address, unset)
        return bytes(data)


def read_block(value: Any, module: Module) -> ArgumentBlock | Unknown:
    """The block that a launch is given a pointer to.

    Args:
        value: what the pointer leads to.
        module: where the names of its types are looked up.
    """
    value = value.load() if isinstance(value, ToObject) else value
    if isinstance(value, Unknown):
        return value
    if not isinstance(value, Record):
        return Unknown("what the kernel is launched with is no struct")
    layout = layout_of(value.type, module)
    if isinstance(layout, Unknown):
        return layout
    slots = tuple(_slots(layout, value, "", 0))
    return ArgumentBlock(struct=layout.name, size=layout.size, slots=slots)


def layout_of(name: str, module: Module) -> StructLayout | Unknown:
    """The layout of a struct of the source, by its name."""
    if not isinstance(module, CppModule):
        return Unknown(f"{name} is no struct that can be read")
    found = module.known.layouts.get(name)
    if found is None:
        found = module.known.layouts[name] = _layout(name, module)
    return found


def _layout(name: str, module: CppModule) -> StructLayout | Unknown:
    kind, unit = module.struct(name), module.unit
    if kind is None:
        return Unknown(f"{name} is no struct that can be read")
    if any(_PRAGMA in unit.text(file.path) for file in unit.files):
        return Unknown(f"a #pragma pack may move the members of {name}")
    return struct_layout(kind, module.struct)


def sizeof(module: Callable[[], Module]) -> Builtin:
    """``sizeof`` of an object or a type; ``module`` gives where its type is looked up."""

    def call(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: ir.Span) -> Any:
        if not args or not isinstance(args[0], Record):
            return size_of_type(run, args, kwargs, span)
        layout = layout_of(args[0].type, module())
        return layout if isinstance(layout, Unknown) else layout.size

    return Builtin("sizeof", call, symbolic=True)


def _slots(layout: StructLayout, value: Record, prefix: str, base: int) -> list[Slot]:
    found: list[Slot] = []
    for member in layout.members:
        held = value.fields.get(member.name)
        if member.inner is not None and isinstance(held, Record):
            name, start = f"{prefix}{member.name}.", base + member.offset
            found.extend(_slots(member.inner, held, name, start))
        else:
            found.append(_slot(member, held, prefix, base))
    return found


def _slot(member: Member, held: Any, prefix: str, base: int) -> Slot:
    plain = (int, float, type(None), Placed, Unknown)
    known = held if isinstance(held, plain) else Unknown(f"the value of {member.name}")
    return Slot(
        name=prefix + member.name,
        offset=base + member.offset,
        size=member.size,
        type=member.type,
        value=known,
    )

"""What can be assigned to (variables, members, elements, and places in memory), and operators of
pointers to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from mlaprobe.emulation.device import arithmetic, memory
from mlaprobe.emulation.device.kinds import BOOL, ArrayOf, PointerTo, Scalar, Struct, Type
from mlaprobe.emulation.device.memory import Block
from mlaprobe.emulation.device.signals import NotFollowed, Undetermined
from mlaprobe.emulation.device.values import (
    UNDEFINED,
    Address,
    Array,
    Mask,
    Undefined,
    Value,
    address,
    blend,
    collapsed,
    uniform,
)

if TYPE_CHECKING:
    from mlaprobe.emulation.device.machine import Machine


class Place(ABC):
    """Something with an address."""

    __slots__ = ("type",)
    type: Type

    @abstractmethod
    def load(self, machine: Machine) -> Value:
        """The value, in the threads that take part."""

    @abstractmethod
    def store(self, machine: Machine, value: Value) -> None:
        """Assign a value of the place's type, in the threads that take part."""

    def member(self, name: str) -> Place:
        """A data member of an object."""
        raise NotFollowed(f"{name} of a {self.type.name}")

    def element(self, machine: Machine, index: Value) -> Place:
        """An element of an array."""
        raise NotFollowed(f"an element of a {self.type.name}")

    def address(self) -> Address:
        """Where it is."""
        return Address(self)


class Variable(Place):
    """A number or a pointer of the program: one for each thread that has come to its
    declaration."""

    __slots__ = ("_defined", "_mask", "_value")

    def __init__(self, kind: Type, mask: Mask, value: Value | None = None) -> None:
        self.type = kind
        self._mask = mask
        self._value = value if value is not None else Value(kind, UNDEFINED)
        self._defined: Mask | None = None
        """The threads that have a value; ``None`` for all or none."""

    def load(self, machine: Machine) -> Value:
        value = self._value
        if isinstance(value.data, Undefined):
            raise Undetermined("a variable is used that nothing was stored in")
        if self._defined is not None and (machine.mask & ~self._defined).any():
            raise Undetermined("a variable is used that nothing was stored in by some threads")
        return value

    def store(self, machine: Machine, value: Value) -> None:
        mask = machine.mask
        if mask is self._mask or np.array_equal(mask, self._mask):
            self._value, self._defined = collapsed(value, mask), None
        elif isinstance(self._value.data, Undefined):
            self._value, self._defined = value, mask.copy()
        else:
            self._value = blend(mask, value, self._value)
            if self._defined is not None:
                self._defined = self._defined | mask


class Object(Place):
    """An object of a class: a place for each member."""

    __slots__ = ("members",)

    def __init__(self, kind: Struct, members: dict[str, Place]) -> None:
        self.type = kind
        self.members = members

    def load(self, machine: Machine) -> Value:
        return Value(self.type, {name: _kept(p, machine) for name, p in self.members.items()})

    def store(self, machine: Machine, value: Value) -> None:
        if not isinstance(value.data, dict):
            raise NotFollowed(f"a {value.type.name} is assigned to a {self.type.name}")
        for name, member in value.data.items():
            if not isinstance(member.data, Undefined):
                self.members[name].store(machine, member)

    def member(self, name: str) -> Place:
        found = self.members.get(name)
        if found is None:
            raise NotFollowed(f"{self.type.name} has no member {name} that is followed")
        return found


class Elements(Place):
    """An array of the program."""

    __slots__ = ("places",)

    def __init__(self, kind: ArrayOf, places: tuple[Place, ...]) -> None:
        self.type = kind
        self.places = places

    def load(self, machine: Machine) -> Value:
        return Value(self.type, tuple(_kept(p, machine) for p in self.places))

    def store(self, machine: Machine, value: Value) -> None:
        if not isinstance(value.data, tuple):
            raise NotFollowed(f"a {value.type.name} is assigned to a {self.type.name}")
        for place, element in zip(self.places, value.data, strict=True):
            if not isinstance(element.data, Undefined):
                place.store(machine, element)

    def element(self, machine: Machine, index: Value) -> Place:
        at = uniform(index, "a subscript of an array of the program")
        if not 0 <= at < len(self.places):
            raise Undetermined(f"element {at} of an array of {len(self.places)}")
        return self.places[at]


class InMemory(Place):
    """A place in a buffer, another one in each thread where ``offset`` is an array."""

    __slots__ = ("block", "offset")

    def __init__(self, kind: Type, block: Block, offset: int | Array) -> None:
        self.type = kind
        self.block = block
        self.offset = offset

    def load(self, machine: Machine) -> Value:
        return memory.load(self.block, self.offset, self.type, machine.mask, machine.waves)

    def store(self, machine: Machine, value: Value) -> None:
        memory.store(self.block, self.offset, value, machine.mask, machine.waves)

    def member(self, name: str) -> Place:
        found = self.type.members.get(name) if isinstance(self.type, Struct) else None
        if found is None:
            raise NotFollowed(f"{self.type.name} has no member {name}")
        return InMemory(found.type, self.block, self.offset + found.offset)

    def element(self, machine: Machine, index: Value) -> Place:
        if not isinstance(self.type, ArrayOf):
            return super().element(machine, index)
        return moved(machine, self.address(), self.type.element, index)

    def address(self) -> Address:
        return Address(self.block, self.offset)


def _kept(place: Place, machine: Machine) -> Value:
    """A part of an object that is copied: it may be without a value."""
    try:
        return place.load(machine)
    except NotFollowed:
        if isinstance(place, Variable):
            return Value(place.type, UNDEFINED)
        raise


def moved(machine: Machine, start: Address, element: Type, index: Value) -> Place:
    """``*(start + index)``."""
    offset = shifted(start, element, index).offset
    if isinstance(start.block, Block):
        return InMemory(element, start.block, offset)
    if start.block is None:
        raise Undetermined("a null pointer is followed")
    if isinstance(offset, int) and offset == 0:
        return start.block
    raise NotFollowed("a pointer to a variable is moved")


def shifted(start: Address, element: Type, index: Value, sign: int = 1) -> Address:
    """``start + index``."""
    kind, count = index.type, index.data
    if not isinstance(kind, Scalar) or kind.kind == "f":
        raise NotFollowed(f"a pointer and a {kind.name} are added")
    if not isinstance(count, (int, np.ndarray)):
        raise NotFollowed("a pointer is moved by something that is not known")
    far = count.astype(np.int64) if isinstance(count, np.ndarray) else int(count)
    return Address(start.block, start.offset + sign * far * element.size)


def variable(kind: Type, mask: Mask, value: Value | None = None) -> Place:
    """A new variable of a type; without a value nothing is stored in it."""
    if isinstance(kind, Struct):
        given = value.data if value is not None and isinstance(value.data, dict) else {}
        own = (m for m in kind.members.values() if not m.overlaid)
        return Object(kind, {m.name: _part(m.type, mask, given.get(m.name)) for m in own})
    if isinstance(kind, ArrayOf):
        items: tuple[Value | None, ...] = (None,) * kind.count
        if value is not None and isinstance(value.data, tuple):
            items = value.data
        return Elements(kind, tuple(_part(kind.element, mask, item) for item in items))
    return Variable(kind, mask, None if value is None else collapsed(value, mask))


def _part(kind: Type, mask: Mask, value: Value | None) -> Place:
    known = None if value is None or isinstance(value.data, Undefined) else value
    return variable(kind, mask, known)


def as_place(machine: Machine, operand: Place | Value) -> Place:
    """A place that holds a value: that of a temporary is a new one."""
    return operand if isinstance(operand, Place) else variable(operand.type, machine.mask, operand)


def operate(m: Machine, op: str, left: Value, right: Value) -> Value:
    """An operator of two values: numbers or pointers."""
    if type(left.type) is Scalar and type(right.type) is Scalar:
        return arithmetic.binary(op, left, right, m.mask)
    pointers = [isinstance(v.data, Address) for v in (left, right)]
    if op in ("==", "!=") and (all(pointers) or isinstance(left.data, (str, type(None)))):
        return _same(op, left, right)
    if op == "+" and pointers == [False, True]:
        left, right, pointers = right, left, [True, False]
    if op in "+-" and pointers == [True, False] and isinstance(left.type, PointerTo):
        sign = 1 if op == "+" else -1
        there = shifted(address(left), left.type.target, right, sign)
        return Value(left.type, there)
    raise NotFollowed(f"the operator {op} of a {left.type.name} and a {right.type.name}")


def _same(op: str, left: Value, right: Value) -> Value:
    a, b = left.data, right.data
    if isinstance(a, Address) and isinstance(b, Address):
        if isinstance(a.offset, np.ndarray) or isinstance(b.offset, np.ndarray):
            raise NotFollowed("pointers are compared that differ between threads")
        same = a.block is b.block and (a.block is None or a.offset == b.offset)
    elif isinstance(b, Address) and b.block is None:
        same = a is None  # a text that getenv did not find
    else:
        raise NotFollowed(f"a {left.type.name} is compared with a {right.type.name}")
    return Value(BOOL, same == (op == "=="))

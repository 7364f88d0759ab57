"""Pointers and references of the analysed program: where a value is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlaprobe.evaluator.values.value import Value

if TYPE_CHECKING:
    from mlaprobe.evaluator.ir import CType


class Pointer:
    """A pointer to a variable: the frame that holds it (or the fields, or the list) and its
    slot."""

    __slots__ = ("frame", "slot", "type")

    def __init__(self, frame: Value, slot: Value, type: CType | None = None) -> None:
        self.frame = frame
        self.slot = slot
        self.type = type
        """What the variable is declared as, where that is known."""

    def load(self, default: Value = None) -> Value:
        """The value that is pointed to."""
        try:
            return self.frame[self.slot]
        except (KeyError, IndexError):
            return default

    def store(self, value: Value) -> None:
        """Write through the pointer."""
        self.frame[self.slot] = value

    def same(self, other: Pointer) -> bool | None:
        """Whether another points to the same; ``None`` where that is not known."""
        return True if other.frame is self.frame and other.slot == self.slot else None

    def moved(self, by: int) -> Pointer | None:
        """The pointer to so many elements further on, where that is followed."""
        return None

    def distance(self, other: Pointer) -> int | None:
        """How many elements further on another points, where that is followed."""
        return None


class Ref(Pointer):
    """What a C++ reference is bound to. A variable that holds one stands for its target."""

    __slots__ = ("kind",)

    kind: CType
    """The type of what it is bound to, where that has been looked up."""


class Owner(Pointer):
    """A ``std::unique_ptr`` or ``std::shared_ptr`` that is not null."""

    __slots__ = ()

    def __init__(self, value: Value) -> None:
        super().__init__({"": value}, "")


class InValue:
    """What holds a part of a value, as the frame of a pointer: reading gives a copy, and writing
    gives the variable around it another value."""

    __slots__ = ()

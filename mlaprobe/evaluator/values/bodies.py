"""What the body of a C++ class declares besides its members: methods, constructors, operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlaprobe.evaluator.ir import Function


@dataclass(frozen=True, slots=True)
class Header:
    """What the declaration of a method says of it."""

    const: bool
    static: bool


@dataclass(frozen=True, slots=True)
class MethodOf:
    """A method of a C++ class."""

    function: Function
    const: bool
    static: bool


@dataclass(frozen=True, slots=True)
class Constructor:
    """A constructor that a class declares."""

    function: Function | None
    """Its parameters, and a body that gives the members their values first. ``None`` where that is
    not followed."""
    above: Mapping[str, Function] = field(default_factory=dict)
    """By the name of a base: what makes the part that its constructor makes. By no name: another
    constructor of the class, which this one leaves all to."""
    defaulted: bool = False
    """Whether it is the one that the compiler makes."""


class Body:
    """What a class declares. This one declares nothing."""

    __slots__ = ()

    def method(self, name: str) -> MethodOf | None:
        """The one method of that name; ``None`` where there is none, or several."""
        return None

    def header(self, name: str) -> Header | None:
        """What the one declaration of a method says; ``None`` where there are several, or it gives
        parameters values."""
        return None

    def declares(self, name: str) -> bool:
        """Whether there is any method of that name."""
        return False

    def virtual(self, name: str) -> bool:
        """Whether a method of that name is declared virtual."""
        return False

    def defaulted(self, name: str) -> bool:
        """Whether an operator is the one that the compiler makes."""
        return False

    @property
    def constructors(self) -> tuple[Constructor, ...]:
        """The constructors that can be called, those that copy left out."""
        return ()

    @property
    def made_by_hand(self) -> bool:
        """Whether it declares any constructor."""
        return False

    @property
    def implicit(self) -> tuple[Function, ...]:
        """What is called where no call is written, where the class says so: when an object goes,
        and of one that is not followed, when it is copied or converted."""
        return ()

    @property
    def acts(self) -> str:
        """What its objects do on their own that is not followed: being copied or assigned by code
        of the class, or being pointers. Empty: nothing."""
        return ""

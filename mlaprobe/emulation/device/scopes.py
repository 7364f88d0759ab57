"""What names mean while device code runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlaprobe.emulation.device.kinds import Struct, Type
from mlaprobe.emulation.device.places import Place
from mlaprobe.emulation.device.source import Definition, Piece, SourceUnit, Syntax
from mlaprobe.emulation.device.values import Value


@dataclass(frozen=True, slots=True, eq=False)
class Functions:
    """The overloads of a function, and what it is called on."""

    name: str
    definitions: tuple[Definition, ...]
    scope: Scope
    """The scope of their definition."""
    this: Place | None = None
    arguments: tuple[Argument, ...] = ()
    """Template arguments that are given."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassTemplate:
    """A class template, or a class, and its specialisations."""

    name: str
    definitions: tuple[Definition, ...]
    scope: Scope


@dataclass(frozen=True, slots=True, eq=False)
class AliasTemplate:
    """An alias, or an alias template, that is not resolved yet."""

    definition: Definition
    scope: Scope


@dataclass(frozen=True, slots=True, eq=False)
class Lambda:
    """A lambda, which sees the variables around it."""

    node: Syntax
    piece: Piece
    scope: Scope


@dataclass(frozen=True, slots=True, eq=False)
class Builtin:
    """A function that the machine provides.

    ``call(machine, arguments, template arguments)`` gives its result.
    """

    name: str
    call: Any
    arithmetic: bool = False
    """Whether its result has the type that its arguments have in common."""


class TypeName:
    """A type as the meaning of a name."""

    __slots__ = ("type",)

    def __init__(self, kind: Type) -> None:
        self.type = kind


Argument = Value | TypeName | ClassTemplate
"""A template argument."""
Meaning = Place | Value | TypeName | Functions | ClassTemplate | AliasTemplate | Lambda | Builtin


class Scope:
    """Names of a block, a function or a class, inside another scope."""

    __slots__ = ("names", "namespace", "parent", "struct", "this", "unit")

    def __init__(
        self,
        unit: SourceUnit,
        namespace: str,
        parent: Scope | None = None,
        struct: Struct | None = None,
        this: Place | None = None,
    ) -> None:
        self.unit = unit
        self.namespace = namespace
        self.parent = parent
        self.names: dict[str, Meaning] = {}
        self.struct = struct
        """The class whose scope this is."""
        self.this = this
        """The object whose members a function sees."""

    def inner(self) -> Scope:
        """A scope inside this one."""
        return Scope(self.unit, self.namespace, self)

"""What all nodes share: places, types and parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Span(NamedTuple):
    """A place in a source file; lines and columns are 1-based, the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


NOWHERE = Span("", 0, 0, 0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """Anything that has a place."""

    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Param(Node):
    """``kind`` is ``normal``, ``placed`` (positional-only), ``keyword`` (keyword-only), ``*`` or
    ``**``."""

    name: str
    default: Node | None = None
    kind: str = "normal"
    type: CType | None = None


@dataclass(frozen=True, slots=True)
class CType:
    """What matters of a C++ type.

    ``kind``: ``int``, ``unsigned``, ``bool``, ``float``, ``string``, ``auto``, ``void`` or
    ``other``; ``bits`` for integers; ``name`` is the type as written, without qualifiers.
    """

    kind: str
    name: str = ""
    bits: int = 32
    const: bool = False
    ref: bool = False
    pointer: bool = False

    @property
    def fixed(self) -> bool:
        """Whether what has the type is ``const``, and not what a C string points to."""
        text = (self.kind, self.name, self.pointer) == ("string", "char", False)
        return self.const and not text

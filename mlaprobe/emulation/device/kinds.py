"""C++ types of device code, with their sizes in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from mlaprobe.emulation.device.signals import NotFollowed


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number; ``kind`` is ``i``, ``u``, ``b`` (bool) or ``f``."""

    name: str
    kind: str
    bits: int

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.bits // 8

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the largest integer."""
        if self.kind == "i":
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, 1 if self.kind == "b" else (1 << self.bits) - 1


BOOL = Scalar("bool", "b", 8)
INT = Scalar("int", "i", 32)
UINT = Scalar("unsigned int", "u", 32)
LONG = Scalar("long", "i", 64)
ULONG = Scalar("unsigned long", "u", 64)
FLOAT = Scalar("float", "f", 32)
DOUBLE = Scalar("double", "f", 64)


@dataclass(frozen=True, slots=True)
class Void:
    """No value; what a pointer to it points to is of no type."""

    name: str = "void"
    size: int = 1


@dataclass(frozen=True, slots=True)
class Text:
    """A string literal or what ``getenv`` returns: nothing that device code computes with."""

    name: str = "char const*"
    size: int = 8


@dataclass(frozen=True, slots=True)
class PointerTo:
    """A pointer."""

    target: Type

    @property
    def name(self) -> str:
        """The type as C++ writes it."""
        return f"{self.target.name}*"

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return 8


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """An array of known length."""

    element: Type
    count: int

    @property
    def name(self) -> str:
        """The type as C++ writes it."""
        return f"{self.element.name}[{self.count}]"

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.element.size * self.count


@dataclass(frozen=True, slots=True)
class Member:
    """A data member of a class."""

    name: str
    type: Type
    offset: int
    """Bytes from the beginning of the object."""
    overlaid: bool = False
    """Whether it shares its bytes with an earlier member (of a union)."""
    default: Any = None
    """The syntax of its default initialiser."""


@dataclass(slots=True, eq=False)
class Struct:
    """A class, of which there is one object per definition and template arguments."""

    name: str
    members: dict[str, Member] = field(default_factory=dict)
    size: int = 1
    align: int = 1
    scope: Any = None
    """The scope of its definition (``scopes.Scope``): methods, static constants, aliases."""
    constructors: tuple[Any, ...] = ()
    """Definitions of constructors (``source.Definition``)."""
    template: Any = None
    """The template, or the definition, that it is made from (``scopes.ClassTemplate``),"""
    arguments: tuple[Any, ...] = ()
    """and the template arguments."""
    statics: dict[str, Any] = field(default_factory=dict)
    """Declarations of static constants by name, as syntax with its piece."""


Type = Scalar | Void | Text | PointerTo | ArrayOf | Struct


def align_of(kind: Type) -> int:
    """The alignment of a type in bytes."""
    if isinstance(kind, Struct):
        return kind.align
    return align_of(kind.element) if isinstance(kind, ArrayOf) else kind.size


def promoted(kind: Scalar) -> Scalar:
    """The type after integral promotion."""
    return INT if kind.kind != "f" and kind.bits < 32 else kind


def common(left: Scalar, right: Scalar) -> Scalar:
    """The type in which an operator computes (the usual arithmetic conversions)."""
    left, right = promoted(left), promoted(right)
    if "f" in (left.kind, right.kind):
        floats = [t for t in (left, right) if t.kind == "f"]
        return max(floats, key=lambda t: t.bits)
    if left.bits != right.bits:
        return left if left.bits > right.bits else right
    return left if left.kind == "u" else right


_WORDS: dict[str, Scalar] = {
    "bool": BOOL,
    "char": Scalar("char", "i", 8),
    "short": Scalar("short", "i", 16),
    "int": INT,
    "unsigned": UINT,
    "long": LONG,
    "float": FLOAT,
    "double": DOUBLE,
    "size_t": ULONG,
    "ssize_t": LONG,
    "ptrdiff_t": LONG,
    "intptr_t": LONG,
    "uintptr_t": ULONG,
}
for _bits in (8, 16, 32, 64):
    _WORDS[f"int{_bits}_t"] = {32: INT, 64: LONG}.get(_bits) or Scalar(f"int{_bits}_t", "i", _bits)
    _WORDS[f"uint{_bits}_t"] = {32: UINT, 64: ULONG}.get(_bits) or Scalar(
        f"uint{_bits}_t", "u", _bits
    )


@lru_cache(maxsize=256)
def builtin_type(text: str) -> Type | None:
    """The type of the language, or of ``<cstdint>``, that a text names."""
    words = text.replace("std::", "").split()
    if words == ["void"]:
        return Void()
    signs = [w for w in words if w in ("signed", "unsigned")]
    rest = [w for w in words if w not in ("signed", "unsigned", "const", "volatile")]
    if len(rest) > 1 and rest[-1] == "int":
        rest.pop()
    name = "long" if rest == ["long", "long"] else " ".join(rest) or ("int" if signs else "")
    found = _WORDS.get(name)
    if found is None or not signs:
        return found
    if found.kind != "i":
        raise NotFollowed(f"the type {text}")
    if signs == ["signed"]:
        return found
    return {32: UINT, 64: ULONG}.get(found.bits) or Scalar(f"unsigned {name}", "u", found.bits)

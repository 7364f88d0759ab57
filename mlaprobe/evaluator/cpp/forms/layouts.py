"""How much room structs, unions and enums of the source take, by the Itanium C++ ABI, which x86-64
and the GPU share for plain data.

Whatever does not follow from the declarations alone (bit fields, virtual functions, several bases,
members of classes of a library) has no size here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.tree import Syntax, field, find_declarator
from mlaprobe.evaluator.cpp.types import bytes_of, parse_type, template_of
from mlaprobe.evaluator.ir import CType
from mlaprobe.evaluator.values.kinds import EnumType, StructType

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.definitions import Definition
    from mlaprobe.evaluator.cpp.translate import Translator
    from mlaprobe.evaluator.cpp.unit import CppModule

_POINTER = 8
_DEEPEST = 16
_ALIGNED = re.compile(r"\balignas\s*\(\s*(\d+)\s*\)|\baligned\s*\(\s*(\d+)\s*\)")
_STRANGE = re.compile(r"\bvirtual\b|\bno_unique_address\b|\b(alignas|aligned)\b")
_NO_PLAIN_DATA = re.compile(r"[(:=&]")
"""What stands in the body of a class in whose padding something may lie."""
_AGGREGATES = ("struct_specifier", "union_specifier", "class_specifier")
_TYPES = (*_AGGREGATES, "enum_specifier", "alias_declaration", "type_definition")


class NoSizeError(Exception):
    """The size does not follow from what is read here."""


class Room(NamedTuple):
    """Bytes, their alignment, and whether nothing may lie in the padding at the end."""

    size: int
    align: int
    closed: bool = True
    empty: bool = False
    scalar: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A struct or a union as it is declared."""

    tr: Translator
    node: Syntax
    template: bool

    def room(self, module: CppModule, depth: int = 0) -> Room:
        """The room that an object takes.

        Raises:
            NoSizeError: it is not known.
        """
        body = field(self.node, "body")
        head = self.tr.tree.head(self.node, body)
        if self.node.has_error or _behind(self.tr, self.node):
            raise NoSizeError
        if self.template or depth > _DEEPEST:
            raise NoSizeError
        least = _aligned(head)
        packed = "packed" in head
        place = _Place(union=self.node.type == "union_specifier", align=least)
        base = self._base(module, depth)
        if base is not None and not base.empty:
            place.put(base)
        members = list(self._members(module, body, depth))
        for room in members:
            place.put(Room(room.size, 1) if packed else room)
        if not members and (base is None or base.empty):
            return Room(least, least, empty=True)
        if base is not None and base.empty and not all(room.scalar for room in members):
            raise NoSizeError  # two objects of one class do not share a place
        open_ = base is not None or _NO_PLAIN_DATA.search(self.tr.source(body)) is not None
        return place.whole(closed=not open_)

    def _base(self, module: CppModule, depth: int) -> Room | None:
        clauses = [c for c in self.node.children if c.type == "base_class_clause"]
        names = [n for c in clauses for n in c.named_children if n.type != "access_specifier"]
        if not names:
            return None
        if len(names) > 1 or "virtual" in self.tr.source(clauses[0]).split():
            raise NoSizeError
        room = named_room(module, self.tr.source(names[0]), depth + 1)
        if not room.closed:
            raise NoSizeError  # what follows may lie in the padding of the base
        return room

    def _members(self, module: CppModule, body: Syntax, depth: int) -> Iterator[Room]:
        for member in body.named_children:
            if member.type not in ("field_declaration", "function_definition", "declaration"):
                continue
            text = self.tr.source(member)
            known = _ALIGNED.sub("", text)
            if _STRANGE.search(known.split("{")[0]):
                raise NoSizeError
            if member.type != "field_declaration":
                continue
            if any(c.type in ("bitfield_clause", "ERROR") for c in member.children):
                raise NoSizeError
            yield from self._declared(module, member, depth)

    def _declared(self, module: CppModule, member: Syntax, depth: int) -> Iterator[Room]:
        """The members that one declaration makes."""
        declarators = member.children_by_field_name("declarator")
        kind = field(member, "type")
        inner = None
        if kind is not None and kind.type in _AGGREGATES and field(kind, "body") is not None:
            inner = Layout(self.tr, kind, self.template).room(module, depth + 1)
            if not declarators and field(kind, "name") is None:
                yield inner
        if kind is None or "static" in self.tr.source(member).split(None, 1)[0]:
            return
        for each in declarators:
            if _is_function(each):
                continue
            pointer, count = _shape(module, self.tr.source(each))
            room = inner
            if pointer:
                room = Room(_POINTER, _POINTER, scalar=True)
            elif room is None:
                text = self.tr.source(kind)
                if set(re.findall(r"\w+", text)) & set(self._own_types()):
                    raise NoSizeError
                room = room_of(module, self.tr.type_of(text), depth + 1)
            align = max(room.align, _aligned(self.tr.source(member)))
            yield Room(room.size * count, align, scalar=room.scalar)

    def _own_types(self) -> Iterator[str]:
        """Names of types that the class, or one around it, declares itself."""
        node: Syntax | None = self.node
        while node is not None:
            body = field(node, "body") if node.type in _AGGREGATES else None
            for member in body.named_children if body is not None else ():
                for each in (member, *member.named_children):
                    name = field(each, "name") or field(each, "declarator")
                    if each.type in _TYPES and name is not None:
                        yield self.tr.source(name)
            node = node.parent


@dataclass(slots=True)
class _Place:
    """Where the next member goes."""

    union: bool
    align: int
    end: int = 0

    def put(self, room: Room) -> None:
        self.align = max(self.align, room.align)
        start = 0 if self.union else _up(self.end, room.align)
        self.end = max(self.end, start + room.size)

    def whole(self, *, closed: bool) -> Room:
        size = _up(self.end, self.align)
        return Room(size, self.align, closed or size == self.end)


def _behind(tr: Translator, node: Syntax) -> bool:
    """Whether an attribute stands behind a class."""
    after = tr.tree.text[node.end_byte : node.end_byte + 40].decode(errors="replace")
    attributes = [c for c in node.children if c.type.startswith("attribute")]
    return after.lstrip().startswith(("__attribute__", "[[")) or any(
        c.start_byte > field(node, "body").start_byte for c in attributes
    )


def _up(size: int, align: int) -> int:
    return -(-size // align) * align


def _aligned(text: str) -> int:
    """The alignment that a declaration asks for."""
    found = [int(a or b) for a, b in _ALIGNED.findall(text)]
    if len(found) != len(re.findall(r"\b(?:alignas|aligned)\b", text)):
        raise NoSizeError
    return max((1, *found))


def _is_function(node: Syntax) -> bool:
    """Whether a declarator is that of a method, not of a pointer to a function."""
    declarator = find_declarator(node)
    inner = None if declarator is None else field(declarator, "declarator")
    return inner is not None and inner.type != "parenthesized_declarator"


def _shape(module: CppModule, declarator: str) -> tuple[bool, int]:
    """Whether a member is a pointer or a reference, and how many there are of it."""
    inner = declarator.strip()
    if inner.startswith("("):
        inner = inner[1:].partition(")")[0].strip()  # a pointer to a function or to an array
        if not inner.startswith("*"):
            raise NoSizeError
    elif "(" in inner or "::" in inner.split("[")[0]:
        raise NoSizeError
    count = 1
    for size in re.findall(r"\[([^\]]*)\]", inner):
        count *= _number(module, size.strip())
    return inner.startswith(("*", "&")), count


def _number(module: CppModule, text: str) -> int:
    """A number, or a constant of a namespace."""
    if text.isdigit():
        return int(text)
    found = module.definitions(text.rpartition("::")[2]) if text else []
    if len(found) != 1 or found[0].kind != "variable" or not found[0].value[0].const:
        raise NoSizeError
    node = found[0].value[1]
    while isinstance(node, ir.Cast):
        node = node.value
    if not isinstance(node, ir.Const) or type(node.value) is not int or node.value < 1:
        raise NoSizeError
    return node.value


def room_of(module: CppModule, ctype: CType, depth: int = 0) -> Room:
    """The room of a type.

    Raises:
        NoSizeError: it is not known.
    """
    if ctype.pointer or ctype.ref or (ctype.kind, ctype.name) == ("string", "char"):
        return Room(_POINTER, _POINTER, scalar=True)
    size = bytes_of(ctype.name)
    if size is not None:
        return Room(size, size, scalar=True)
    head, args = template_of(ctype.name)
    if head == "std::array" and len(args) == 2:
        one, count = room_of(module, parse_type(args[0]), depth + 1), _number(module, args[1])
        return Room(one.size * count, one.align)
    if ctype.kind != "other" or args:
        raise NoSizeError
    return named_room(module, ctype.name, depth)


def named_room(module: CppModule, name: str, depth: int = 0) -> Room:
    """The room of what the source defines by a name.

    Raises:
        NoSizeError: it is not known.
    """
    found = module.named(name)
    if depth > _DEEPEST or len(found) != 1:
        raise NoSizeError
    return _defined(module, found[0], depth)


def _defined(module: CppModule, found: Definition, depth: int) -> Room:
    value = found.value
    if found.kind == "alias":
        return room_of(module, parse_type(value), depth + 1)
    if isinstance(value, EnumType) and value.size:
        return Room(value.size, value.size)
    layout = value.layout if isinstance(value, StructType) else value
    if not isinstance(layout, Layout):
        raise NoSizeError
    if any("pragma pack" in module.unit.text(file.path) for file in module.unit.files):
        raise NoSizeError
    return layout.room(module, depth)


def size_of_named(module: CppModule, ctype: CType) -> int | None:
    """``sizeof`` of a type; ``None`` where it is not known."""
    try:
        return room_of(module, ctype).size
    except NoSizeError:
        return None

"""What the type of a container of the C++ library says about what is in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from mlaprobe.evaluator.cpp.types import parse_type, template_of
from mlaprobe.evaluator.ir import CType
from mlaprobe.evaluator.values.kinds import EnumMember

LONGEST = 4_096
"""The most elements of a container that is followed."""


class Sort(Enum):
    """How a container holds what is in it."""

    SEQUENCE = "elements one after the other"
    ARRAY = "a fixed number of elements"
    BITS = "a fixed number of bits"
    SET = "keys, each once"
    MAP = "keys, each once, with values"
    OTHER = "not followed"


_SORTS = {
    **dict.fromkeys(("vector", "list", "deque", "initializer_list"), Sort.SEQUENCE),
    "array": Sort.ARRAY,
    "bitset": Sort.BITS,
    **dict.fromkeys(("set", "unordered_set", "flat_set"), Sort.SET),
    **dict.fromkeys(("map", "unordered_map", "flat_map"), Sort.MAP),
}
_OTHERS = """forward_list multimap multiset unordered_multimap unordered_multiset flat_multimap
flat_multiset inplace_vector stack queue priority_queue valarray span mdspan"""
CONTAINERS = frozenset(f"std::{name}" for name in (*_SORTS, *_OTHERS.split()))
_EXTRA = ("less", "hash", "equal_to", "allocator")
"""Template arguments after the elements' types that are what is there anyway."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of a container from its type."""

    sort: Sort
    name: str
    """The class template, such as ``std::map``."""
    hashed: bool = False
    """Whether its order is that of a hash table."""
    element: CType = CType("auto")  # noqa: RUF009
    """The type of an element; of a map, of a key."""
    value: CType = CType("auto")  # noqa: RUF009
    """The type of a map's values."""
    length: int | None = None
    """How many elements an array or a set of bits has."""

    @property
    def keyed(self) -> bool:
        """Whether it is a set or a map."""
        return self.sort in (Sort.SET, Sort.MAP)

    @property
    def fixed(self) -> bool:
        """Whether it always has the same number of elements."""
        return self.sort in (Sort.ARRAY, Sort.BITS)


Constant = Callable[[str], Any]
"""The value of a constant of the module, by name."""


def shape_of(ctype: CType, constant: Constant = lambda name: None) -> Shape | None:
    """The shape of a container type; ``None`` for any other type."""
    head, types = template_of(ctype.name)
    if head not in CONTAINERS:
        return None
    sort = _SORTS.get(head.removeprefix("std::"), Sort.OTHER)
    hashed = "unordered" in head
    own = 2 if sort is Sort.MAP or sort is Sort.ARRAY else 1
    extra = types[own + 1 :] if hashed else types[own:]  # whatever hashes, equal keys are equal
    if any(template_of(t)[0].removeprefix("std::") not in _EXTRA for t in extra):
        return Shape(Sort.OTHER, head)
    kinds = tuple(parse_type(t) for t in types[:own])
    element = kinds[0] if kinds else CType("auto")
    if sort in (Sort.SET, Sort.MAP) and (element.kind, element.name) == ("string", "char"):
        return Shape(Sort.OTHER, head)  # pointers, which are no texts
    if sort is Sort.BITS:
        return Shape(sort, head, element=CType("bool", "bool"), length=_length(types[:1], constant))
    if sort is Sort.ARRAY:
        return Shape(sort, head, element=element, length=_length(types[1:2], constant))
    value = kinds[1] if sort is Sort.MAP and len(kinds) > 1 else CType("auto")
    return Shape(sort, head, hashed=hashed, element=element, value=value)


def _length(types: tuple[str, ...], constant: Constant) -> int | None:
    """A number among template arguments, where it is known."""
    text = types[0] if types else ""
    found: Any = int(text) if text.isdigit() else None
    if found is None and text.replace("::", "").replace("_", "").isalnum():
        found = constant(text)
        found = found.value if isinstance(found, EnumMember) and not found.scoped else found
    return found if type(found) is int and 0 <= found <= LONGEST else None

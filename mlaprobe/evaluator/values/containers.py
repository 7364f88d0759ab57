"""Containers of the C++ library.

The contents are not followed: every result of a :class:`Container` is unknown, and each time
another unknown, because anything may have been stored in between, also through a copy, a reference
or an iterator. Pairs, tuples and arrays of known length are Python's tuples. Maps in which a
function keeps objects by name are in ``keptmaps.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mlaprobe.evaluator.cpp.types import SCALARS, parse_type, template_of, zero_of
from mlaprobe.evaluator.engine.calls import Braced, result_of_unknown
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.ir import CType, Span
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Closure, Model, Pointer, Record
from mlaprobe.evaluator.values.optionals import engaged, held

_NAMES = """vector list forward_list deque map multimap set multiset unordered_map unordered_set
unordered_multimap unordered_multiset flat_map flat_set flat_multimap flat_multiset inplace_vector
bitset stack queue priority_queue valarray initializer_list span mdspan"""
CONTAINERS = frozenset(f"std::{name}" for name in _NAMES.split())
_THROWING = frozenset(("at", "test", "set", "reset", "flip", "to_ulong", "to_ullong"))
"""Methods that throw for what is not there."""


class Container(Model):
    """A container of which nothing is known but its type."""

    __slots__ = ("type",)

    steady = False

    def __init__(self, ctype: CType) -> None:
        self.type = ctype

    def get(self, name: str, span: Span) -> Value:
        def call(run: Run, args: Args, kwargs: Kwargs, where: Span) -> Value:
            keep(self.type, args, where)
            unknown = self._unknown(f"{name}()", where)
            if name in _THROWING and run.decide(unknown.another()):
                raise Failed("exception", "std::out_of_range", f"{name} of a container", where)
            return result_of_unknown(run, unknown, name, args, kwargs, where, returns=True)

        return Builtin(name, call, symbolic=True)

    def index(self, key: Value, span: Span) -> Value:
        return self._unknown("an element", span)

    def equals(self, other: Value) -> bool | None:
        return None

    def _unknown(self, what: str, span: Span) -> Unknown:
        name, _ = template_of(self.type.name)
        return Unknown(f"{what} of a {name} is not followed", span)


@dataclass(slots=True, eq=False)
class Elsewhere:
    """A place that is not followed, as the target of a reference: other code may write it between
    any two reads."""

    why: Unknown
    writable: bool
    """Whether it is no variable of the program's, so that writing it changes none."""

    def __getitem__(self, slot: Value) -> Unknown:
        return self.why.another()

    def __setitem__(self, slot: Value, value: Value) -> None:
        if not self.writable:
            raise Unsupported(
                f"a place that is written is not known: {self.why.reason}", self.why.span
            )


def not_followed(value: Value) -> bool:
    """Whether a value may be any of the program's own: not an input, and not from outside."""
    return isinstance(value, Unknown) and value.free is None and not value.foreign


def keep(ctype: CType, values: Args, span: Span) -> None:
    """Values that go into a container. A pointer among them is lost sight of: what is written
    through it later may be any variable.

    Raises:
        Unsupported: there may be one.
    """
    pointers = "*" in ctype.name or "reference_wrapper" in ctype.name
    for value in values:
        if isinstance(value, (Braced, tuple)):
            keep(ctype, value.items if isinstance(value, Braced) else value, span)
        elif isinstance(value, Record):
            if pointers or not re.search(rf"\b{re.escape(value.type)}\b", ctype.name):
                raise Unsupported("a container that is not followed may keep a pointer", span)
        elif isinstance(value, (Pointer, Closure, list)) or (
            pointers and not (isinstance(value, Unknown) or value is None)
        ):
            raise Unsupported("a container that is not followed keeps a pointer", span)


Part = Callable[[Value, CType], Value]
"""An element as its type has it, a braced list among them."""
Constant = Callable[[str], Value]
"""The value of a constant of the module, by name."""


def made(ctype: CType, items: Args, span: Span, part: Part, constant: Constant) -> Value:
    """A new object of a class template of the library; ``NotImplemented`` for any other."""
    if not ctype.name.startswith("std::"):
        return NotImplemented
    head, types = template_of(ctype.name)
    if head in CONTAINERS:
        keep(ctype, items, span)
        return Container(ctype)
    if head == "std::optional" and len(items) < 2:
        kind = parse_type(types[0] if types else "auto")
        if not items or items[0] is None:
            return None
        return engaged(part(held(items[0]), kind))
    if head in ("std::pair", "std::tuple"):
        return _tuple(ctype, types, items, span, part)
    if head == "std::array":
        return _array(ctype, types, items, span, part, constant)
    return NotImplemented


def _tuple(ctype: CType, types: tuple[str, ...], items: Args, span: Span, part: Part) -> Value:
    if len(items) == 1 and isinstance(items[0], tuple) and len(types) != 1:
        items = items[0]
    kinds = tuple(parse_type(t) for t in types) or tuple(CType("auto") for _ in items)
    if not items:
        return tuple(zero_of(kind, span) for kind in kinds)
    if len(items) != len(kinds):
        return Unknown(f"how a {ctype.name} is made is not followed", span)
    return tuple(map(part, items, kinds))


def _array(
    ctype: CType, types: tuple[str, ...], items: Args, span: Span, part: Part, constant: Constant
) -> Value:
    """An array: what its initialiser leaves out is zero."""
    kind = parse_type(types[0] if types else "auto")
    count = _length(types, items, constant)
    if len(items) == 1 and isinstance(items[0], tuple) and count != 1:
        items = items[0]
    elif len(items) == 1 and isinstance(items[0], Braced) and kind.kind in (*SCALARS, "string"):
        items = items[0].items
    whole = len(items) == count and not any(isinstance(item, Braced) for item in items)
    if count is None or not (whole or (kind.kind in SCALARS and len(items) < count)):
        keep(ctype, items, span)
        return Container(ctype)
    items = (*items, *(zero_of(kind, span) for _ in range(count - len(items))))
    return tuple(part(item, kind) for item in items)


LONGEST = 1_000
"""Elements of an array that is followed."""


def _length(types: tuple[str, ...], items: Args, constant: Constant) -> int | None:
    """How many elements a ``std::array`` has, where that is known."""
    if len(types) < 2:
        return len(items) if not types else None
    text = types[1]
    found = int(text) if text.isdigit() else None
    if found is None and text.replace("::", "").replace("_", "").isalnum():
        found = constant(text)
    return found if type(found) is int and 0 <= found <= LONGEST else None


def constructors() -> Mapping[str, Value]:
    """What the names of containers are when they are called: ``std::vector<int>(3)``."""

    def constructor(name: str) -> Builtin:
        ctype = CType("other", name)

        def construct(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Container:
            keep(ctype, args, span)
            return Container(ctype)

        return Builtin(name, construct, symbolic=True)

    return {name: constructor(name) for name in CONTAINERS}

"""Containers of the C++ library: one model for all of them.

A :class:`Container` is a value that does not change: what changes one stores another in its place,
so that copies, captures and snapshots need no care. Its content may be known, with elements that
are unknown, or not known at all; then every result is unknown, and each time another unknown,
because anything may have been stored in between. Pairs and tuples are Python's tuples. Maps in
which a function keeps objects by name are in ``keptmaps.py``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import NOWHERE, CType, Span
from mlaprobe.evaluator.stl.shapes import LONGEST, Shape, Sort
from mlaprobe.evaluator.symbolic.symbols import Condition, Sym
from mlaprobe.evaluator.values import Args, Unknown, Value
from mlaprobe.evaluator.values.comparing import compare, equals
from mlaprobe.evaluator.values.kinds import Braced, Closure, EnumMember, Model, Pointer, Record
from mlaprobe.evaluator.values.membership import contains, membership
from mlaprobe.evaluator.values.truth import settled

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.modules import Module
    from mlaprobe.evaluator.engine.runs import Run

_SEARCHED = 256
"""Keys that are compared one by one, because they are no plain numbers or texts."""


class Container(Model):
    """A container of the C++ library, as it is at one time."""

    __slots__ = (
        "items",
        "kept",
        "layout",
        "loose",
        "module",
        "plain",
        "run",
        "shape",
        "sourced",
        "type",
        "why",
    )

    steady = False

    def __init__(
        self,
        ctype: CType,
        shape: Shape,
        items: Args | None,
        module: Module | None = None,
        why: Unknown | None = None,
    ) -> None:
        self.type = ctype
        self.shape = shape
        self.items = items
        """The elements; of a map, pairs of a key and a value. ``None`` where they are not known."""
        self.module = module
        """Where the types of its elements are defined."""
        self.why = why
        """Why the content is not known."""
        self.kept = False
        """Whether it keeps what is stored in it between calls."""
        self.loose = False
        """Whether some of its keys may be one and the same."""
        self.plain: type | None = None
        """The type of all its keys, where they are numbers or texts in their order."""
        self.sourced = False
        """Whether the source says how its keys compare."""
        self.run: Run | None = None
        """The run that asks, where the source's operators are called for it."""
        self.layout: object = object()
        """What two states share between which an iterator stays where it is."""

    # --- other states ----------------------------------------------------------------------------

    def lost(self, why: Unknown) -> Container:
        """The container with a content that is not known.

        Raises:
            Unsupported: it holds a pointer, through which any variable may be written from now on.
        """
        for item in self.items or ():
            keep(self.type, (item,), why.span)
        return self._other(None, why)

    def _other(self, items: Args | None, why: Unknown | None) -> Container:
        made = Container(self.type, self.shape, items, self.module, why)
        made.sourced, made.run = self.sourced, self.run
        return made

    def with_items(self, items: Args, span: Span, *, same_layout: bool = False) -> Container:
        """The container with other elements.

        Raises:
            Unsupported: there are too many.
        """
        if len(items) > LONGEST:
            raise Unsupported(f"a {self.shape.name} grows too long to follow", span)
        made = self._other(items, self.why)
        made.loose, made.plain = self.loose, self.plain
        if same_layout:
            made.layout = self.layout
        return made

    def emptied(self) -> Container:
        """The container without elements."""
        return self._other((), None)

    def own(self) -> Container:
        """A copy in a variable of its own."""
        if not self.kept:
            return self
        made = self._other(self.items, self.why)
        made.loose, made.plain = self.loose, self.plain
        return made

    # --- what is in it ---------------------------------------------------------------------------

    @property
    def known(self) -> bool:
        """Whether it is known which elements there are, and how many."""
        return self.items is not None and not self.loose

    def unknown(self, what: str, span: Span) -> Unknown:
        """Something that is asked of what is not known; like no other."""
        if self.why is not None:
            return Unknown(
                self.why.reason, self.why.span, free=self.why.free, foreign=self.why.foreign
            )
        return Unknown(f"{what} of a {self.shape.name} is not followed", span)

    def keys(self) -> Args:
        """The elements that are looked for: of a map, the keys."""
        items = self.items or ()
        return tuple(i[0] for i in items) if self.shape.sort is Sort.MAP else items

    def has(self, key: Value, span: Span) -> Value:
        """Whether a key or an element is there."""
        if self.items is None:
            return self.unknown("a key", span)
        if self.plain is not None and type(key) is self.plain:
            return self._nearest(key)[1]
        if self.many():
            return self.unknown("whether a key is there: which of many keys", span)
        if self.sourced and self.shape.keyed:
            return self._search(key, span)[1]
        if type(key) is Sym:
            found = membership(self.keys(), key)
            if found is not None:
                return found.ask() if type(found) is Condition else found
        return contains(self.keys(), key, span)

    def position(self, key: Value, span: Span) -> int | Unknown | None:
        """Where a key is; ``None`` where it is not there."""
        if self.items is None:
            return self.unknown("a key", span)
        if self.plain is not None and type(key) is self.plain:
            at, there = self._nearest(key)
            return at if there else None
        if self.many():
            return self.unknown("where a key is: which of many keys", span)
        if self.sourced:
            at, there = self._search(key, span)
            return at if there is True else there if isinstance(there, Unknown) else None
        unsure: Unknown | None = None
        for at, known in enumerate(self.keys()):
            same = equals(key, known, span)
            if same is True:
                return at
            if isinstance(same, Unknown):
                unsure = same if unsure is None else unsure
        return None if unsure is None else unsure.derive("position", key)

    def _search(self, key: Value, span: Span) -> tuple[int, Value]:
        """Where a key is, or would stand, and whether it is there, as the source compares keys."""
        keys, op = self.keys(), "==" if self.shape.hashed else "<"
        for at, other in enumerate(keys):
            found = self._compared(op, other, key, span)
            if isinstance(found, Unknown):
                return at, found
            if self.shape.hashed and found:
                return at, True
            if not self.shape.hashed and not found:
                after = self._compared(op, key, other, span)
                return at, after if isinstance(after, Unknown) else not after
        return len(keys), False

    def _compared(self, op: str, left: Value, right: Value, span: Span) -> bool | Unknown:
        """What an operator of the source makes of two keys, on this path."""
        found: Value = NotImplemented
        if self.run is not None and self.module is not None:
            found = self.module.defined(self.run, op, (left, right), span)
            if found is not NotImplemented:
                return self.run.holds(found)
            if isinstance(left, EnumMember) and isinstance(right, EnumMember):
                return self.run.holds(
                    equals(left, right, span) if op == "==" else less(left, right, span)
                )
        return Unknown(f"how the keys of a {self.shape.name} compare is not followed", span)

    def many(self) -> bool:
        """Whether there are more keys than are compared one by one."""
        return self.shape.keyed and len(self.items or ()) > _SEARCHED

    def _nearest(self, key: Value) -> tuple[int, bool]:
        items = self.items or ()
        whole = self.shape.sort is not Sort.MAP
        at = bisect_left(items, key) if whole else bisect_left(items, key, key=lambda i: i[0])
        return at, at < len(items) and (items[at] if whole else items[at][0]) == key

    def place_for(self, key: Value, span: Span) -> int:
        """Where a new key goes. Keys whose order is not known stand in any."""
        if self.plain is not None and type(key) is self.plain:
            return self._nearest(key)[0]
        keys = self.keys()
        if self.sourced and len(keys) <= _SEARCHED:
            return self._search(key, span)[0]
        if len(keys) > _SEARCHED:
            raise Unsupported(f"a {self.shape.name} grows too long to follow", span)
        for at, other in enumerate(keys if not self.shape.hashed else ()):
            before = less(key, other, span)
            if isinstance(before, Unknown):
                break
            if before:
                return at
        return len(keys)

    def with_key(self, item: Value, span: Span) -> Container:
        """A set or a map with one element more, whose key is not there."""
        key = item[0] if self.shape.sort is Sort.MAP else item
        at, items = self.place_for(key, span), self.items or ()
        made = self.with_items((*items[:at], item, *items[at:]), span)
        if not items:
            made.plain = type(key) if type(key) in (int, str) else None
        elif type(key) is not self.plain:
            made.plain = None
            made.loose = self.loose or not self.ordered(key, span)
        return made

    def ordered(self, key: Value, span: Span) -> bool:
        """Whether it is known of a key where it stands among the others."""
        if self.sourced:
            return True
        if self.shape.hashed:
            return not any(isinstance(equals(key, k, span), Unknown) for k in self.keys())
        return not any(isinstance(less(key, k, span), Unknown) for k in self.keys())

    def iterate(self) -> None:
        return None

    def equals(self, other: Value) -> bool | None:
        if not isinstance(other, Container) or not (self.known and other.known):
            return None
        if self.sourced or other.sourced:
            return None
        if other.shape.name != self.shape.name:
            return None
        mine, others = self.items or (), other.items or ()
        if len(mine) != len(others):
            return False
        if self.shape.hashed and (self.plain is None or other.plain is not self.plain):
            return None
        same = settled(False, (equals(a, b, NOWHERE) for a, b in zip(mine, others, strict=True)))
        return None if isinstance(same, Unknown) else bool(same)


def less(left: Value, right: Value, span: Span) -> Value:
    """``left < right`` as ``std::less`` has it."""
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        for one, other in zip(left, right, strict=True):
            before = less(one, other, span)
            if before is not False:
                return before
            after = less(other, one, span)
            if after is not False:
                return after if isinstance(after, Unknown) else False
        return False
    if isinstance(left, EnumMember) and isinstance(right, EnumMember):
        left, right = left.value, right.value
    return compare("<", left, right, span)


def copied(value: Value) -> Value:
    """A value as a copy of its own: objects inside it are copied, too."""
    if isinstance(value, Record):
        return value.copy()
    if isinstance(value, Container):
        return value.own()
    if type(value) is tuple and any(isinstance(v, (Record, Container, tuple)) for v in value):
        return tuple(map(copied, value))
    return value


def lasting(value: Value) -> Value:
    """A value of a variable that outlives the call: changing a container in it is noticed."""
    if isinstance(value, Container):
        made = value.with_items(value.items or (), NOWHERE) if value.items is not None else value
        made.kept = value.items is not None
        return made
    if isinstance(value, Record):
        return value.like({n: lasting(v) for n, v in value.fields.items()})
    return value


def spoiled(before: Value, why: Unknown) -> Value:
    """What a variable holds when something that is not followed may have written it.

    Raises:
        Unsupported: it keeps what is in it between calls.
    """
    if not isinstance(before, Container):
        return why
    if before.kept:
        raise Unsupported("something may be changed that keeps its value between calls", why.span)
    return before.lost(why)


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


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A value that may be stored anywhere: it can be read, but not written."""

    value: Value
    span: Span

    def __getitem__(self, slot: Value) -> Value:
        return self.value

    def __setitem__(self, slot: Value, value: Value) -> None:
        raise Unsupported("what a call refers to is written and not followed", self.span)


def not_followed(value: Value) -> bool:
    """Whether a value may be any of the program's own: not an input, and not from outside."""
    return isinstance(value, Unknown) and value.free is None and not value.foreign


def keep(ctype: CType, values: Args, span: Span) -> None:
    """Values that go into a container that is not followed. A pointer among them is lost sight of:
    what is written through it later may be any variable.

    Raises:
        Unsupported: there may be one.
    """
    pointers = any(part in ctype.name for part in ("*", "reference_wrapper", "_ptr<"))
    for value in values:
        if isinstance(value, (Braced, tuple)):
            keep(ctype, value.items if isinstance(value, Braced) else value, span)
        elif isinstance(value, Container):
            keep(value.type, value.items or (), span)
        elif isinstance(value, Record):
            if pointers or not re.search(rf"\b{re.escape(value.type)}\b", ctype.name):
                raise Unsupported("a container that is not followed may keep a pointer", span)
        elif isinstance(value, (Pointer, Closure, list)) or (
            pointers and not (isinstance(value, Unknown) or value is None)
        ):
            raise Unsupported("a container that is not followed keeps a pointer", span)

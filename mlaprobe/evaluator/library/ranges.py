"""Ranges of elements that algorithms of the C++ library go through."""

from __future__ import annotations

from dataclasses import dataclass

from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.stl.containers import Container, copied
from mlaprobe.evaluator.stl.places import Elements, Iterator, range_of
from mlaprobe.evaluator.symbolic.symbols import Sym
from mlaprobe.evaluator.values import Args, Unknown, Value, rest_of
from mlaprobe.evaluator.values.kinds import Pointer, Ref
from mlaprobe.evaluator.values.membership import contains


@dataclass(frozen=True, slots=True)
class Range:
    """Elements of a container or an array, from one place to another."""

    frame: Elements
    first: int
    last: int

    @property
    def ordered(self) -> bool:
        """Whether they are in an order of the program's."""
        return self.frame.ordered or self.last - self.first < 2

    @property
    def pointers(self) -> bool:
        """Whether the elements are C strings, of which the addresses are compared."""
        base = self.frame.base
        kind = base.shape.element if isinstance(base, Container) else None
        return kind is not None and (kind.kind, kind.name) == ("string", "char")

    def elements(self) -> Args:
        """The elements as they are."""
        return tuple(map(copied, (self.frame.items() or ())[self.first : self.last]))

    def at(self, offset: Value, *, ordered: bool = False) -> Iterator:
        """The iterator to an element."""
        frame = self.frame
        if ordered and not frame.ordered:
            frame = Elements(frame.place, frame.base)
        return Iterator(frame, self.first + offset if type(offset) is int else offset)

    def end(self) -> Iterator:
        """The iterator behind the last element."""
        return Iterator(self.frame, self.last)

    def reference(self, offset: int) -> Ref | None:
        """A reference to an element, where it can be written."""
        writable = self.frame.place is not None or isinstance(self.frame.base, list)
        return Ref(self.frame, self.first + offset) if writable else None

    def has(self, key: Value, span: Span) -> Value:
        """Whether an element is there."""
        return contains(self.elements(), key, span)

    def replaced(self, elements: Args, span: Span, *, again: bool = False) -> Value:
        """Puts other elements in their place. ``again``: gives the range as it is then."""
        frame = self.frame
        base = frame.now()
        if isinstance(base, list):
            base[self.first : self.last] = elements
            return self if again else None
        if not isinstance(base, Container) or base.items is None or frame.place is None:
            raise Unsupported("which elements are changed is not known", span)
        if base.kept:
            raise Unsupported("something is changed that keeps its value between calls", span)
        if base.shape.keyed:
            raise Unsupported("the keys of a container are changed", span)
        items = (*base.items[: self.first], *elements, *base.items[self.last :])
        after = base.with_items(items, span, same_layout=True)
        frame.place.store(after)
        return Range(Elements(frame.place, after), self.first, self.last) if again else None


def ranged(args: Args, *, whole: bool) -> tuple[Range | None, Args]:
    """The range among an algorithm's arguments, and the arguments behind it."""
    if not args:
        return None, ()
    if whole:
        found = _whole(args[0])
        if found is not None:
            return found, args[1:]
    if len(args) < 2:
        return None, ()
    first, last = (a.load() if type(a) is Ref else a for a in args[:2])
    between = range_of(first, last)
    return (None if between is None else Range(*between)), args[2:]


def _whole(value: Value) -> Range | None:
    """All elements of a container."""
    place = value if type(value) is Ref else None
    base = value.load() if place is not None else value
    if isinstance(base, Container) and base.known:
        count = len(base.items or ())
        return Range(Elements(place, base, ordered=not base.shape.hashed or count < 2), 0, count)
    if isinstance(base, tuple) or (isinstance(base, list) and rest_of(base) is None):
        return Range(Elements(None, base), 0, len(base))
    return None


def spoil(found: Range, name: str, span: Span) -> None:
    """Makes unknown what an algorithm may have written."""
    lost = Unknown(f"what std::{name} makes is not followed", span)
    found.replaced(tuple(lost.another() for _ in found.elements()), span)


def begin_of(value: Value, *, end: bool) -> Value:
    """``std::begin`` and ``std::end`` of a container or an array."""
    found = _whole(value)
    if found is None:
        base = value.load() if isinstance(value, Pointer) else value
        if isinstance(base, tuple):
            return Iterator(Elements(None, base), len(base) if end else 0)
        return None
    return found.end() if end else found.at(0)


def advanced(value: Value, by: Value, span: Span) -> Value:
    """``std::next``, ``std::prev`` and ``std::advance``."""
    by = by.concretize() if type(by) is Sym else by
    moved = value.moved(by) if isinstance(value, Pointer) and type(by) is int else None
    return Unknown("where an iterator is", span) if moved is None else moved

"""Places inside values: elements of containers, parts of pairs, members of objects in them; and the
iterators of the C++ library, which are places that move.

All are frames of pointers: reading one reads the variable around it as it is now.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.stl.containers import Container, copied, spoiled
from mlaprobe.evaluator.stl.optionals import engaged, held
from mlaprobe.evaluator.stl.shapes import Sort
from mlaprobe.evaluator.values import Args, Something, Unknown, Value, rest_of
from mlaprobe.evaluator.values.conversions import convert
from mlaprobe.evaluator.values.kinds import InValue, Pointer, Record

_CHANGED = "what an iterator or a reference is into has changed since"


@dataclass(slots=True, eq=False)
class Elements(InValue):
    """The elements of a container, or of an array, in a variable."""

    place: Pointer | None
    """Where the container is stored; ``None`` for one that cannot be written."""
    base: Value
    """The container as it was when the place was made."""
    ordered: bool = True
    """Whether the order of the elements is that of the program."""

    def now(self) -> Value:
        """The container as it is, ``None`` if its elements may stand elsewhere by now."""
        base = self.base
        if self.place is None or isinstance(base, list):
            return base
        current = self.place.load()
        if isinstance(base, Container):
            same = isinstance(current, Container) and current.layout is base.layout
            return current if same else None
        return current if isinstance(current, tuple) and len(current) == len(base) else None

    def items(self) -> Args | None:
        """The elements as they are."""
        current = self.now()
        if isinstance(current, Container):
            return current.items
        return None if current is None else tuple(current)

    def __getitem__(self, at: Value) -> Value:
        current = self.now()
        if isinstance(current, Container) and current.items is None:
            return current.unknown("an element", NOWHERE)
        items = self.items()
        if items is None:
            return Unknown(_CHANGED)
        if type(at) is not int:
            return Unknown("an element at an unknown place")
        if not self.ordered:
            return Unknown("the order of a hash map")
        return (
            copied(items[at]) if 0 <= at < len(items) else Unknown("an element that is not there")
        )

    def __setitem__(self, at: Value, value: Value) -> None:
        current = self.now()
        if isinstance(current, list):
            if type(at) is int and 0 <= at < len(current):
                current[at] = value
                return
        elif isinstance(current, Container) and self.place is not None:
            self._store(current, at, value)
            return
        raise Unsupported(f"an element is written: {_CHANGED}", NOWHERE)

    def _store(self, current: Container, at: Value, value: Value) -> None:
        assert self.place is not None
        if current.kept:
            raise Unsupported("something is changed that keeps its value between calls", NOWHERE)
        if current.items is None:
            self.place.store(current.lost(current.unknown("an element", NOWHERE)))
            return
        items, kind = current.items, current.shape.element
        if self.ordered and type(at) is int and 0 <= at < len(items):
            if current.shape.sort is Sort.MAP and isinstance(value, tuple):
                value = (items[at][0], convert(value[1], current.shape.value, NOWHERE))
            else:
                value = convert(value, kind, NOWHERE)
            items = (*items[:at], copied(value), *items[at + 1 :])
        else:
            items = tuple(Unknown("an element at an unknown place was written") for _ in items)
        self.place.store(current.with_items(items, NOWHERE, same_layout=True))


@dataclass(frozen=True, slots=True, eq=False)
class Chars(InValue):
    """The characters of a text."""

    whole: Pointer | None
    """The variable that holds the text; ``None`` where that is not known to be the one."""
    text: str

    def __getitem__(self, at: int) -> Value:
        text = self.text if self.whole is None else self.whole.load()
        known = isinstance(text, str) and at < len(text)
        return text[at] if known else Unknown("a character of a text that is not known")

    def __setitem__(self, at: int, value: Value) -> None:
        if self.whole is None:
            raise Unsupported("which text is written is not known", NOWHERE)
        self.whole.store(with_character(self.whole.load(), at, value))


def with_character(text: Value, at: Value, value: Value) -> Value:
    """A text with another character."""
    if type(value) is int and 0 < value < 128:
        value = chr(value)
    known = isinstance(text, str) and type(at) is int and 0 <= at < len(text)
    if not known or type(value) is not str or len(value) != 1:
        return Unknown("a character was written")
    return text[:at] + value + text[at + 1 :]


@dataclass(frozen=True, slots=True, eq=False)
class Parts(InValue):
    """The parts of a pair, a tuple or an array that is part of a value."""

    whole: Pointer

    def __getitem__(self, at: int) -> Value:
        array = self.whole.load()
        if isinstance(array, (tuple, list)) and at < len(array) and rest_of(array) is None:
            return copied(array[at])
        return Unknown("an element of an array that is not known")

    def __setitem__(self, at: int, value: Value) -> None:
        array = self.whole.load()
        if isinstance(array, (tuple, list)) and at < len(array):
            self.whole.store(type(array)((*array[:at], value, *array[at + 1 :])))


@dataclass(frozen=True, slots=True, eq=False)
class Members(InValue):
    """The members of an object that is part of a value."""

    whole: Pointer

    def __getitem__(self, name: str) -> Value:
        owner = self.whole.load()
        if isinstance(owner, Record) and name in owner.fields:
            return copied(owner.fields[name])
        return Unknown(f"the member {name} of something that is not followed")

    def __setitem__(self, name: str, value: Value) -> None:
        owner = self.whole.load()
        if not isinstance(owner, Record):
            raise Unsupported("a member of something that is not followed is written", NOWHERE)
        owner.fields[name] = value
        self.whole.store(owner)


@dataclass(frozen=True, slots=True, eq=False)
class Held(InValue):
    """What an optional holds."""

    whole: Pointer

    def __getitem__(self, slot: Value) -> Value:
        optional = self.whole.load()
        return Unknown("the value of an empty optional") if optional is None else held(optional)

    def __setitem__(self, slot: Value, value: Value) -> None:
        self.whole.store(engaged(value))


PAIR = ("first", "second")
"""The members of a pair."""


class Iterator(Pointer):
    """An iterator, or a pointer to an element of an array."""

    __slots__ = ("backwards",)

    frame: Elements

    def __init__(self, frame: Elements, slot: Value, *, backwards: bool = False) -> None:
        super().__init__(frame, slot)
        self.backwards = backwards

    def same(self, other: Pointer) -> bool | None:
        if not isinstance(other, Iterator) or not self._alike(other):
            return None
        one, two = self._at_end(), other._at_end()
        if one is None or two is None:
            return None
        if one or two:
            return one and two
        if not (self.frame.ordered and other.frame.ordered):
            return None
        distance = self.distance(other)
        return None if distance is None else distance == 0

    def _at_end(self) -> bool | None:
        """Whether it is behind the last element."""
        if isinstance(self.slot, Something):
            return False
        items = self.frame.items()
        if items is None or type(self.slot) is not int:
            return None
        return self.slot == (-1 if self.backwards else len(items))

    def moved(self, by: int) -> Iterator | None:
        items, base = self.frame.items(), self.frame.base
        if items is None or type(self.slot) is not int or type(by) is not int:
            return None
        if isinstance(base, Container) and base.shape.hashed and len(items) > 1:
            return None
        at = self.slot + (-by if self.backwards else by)
        low, high = (-1, len(items) - 1) if self.backwards else (0, len(items))
        return Iterator(self.frame, at, backwards=self.backwards) if low <= at <= high else None

    def distance(self, other: Pointer) -> int | None:
        if not isinstance(other, Iterator) or self.backwards is not other.backwards:
            return None
        if type(self.slot) is not int or type(other.slot) is not int or not self._alike(other):
            return None
        way = other.slot - self.slot
        return -way if self.backwards else way

    def _alike(self, other: Iterator) -> bool:
        """Whether both are into the same container, as it is."""
        one, two = self.frame, other.frame
        if one.items() is None or two.items() is None:
            return False
        if isinstance(one.base, Container) and isinstance(two.base, Container):
            return one.base.layout is two.base.layout
        return one.base is two.base

    def spoil(self, why: Unknown) -> None:
        """Makes unknown what may be written through it."""
        place, current = self.frame.place, self.frame.now()
        if isinstance(current, list):
            current[:] = [why.another() for _ in current]
        elif place is not None:
            before = place.load()
            place.store(spoiled(before, why))


def range_of(first: Value, last: Value) -> tuple[Elements, int, int] | None:
    """The elements between two iterators and where they begin and end; ``None`` where that is not
    known."""
    array = isinstance(first, (list, tuple)) and isinstance(last, Iterator)
    if array and last.frame.base is first:
        first = Iterator(last.frame, 0)
    if not isinstance(first, Iterator) or not isinstance(last, Iterator):
        return None
    count = first.distance(last)
    if count is None or count < 0 or first.backwards:
        return None
    base = first.frame.base
    if isinstance(base, Container) and not base.known:
        return None
    return first.frame, first.slot, first.slot + count

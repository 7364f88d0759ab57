"""What methods of containers answer that change nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.stl.containers import Container, copied, keep, less, spoiled
from mlaprobe.evaluator.stl.making import Maker
from mlaprobe.evaluator.stl.places import Elements, Iterator
from mlaprobe.evaluator.stl.shapes import Sort
from mlaprobe.evaluator.symbolic.symbols import Sym
from mlaprobe.evaluator.values import Args, Something, Unknown, Value
from mlaprobe.evaluator.values.comparing import equals
from mlaprobe.evaluator.values.kinds import EnumMember, Pointer, Ref

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

_THROWING = frozenset(("at", "test", "set", "reset", "flip", "to_ulong", "to_ullong"))
"""Methods that throw for what is not there."""
_ASKS = """size empty count contains find at begin end cbegin cend front back data
lower_bound upper_bound test any none all to_ulong length capacity max_size rbegin rend
crbegin crend"""
_ASKING = frozenset(_ASKS.split())
"""Methods that change nothing themselves."""


@dataclass(frozen=True, slots=True)
class On:
    """A method that is called: on what, where that is stored, and by what."""

    run: Run
    box: Container
    place: Pointer | None
    span: Span

    def __post_init__(self) -> None:
        self.box.run = self.run if self.box.sourced else None

    @property
    def make(self) -> Maker:
        """What makes elements of its types."""
        return Maker(self.run.machine.compiler, self.run, self.box.module, self.span)

    def store(self, after: Container) -> None:
        """Stores another container in its place.

        Raises:
            Unsupported: it is not known where it is, or keeps its content between calls.
        """
        if self.box.kept:
            raise Unsupported("something is changed that keeps its value between calls", self.span)
        if self.place is None:
            raise Unsupported(f"which {self.box.shape.name} is changed is not known", self.span)
        self.run.effects += 1
        self.place.store(after)

    def lose(self, why: Unknown) -> None:
        """Makes the content unknown."""
        self.store(self.box.lost(why))

    def at(self, position: Value, *, backwards: bool = False) -> Iterator:
        """The iterator to an element."""
        return Iterator(Elements(self.place, self.box), position, backwards=backwards)

    def now(self, after: Container, position: Value) -> Iterator:
        """The iterator to an element of what has been stored."""
        return Iterator(Elements(self.place, after), position)

    def contains(self, key: Value) -> Value:
        """Whether there is an element under a key, or at a position."""
        if self.box.shape.keyed:
            return self.box.has(self.make.part(key, self.box.shape.element), self.span)
        return type(key) is int and 0 <= key < len(self.box.items or ())

    def element(self, position: int) -> Value:
        """The value at a position: of a map, what stands beside the key."""
        item = (self.box.items or ())[position]
        return copied(item[1] if self.box.shape.sort is Sort.MAP else item)


Method = Callable[[On, Args], Value]


def not_followed(on: On, name: str, args: Args) -> Value:
    """A method that is not followed, or of what is not known."""
    unknown = on.box.unknown(f"{name}()", on.span)
    if name not in _ASKING or (name in _THROWING and name != "at" and name != "test"):
        if on.box.items is not None:
            on.lose(Unknown(f"{name} of a {on.box.shape.name} is not followed", on.span))
        elif on.place is not None:
            on.lose(unknown)
    keep(on.box.type, _spoiled(on, args, unknown), on.span)
    if name in _THROWING and on.run.decide(unknown.another()):
        raise Failed("exception", "std::out_of_range", f"{name} of a container", on.span)
    if name in ("begin", "end", "cbegin", "cend", "find"):
        return on.at(unknown.another())
    return unknown


def _spoiled(on: On, args: Args, unknown: Unknown) -> Args:
    """The values among arguments. What a method may write besides its own container (another one,
    what an iterator is into) becomes unknown."""
    values = []
    for arg in args:
        value = arg.load() if type(arg) is Ref else arg
        if type(arg) is Ref and isinstance(value, Container):
            arg.store(spoiled(value, unknown.another()))
        elif isinstance(value, Iterator):
            mine = isinstance(value.frame.base, Container) and value.frame.place is not None
            if not (mine and value.frame.now() is None):
                value.spoil(unknown.another())
            continue
        elif isinstance(value, Pointer):
            value.store(unknown.another())
            continue
        values.append(value)
    return tuple(values)


def size(on: On, args: Args) -> Value:
    return len(on.box.items or ())


def empty(on: On, args: Args) -> Value:
    return not on.box.items


def contains(on: On, args: Args) -> Value:
    key = on.make.part(args[0], on.box.shape.element) if len(args) == 1 else Unknown("a key")
    return on.box.has(key, on.span)


def count(on: On, args: Args) -> Value:
    there = contains(on, args)
    return there if isinstance(there, Unknown) else int(there)


def find(on: On, args: Args) -> Value:
    there = contains(on, args)
    if isinstance(there, Unknown):
        there = on.run.decide(there)
        if there:
            return on.at(Something("which element was found", on.span))
    if not there:
        return on.at(len(on.box.items or ()))
    key = on.make.part(args[0], on.box.shape.element)
    return on.at(on.box.position(key, on.span))


def at(on: On, args: Args) -> Value:
    if len(args) != 1:
        return on.box.unknown("at()", on.span)
    if on.box.shape.keyed:
        found = find(on, args)
        position = found.slot
        if type(position) is int and position == len(on.box.items or ()):
            raise Failed("exception", "std::out_of_range", "at", on.span)
        return value_at(on, position)
    position = whole(args[0])
    count = len(on.box.items or ())
    if type(position) is int:
        if 0 <= position < count:
            return on.element(position)
        raise Failed("exception", "std::out_of_range", "at", on.span)
    if on.run.decide(Unknown("whether an element is there", on.span, free=_free(position))):
        raise Failed("exception", "std::out_of_range", "at", on.span)
    return value_at(on, position)


def _free(value: Value) -> str | None:
    return value.free if isinstance(value, Unknown) else None


def whole(value: Value) -> Value:
    """A position as a number, where it is one."""
    if type(value) is Sym:
        return value.concretize()
    if type(value) is EnumMember and not value.scoped:
        value = value.value
    return int(value) if type(value) is bool else value


def value_at(on: On, position: Value) -> Value:
    """The value at a position that may not be known: known where all are the same."""
    if type(position) is int:
        return on.element(position)
    values = [on.element(at) for at in range(len(on.box.items or ()))]
    if values and all(equals(values[0], v, on.span) is True for v in values[1:]):
        return values[0]
    if isinstance(position, Unknown):
        return position.derive("[]", *(v for v in values if isinstance(v, (int, str))))
    return on.box.unknown("an element", on.span)


def front(on: On, args: Args) -> Value:
    return _end_element(on, 0)


def back(on: On, args: Args) -> Value:
    return _end_element(on, -1)


def _end_element(on: On, at: int) -> Value:
    items = on.box.items
    return copied(items[at]) if items else Unknown("an element of an empty container", on.span)


def begin(on: On, args: Args) -> Value:
    return Iterator(Elements(on.place, on.box, ordered=not any_order(on.box)), 0)


def any_order(box: Container) -> bool:
    return box.shape.hashed and len(box.items or ()) > 1


def end(on: On, args: Args) -> Value:
    frame = Elements(on.place, on.box, ordered=not any_order(on.box))
    return Iterator(frame, len(on.box.items or ()))


def rbegin(on: On, args: Args) -> Value:
    return on.at(len(on.box.items or ()) - 1, backwards=True)


def rend(on: On, args: Args) -> Value:
    return on.at(-1, backwards=True)


def bound(upper: bool) -> Method:
    """``lower_bound`` and ``upper_bound`` of what is in order."""

    def find(on: On, args: Args) -> Value:
        key = on.make.part(args[0], on.box.shape.element) if len(args) == 1 else Unknown("a key")
        keys = on.box.keys()
        if on.box.sourced:
            return on.at(on.box.unknown("a bound", on.span))
        for at, other in enumerate(keys):
            beyond = less(key, other, on.span) if upper else less(other, key, on.span)
            if isinstance(beyond, Unknown) or on.box.shape.hashed:
                return on.at(on.box.unknown("a bound", on.span))
            if beyond is upper:
                return on.at(at)
        return on.at(len(keys))

    return find

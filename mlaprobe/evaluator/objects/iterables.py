"""Python's iterators, whose elements are made when they are taken; views of dicts, and dicts that
make what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import NOWHERE, Span
from mlaprobe.evaluator.values import Args, Unknown, Value, rest_of
from mlaprobe.evaluator.values.kinds import Model

MAX_ELEMENTS = 20_000


class UnclearError(Exception):
    """The next element of an iterator is not known, nor whether there is one."""

    def __init__(self, why: Unknown) -> None:
        super().__init__(why.reason)
        self.why = why


class Cursor(Model):
    """An iterator."""

    __slots__ = ("lost", "source", "taken", "unordered")

    changes = True

    def __init__(self, source: Iterable[Value], *, unordered: bool = False) -> None:
        self.source: Iterator[Value] = iter(source)
        self.unordered = unordered
        """Whether the order in which elements come is not known."""
        self.lost: Unknown | None = None
        """Why it is not known what is left."""
        self.taken = 0

    def fresh(self, own: Callable[[Value], Value]) -> Cursor:
        """As another call finds it: what earlier ones have taken is not known."""
        copy = Cursor(())
        copy.lost = Unknown("what earlier calls have left of an iterator", NOWHERE)
        return copy

    def lose(self, reason: str, span: Span) -> None:
        self.give_up(reason)

    def give_up(self, reason: str) -> None:
        """Something takes elements, and how many is not known."""
        self.source = iter(())
        self.lost = Unknown(reason, NOWHERE)

    def steps(self) -> Iterator[Value]:
        """The elements that are left, each taken when it is asked for.

        Raises:
            UnclearError: what comes next is not known.
        """
        while True:
            if self.lost is not None:
                raise UnclearError(self.lost.another())
            try:
                value = next(self.source)
            except StopIteration:
                return
            except UnclearError as error:
                self.give_up(error.why.reason)
                raise
            self.taken += 1
            if self.taken > MAX_ELEMENTS:
                raise Unsupported("a sequence is too long to follow", NOWHERE)
            yield value

    def take(self, span: Span) -> list[Value] | Unknown:
        """All that is left, or why it is not known."""
        found: list[Value] = []
        try:
            found.extend(self.steps())
        except UnclearError as error:
            return error.why.another()
        return found


class DefaultDict(dict[Value, Value]):
    """``collections.defaultdict``."""

    __slots__ = ("factory",)

    def __init__(self, factory: Value, items: Mapping[Value, Value]) -> None:
        super().__init__(items)
        self.factory = factory


class View(Model):
    """The keys, values or items of a dict, as they are when they are looked at."""

    __slots__ = ("kind", "mapping")

    def __init__(self, mapping: dict[Value, Value], kind: str) -> None:
        self.mapping = mapping
        self.kind = kind

    changes = True

    def fresh(self, own: Callable[[Value], Value]) -> View:
        return View(own(self.mapping), self.kind)

    def held(self) -> Args:
        return (self.mapping,)

    def iterate(self) -> Iterator[Value] | None:
        if rest_of(self.mapping) is not None:
            return None
        return iter(tuple(getattr(self.mapping, self.kind)()))

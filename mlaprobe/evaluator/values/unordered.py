"""Containers whose elements have no known order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Rest, Value
from mlaprobe.evaluator.values.kinds import Model


@dataclass(slots=True, eq=False)
class LooseSet(Model):
    """A set of which it is not known whether some of its elements are the same."""

    elements: Args
    changes = True

    def fresh(self, own: Callable[[Value], Value]) -> LooseSet:
        return LooseSet(tuple(map(own, self.elements)))

    def lose(self, reason: str, span: Span) -> None:
        self.elements = (Rest(reason, span),)

    def members(self) -> Iterator[Value] | None:
        return iter(self.elements)


class Unordered(Model):
    """A container whose order of iteration is arbitrary (a hash map), of known elements."""

    __slots__ = ("elements", "matches", "probe")

    def __init__(
        self,
        elements: Args,
        probe: Callable[[Value], Value] | None = None,
        *,
        matches: bool = True,
    ) -> None:
        self.elements = elements
        self.matches = matches
        """Whether how many elements make a loop end is written down."""
        self.probe = probe
        """Makes, for a run, an extra element that only observes a loop's accesses to its
        elements."""

    def iterate(self) -> Iterator[Value] | None:
        return iter(self.elements)

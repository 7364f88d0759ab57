"""Numbers that stand for things, and numbers as people write them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Interner(Generic[T]):
    """Gives equal things one number each, in the order of first mention."""

    def __init__(self) -> None:
        self.by_number: list[T] = []
        """Everything that has a number."""
        self._numbers: dict[T, int] = {}

    def number(self, thing: T) -> int:
        """The number of a thing."""
        found = self._numbers.setdefault(thing, len(self.by_number))
        if found == len(self.by_number):
            self.by_number.append(thing)
        return found


def runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """The first and the last of each run of numbers that follow each other. Order is kept."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def ranges(numbers: Sequence[int], comma: str = ",") -> str:
    """Numbers as people write them: ``1-7,16,24``."""
    return comma.join(str(a) if a == b else f"{a}-{b}" for a, b in runs(numbers))


def numbers_of(text: str) -> tuple[int, ...]:
    """What ``ranges`` wrote.

    Raises:
        ValueError: it is something else.
    """
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return tuple(found)

"""At which batch sizes an answer changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

MOST_BATCH = 1 << 16
"""The largest batch size that is asked; beyond it nothing is taken to change."""
_NUMBERS = re.compile(r"\d+")
Answer = TypeVar("Answer")


def tried(notes: Iterable[str]) -> tuple[int, ...]:
    """The batch sizes to look at: around every power of two, and around every number that a note
    names."""
    around = [1 << power for power in range(MOST_BATCH.bit_length())]
    around += [int(n) for note in notes for n in _NUMBERS.findall(note) if len(n) < 6]
    found = {n + d for n in around for d in (-1, 0, 1)}
    return tuple(sorted(n for n in found if 1 <= n <= MOST_BATCH))


def steps_of(
    ask: Callable[[int], Answer], sizes: tuple[int, ...]
) -> tuple[tuple[int, Answer], ...]:
    """From which batch size on which answer holds, from 1 on. Between two of ``sizes`` that are
    answered alike no change is looked for; between others it is found exactly."""
    steps = [(sizes[0], ask(sizes[0]))]
    for size in sizes[1:]:
        last = steps[-1][1]
        found = ask(size)
        low = steps[-1][0] if len(steps) == 1 else sizes[sizes.index(size) - 1]
        while found != last:
            first, at = _first_other(ask, low, size, last)
            steps.append((first, at))
            low, last = first, at
    return tuple(steps)


def _first_other(
    ask: Callable[[int], Answer], low: int, high: int, known: Answer
) -> tuple[int, Answer]:
    """The first size above ``low`` that is answered otherwise than ``low``, where ``high`` is."""
    answer = ask(high)
    while high - low > 1:
        middle = (low + high) // 2
        found = ask(middle)
        if found == known:
            low = middle
        else:
            high, answer = middle, found
    return high, answer

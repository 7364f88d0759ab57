"""How an answer depends on the batch size, determined by sampling.

Most gates are thresholds, some take multiples of a number only. Sizes around every number that a
note names, and some others, are sampled; the rule that explains all answers is kept. Where none
does, the snapshot holds that it is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

from mlaprobe.core.enums import Status

MOST_BATCH = 1 << 16
"""The largest batch size that is sampled; beyond it nothing is taken to change."""
MOST_STEPS = 12
_NUMBERS = re.compile(r"\d+")
_PLAIN = (1, 2, 3, 10, 100, 1000, 10007, MOST_BATCH - 1, MOST_BATCH)
Answer = TypeVar("Answer")
Rule = tuple[str, int, Answer]
"""``below`` or ``multiple`` with its number, or ``any`` with 0, and the answer. The first that
applies holds."""


def speaks_of_batch(status: str, notes: Iterable[str]) -> bool:
    """Whether an answer depends on the batch size by its own text, or may."""
    return status == Status.UNKNOWN or any(" batch " in note for note in notes)


def numbers_in(texts: Iterable[str]) -> tuple[int, ...]:
    """The numbers that some texts name and that can be batch sizes."""
    found = (int(n) for text in texts for n in _NUMBERS.findall(text) if len(n) < 6)
    return tuple(sorted({n for n in found if 1 <= n < MOST_BATCH}))


def rules_of(
    ask: Callable[[int], Answer], hints: Sequence[int], avoid: Iterable[int]
) -> tuple[Rule[Answer], ...] | None:
    """What holds at which batch size, the hints being numbers that may matter; ``None`` where that
    is not known.

    Args:
        ask: the answer at a batch size.
        hints: numbers that may be thresholds or divisors.
        avoid: sizes that are hard to distinguish from other numbers in an answer.
    """
    around = {h * times + d for h in hints for times in (1, 2, 3, 5) for d in (-1, 0, 1)}
    sizes = (around | set(_PLAIN)) - (set(avoid) - set(hints))
    known = {size: ask(size) for size in sorted(sizes) if 1 <= size <= MOST_BATCH}
    return _multiples(known, hints) or _thresholds(known, ask)


def _multiples(known: dict[int, Answer], hints: Sequence[int]) -> tuple[Rule[Answer], ...] | None:
    for divisor in hints:
        inside = [answer for size, answer in known.items() if size % divisor == 0]
        outside = [answer for size, answer in known.items() if size % divisor]
        if divisor > 1 and _alike(inside) and _alike(outside) and inside[0] != outside[0]:
            return ("multiple", divisor, inside[0]), ("any", 0, outside[0])
    return None


def _alike(answers: Sequence[object]) -> bool:
    return bool(answers) and all(answer == answers[0] for answer in answers)


def _thresholds(
    known: dict[int, Answer], ask: Callable[[int], Answer]
) -> tuple[Rule[Answer], ...] | None:
    found: list[Rule[Answer]] = []
    sizes = sorted(known)
    for low, high in pairwise(sizes):
        while known[low] != known[high]:
            if len(found) == MOST_STEPS:
                return None
            low, last = _first_other(ask, low, high, known[low]), known[low]
            known[low] = ask(low)
            found.append(("below", low, last))
    return (*found, ("any", 0, known[sizes[-1]]))


def _first_other(ask: Callable[[int], Answer], low: int, high: int, known: Answer) -> int:
    """The first size above ``low`` that is answered otherwise than ``low``, where ``high`` is."""
    while high - low > 1:
        middle = (low + high) // 2
        if ask(middle) == known:
            low = middle
        else:
            high = middle
    return high


def applies(kind: str, number: int, batch: int) -> bool:
    """Whether a rule holds at a batch size."""
    if kind == "below":
        return batch < number
    return kind == "any" or batch % number == 0

"""Numbers that follow the question: ``nhead=77`` at 77 heads and ``nhead=78`` at 78 are one record.

A record's numbers (in its message, its key, its head counts) may be written as variables, which the
reader fills in. Which ones are follows from all records of a stage that differ in numbers only:
where the numbers vary, the variable that most of them equal is written, and a record that it does
not give exactly keeps its own number. So what is read back is exact in any case.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Fields = tuple[Any, ...]
"""A record as values, in the order of ``records.FIELDS``."""
Values = Sequence[int | None]
"""What each variable is in all cells of a record; ``None`` where it is not the same in all."""

VARIABLES = (
    *("heads", "qlen", "rows"),
    *("lse", "causal", "cp_round_robin", "persistent", "page_size"),
)
"""``rows`` is heads times qlen. Texts may hold ``batch`` besides, which is marked by hand."""
_BATCH = "\1"
_NUMBER = re.compile(r"(?<![\w.])(?:0|[1-9][0-9]*)(?![\w.])")
_MARKS = re.compile("([\0\1])")
Phrase = list[Any]
"""Text and what is filled in, in turn: the name of a variable, or a place in the record's key."""


def mark_batch(text: str | None, batch: int) -> str | None:
    """A text with every number that equals the batch size marked as such."""
    if text is None:
        return None
    return _NUMBER.sub(lambda m: _BATCH if int(m[0]) == batch else m[0], text)


def unmarked(text: str | None) -> str | None:
    """A text without the characters that mark numbers."""
    return None if text is None else text.replace("\0", "\\x00").replace(_BATCH, "\\x01")


class Slot:
    """Stands for a number in a skeleton."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "#"


SLOT = Slot()


def skeleton(fields: Fields, texts: Iterable[int], numbers: Iterable[int], key: int) -> Any:
    """A record without its numbers, hashable, and the numbers.

    Args:
        fields: the record.
        texts: which fields are texts with numbers in them.
        numbers: which fields are numbers.
        key: which field is the key: pairs of column and value.
    """
    found: list[int] = []
    bare = list(fields)
    for at in texts:
        if bare[at] is not None:
            found += map(int, _NUMBER.findall(bare[at]))
            bare[at] = _NUMBER.sub("\0", bare[at])
    for at in numbers:
        if bare[at] is not None:
            found.append(bare[at])
            bare[at] = SLOT
    if bare[key] is not None:
        found += [value for _, value in bare[key] if type(value) is int]
        bare[key] = tuple((n, SLOT if type(v) is int else v) for n, v in bare[key])
    return tuple(bare), tuple(found)


def choose(family: Sequence[tuple[Sequence[int], Values]]) -> list[int | None]:
    """For each number of a family the variable to write it as, by its place; or none."""
    chosen: list[int | None] = []
    for at in range(len(family[0][0])):
        column = [numbers[at] for numbers, _ in family]
        hits: Counter[int] = Counter()
        for number, (_, values) in zip(column, family, strict=True):
            hits.update(v for v, value in enumerate(values) if value == number)
        best = min(hits, key=lambda v: (-hits[v], v), default=None)
        varies = len(set(column)) > 1 and best is not None and hits[best] > 1
        chosen.append(best if varies else None)
    return chosen


def written(
    numbers: Sequence[int], values: Values, chosen: Sequence[int | None]
) -> Iterator[int | str]:
    """The numbers of a record; the value of a variable is written as the variable's name."""
    for number, variable in zip(numbers, chosen, strict=True):
        fits = variable is not None and values[variable] == number
        yield VARIABLES[variable] if fits and variable is not None else number


def phrase(text: str, numbers: Iterator[int | str]) -> str | Phrase:
    """A text with its numbers filled in, as a phrase where one of them is a variable."""
    parts: Phrase = [""]
    for piece in _MARKS.split(text):
        number = "batch" if piece == _BATCH else next(numbers) if piece == "\0" else None
        if isinstance(number, str):
            parts += [number, ""]
        else:
            parts[-1] += piece if number is None else str(number)
    return parts if len(parts) > 1 else str(parts[0])


def by_key(text: str | Phrase, key: Sequence[Any]) -> str | Phrase:
    """A phrase whose words name places of a key wherever the key, in its order, has them too.

    Args:
        text: as ``phrase`` gives it.
        key: the values as they are written: one that is a variable as a list of its name.
    """
    parts = [text] if isinstance(text, str) else list(text)
    at = 0
    for place, value in enumerate(key):
        if isinstance(value, list):
            found = _variable(parts, value[0], at)
            if found is not None:
                parts[found] = place
                at = found + 1
        elif value is not None and not isinstance(value, bool):
            word = _word(parts, str(value), at)
            if word is not None:
                at, match = word
                parts[at : at + 1] = [parts[at][: match.start()], place, parts[at][match.end() :]]
                at += 2
    return parts if len(parts) > 1 else text


def _variable(parts: Phrase, name: str, start: int) -> int | None:
    """Where a variable is filled in next."""
    return next((at for at in range(start | 1, len(parts), 2) if parts[at] == name), None)


def _word(parts: Phrase, word: str, start: int) -> tuple[int, re.Match[str]] | None:
    """Where a word stands next: the part, and the place in it."""
    whole = re.compile(rf"(?<![\w.]){re.escape(word)}(?![\w.])")
    found = ((at, whole.search(parts[at])) for at in range(start, len(parts), 2))
    return next(((at, match) for at, match in found if match is not None), None)


def text_of(text: str | Phrase, values: Mapping[str, int], key: Sequence[Any] = ()) -> str:
    """The text of a phrase.

    Args:
        values: of the variables.
        key: the values of the record's key.
    """
    if isinstance(text, str):
        return text
    pieces = (
        (key[piece] if isinstance(piece, int) else values[piece]) if at % 2 else piece
        for at, piece in enumerate(text)
    )
    return "".join(map(str, pieces))


def number(written: int | str, values: Mapping[str, int]) -> int:
    """A number that may be a variable."""
    return values[written] if isinstance(written, str) else written

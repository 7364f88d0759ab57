"""Planes of cells as text: for a setting, the record of every head count and query length.

Head counts that are answered alike share a row; within a row, query lengths that are answered
alike share a name: ``{"else": "k3f9", "8": "k3f9*3 aa01 k3f9*4"}``. ``else`` is the row of all
head counts that no other row names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

Plane = tuple[tuple[str, ...], ...]
"""Names of records, by head count and query length."""
ELSE = "else"


def write_row(names: Sequence[str]) -> str:
    """One row as text."""
    parts = []
    for name, same in groupby(names):
        count = len(tuple(same))
        parts.append(f"{name}*{count}" if count > 1 else name)
    return parts[0].partition("*")[0] if len(parts) == 1 else " ".join(parts)


def read_row(text: str, count: int) -> tuple[str, ...]:
    """What ``write_row`` wrote.

    Raises:
        ValueError: it is not a row of so many cells.
    """
    if " " not in text:
        return (text,) * count
    found: list[str] = []
    for part in text.split(" "):
        name, _, times = part.partition("*")
        found.extend([name] * int(times or 1))
    if len(found) != count:
        raise ValueError(f"a row of {len(found)} cells, not {count}: {text!r}")
    return tuple(found)


def write_plane(plane: Plane, heads: Sequence[int]) -> dict[str, str]:
    """A plane as rows by ranges of head counts."""
    runs: list[tuple[str, str]] = []
    at = 0
    for row, same in groupby(plane):
        count = len(tuple(same))
        first, last = heads[at], heads[at + count - 1]
        runs.append((str(first) if count == 1 else f"{first}-{last}", write_row(row)))
        at += count
    # Counted by runs, as each would be written once; the first of equals.
    usual = Counter(text for _, text in runs).most_common(1)[0][0]
    return {ELSE: usual, **{span: text for span, text in runs if text != usual}}


def read_plane(rows: Mapping[str, str], heads: Sequence[int], qlens: int) -> Plane:
    """What ``write_plane`` wrote.

    Raises:
        KeyError: it has no row for other head counts.
        ValueError: it is not a plane over these head counts.
    """
    found = [read_row(rows[ELSE], qlens)] * len(heads)
    place = {count: at for at, count in enumerate(heads)}
    for span, text in rows.items():
        if span == ELSE:
            continue
        first, _, last = span.partition("-")
        start, end = place.get(int(first), -1), place.get(int(last or first), -1)
        if start < 0 or end < start:
            raise ValueError(f"the head counts {span!r} are out of place")
        found[start : end + 1] = [read_row(text, qlens)] * (end - start + 1)
    return tuple(found)

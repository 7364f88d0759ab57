"""Tiles: rows by columns, each a colour and a letter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlaprobe.output.pictures.svg import LINE, MARGIN, hint, length, picture, tag, words

WIDTH, HEIGHT = 34, 22
GAP = 2
_SLANT = 0.82
"""How high a column's name rises for its length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One tile."""

    text: str
    """A few letters."""
    style: str
    """The colour: ``native``, ``fold2``, ``fold4``, ``fold8``, ``fail``, ``wrong``, ``unknown`` or
    ``dim``."""
    hint: str
    """The same in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiles:
    """A whole picture."""

    title: str
    remarks: tuple[str, ...]
    """Lines below the title."""
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Tile | None, ...]], ...]
    """Name and tiles; ``None`` for none."""
    legend: tuple[tuple[Tile, str], ...]
    """Tiles, and what each means."""


def fold_style(passes: int) -> str:
    """The colour of a fold, by how often it reads the KV cache."""
    return "fold2" if passes <= 2 else "fold4" if passes <= 4 else "fold8"


def tiles(found: Tiles) -> str:
    """The picture."""
    left = MARGIN + max((length(name) for name, _ in found.rows), default=0) + 8
    rise = max(map(length, found.columns), default=0) * _SLANT + 10
    top = MARGIN + LINE * (1 + len(found.remarks)) + rise
    step_x, step_y = WIDTH + GAP, HEIGHT + GAP
    below = top + step_y * len(found.rows) + LINE + 4
    body = [words(found.title, MARGIN, MARGIN + 12, "title")]
    for at, remark in enumerate(found.remarks):
        body.append(words(remark, MARGIN, MARGIN + 12 + LINE * (at + 1), "soft"))
    for at, name in enumerate(found.columns):
        body.append(_slanted(name, left + step_x * at + WIDTH / 2, top - 6))
    for at, (name, row) in enumerate(found.rows):
        y = top + step_y * at
        body.append(words(name, left - 8, y + 15, "end soft"))
        for place, tile in enumerate(row):
            if tile is not None:
                body.append(_tile(tile, left + step_x * place, y))
    body += _legend(found.legend, below)
    right = left + step_x * len(found.columns) + rise * 0.75
    wide = max([right, *(length(f"00000{text}") + 2 * MARGIN for _, text in found.legend)])
    texts = (found.title, *found.remarks)
    wide = max([wide, *(length(text) * 1.15 + 2 * MARGIN for text in texts)])
    return picture(wide, below + LINE * 1.35 * len(found.legend) + MARGIN, found.title, body)


def _slanted(name: str, x: float, y: float) -> str:
    """A column's name, rising to the right."""
    place = f"translate({x:.1f} {y:.1f}) rotate(-55)"
    return tag("g", words(name, 0, 0, "soft"), transform=place)


def _tile(tile: Tile, x: float, y: float) -> str:
    box = tag(
        "rect",
        x=float(x),
        y=float(y),
        width=WIDTH,
        height=HEIGHT,
        rx=3,
        class_=f"v-{tile.style}",
    )
    letters = words(tile.text, x + WIDTH / 2, y + 15, f"small middle t-{tile.style}")
    return tag("g", hint(tile.hint), box, letters)


def _legend(entries: Sequence[tuple[Tile, str]], top: float) -> Iterator[str]:
    for at, (tile, meaning) in enumerate(entries):
        y = top + LINE * 1.35 * at
        yield _tile(tile, MARGIN, y)
        yield words(meaning, MARGIN + WIDTH + 10, y + 15, "soft")

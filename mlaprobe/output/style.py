"""Text with meaning attached to its parts, and what that looks like with and without colour."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.output.escape import printable

if TYPE_CHECKING:
    from rich.text import Text

STYLES = {
    "": "",
    "title": "bold",
    "native": "bold green",
    "partial": "green",
    "fold": "yellow",
    "fail": "red",
    "wrong": "bold magenta",
    "unknown": "bold cyan",
    "dim": "dim",
    "place": "cyan",
    "caret": "bold red",
    "command": "bold",
}
"""What each meaning looks like, in rich's words."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


def line(*parts: str | Span) -> Line:
    """A line of plain and styled parts; what cannot be seen in them is written out."""
    spans = (part if isinstance(part, Span) else Span(part) for part in parts)
    return tuple(Span(printable(span.text), span.style) for span in spans)


def plain(lines: Iterable[Line]) -> str:
    """Lines without decoration, without blanks at their ends."""
    return "".join("".join(span.text for span in each).rstrip() + "\n" for each in lines)


def rich_text(lines: Iterable[Line]) -> Text:
    """The same lines for a terminal. Only here is rich imported."""
    from rich.text import Text

    text = Text(no_wrap=True, overflow="ignore", end="")
    for each in lines:
        for span in each:
            text.append(span.text, style=STYLES[span.style] or None)
        text.append("\n")
    return text


def wrapped(text: str, width: int, *, first: str = "", rest: str | None = None) -> list[str]:
    """Text broken at blanks, with what its first and its other lines start with."""
    later = " " * len(first) if rest is None else rest
    found = textwrap.wrap(
        text,
        max(width, len(later) + 20),
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return found or [first.rstrip()]


def paragraph(text: str, width: int, *, first: str = "", style: str = "") -> list[Line]:
    """Wrapped text as lines of one style; what cannot be seen in it is written out."""
    return [line(Span(each, style)) for each in wrapped(printable(text), width, first=first)]


def labelled(label: Line, text: str, width: int) -> list[Line]:
    """Wrapped text behind a label, which stands in the first line and leaves room in the others."""
    room = "".join(span.text for span in label)
    first, *rest = paragraph(text, width, first=room)
    return [(*label, Span(first[0].text[len(room) :])), *rest]


def broken(given: Line, width: int, *, rest: str = "") -> list[Line]:
    """A styled line, broken at blanks where it is too long.

    Args:
        given: the line; blanks at its start stay there.
        width: columns.
        rest: what the other lines start with.
    """
    text = "".join(span.text for span in given)
    found: list[Line] = []
    start, end = 0, 0
    for word in re.finditer(r"\S+", text):
        room = width - (len(rest) if found else 0)
        before = len(text[start : word.start()].rstrip())
        if word.end() - start > room and before > (0 if found else len(rest)):
            found.append(_cut(given, start, end, rest if found else ""))
            start = word.start()
        end = word.end()
    found.append(_cut(given, start, end, rest if found else ""))
    return found


def _cut(given: Line, start: int, end: int, first: str) -> Line:
    """Part of a line, behind something else."""
    found, at = [Span(first)] if first else [], 0
    for span in given:
        text = span.text[max(0, start - at) : max(0, end - at)]
        at += len(span.text)
        if text:
            found.append(Span(text, span.style))
    return tuple(found)

"""The preprocessor directives of a file, as they are written.

Their effect depends on the unit that includes the file; their places and texts do not.
"""

from __future__ import annotations

import re

from mlaprobe.evaluator.cpp.macros import Macro, parse_define
from mlaprobe.evaluator.cpp.tokens import Token, blank, tokenize

_DIRECTIVE = re.compile(
    r"[ \t]*#[ \t]*(?P<name>[A-Za-z_]\w*)?(?P<rest>[^\n\\]*(?:\\[\s\S][^\n\\]*)*)"
)


class Directive:
    """One directive, its continued lines included."""

    def __init__(self, path: str, match: re.Match[str]) -> None:
        self._path = path
        self._text = match.string
        self._rest = match.span("rest")
        self.start, self.end = match.span()
        self.name: str | None = match.group("name")
        self.rest = match.group("rest")
        """What stands behind its name."""

    @property
    def blanked(self) -> str:
        """Spaces in its place."""
        return blank(self._text[self.start : self.end])

    @property
    def tokens(self) -> list[Token]:
        """The tokens behind its name."""
        return tokenize(self._text, self._path, *self._rest)

    @property
    def macro(self) -> Macro | None:
        """What a ``#define`` defines, or ``None`` where that cannot be read."""
        return parse_define(self.tokens)


def directives(text: str, path: str) -> tuple[Directive, ...]:
    """The directives of a text without comments, in order."""
    found: list[Directive] = []
    last = 0
    at = text.find("#")
    while at >= 0:
        newline = text.rfind("\n", last, at)
        starts = newline >= 0 or last == 0
        match = _DIRECTIVE.match(text, newline + 1) if starts else None
        if match is not None:
            found.append(Directive(path, match))
            last = match.end()
        at = text.find("#", last if match is not None else at + 1)
    return tuple(found)

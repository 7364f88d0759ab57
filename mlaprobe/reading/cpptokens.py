"""C++ text as tokens, and text with everything blanked that is not code.

Blanking keeps every offset, so that a position in the blanked text is the position in the file.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_COMMENT_OR_TEXT = re.compile(
    r"""
    /(?:/[^\n\\]*(?:\\.[^\n\\]*)*|\*.*?(?:\*/|\Z))
  | R"(?P<delim>[^()\\\s"]{0,16})\(.*?\)(?P=delim)"
  | "[^"\\\n]*(?:\\.[^"\\\n]*)*"
  | '(?<![0-9a-fA-F]')(?:[^'\\\n]|\\.)+'
    """,
    re.VERBOSE | re.DOTALL,
)
"""Every alternative starts with a character of its own, so that ``re`` looks for those before it
tries any: headers are several 100 kB long."""

_TOKEN = re.compile(
    r"""
    (?P<space>(?:[ \t\r\f\v]|\\\n)+)
  | (?P<newline>\n)
  | (?P<text>(?:u8|[uUL])?(?:R"(?P<d>[^()\\\s"]{0,16})\(.*?\)(?P=d)"|"[^"\\\n]*(?:\\.[^"\\\n]*)*"))
  | (?P<char>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
  | (?P<name>[A-Za-z_$]\w*)
  | (?P<number>\.?[0-9](?:[eEpP][+-]|'[0-9A-Za-z_]|[0-9A-Za-z_.])*)
  | (?P<op>\#\#|\#|\.\.\.|->\*|->|<<=|>>=|<=>|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|\+=|-=|\*=|/=|%=|
        &=|\|=|\^=|::|\.\*|[-+*/%&|^!~<>=?:;,.(){}\[\]])
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """One preprocessing token; ``offset`` is where it stands in ``file``."""

    kind: str
    text: str
    file: str
    offset: int
    hidden: frozenset[str] = frozenset()
    """Macros that may not be expanded in this token any more."""
    spaced: bool = False
    """Whether white space stood before it."""


def blank(text: str) -> str:
    """The same length of spaces, line ends kept."""
    return "\n".join([" " * len(line) for line in text.split("\n")])


@lru_cache(maxsize=64)
def without_comments(text: str) -> str:
    """The text with comments blanked; string literals stay.

    Remembered, as the units of a source include the same headers, and so do its neighbours.
    """
    parts: list[str] = []
    last = 0
    for match in _COMMENT_OR_TEXT.finditer(text):
        found = match.group()
        if found[0] == "/":
            parts.append(text[last : match.start()])
            parts.append(blank(found))
            last = match.end()
    if not parts:
        return text
    parts.append(text[last:])
    return "".join(parts)


def tokenize(text: str, file: str, start: int = 0, end: int | None = None) -> list[Token]:
    """The tokens of a piece of text without comments; white space is only remembered."""
    tokens: list[Token] = []
    spaced = False
    for match in _TOKEN.finditer(text, start, len(text) if end is None else end):
        kind = match.lastgroup
        if kind in ("space", "newline"):
            spaced = True
            continue
        if kind == "d":
            kind = "text"
        tokens.append(Token(kind or "other", match.group(), file, match.start(), spaced=spaced))
        spaced = False
    return tokens

"""C++ text as tokens, and text with everything blanked that is not code.

Blanking keeps every offset, so that a position in the blanked text is the position in the file.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_COMMENT_OR_TEXT = re.compile(
    r"""
    (?P<line>//(?:[^\n\\]|\\\n|\\.)*)
  | (?P<block>/\*.*?(?:\*/|\Z))
  | R"(?P<delim>[^()\\\s"]{0,16})\(.*?\)(?P=delim)"
  | "(?:[^"\\\n]|\\.|\\\n)*"
  | (?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'
    """,
    re.VERBOSE | re.DOTALL,
)
_NOT_NEWLINE = re.compile(r"[^\n]")

_TOKEN = re.compile(
    r"""
    (?P<space>(?:[ \t\r\f\v]|\\\n)+)
  | (?P<newline>\n)
  | (?P<text>(?:u8|[uUL])?(?:R"(?P<d>[^()\\\s"]{0,16})\(.*?\)(?P=d)"|"(?:[^"\\\n]|\\.|\\\n)*"))
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
    return _NOT_NEWLINE.sub(" ", text)


def without_comments(text: str) -> str:
    """The text with comments blanked; string literals stay."""
    parts: list[str] = []
    last = 0
    for match in _COMMENT_OR_TEXT.finditer(text):
        if match.lastgroup in ("line", "block"):
            parts.append(text[last : match.start()])
            parts.append(blank(match.group()))
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

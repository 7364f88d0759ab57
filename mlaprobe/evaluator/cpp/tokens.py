"""C++ text as tokens, and text with everything blanked that is not code.

Blanking keeps every offset, so that a position in the blanked text is the position in the file.
"""

from __future__ import annotations

import re
import string
from typing import NamedTuple

from mlaprobe.core.caches import Cache
from mlaprobe.core.keeping import Memo

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
    [ \t\r\f\v\n]+
  | \\\n
  | [A-Za-z_$]\w*(?![\w"'])
  | (?:u8|[uUL])?R"(?P<d>[^()\\\s"]{0,16})\(.*?\)(?P=d)"
  | (?:u8|[uUL])?"[^"\\\n]*(?:\\.[^"\\\n]*)*"
  | (?:u8|[uUL])?'(?:[^'\\\n]|\\.)+'
  | [A-Za-z_$]\w*
  | [0-9](?:[eEpP][+-]|'[0-9A-Za-z_]|[0-9A-Za-z_.])*
  | \.[0-9](?:[eEpP][+-]|'[0-9A-Za-z_]|[0-9A-Za-z_.])*
  | \#\#|\#|\.\.\.|->\*|->|<<=|>>=|<=>|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|\+=|-=|\*=|/=|%=
  | &=|\|=|\^=|::|\.\*|[-+*/%&|^!~<>=?:;,.(){}\[\]]
  | .
    """,
    re.VERBOSE | re.DOTALL,
)
"""White space and tokens, the frequent ones first. The kind of a match follows from its first
character (``_STARTS``), which costs less than a group for each kind."""
_STARTS = {
    **dict.fromkeys(string.ascii_letters + "_$", "name"),
    **dict.fromkeys(string.digits, "number"),
    **dict.fromkeys("#-+*/%&|^!~<>=?:;,(){}[]", "op"),
    **dict.fromkeys(" \t\r\f\v\n", ""),
}


_DIGITS = tuple(string.digits)
_NOTHING: frozenset[str] = frozenset()


class Token(NamedTuple):
    """One preprocessing token; ``offset`` is where it stands in ``file``."""

    kind: str
    text: str
    file: str
    offset: int
    hidden: frozenset[str] = _NOTHING
    """Macros that may not be expanded in this token any more."""
    spaced: bool = False
    """Whether white space stood before it."""


def blank(text: str) -> str:
    """The same length of spaces, line ends kept."""
    return "\n".join([" " * len(line) for line in text.split("\n")])


_STRIPPED: Memo[str] = Memo(Cache.SPELLINGS, 64)
"""Texts without comments: the units of a source include the same headers. With the pieces that
``chunks.index_of`` keeps, 4 % of a cold report of v0.1.20."""


def without_comments(text: str) -> str:
    """The text with comments blanked; string literals stay."""
    return _STRIPPED.of(text, lambda: _blank_comments(text))


def _blank_comments(text: str) -> str:
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
        found = match.group()
        kind = _STARTS.get(found[0])
        if kind is None or found[-1] in "\"'":
            kind = _kind(found)
        if kind:
            tokens.append(Token(kind, found, file, match.start(), _NOTHING, spaced))
            spaced = False
        else:
            spaced = True
    return tokens


def _kind(found: str) -> str:
    """The kind of what is no plain name, number or operator; nothing for white space."""
    if found == "\\\n":
        return ""
    if found[0] == ".":
        return "number" if found[1:2] in _DIGITS else "op"
    if len(found) > 1:
        return "text" if found[-1] == '"' else "char"
    return "other"

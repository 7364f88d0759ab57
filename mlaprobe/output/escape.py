"""Making text from a source harmless: it may hold anything, and is shown as what it is."""

from __future__ import annotations

import re

from mlaprobe.core.caches import Cache, cached

_PLAIN = re.compile(r"[\x20-\x7e]*")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&])")


@cached(Cache.TEXTS, 4096)
def printable(text: str) -> str:
    """One line of text, what cannot be seen in it written out: an escape as ``\\x1b``."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(_visible(c) for c in text)


def _visible(char: str) -> str:
    if char.isprintable():
        return char
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char)
    code = ord(char)
    wide = f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return named or (f"\\x{code:02x}" if code < 0x100 else wide)


def markdown(text: str) -> str:
    """Text that Markdown shows as it is, also in a table's cell."""
    return _MARKDOWN.sub(r"\\\1", printable(text))


def markdown_code(text: str) -> str:
    """Text as code, also in a table's cell: fenced by more backticks than it holds."""
    clean = printable(text).replace("|", "\\|")
    if not clean.strip():
        return ""
    runs = re.findall(r"`+", clean)
    fence = "`" * (max(map(len, runs), default=0) + 1)
    space = " " if clean[0] == "`" or clean[-1] == "`" else ""
    return f"{fence}{space}{clean}{space}{fence}"

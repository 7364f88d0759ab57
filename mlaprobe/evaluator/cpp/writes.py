"""Whether C++ text may write a variable of a namespace.

A variable that any function writes has another value in the next call. The text is enough to see
that none does: it is assigned nowhere, changed by no method, and passed to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_WRITES = (
    r"{0}\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--|\[|\.|->)"
    r"|(?:\+\+|--|&)\s*{0}|&\s*\w+\s*[=({{]\s*{0}"
    r"|\b(?!(?:if|while|switch|return)\b)\w+\s*\([^()]*{0}"
)
_DECLARES = r"(?:[\w>\]]\s|[&*]\s*){0}(?=\s*[;=({{\[,)])"
_LAST_WORD = re.compile(r"(\w+)\W*$")
_STATEMENTS = frozenset(("else", "do", "return", "case", "throw"))


_ASKED = r"\b{0}\s*\.\s*(?:count|contains|size|empty|cend|end|cbegin{1})\s*\("
"""Methods of containers that change nothing, and through whose result nothing is changed."""


def may_write(name: str, pieces: Iterable[str], asking: str = "") -> bool:
    """Whether one of some top-level pieces of code may write a variable; ``asking`` are names of
    methods that do not, for a container.

    A variable or a parameter of a function that has the same name hides it, to the end of its
    block.
    """
    word = rf"\b{re.escape(name)}\b"
    writes, declares = (re.compile(pattern.format(word)) for pattern in (_WRITES, _DECLARES))
    itself = re.compile(word)
    asked = re.compile(_ASKED.format(re.escape(name), asking)) if asking else None
    for text in pieces:
        if asked is not None:
            text = asked.sub("asked(", text)
        own = list(_own(declares, text, name))
        for found in writes.finditer(text):
            named = itself.search(text, found.start(), found.end())
            at = found.start() if named is None else named.start()
            if not any(start <= at < end for start, end in own):
                return True
    return False


_READ = re.compile(r"\s*(?:[{;?:]|(?:[-+*/%<>]|&&|\|\||[=!<>]=|<<|>>)(?![=+-])\s*[\w('\"])")
"""What stands behind a call whose result is only read, or behind a definition."""
_BINDS = re.compile(r"(?:&\s*\w*\s*[=({]|\+\+|--|&|\breturn)\s*(?:\w+\s*::\s*)*\Z")


def may_write_result(name: str, pieces: Iterable[str]) -> bool:
    """Whether what a function refers to may be written where it is called: its result is assigned,
    passed on, or bound to a reference."""
    call = re.compile(rf"\b{re.escape(name)}\s*\(([^()]*)\)")
    for text in pieces:
        for found in call.finditer(text):
            behind = _READ.match(text, found.end())
            before = _BINDS.search(text[max(0, found.start() - 80) : found.start()])
            alone = before is not None and text[found.end() :].lstrip()[:1] in (";", "?", ":")
            if behind is None or (alone and not _declares_type(text, found.start())):
                return True
        if len(re.findall(rf"\b{re.escape(name)}\b", text)) > len(call.findall(text)):
            return True
    return False


def _declares_type(text: str, at: int) -> bool:
    """Whether what stands before a name is the type of a function: ``int& name();``."""
    return re.search(r"[\w>]\s*&\s*\Z", text[max(0, at - 40) : at]) is not None


def _own(declares: re.Pattern[str], text: str, name: str) -> Iterator[tuple[int, int]]:
    """The parts of a piece in which the name is declared: the variable itself, or another."""
    for found in declares.finditer(text):
        before = _LAST_WORD.search(text, max(0, found.start() - 40), found.start() + 1)
        if before is None or before.group(1) in _STATEMENTS:
            continue
        start = found.end() - len(name)
        yield start, _end_of_block(text, start)


def _end_of_block(text: str, start: int) -> int:
    """Where the block ends that a place is in; for a piece's own variable, its declaration."""
    if "{" not in text[:start]:
        inside = text.count("(", 0, start) > text.count(")", 0, start)
        return len(text) if inside else start + 1 + text[start:].find(";")
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth < 0:
            return at
    return len(text)

"""The top-level pieces of a C++ file, without a parser.

A piece is one declaration or definition at file or namespace scope. Finding pieces by their
braces is enough to hand the right one to the parser, and quick.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

from mlaprobe.core.caches import Cache
from mlaprobe.core.keeping import Memo

_TEXT = (
    r'R"(?P<d>[^()\\\s"]{0,16})\(.*?\)(?P=d)"|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'(?<![0-9a-fA-F]')(?:[^'\\\n]|\\.)+'"
)
_MARK = re.compile(_TEXT + r"|\{|\}|;", re.DOTALL)
_BRACE = re.compile(_TEXT + r"|\{|\}", re.DOTALL)
"""What divides a file, and what matters inside braces. Every alternative starts with a character of
its own, so that ``re`` looks for those before it tries any."""
_TRANSPARENT = re.compile(
    r'\s*(?:inline\s+)?namespace\b[^;{}()=]*$|\s*extern\s+"[^"]*"\s*$', re.DOTALL
)
_NAMESPACE = re.compile(r"namespace\s+([\w:]+)")
_TYPE_HEAD = re.compile(r"\b(struct|class|union|enum)\b")


class Chunk(NamedTuple):
    """A piece of code at file or namespace scope."""

    start: int
    end: int
    brace: int
    """Offset of its first brace, or its end."""
    namespace: str


def split(code: str) -> list[Chunk]:
    """The pieces of a file's active text, in order."""
    chunks: list[Chunk] = []

    def add(start: int, end: int, brace: int) -> None:
        start += len(code[start:end]) - len(code[start:end].lstrip())
        chunks.append(Chunk(start, end, brace, "::".join(s for s in spaces if s)))

    spaces: list[str] = []
    start, brace = 0, -1
    match = _MARK.search(code)
    while match is not None:
        mark = match.group()
        at, end = match.span()
        if mark == "{":
            if brace < 0 and _TRANSPARENT.match(code[start:at]):
                found = _NAMESPACE.search(code[start:at])
                spaces.append(found.group(1) if found else "")
                start = end
            else:
                default = brace < 0 and _is_default(code, start, at)
                if brace < 0 and not default:
                    brace = at
                end = _behind(code, at)
                if end < 0:
                    break
                if not default and _is_body(code, start, brace):
                    add(start, end, brace)
                    start, brace = end, -1
        elif mark == "}":
            if code[start:at].strip():  # a call of a macro, which needs no semicolon
                add(start, at, brace if brace >= 0 else at)
            if spaces:
                spaces.pop()
            start, brace = end, -1
        elif mark == ";":
            add(start, end, brace if brace >= 0 else at)
            start, brace = end, -1
        match = _MARK.search(code, end)
    if code[start:].strip():
        add(start, len(code), brace if brace >= 0 else len(code))
    return chunks


def _behind(code: str, at: int) -> int:
    """The place behind the brace that closes the one at a place; -1 if none does."""
    depth = 0
    for match in _BRACE.finditer(code, at):
        mark = match.group()
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth == 0:
                return match.end()
    return -1


def _is_default(code: str, start: int, at: int) -> bool:
    """Whether a brace opens the default of a parameter: ``void f(T x = {})``."""
    head = code[start:at].rstrip()
    return head.endswith("=") and head.count("(") > head.count(")")


def _is_body(code: str, start: int, brace: int) -> bool:
    """Whether the brace opened a function's body: what stands before it ends like a function."""
    head = code[start:brace].rstrip()
    if head.endswith(")"):
        return True
    tail = head[head.rfind(")") + 1 :] if ")" in head else ""
    return bool(tail) and "=" not in tail and not _TYPE_HEAD.search(head[: head.find("(")])


class ChunkIndex:
    """The pieces of one file by position, and by what they may define."""

    def __init__(self, code: str) -> None:
        self.code = code

    @cached_property
    def chunks(self) -> list[Chunk]:
        """Every piece, in order."""
        return split(self.code)

    @cached_property
    def _starts(self) -> list[int]:
        return [chunk.start for chunk in self.chunks]

    def at(self, offset: int) -> Chunk | None:
        """The piece that a position is in."""
        found = bisect_right(self._starts, offset) - 1
        if found < 0:
            return None
        chunk = self.chunks[found]
        return chunk if offset < chunk.end else None

    @cached_property
    def _defining(self) -> dict[str, list[Chunk]]:
        """Of all names at once: a search of the text for each took a sixth of a cold answer."""
        found: dict[str, list[Chunk]] = {}
        for chunk in self.chunks:
            for name in _defined(self.code, chunk):
                found.setdefault(name, []).append(chunk)
        return found

    def mentioning(self, name: str) -> list[Chunk]:
        """Pieces that may define a name, in order."""
        return self._defining.get(name, [])


_INDICES: Memo[ChunkIndex] = Memo(Cache.SPELLINGS, 64)
"""By active text: that of a header is the same in most units (see ``tokens.without_comments``)."""


def index_of(code: str) -> ChunkIndex:
    """The pieces of a file, by its active text."""
    return _INDICES.of(code, lambda: ChunkIndex(code))


_NAME = re.compile(r"[A-Za-z_]\w*")
_DEFINED = re.compile(r"([A-Za-z_]\w*)\s*(?=[(=;\[{]|:(?!:)|\Z)")
_AFTER_KEYWORD = re.compile(r"\b(?:struct|class|union|enum|using|typedef)\s+([A-Za-z_]\w*)")
_DECLARED = re.compile(r"([A-Za-z_]\w*)\s*(?=,)")
_SPECIAL = re.compile(r"\s*template\s*<\s*>")
_PARTLY_SPECIAL = re.compile(r"\s*template\s*<")
_TEMPLATE = re.compile(r"(?<!std::)\b(?!template\b)([A-Za-z_]\w*)\s*(?=<)")
_BASES = re.compile(r"(?<!:):(?!:)")
_MACRO_CALL = re.compile(r"\b[A-Z_][A-Z0-9_]{2,}\s*\(")


def _defined(code: str, chunk: Chunk) -> set[str]:
    """The names that a piece may define, and few others: a name in front of a parenthesis, an
    initialiser or a body; enumerators; what stands behind a body (``typedef enum {...} Name;``).
    A piece that looks like a macro call may define whatever it names."""
    head = code[chunk.start : chunk.brace]
    if _MACRO_CALL.search(head):
        return set(_NAME.findall(head))
    if chunk.brace < chunk.end and "(" not in head and _TYPE_HEAD.search(head):
        head = _BASES.split(head, maxsplit=1)[0]  # what a class is derived from it does not define
    names = set(_DEFINED.findall(head)) | set(_AFTER_KEYWORD.findall(head))
    if _SPECIAL.match(head):
        names.update(_TEMPLATE.findall(head))
    elif _PARTLY_SPECIAL.match(head):  # it may be a variable for some arguments
        names.update(_TEMPLATE.findall(head.partition("=")[0]))
    if "(" not in head:
        names.update(_DECLARED.findall(head))
    if chunk.brace < chunk.end:
        if re.search(r"\benum\b", head):
            names.update(_NAME.findall(code, chunk.brace, chunk.end))
        elif _TYPE_HEAD.search(head):
            behind = max(code.rfind("}", chunk.brace, chunk.end), chunk.brace)
            names.update(_NAME.findall(code, behind, chunk.end))
            if "enum" in code[chunk.brace : chunk.end]:
                names.update(_NAME.findall(code, chunk.brace, chunk.end))
    return names

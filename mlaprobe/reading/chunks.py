"""Top-level pieces of a C++ file, found without parsing it.

A piece is one declaration or definition at file or namespace scope. Finding pieces by their
braces is enough to hand the right one to the parser, and quick.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

_MARK = re.compile(
    r'R"(?P<d>[^()\\\s"]{0,16})\(.*?\)(?P=d)"|"(?:[^"\\\n]|\\.)*"'
    r"|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'|[{};]",
    re.DOTALL,
)
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
    start, depth, brace = 0, 0, -1
    for match in _MARK.finditer(code):
        mark = match.group()
        at = match.start()
        if mark == "{":
            if depth == 0 and brace < 0 and _TRANSPARENT.match(code[start:at]):
                found = _NAMESPACE.search(code[start:at])
                spaces.append(found.group(1) if found else "")
                start = at + 1
                continue
            depth += 1
            if brace < 0:
                brace = at
        elif mark == "}":
            if depth == 0:
                if spaces:
                    spaces.pop()
                start, brace = at + 1, -1
                continue
            depth -= 1
            if depth == 0 and _is_body(code, start, brace):
                add(start, at + 1, brace)
                start, brace = at + 1, -1
        elif mark == ";" and depth == 0:
            add(start, at + 1, brace if brace >= 0 else at)
            start, brace = at + 1, -1
    if code[start:].strip():
        add(start, len(code), brace if brace >= 0 else len(code))
    return chunks


def _is_body(code: str, start: int, brace: int) -> bool:
    """Whether the brace opened a function's body: what stands before it ends like a function."""
    head = code[start:brace].rstrip()
    if head.endswith(")"):
        return True
    tail = head[head.rfind(")") + 1 :] if ")" in head else ""
    return bool(tail) and "=" not in tail and not _TYPE_HEAD.search(head[: head.find("(")])


class ChunkIndex:
    """The pieces of one file by position."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.chunks = split(code)
        self._starts = [c.start for c in self.chunks]
        self._names: dict[str, list[Chunk]] | None = None

    def at(self, offset: int) -> Chunk | None:
        """The piece that a position is in."""
        found = bisect_right(self._starts, offset) - 1
        if found < 0:
            return None
        chunk = self.chunks[found]
        return chunk if offset < chunk.end else None

    def mentioning(self, name: str) -> list[Chunk]:
        """Pieces that may define a name."""
        if self._names is None:
            self._names = {}
            for chunk in self.chunks:
                for found in _defined(self.code, chunk):
                    self._names.setdefault(found, []).append(chunk)
        return self._names.get(name, [])


_NAME = re.compile(r"[A-Za-z_]\w*")
_DEFINED = re.compile(r"([A-Za-z_]\w*)\s*(?=[(=;\[{]|:(?!:)|\Z)")
_AFTER_KEYWORD = re.compile(r"\b(?:struct|class|union|enum|using|typedef)\s+([A-Za-z_]\w*)")
_DECLARED = re.compile(r"([A-Za-z_]\w*)\s*(?=,)")
_MACRO_CALL = re.compile(r"\b[A-Z_][A-Z0-9_]{2,}\s*\(")


def _defined(code: str, chunk: Chunk) -> set[str]:
    """The names that a piece may define, and few others: a name in front of a parenthesis, an
    initialiser or a body; enumerators; what stands behind a body (``typedef enum {...} Name;``).
    A piece that looks like a macro call may define whatever it names."""
    head = code[chunk.start : chunk.brace]
    if _MACRO_CALL.search(head):
        return set(_NAME.findall(head))
    names = set(_DEFINED.findall(head)) | set(_AFTER_KEYWORD.findall(head))
    if "(" not in head:
        names.update(_DECLARED.findall(head))
    if chunk.brace < chunk.end:
        if re.search(r"\benum\b", head):
            names.update(_NAME.findall(code, chunk.brace, chunk.end))
        elif _TYPE_HEAD.search(head):
            names.update(_NAME.findall(code, code.rfind("}", chunk.brace, chunk.end), chunk.end))
            if "enum" in code[chunk.brace : chunk.end]:
                names.update(_NAME.findall(code, chunk.brace, chunk.end))
    return names

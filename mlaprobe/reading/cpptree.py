"""Expanded C++ text as a syntax tree whose nodes know where they stand in the source."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mlaprobe.reading.cpptokens import Token
from mlaprobe.reading.ir import Span

if TYPE_CHECKING:
    from collections.abc import Callable


@lru_cache(maxsize=1)
def _parser() -> Any:
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))


_OPENS = {"(", ",", "=", "+", "-", "*", "/", "%", "<", "<=", ">=", "==", "!=", "&&", "||", "!", "&"}
_OPENS |= {"|", "^", "?", ":", ";", "{", "}", "return", "case"}
_OPENS |= {"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="}
_MISLEADING = frozenset(("-", "+", "*", "&", "&&"))


def without_idle_parentheses(tokens: list[Token], is_type: Callable[[str], bool]) -> list[Token]:
    """``(name) - x`` as ``name - x``: the parser would take it for a cast. Macros write so."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        end = _lone_name(tokens, at) if tokens[at].text == "(" else 0
        opens = not out or out[-1].text in _OPENS
        if end and opens and tokens[end + 1].text in _MISLEADING:
            name = "".join(t.text for t in tokens[at + 1 : end])
            if not is_type(name):
                out.extend(t._replace(spaced=True) for t in tokens[at + 1 : at + 2])
                out.extend(tokens[at + 2 : end])
                at = end + 1
                continue
        out.append(tokens[at])
        at += 1
    return out


def _lone_name(tokens: list[Token], at: int) -> int:
    """Where the parenthesis at a place closes, if it holds a name and something follows; else 0."""
    end = at + 1
    while end + 1 < len(tokens) and tokens[end].kind == "name" and tokens[end + 1].text == "::":
        end += 2
    holds = end + 2 < len(tokens) and tokens[end].kind == "name" and tokens[end + 1].text == ")"
    return end + 1 if holds else 0


def _joined(tokens: list[Token]) -> tuple[bytes, list[int]]:
    """The text of tokens, and where each starts in it. Two that stood side by side still do:
    ``[[`` is one thing, ``[ [`` is not."""
    parts: list[bytes] = []
    starts: list[int] = []
    at = 0
    file, end = "", 0
    for token in tokens:
        text = token.text.encode("utf-8", "replace")
        if starts and (token.spaced or token.offset != end or token.file != file):
            parts.append(b" ")
            at += 1
        starts.append(at)
        parts.append(text)
        at += len(text)
        file, end = token.file, token.offset + len(token.text)
    return b"".join(parts), starts


class Tree:
    """The parsed text of some tokens."""

    def __init__(self, tokens: list[Token], line_column: Callable[[str, int], tuple[int, int]]):
        self._tokens = tokens
        self._place = line_column
        self.text, self._starts = _joined(tokens)
        self.root = _parser().parse(self.text).root_node
        self._ids = array("Q", map(id, tokens))
        counts = Counter(self._ids)
        self._repeated = {each for each, count in counts.items() if count > 1}

    def repeated(self, node: Any) -> bytes | None:
        """What a node is made of, as something to compare, where the same tokens may stand
        elsewhere in the text as well: macros do that."""
        first = bisect_right(self._starts, node.start_byte) - 1
        if not 0 <= first < len(self._ids) or self._ids[first] not in self._repeated:
            return None
        return self._ids[first : bisect_left(self._starts, node.end_byte)].tobytes() or None

    def span(self, node: Any) -> Span:
        """Where a node stands in the source."""
        first = self._token(node.start_byte)
        last = self._token(max(node.start_byte, node.end_byte - 1))
        if first is None or last is None:
            return Span("", 0, 0, 0, 0)
        line, column = self._place(first.file, first.offset)
        end_line, end_column = line, column + len(first.text)
        if last.file == first.file and last.offset >= first.offset:
            end_line, end_column = self._place(last.file, last.offset + len(last.text))
        return Span(first.file, line, column, end_line, end_column)

    def _token(self, offset: int) -> Token | None:
        at = bisect_right(self._starts, offset) - 1
        return self._tokens[at] if 0 <= at < len(self._tokens) else None

    def source(self, node: Any) -> str:
        """A node's text."""
        return self.text[node.start_byte : node.end_byte].decode("utf-8", "replace").strip()

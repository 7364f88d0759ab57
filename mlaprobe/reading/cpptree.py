"""Expanded C++ text as a syntax tree whose nodes know where they stand in the source."""

from __future__ import annotations

from bisect import bisect_right
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


def _adjacent(first: Token, second: Token) -> bool:
    """Whether two tokens stood side by side: ``[[`` is one thing, ``[ [`` is not."""
    return (
        not second.spaced
        and first.file == second.file
        and first.offset + len(first.text) == second.offset
    )


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


class Tree:
    """The parsed text of some tokens."""

    def __init__(self, tokens: list[Token], line_column: Callable[[str, int], tuple[int, int]]):
        parts: list[bytes] = []
        self._starts: list[int] = []
        self._tokens = tokens
        self._place = line_column
        at = 0
        previous: Token | None = None
        for token in tokens:
            text = token.text.encode("utf-8", "replace")
            if previous is not None and not _adjacent(previous, token):
                parts.append(b" ")
                at += 1
            self._starts.append(at)
            previous = token
            parts.append(text)
            at += len(text)
        self.text = b"".join(parts)
        self.root = _parser().parse(self.text).root_node

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

"""Expanded C++ text as a syntax tree whose nodes know where they stand in the source."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

from mlaprobe.core.keeping import Once
from mlaprobe.evaluator.cpp.tokens import Token
from mlaprobe.evaluator.ir import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Language, Parser


@Once
def _language() -> Language:
    """The grammar; tree-sitter is loaded where there is something to parse."""
    import tree_sitter_cuda
    from tree_sitter import Language

    return Language(tree_sitter_cuda.language())


def _parser() -> Parser:
    """A parser of one's own: one that is parsing must not be given another text."""
    from tree_sitter import Parser

    return Parser(_language())


Syntax: TypeAlias = Any
"""A node of the parser's tree (``tree_sitter.Node``)."""


def field(node: Syntax, name: str) -> Syntax:
    """The child of a node that has a role in it; ``None`` where there is none."""
    return node.child_by_field_name(name)


def named(node: Syntax) -> list[Syntax]:
    """The named children of a node, comments left out."""
    return [child for child in node.named_children if child.type != "comment"]


_OPENS = {"(", ",", "=", "+", "-", "*", "/", "%", "<", "<=", ">=", "==", "!=", "&&", "||", "!", "&"}
_OPENS |= {"|", "^", "?", ":", ";", "{", "}", "return", "case"}
_OPENS |= {"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="}
_MISLEADING = frozenset(("-", "+", "*", "&", "&&"))


def without_idle_parentheses(tokens: list[Token], is_type: Callable[[str], bool]) -> list[Token]:
    """``(name) - x`` as ``name - x``: the parser would take it for a cast. Macros write so."""
    out: list[Token] = []
    done = 0
    for at in [at for at, token in enumerate(tokens) if token.text == "("]:
        end = _lone_name(tokens, at)
        if not end or tokens[end + 1].text not in _MISLEADING:
            continue
        before = tokens[at - 1] if at > done else out[-1] if out else None
        if before is not None and before.text not in _OPENS:
            continue
        name = "".join(t.text for t in tokens[at + 1 : end])
        if not is_type(name):
            out += tokens[done:at]
            out.append(tokens[at + 1]._replace(spaced=True))
            out += tokens[at + 2 : end]
            done = end + 1
    return out + tokens[done:]


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
    parts: list[str] = []
    starts: list[int] = []
    at = end = 0
    last = ""
    for _, text, file, offset, _, spaced in tokens:
        if (spaced or offset != end or file != last) and parts:
            parts.append(" ")
            at += 1
        parts.append(text)
        starts.append(at)
        length = len(text)
        end = offset + length
        at += length if text.isascii() else len(text.encode("utf-8", "replace"))
        last = file
    return "".join(parts).encode("utf-8", "replace"), starts


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

    def repeated(self, node: Syntax) -> bytes | None:
        """What a node is made of, as something to compare, where the same tokens may stand
        elsewhere in the text as well: macros do that."""
        first = bisect_right(self._starts, node.start_byte) - 1
        if not 0 <= first < len(self._ids) or self._ids[first] not in self._repeated:
            return None
        return self._ids[first : bisect_left(self._starts, node.end_byte)].tobytes() or None

    def span(self, node: Syntax) -> Span:
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

    def source(self, node: Syntax) -> str:
        """A node's text."""
        return self._between(node.start_byte, node.end_byte).strip()

    def head(self, node: Syntax, child: Syntax | None) -> str:
        """The text of a node in front of one of its children; without one, all of it."""
        return self._between(node.start_byte, node.end_byte if child is None else child.start_byte)

    def _between(self, start: int, end: int) -> str:
        return self.text[start:end].decode("utf-8", "replace")


def find_declarator(node: Syntax) -> Syntax:
    """The function declarator at or below a declarator; ``None`` where there is none."""
    while node is not None and node.type != "function_declarator":
        node = field(node, "declarator") or next(
            (c for c in node.named_children if c.type.endswith("declarator")), None
        )
    return node


_NAMES = ("identifier", "field_identifier", "qualified_identifier")


def name_of(node: Syntax, tree: Tree) -> tuple[str, bool, bool]:
    """(name, is a reference, is a pointer) of a declarator."""
    ref = pointer = False
    while node is not None:
        if node.type in ("reference_declarator", "abstract_reference_declarator"):
            ref = True
        elif node.type in (
            "pointer_declarator",
            "abstract_pointer_declarator",
            "array_declarator",
            "abstract_array_declarator",
        ):
            pointer = True
        elif node.type in ("identifier", "field_identifier", "type_identifier"):
            return tree.source(node), ref, pointer
        elif node.type == "qualified_identifier":
            return "".join(tree.source(node).split()), ref, pointer
        inner = field(node, "declarator")
        if inner is None:
            inner = next(
                (
                    c
                    for c in node.named_children
                    if c.type.endswith("declarator") or c.type in _NAMES
                ),
                None,
            )
        node = inner
    return "", ref, pointer

"""A CSV file as records that know their line, read the way AITER's generator and pandas read it.

The facts are from ``hsa/codegen.py`` of every AITER release from v0.1.10.post1 to v0.1.20.post1
and from pandas 2.3 and 3.1, whose ``read_csv`` it calls with default settings. Where those would
raise, shift columns or depend on something that cannot be seen here, the file is unreadable.
"""

from __future__ import annotations

import ast
import csv
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_MARKERS = frozenset({"/*", "*/", "//", "#", ";"})
_STRAY = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffd\ud800-\udfff]")
"""What Python splits lines at and pandas does not, other controls, and what bad bytes became."""
_COMMENT = re.compile(r'"|:?//|#|(?<=[ \t]);')


class UnreadableError(Exception):
    """AITER's generator fails on the file, or reads it in a way that cannot be followed."""

    def __init__(self, message: str, line: int | None = None, text: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.text = text


@dataclass(frozen=True, slots=True)
class CommentRule:
    """Whether a generator drops comments from the tables before it reads them."""

    strip: bool
    note: str | None = None
    """Why that is an assumption; ``None`` where the generator's text shows it."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a CSV file."""

    line: int
    """1-based line in the file on which the record starts."""
    text: str
    """That line as it stands in the file."""
    cells: tuple[str, ...]


def comment_rule(codegen_text: str | None) -> CommentRule:
    """Whether a generator drops comments, from its own text (``hsa/codegen.py``).

    Up to v0.1.11 the file's path goes straight to ``read_csv``; from v0.1.12 on the text passes
    through functions that look for comment markers. A generator that shows neither, or is absent
    (``None``), is taken to drop comments, with a note. Never raises.
    """
    if codegen_text is None:
        return CommentRule(True, "the source has no table generator: comments taken as dropped")
    try:
        nodes = list(_reachable(ast.parse(codegen_text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return CommentRule(True, "the table generator does not parse: comments taken as dropped")
    constants = {n.value for n in nodes if isinstance(n, ast.Constant) and type(n.value) is str}
    if constants >= _MARKERS:
        return CommentRule(True)
    reads = [n for n in nodes if isinstance(n, ast.Call) and _name(n.func) == "read_csv"]
    # ";" alone means nothing: every generator also splits the list of archs there
    plain = not (constants & _MARKERS - {";"}) and not any(_name(n) == "StringIO" for n in nodes)
    if reads and plain and all(not call.keywords and len(call.args) == 1 for call in reads):
        return CommentRule(False)
    return CommentRule(True, "the table generator reads in a new way: comments taken as dropped")


def _name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _reachable(module: ast.Module) -> Iterator[ast.AST]:
    """The nodes of a module that run, docstrings left out: a function that is never named does
    not."""
    bodies: dict[str, list[ast.stmt]] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            bodies.setdefault(node.name, []).extend(node.body)
    todo: list[ast.AST] = [*module.body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        yield node
        todo.extend(bodies.pop(_name(node) or "", ()))
        todo.extend(ast.iter_child_nodes(node))


def records(text: str | bytes, *, strip_comments: bool) -> list[Record]:
    """The records of a table, its header first.

    Raises:
        UnreadableError: not UTF-8, stray control characters, unbalanced quotes, or nothing in it.
    """
    text = _decoded(text)
    originals = text.split("\n")
    lines = list(_without_comments(text) if strip_comments else enumerate(originals, 1))
    # pandas skips lines that hold nothing but blanks, before the header too
    lines = [(number, line) for number, line in lines if line.strip(" \t")]
    if not lines:
        raise UnreadableError("the table is empty")
    reader = csv.reader((line + "\n" for _, line in lines), strict=True)
    found: list[Record] = []
    at = 0
    try:
        for cells in reader:
            number = lines[at][0]
            found.append(Record(number, originals[number - 1], tuple(cells)))
            at = reader.line_num
    except csv.Error as error:
        number = lines[min(at, len(lines) - 1)][0]
        raise UnreadableError(str(error), number, originals[number - 1]) from None
    return found


def _decoded(text: str | bytes) -> str:
    """Text without byte order mark, all line ends as ``\\n``."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError:
            raise UnreadableError("the table is not UTF-8") from None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    stray = _STRAY.search(text)
    if stray is not None:
        raise UnreadableError(
            f"the table holds the stray character U+{ord(stray[0]):04X}",
            text.count("\n", 0, stray.start()) + 1,
        )
    return text


def _without_comments(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are left without comments, each with its line number in the file."""
    stripped, cuts = _without_blocks(text)
    if not cuts:
        numbered = list(enumerate(stripped.split("\n"), 1))
    else:
        numbered = []
        starts = [start for start, _ in cuts]
        at = 0
        newlines = [match.start() for match in re.finditer("\n", text)]
        for line in stripped.split("\n"):
            cut = bisect_right(starts, at) - 1
            # a cut holds how much further on the file is than the stripped text
            original = at + (cuts[cut][1] if cut >= 0 else 0)
            numbered.append((bisect_right(newlines, original - 1) + 1, line))
            at += len(line) + 1
    for number, line in numbered:
        if not line.lstrip().startswith(("//", "#", ";")):
            yield number, _without_tail(line)


def _without_blocks(text: str) -> tuple[str, list[tuple[int, int]]]:
    """``text`` without ``/* */``, and where it was cut.

    An open comment runs to the end of the file. Quotes do not protect. What stands before and
    after a comment may form a new opening mark, as it does for AITER. In one pass: cutting a
    copy for every comment would cost the square of the size.
    """
    kept: list[str] = []
    cuts: list[tuple[int, int]] = []
    size = at = 0
    while (start := text.find("/*", at)) >= 0:
        if start > at:
            kept.append(text[at:start])
            size += start - at
        at = _after_block(text, start + 2)
        while text.startswith("*", at) and kept and kept[-1].endswith("/"):
            kept[-1] = kept[-1][:-1]
            size -= 1
            if not kept[-1]:
                kept.pop()
            at = _after_block(text, at + 1)
        while cuts and cuts[-1][0] > size:
            cuts.pop()
        cuts.append((size, at - size))
    kept.append(text[at:])
    return "".join(kept), cuts


def _after_block(text: str, opening: int) -> int:
    end = text.find("*/", opening)
    return len(text) if end < 0 else end + 2


def _without_tail(line: str) -> str:
    """A line up to the first comment mark outside quotes; ``//`` after a colon is none."""
    quoted = False
    for match in _COMMENT.finditer(line):
        if match[0] == '"':
            quoted = not quoted
        elif not quoted and match[0] != "://":
            return line[: match.start()].rstrip()
    return line

"""The blocks of a how-to page that change an engine's file, and the files with these changes.

The first lines of a block are its place: a file, and ``instead of NAME, NAME``, ``before NAME``,
``class NAME keeps NAME``, ``first in CLASS.METHOD`` or ``in CLASS.METHOD before NAME`` (or
``behind``). A name is one that a module defines, or, in a method, one that a single statement
assigns.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import documents

_HEAD = re.compile(r"# (?P<file>[\w/]+\.py), (?P<place>.*(?:\n#   .*)*)\n")
_MODULE = re.compile(r"(?P<how>instead of|before) (?P<names>[\w, ]+)")
_CLASS = re.compile(r"class (?P<name>\w+) keeps (?P<kept>\w+)")
_FIRST = re.compile(r"first in (?P<cls>\w+)\.(?P<method>\w+)")
_METHOD = re.compile(r"in (?P<cls>\w+)\.(?P<method>\w+) (?P<how>before|behind) (?P<name>[\w.]+)")


@dataclass(frozen=True, slots=True)
class Edit:
    """One block."""

    file: str
    place: str
    code: str


def edits(page: Path) -> dict[str, list[Edit]]:
    """The blocks of a page, by the file that they change."""
    found: dict[str, list[Edit]] = {}
    for block in documents.blocks(page, "python"):
        head = _HEAD.match(block)
        if head is not None:
            place = " ".join(re.sub(r"\n#", " ", head["place"]).split())
            edit = Edit(head["file"], place, block[head.end() :])
            found.setdefault(edit.file, []).append(edit)
    return found


def changed(text: str, wanted: Sequence[Edit]) -> str:
    """A file with changes, one after the other."""
    for edit in wanted:
        text = _applied(text, edit)
    return text


def _applied(text: str, edit: Edit) -> str:
    lines, module = text.splitlines(keepends=True), ast.parse(text)
    for pattern, apply in (
        (_MODULE, _in_module),
        (_CLASS, _in_class),
        (_FIRST, _at_first),
        (_METHOD, _in_method),
    ):
        match = pattern.fullmatch(edit.place)
        if match is not None:
            return "".join(apply(lines, module, match, edit.code))
    raise ValueError(f"{edit.place!r} is no place")


def _in_module(lines: list[str], module: ast.Module, match: re.Match[str], code: str) -> list[str]:
    """Puts code where the first of some names is defined, before it or instead of all."""
    nodes = [_defined(module, name.strip()) for name in match["names"].split(",")]
    at = min(_start(node) for node in nodes)
    gone: set[int] = set()
    if match["how"] == "instead of":
        gone = {n for node in nodes for n in range(_start(node), node.end_lineno or 0)}
    new = [line for n, line in enumerate(lines) if n not in gone and n >= at]
    return [*(line for n, line in enumerate(lines) if n < at), code, *new]


def _in_class(lines: list[str], module: ast.Module, match: re.Match[str], code: str) -> list[str]:
    """Gives a class another head, and takes all but one of its members from it."""
    node = _defined(module, match["name"])
    assert isinstance(node, ast.ClassDef)
    kept = next(
        each
        for each in node.body
        if isinstance(each, ast.FunctionDef) and each.name == match["kept"]
    )
    body = lines[_start(kept) : kept.end_lineno]
    return [*lines[: _start(node)], code, *body, *lines[node.end_lineno :]]


def _at_first(lines: list[str], module: ast.Module, match: re.Match[str], code: str) -> list[str]:
    """Puts code at the beginning of a method, behind its docstring."""
    method = _method(module, match)
    first = method.body[0 if ast.get_docstring(method) is None else 1]
    return _put(lines, first.lineno - 1, first.col_offset, code)


def _in_method(lines: list[str], module: ast.Module, match: re.Match[str], code: str) -> list[str]:
    """Puts code before or behind the one statement of a method that assigns a name."""
    (node,) = (n for n in ast.walk(_method(module, match)) if match["name"] in _assigned(n))
    assert isinstance(node, ast.stmt)
    at = node.lineno - 1 if match["how"] == "before" else node.end_lineno or 0
    return _put(lines, at, node.col_offset, code)


def _put(lines: list[str], at: int, indent: int, code: str) -> list[str]:
    return [*lines[:at], textwrap.indent(code, " " * indent), *lines[at:]]


def _defined(module: ast.Module, name: str) -> ast.stmt:
    """The one statement of a module that defines a name."""
    (node,) = (each for each in module.body if name in (_bound(each), *_assigned(each)))
    return node


def _method(module: ast.Module, match: re.Match[str]) -> ast.FunctionDef:
    (node,) = (
        each
        for cls in module.body
        if _bound(cls) == match["cls"] and isinstance(cls, ast.ClassDef)
        for each in cls.body
        if isinstance(each, ast.FunctionDef) and each.name == match["method"]
    )
    return node


def _bound(node: ast.stmt) -> str:
    return node.name if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else ""


def _assigned(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from map(ast.unparse, targets)


def _start(node: ast.stmt) -> int:
    """The index of its first line, decorators included."""
    if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.lineno - 1
    return min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1

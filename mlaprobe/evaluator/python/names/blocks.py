"""Blocks of a module that read what they write: statements of one ``if``, ``try`` or ``with`` of
which a later one uses what an earlier one binds or changes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from mlaprobe.evaluator.python.names.touched import FUNCTIONS, names_of

DEFINING = (*FUNCTIONS, ast.ClassDef)


def rereads(node: ast.stmt) -> bool:
    """Whether a part of a statement reads what a part before it has written."""
    return _statement(node, set())


def defines(node: ast.stmt) -> bool:
    """Whether functions or classes are made in it, or names bound that its text does not tell."""
    inside = ast.walk(node)
    return any(isinstance(n, DEFINING) or getattr(n, "name", "") == "*" for n in inside)


def _statement(node: ast.stmt, written: set[str]) -> bool:
    """The same, behind statements that have written names; adds what it writes."""
    if isinstance(node, ast.If):
        return _read([node.test], written) or _sides([node.body, node.orelse], written)
    if isinstance(node, ast.Try):
        if _all(node.body, written):
            return True
        sides = [*(handler.body for handler in node.handlers), node.orelse]
        return _sides(sides, written) or _all(node.finalbody, written)
    if isinstance(node, ast.With):
        return _read(node.items, written) or _all(node.body, written)
    if _read([node], written):
        return True
    names = names_of(node)
    written |= names.bound | names.changed | names.called
    return False


def _all(nodes: Sequence[ast.stmt], written: set[str]) -> bool:
    return any(_statement(node, written) for node in nodes)


def _sides(sides: Iterable[Sequence[ast.stmt]], written: set[str]) -> bool:
    """Of statements of which one list or another is run."""
    after = set(written)
    for side in sides:
        own = set(written)
        if _all(side, own):
            return True
        after |= own
    written |= after
    return False


def _read(nodes: Iterable[ast.AST], written: set[str]) -> bool:
    """Whether code reads names when it is reached; what functions read is read when they run."""
    return not written.isdisjoint(_loaded(nodes)) if written else False


def _loaded(nodes: Iterable[ast.AST]) -> Iterator[str]:
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        if isinstance(node, FUNCTIONS):
            arguments = node.args
            todo += [*node.decorator_list, *arguments.defaults]
            todo += [default for default in arguments.kw_defaults if default is not None]
        elif not isinstance(node, ast.Lambda):
            todo += ast.iter_child_nodes(node)

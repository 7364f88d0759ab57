"""Attributes of classes that functions of a module write or change in place, by their names."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from mlaprobe.evaluator.python.place import root_name

MUTATORS = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove"}
MUTATORS |= {"reverse", "setdefault", "sort", "update", "appendleft", "register"}


def written_attributes(functions: Iterable[ast.AST], *, of_self: bool) -> Iterator[str]:
    """Attributes that functions assign, of what is no object of the class. ``of_self``: ``self``
    may be a class, too."""
    for node in (n for function in functions for n in ast.walk(function)):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            if of_self or root_name(node) != "self" or isinstance(node.value, ast.Attribute):
                yield node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("setattr", "delattr"):
            name = node.args[1] if len(node.args) > 1 else None
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield name.value


def changed_attributes(functions: Iterable[ast.AST]) -> Iterator[str]:
    """Attributes whose values functions change in place, of whatever object."""
    for function in functions:
        nodes = list(ast.walk(function))
        given = [n for n in nodes if isinstance(n, ast.Assign) and isinstance(n.value, _PARTS)]
        for node in nodes:
            changed = _changed(node)
            yield from _attributes(changed)
            name = root_name(changed) if changed is not None else None
            for other in given if name is not None else ():
                if any(isinstance(t, ast.Name) and t.id == name for t in other.targets):
                    yield from _attributes(other.value)


_PARTS = (ast.Attribute, ast.Subscript)


def _changed(node: ast.AST) -> ast.AST | None:
    """What a piece of code changes in place."""
    if isinstance(node, ast.AugAssign):
        return node.target
    if isinstance(node, _PARTS) and not isinstance(node.ctx, ast.Load):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr in MUTATORS else None
    return None


def _attributes(node: ast.AST | None) -> Iterator[str]:
    while isinstance(node, _PARTS):
        if isinstance(node, ast.Attribute):
            yield node.attr
        node = node.value

"""Names of a module that another module of the source sets when it is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.python.names.touched import flat
from mlaprobe.evaluator.python.place import dotted_name

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.module import PyModule
    from mlaprobe.evaluator.python.project import PyProject

ANY = "*"
"""Stands for names that the text does not tell."""


def patches_of(project: PyProject) -> dict[tuple[str, str], Span]:
    """Where the root packages, and the modules that they import as modules, set names of others:
    by the module and the name."""
    found: dict[tuple[str, str], Span] = {}
    for root in filter(None, map(project.module, project.roots)):
        for module in (root, *_imported(project, root)):
            for other, name, node in _set_in(project, module):
                found.setdefault((other, name), module.place.span(node))
    return found


def _imported(project: PyProject, root: PyModule) -> Iterator[PyModule]:
    """The modules that a package imports as such."""
    for node in root.index.unguarded_imports():
        source = ""
        if isinstance(node, ast.ImportFrom):
            source = root.place.absolute(node.module, node.level) + "."
        for alias in node.names if source in ("", f"{root.dotted}.") else ():
            module = project.module(f"{source}{alias.name}") if alias.name != "*" else None
            if module is not None and module is not root:
                yield module


def _set_in(project: PyProject, module: PyModule) -> Iterator[tuple[str, str, ast.stmt]]:
    """The names of other modules that a module sets: the module, the name, the statement."""
    for node in flat(module.index.body):
        parts = ast.walk(node) if not isinstance(node, ast.ClassDef) else ()
        for part in parts:
            owner, name = _target(part)
            dotted = None if owner is None else _module(project, module, owner)
            if dotted is not None:
                yield dotted, name, node


def _target(node: ast.AST) -> tuple[ast.expr | None, str]:
    """Of what a piece of code sets an attribute, and which."""
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        return node.value, node.attr
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        inside = node.value
        if isinstance(inside, ast.Attribute) and inside.attr == "__dict__":
            return inside.value, ANY
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("setattr", "delattr"):
        name = node.args[1] if len(node.args) > 1 else None
        text = name.value if isinstance(name, ast.Constant) else None
        return (node.args[0] if node.args else None), text if isinstance(text, str) else ANY
    return None, ""


def _module(project: PyProject, module: PyModule, owner: ast.expr) -> str | None:
    """The module of the source that an expression names."""
    name = dotted_name(owner)
    if name is None or name.split(".")[0] not in module.index.aliases:
        return None
    dotted = module.index.canonical(owner)
    return dotted if dotted != module.dotted and project.module(dotted) is not None else None

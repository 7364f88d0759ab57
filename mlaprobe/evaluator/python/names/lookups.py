"""By which names the code of a module gets modules by the texts of theirs: ``sys.modules``,
``import_module``, ``__import__``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

IMPORTERS = ("import_module", "__import__")
"""Functions that give the module of a name."""


class Lookups:
    """Those of one module."""

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        parts = list(nodes)
        self._systems = {"sys", *_imported_as(parts, None, "sys")}
        self.lists = frozenset(_imported_as(parts, "sys", "modules"))
        """Other names of ``sys.modules``."""
        named = (
            target.id
            for node in parts
            if isinstance(node, ast.Assign) and last_part(node.value) in IMPORTERS
            for target in node.targets
            if isinstance(target, ast.Name)
        )
        imported = _imported_as(parts, "importlib", "import_module")
        self.importers = frozenset((*IMPORTERS, *imported, *named))
        """The names of functions that give modules."""

    def is_list(self, node: ast.AST | None) -> bool:
        """Whether an expression is ``sys.modules``."""
        if isinstance(node, ast.Name):
            return node.id in self.lists and isinstance(node.ctx, ast.Load)
        if not isinstance(node, ast.Attribute) or node.attr != "modules":
            return False
        imported = isinstance(node.value, ast.Call) and last_part(node.value.func) == "__import__"
        return imported or last_part(node.value) in self._systems


def is_handed_on(node: ast.AST, parent: ast.AST | None) -> bool:
    """Whether a function that gives modules goes where it is not followed."""
    if last_part(node) not in IMPORTERS:
        return False
    called = isinstance(parent, ast.Call) and parent.func is node
    targets = parent.targets if isinstance(parent, ast.Assign) else [node]
    return not (called or (targets != [node] and all(isinstance(t, ast.Name) for t in targets)))


def _imported_as(nodes: Iterable[ast.AST], module: str | None, name: str) -> Iterator[str]:
    """The names under which something of a module, or a module, is imported."""
    for node in nodes:
        of = isinstance(node, ast.ImportFrom) and module is not None and node.module == module
        if of or (module is None and isinstance(node, ast.Import)):
            assert isinstance(node, (ast.Import, ast.ImportFrom))
            yield from (a.asname or a.name for a in node.names if a.name == name)


def last_part(node: ast.AST | None) -> str:
    """The last part of a name."""
    found = getattr(node, "attr", getattr(node, "id", ""))
    return found if isinstance(found, str) else ""

"""Whether a module can be imported: what its own imports need, read from the texts."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.module import PyModule
    from mlaprobe.evaluator.python.project import PyProject


def missing_import(project: PyProject, module: PyModule) -> str | None:
    """The package that an import of a module lacks, or ``None``.

    Only imports that certainly run count, and what the root packages import is taken as there.
    """
    lacking = (p for p in _walk(project, [module]) if p.split(".")[0] not in project.needed)
    return next(lacking, None)


def needed_by(project: PyProject, roots: Iterable[str]) -> frozenset[str]:
    """The packages outside the source that modules cannot do without."""
    start: list[PyModule] = []
    for root in filter(None, map(project.module, roots)):
        for node in root.index.unguarded_imports():
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                source = root.place.absolute(node.module, node.level)
                names = [source, *(f"{source}.{a.name}" for a in node.names)]
            start += filter(None, map(project.module, names))
    return frozenset(name.split(".")[0] for name in _walk(project, start))


def _walk(project: PyProject, start: list[PyModule]) -> Iterator[str]:
    """The imports that find nothing, of some modules and of all that they import."""
    seen = set(project.roots)
    todo = list(reversed(start))
    while todo:
        module = todo.pop()
        if module.dotted in seen:
            continue
        seen.add(module.dotted)
        parent = project.module(module.dotted.rpartition(".")[0])
        if parent is not None:
            todo.append(parent)
        for name in module.index.top_imports:
            found = project.locate(name, module)
            if isinstance(found, type(module)):
                todo.append(found)
            elif found is None and not _has_members(project, module, name):
                yield name


def _has_members(project: PyProject, module: PyModule, source: str) -> bool:
    """Whether ``from source import name`` takes modules out of a folder without a text."""
    return any(
        project.module(f"{source}.{alias.name}") is not None
        for node in module.index.body
        if isinstance(node, ast.ImportFrom)
        and module.place.absolute(node.module, node.level) == source
        for alias in node.names
    )

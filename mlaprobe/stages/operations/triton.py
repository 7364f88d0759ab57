"""What of Triton some kernels need: which of its parts their modules import.

No release of AITER says in its code which versions of Triton have what it imports; the parts tell.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mlaprobe.evaluator.python.module import PyModule
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.kernellaunch import Jitted

_PACKAGE = "triton"
_EVERYWHERE = ("triton", "triton.language", "triton.runtime", "triton.testing")
"""Parts that every Triton has."""
_GLUON = "gluon"


def written_in(kernels: Sequence[Jitted]) -> str:
    """The language of some kernels: ``gluon`` where one of them is, else ``triton``."""
    words = {word for kernel in kernels for name in kernel.made_by for word in name.split(".")}
    return _GLUON if _GLUON in words else _PACKAGE


class Needed:
    """The parts of Triton that a function and its kernels need."""

    def __init__(self, session: SourceSession, file: str) -> None:
        self._session = session
        self._file = file

    def notes(self, kernels: Sequence[Jitted]) -> Iterator[str]:
        """A text for each part that not every Triton has, with the first place that imports it."""
        files = dict.fromkeys((self._file, *(kernel.file for kernel in kernels)))
        found: dict[str, str] = {}
        for module in self._reached(list(files)):
            for part, line in _parts(module):
                found.setdefault(part, f"{module.path}:{line}")
        for part, place in sorted(found.items()):
            if any(part.startswith(f"{other}.") for other in found):
                continue
            yield f"needs a Triton with {part} ({place})"

    def _reached(self, files: list[str]) -> Iterator[PyModule]:
        """The modules that are imported with these files, outside of any ``try``."""
        project = self._session.python
        todo = [m for m in map(project.module, map(_dotted, files)) if m is not None]
        seen = set(project.roots)
        while todo:
            module = todo.pop(0)
            if module.dotted in seen:
                continue
            seen.add(module.dotted)
            yield module
            for node in module.index.unguarded_imports():
                todo += [m for n in _names(module, node) if (m := project.module(n)) is not None]


def _dotted(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def _names(module: PyModule, node: ast.Import | ast.ImportFrom) -> list[str]:
    """The dotted names of modules that an import may mean."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    source = module.place.absolute(node.module, node.level)
    return [source, *(f"{source}.{alias.name}" for alias in node.names)]


def _parts(module: PyModule) -> Iterator[tuple[str, int]]:
    """The parts of Triton that a module imports, with the line."""
    for node in module.index.unguarded_imports():
        for name in _names(module, node):
            outer = name.rpartition(".")[0]
            if name.split(".")[0] == _PACKAGE and not {name, outer} & set(_EVERYWHERE):
                yield name, node.lineno

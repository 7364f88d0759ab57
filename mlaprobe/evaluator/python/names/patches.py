"""Names of a module that another module of the source sets when it is imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.python.index import IMPORTS
from mlaprobe.evaluator.python.names.chain import Chain
from mlaprobe.evaluator.python.names.stores import ANY, CHANGES, COMPUTED, Stores, stored_names

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.module import PyModule
    from mlaprobe.evaluator.python.project import PyProject

_NAME = r"([A-Za-z_]\w*)"
_SET = (
    r"(?:\.[\w.]+[ \t]*(?:[-+*/|&^%@<>]*=(?!=)|[,:][^\n]*[^=!<>\n]=(?!=))"
    r"|[\w.]*[ \t]*\[(?![^\n\]]*\][ \t]*\()"  # no launch of a kernel: kernel[grid](...)
    rf"|\.[\w.]*\b(?:{'|'.join(sorted(CHANGES))})\("
    r"|[ \t]*(?:[-+*/|&^%@]|//|\*\*|<<|>>)=)"
)
_FIRST = tuple(
    re.compile(before + _NAME + behind, re.MULTILINE)
    for before, behind in (
        (r"^[ \t]*", _SET),
        (r"[;:][ \t]*", _SET),
        (r"for[ \t]+", r"(?:\.[\w.]+|[\w.]*[ \t]*\[)"),
        (r"as[ \t]+", r"(?:\.[\w.]+|[\w.]*[ \t]*\[)"),
    )
)
_LATER = re.compile(rf"[,=(][ \t]*{_NAME}\.[\w.]+[ \t]*\)?[ \t]*=(?!=)")
_ALIAS = re.compile(rf"^[ \t]*{_NAME}[ \t]*=[ \t]*{_NAME}(?:\.\w+)*[ \t]*$", re.MULTILINE)
_RARE = {
    "setattr(": re.compile(rf"\bsetattr\(\s*{_NAME}"),
    "delattr(": re.compile(rf"\bdelattr\(\s*{_NAME}"),
    "__setattr__(": re.compile(rf"{_NAME}(?:\.\w+)*\.__setattr__\("),
    "vars(": re.compile(rf"\bvars\(\s*{_NAME}"),
    "__dict__": re.compile(rf"{_NAME}(?:\.\w+)*\.__dict__"),
    "__globals__": re.compile(rf"{_NAME}(?:\.\w+)*\.__globals__"),
    "del ": re.compile(rf"\bdel[ \t]+{_NAME}\b"),
}
"""What a text has in it that may set a name of a module, and the name that it begins with."""
_FOUND = re.compile(
    r"\bmodules\[[^\n]*\][ \t]*(?:\.[\w.]+[ \t]*)?[-+*/|&^%@,=\[]"
    r"|\b(?:set|del|get)attr\(\s*[\w.]*(?:modules|import_module|__import__|getattr)\b"
    r"|\b(?:import_module|__import__|getattr)\([^\n]*\)\.[\w.]+[ \t]*(?:\[[^\n]*\][ \t]*)?"
    r"[-+*/|&^%@]?=(?!=)"
    r"|=[ \t]*[\w.]*(?:\bmodules\b|\bimport_module\b|\b__import__\b)"
)
"""Assignments to modules that no import names."""
_PROSE = re.compile(
    r"\"{3}(?:[^\"\\]|\\.|\"(?!\"\"))*\"{3}|'{3}(?:[^'\\]|\\.|'(?!''))*'{3}"
    r"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|#[^\n]*",
    re.DOTALL,
)
"""Texts and comments."""
_WORDS = ("modules", "import_module", "__import__", "getattr(")


class Patches:
    """What modules of the source set of others, as far as they have been imported."""

    def __init__(self, project: PyProject) -> None:
        self._project = project
        self._chain = Chain(project)
        self._found: dict[tuple[str, str], Span] = {}
        self._given: dict[str, list[tuple[PyModule, ast.stmt]]] = {}
        self._names: dict[str, frozenset[str]] = {}
        for root in project.roots:
            self._extend(root)

    def of(self, module: str, name: str) -> Span | None:
        """Where another module sets a name of a module."""
        if module not in self._chain.modules:
            self._extend(module)
        keys = ((module, name), (module, ANY), (ANY, name))
        found = next(filter(None, map(self._found.get, keys)), None)
        return found or next(self._by_given(module, name), None)

    def _extend(self, dotted: str) -> None:
        for module in self._chain.extend(dotted):
            if self._may_set(module):
                stores = Stores(self._chain, module)
                for other, name, node in stores:
                    self._found.setdefault((other, name), module.place.span(node))
                for other, node in stores.given():
                    self._given.setdefault(other, []).append((module, node))

    def _by_given(self, dotted: str, name: str) -> Iterator[Span]:
        """Where the module is given to other code, and code nearby sets such a name of anything."""
        for module, node in self._given.get(dotted, ()):
            if any(self._stores(other, name) for other in self._near(module)):
                yield module.place.span(node)

    def _near(self, module: PyModule) -> Iterator[PyModule]:
        """A module, those that it imports from and those that import it."""
        own = module.dotted
        for other in self._chain.modules.values():
            if other is module or own in self._chain.sources(other):
                yield other
        for source in self._chain.sources(module):
            yield self._chain.modules[source]

    def _stores(self, module: PyModule, name: str) -> bool:
        """Whether a module may set an attribute of that name of what is not known."""
        text = module.index.text
        if name not in text and not any(word in text for word in COMPUTED):
            return False
        found = self._names.get(module.dotted)
        if found is None:
            found = self._names[module.dotted] = stored_names(module)
        return name in found or ANY in found

    def _may_set(self, module: PyModule) -> bool:
        """Whether the text has an assignment to what may be another module's."""
        text = module.index.text
        if any(word in text for word in _WORDS) and _FOUND.search(text):
            return True
        bound = self._chain.bound(module)
        if not bound and not module.index.star_imports:
            return False
        names = {n for pattern in (*_FIRST, _LATER) for n in pattern.findall(text)}
        names.update(n for word, rare in _RARE.items() if word in text for n in rare.findall(text))
        if not names.isdisjoint(bound):
            return True
        same = _ALIAS.findall(text) if names else ()
        names.update(first for name, first in reversed(same) if name in names)
        starred = any(self._chain.of_star(module, name) for name in names - bound.keys())
        return starred or not names.isdisjoint(bound) or self._gives(text, bound)

    def _gives(self, text: str, bound: dict[str, set[str]]) -> bool:
        """Whether the text may give a module of the source to other code, or to another name."""
        modules = [name for name, meant in bound.items() if any(map(self._is_module, meant))]
        rest = _PROSE.sub(" ", IMPORTS.sub("", text)) if modules else ""
        return any(
            self._is_module(meant + path)
            for name in modules
            for path in re.findall(rf"(?<![\w.]){name}((?:\.\w+)*)[ \t]*(?![\w.( \t])", rest)
            for meant in bound[name]
        )

    def _is_module(self, dotted: str) -> bool:
        return any(not of for _, of in self._chain.owners(dotted))

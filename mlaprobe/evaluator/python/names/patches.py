"""Names of a module that another module of the source sets when it is imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from mlaprobe.core.elsewhere import SetElsewhere
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.python.index import IMPORTS
from mlaprobe.evaluator.python.names.sorts import READ, Sort
from mlaprobe.evaluator.python.names.stores import ANY, Stores, is_given, named_by, stored_names
from mlaprobe.evaluator.python.names.writing import (
    dotted_names,
    imports,
    is_word,
    joined,
    may_compute,
    may_store,
    may_write,
    other_name,
    written_names,
)

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.module import PyModule
    from mlaprobe.evaluator.python.project import PyProject

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
_GOT = re.compile(
    r"\bsys\s*\.\s*modules\b|\bsys\s+import\b[^\n#]*\bmodules\b|\bimport\s+sys\s+as\b|\bimport_module\b|\b__import__\b"
)
"""What gives modules by the texts of their names."""


class Patches:
    """What modules of the source set of others, as far as they have been imported.

    A module is only parsed where its text may set a name of a module that is asked about.
    """

    def __init__(self, project: PyProject) -> None:
        self._chain = project.chain
        self._scanned: set[str] = set()
        self._touched: dict[str, set[str]] = {}
        self._about: dict[str, int] = {}
        self._found: dict[tuple[str, str], Span] = {}
        self._given: dict[str, dict[PyModule, ast.stmt]] = {}
        self._nearby: dict[PyModule, list[PyModule]] = {}
        self._parsed: dict[str, Stores] = {}
        self._computes: dict[str, bool] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._scan()

    def of(self, module: str, name: str) -> Span | None:
        """Where another module sets a name of a module."""
        if module not in self._chain.modules:
            self._chain.extend(module)
        self._scan()
        if self._about.get(module) != len(self._chain.modules):
            self._about[module] = len(self._chain.modules)
            self._look(module)
        keys = ((module, name), (module, ANY), (ANY, name))
        found = next(filter(None, map(self._found.get, keys)), None)
        return found or next(self._by_given(module, name), None)

    def set_elsewhere(self) -> SetElsewhere:
        """What modules set of all modules, as far as they have been imported."""
        modules = dict(self._chain.modules)
        for dotted in modules:
            self.of(dotted, "")
        everywhere = self._set_of(ANY)
        own = {m.path: self._set_of(dotted) - everywhere for dotted, m in modules.items()}
        known = [path for path, names in own.items() if ANY not in everywhere | names]
        return SetElsewhere(
            modules=frozenset(known),
            everywhere=frozenset(everywhere),
            names={path: frozenset(own[path]) for path in known if own[path]},
        )

    def _set_of(self, dotted: str) -> set[str]:
        """The names that others may set of a module that has been asked about, or of any."""
        found = {name for of, name in self._found if of in (dotted, ANY)}
        for to, given in self._given.items():
            if to == ANY or (dotted != ANY and self._leads(to, dotted)):
                for module in given:
                    found.update(*map(self._stored, self._near(module)))
        return found

    def changing(self, module: str, name: str, sort: Sort) -> Span | None:
        """Where another module may change the value of a name of a module, which is of a sort that
        can be changed in place."""
        for other, node in self._mentions(module, name):
            uses = other.index.uses
            uses.steps = 0
            kind, where = uses.use(node, sort, 0)
            if kind > READ:
                return other.place.span(where or node)
        return None

    def giving(self, module: str, name: str, attributes: Collection[str]) -> Span | None:
        """Where another module gives a class of a module to code, or another name, while code
        nearby sets such an attribute of anything."""
        for other, node in self._mentions(module, name):
            if is_given(other.index.uses.scopes.parent(node), node) and any(
                self._stores(near, attribute)
                for near in self._near(other)
                for attribute in attributes
            ):
                return other.place.span(node)
        return None

    def _mentions(self, dotted: str, name: str) -> Iterator[tuple[PyModule, ast.expr]]:
        """The expressions of other modules that stand for the value of a name of a module."""
        todo, seen = [(dotted, name)], {(dotted, name)}
        while todo:
            meant = todo.pop()
            names = {meant[1]} | {
                own
                for other in self._chain.modules.values()
                for own, all_ in self._chain.bound(other).items()
                if any(meant in self._chain.owners(each) for each in all_)
            }
            for other in self._chain.modules.values():
                text = other.index.text
                if other.dotted == meant[0] or not any(each in text for each in names):
                    continue
                for node in self._stores_of(other).meaning(*meant):
                    yield other, node
                    again = named_by(other.index.uses.scopes.parent(node), node)
                    found = {(other.dotted, each) for each in again} - seen
                    seen |= found
                    todo += found

    def _stores_of(self, module: PyModule) -> Stores:
        found = self._parsed.get(module.dotted)
        if found is None:
            found = self._parsed[module.dotted] = Stores(self._chain, module)
        return found

    def _scan(self) -> None:
        """Looks at the texts of modules that have been added to the chain."""
        if len(self._scanned) == len(self._chain.modules):
            return
        for dotted, module in self._chain.modules.items():
            touched = self._touches(module) if dotted not in self._scanned else set()
            if touched:
                self._touched[dotted] = touched
        self._scanned.update(self._chain.modules)
        self._nearby.clear()

    def _look(self, dotted: str) -> None:
        """Parses the modules whose text may set a name of one."""
        for name, touched in list(self._touched.items()):
            if ANY in touched or any(self._leads(meant, dotted) for meant in touched):
                del self._touched[name]
                module = self._chain.modules[name]
                stores = self._stores_of(module)
                for other, stored, node in stores:
                    self._found.setdefault((other, stored), module.place.span(node))
                for other, node in stores.given():
                    self._given.setdefault(other, {}).setdefault(module, node)

    def _leads(self, meant: str, dotted: str) -> bool:
        """Whether a dotted name means a module, something in it, or a module from which one comes
        to it."""
        return any(
            module == dotted or (not of and dotted in self._chain.reached(module))
            for module, of in self._chain.owners(meant)
        )

    def _by_given(self, dotted: str, name: str) -> Iterator[Span]:
        """Where the module is given to other code, and code nearby sets such a name of anything."""
        looked: set[PyModule] = set()
        for to, given in self._given.items():
            for module, node in given.items() if to == ANY or self._leads(to, dotted) else ():
                near = [other for other in self._near(module) if other not in looked]
                if any(self._stores(other, name) for other in near):
                    yield module.place.span(node)
                    return
                looked.update(near)

    def _near(self, module: PyModule) -> list[PyModule]:
        """A module, those that it imports from and those that import it."""
        found = self._nearby.get(module)
        if found is None:
            own, chain = module.dotted, self._chain
            using = (m for m in chain.modules.values() if own in chain.sources(m))
            sources = (chain.modules[source] for source in chain.sources(module))
            found = self._nearby[module] = list(dict.fromkeys((module, *using, *sources)))
        return found

    def _stores(self, module: PyModule, name: str) -> bool:
        """Whether a module may set an attribute of that name of what is not known."""
        dotted, text = module.dotted, joined(module.index.text)
        computes = self._computes.get(dotted)
        if computes is None:
            computes = self._computes[dotted] = may_compute(text)
        found = self._names.get(dotted)
        if found is None and (computes or (name in text and may_store(text, name))):
            found = self._stored(module)
        return found is not None and (name in found or ANY in found)

    def _stored(self, module: PyModule) -> frozenset[str]:
        """Attributes of what is not known that a module may set."""
        found = self._names.get(module.dotted)
        if found is None:
            found = self._names[module.dotted] = stored_names(module)
        return found

    def _touches(self, module: PyModule) -> set[str]:
        """Dotted names that the text may assign to, or to what they hold, or give to other code."""
        text = joined(module.index.text)
        if any(word in text for word in _WORDS) and (_GOT.search(text) or _FOUND.search(text)):
            return {ANY}
        bound = self._chain.bound(module)
        if not bound and not module.index.star_imports:
            return set()
        names = {name: set(meant) for name, meant in bound.items()}
        names.update(self._starred(module, text, bound))
        found = self._gives(text, bound)
        todo = list(names)
        while todo:
            name = todo.pop()
            for start, end, path in dotted_names(text, name):
                if imports(text, start):
                    continue
                meant = {each + path for each in names[name]}
                if may_write(text, start, end, path):
                    found |= meant
                alias = other_name(text, start, end)
                if alias and not meant <= names.setdefault(alias, set()):
                    names[alias] |= meant
                    todo.append(alias)
        return found

    def _starred(
        self, module: PyModule, text: str, bound: dict[str, set[str]]
    ) -> Iterator[tuple[str, set[str]]]:
        """Names that the text may take from what it imports with all others, and write."""
        if not module.index.star_imports:
            return
        for name in set(written_names(text)) - bound.keys():
            meant = self._chain.of_star(module, name)
            if meant:
                yield name, meant

    def _gives(self, text: str, bound: dict[str, set[str]]) -> set[str]:
        """Modules of the source that the text may give to other code, or to another name."""
        names = [name for name, meant in bound.items() if any(map(self._is_module, meant))]
        if not any(self._alone(text, name, bound[name]) for name in names):
            return set()
        code = _PROSE.sub(" ", IMPORTS.sub("", text))
        return {given for name in names for given in self._alone(code, name, bound[name])}

    def _alone(self, text: str, name: str, meant: set[str]) -> set[str]:
        """The modules that a name stands for, with its attributes, where it is a value and not
        called."""
        paths = {path for start, path in _values(text, name) if not imports(text, start)}
        return {m + path for m in meant for path in paths if self._is_module(m + path)}

    def _is_module(self, dotted: str) -> bool:
        return any(not of for _, of in self._chain.owners(dotted))


def _values(text: str, name: str) -> Iterator[tuple[int, str]]:
    """Where a name stands with its attributes as a value, not as what is called."""
    for start, end, path in dotted_names(text, name):
        behind = text[end : end + 2].lstrip(" \t")[:1]
        if behind != "(" and not is_word(behind):
            yield start, path

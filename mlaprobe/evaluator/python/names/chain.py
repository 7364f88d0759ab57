"""The modules of the source that an import may run, and what a dotted name means in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.module import PyModule
    from mlaprobe.evaluator.python.project import PyProject

_LOADED = re.compile(
    r"\b(?:import_module|__import__)\(\s*[\"']([\w.]+)[\"']"
    r"(?:\s*,\s*(?:package\s*=\s*)?[\"']([\w.]+)[\"'])?"
)
_DEEPEST = 16
"""Dots of the longest name that is followed: names of circular imports grow without an end."""


class Chain:
    """The modules that imports may run, in conditions and functions too, from some modules on."""

    def __init__(self, project: PyProject) -> None:
        self._project = project
        self.modules: dict[str, PyModule] = {}
        self._bound: dict[str, dict[str, set[str]]] = {}
        self._owners: dict[str, frozenset[tuple[str, str]]] = {}
        self._reached: dict[str, frozenset[str]] = {}

    def extend(self, dotted: str) -> None:
        """Adds a module and what it may import."""
        known = len(self.modules)
        todo = [dotted]
        while todo:
            name = todo.pop()
            parent = name.rpartition(".")[0]
            todo += [parent] if parent and parent not in self.modules else []
            module = self._project.module(name) if name not in self.modules else None
            if module is not None:
                self.modules[name] = module
                todo += self._imported(module)
        if len(self.modules) > known:
            self._owners.clear()
            self._reached.clear()
            self.__dict__.pop("_attributes", None)

    def _imported(self, module: PyModule) -> Iterator[str]:
        """The names of modules that one may import."""
        for source, inside in module.index.imports_anywhere:
            if source.split(".")[0] in self._project.roots:
                yield source
                other = self._project.module(source)
                if other is None or other.is_package:
                    yield from (f"{source}.{part}" for part in inside if part != "as")
        for name, package in _LOADED.findall(module.index.text):
            near = package or (module.dotted if module.is_package else "")
            near = near or module.dotted.rpartition(".")[0]
            dots = len(name) - len(name.lstrip("."))
            above = near.split(".")[: len(near.split(".")) - dots + 1]
            full = ".".join([*above, name.lstrip(".")]) if dots else name
            if full.split(".")[0] in self._project.roots:
                yield full

    def bound(self, module: PyModule) -> dict[str, set[str]]:
        """The names that imports of a module bind, and the dotted names that these may mean."""
        found = self._bound.get(module.dotted)
        if found is None:
            found = self._bound[module.dotted] = {}
            for source, inside in module.index.imports_anywhere:
                if source.split(".")[0] in self._project.roots:
                    for name, meant in _meanings(source, inside):
                        found.setdefault(name, set()).add(meant)
        return found

    def sources(self, module: PyModule) -> set[str]:
        """The modules that one takes names from."""
        meant = (m for found in self.bound(module).values() for m in found)
        return {owner for m in meant for owner, _ in self.owners(m)} | {
            star for star in module.index.star_imports if star in self.modules
        }

    def of_star(self, module: PyModule, name: str) -> set[str]:
        """What a name may mean that a module imports with all others."""
        found: set[str] = set()
        for star in module.index.star_imports:
            other = self.modules.get(star)
            if other is None or other is module:
                continue
            if name in other.index.text and (name in self.bound(other) or _binds(other, name)):
                found.add(f"{star}.{name}")
            elif other.index.star_imports and self.of_star(other, name):
                found |= self.of_star(other, name)
        return found

    def owners(self, dotted: str) -> frozenset[tuple[str, str]]:
        """The modules that a dotted name may mean, or have a name that it begins with: each with
        that name, which is empty where the module itself is meant."""
        known = self._owners.get(dotted)
        if known is None:
            self._owners[dotted] = frozenset()  # for a circle of imports
            known = self._owners[dotted] = frozenset(self._find(dotted))
        return known

    def reached(self, module: str) -> frozenset[str]:
        """The modules to which one comes from a module by attributes: what is inside of it, what it
        imports, and so on."""
        found = self._reached.get(module)
        if found is None:
            seen = {module}
            todo = [module]
            while todo:
                near = self._attributes[todo.pop()] - seen
                seen |= near
                todo += near
            found = self._reached[module] = frozenset(seen)
        return found

    @cached_property
    def _attributes(self) -> dict[str, set[str]]:
        """The modules that are attributes of each, or of one of which it has all names."""
        found: dict[str, set[str]] = {name: set() for name in self.modules}
        for name, module in self.modules.items():
            parent = name.rpartition(".")[0]
            if parent in found:
                found[parent].add(name)
            meant = {each for all_ in self.bound(module).values() for each in all_}
            found[name].update(owner for each in meant for owner, of in self.owners(each) if not of)
            found[name].update(s for s in module.index.star_imports if s in found)
        return found

    def _find(self, dotted: str) -> Iterator[tuple[str, str]]:
        head, rest = dotted, ""
        while head and head not in self.modules:
            head, _, last = head.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
        if not head or not rest:
            if head:
                yield head, ""
            return
        name, dot, more = rest.partition(".")
        module = self.modules[head]
        again = self.bound(module).get(name, set()) - {f"{head}.{name}"}
        again = again if dotted.count(".") < _DEEPEST else set()
        for meant in again:
            yield from self.owners(meant + dot + more)
        if not again:
            yield head, name
            for source in module.index.star_imports:
                if source in self.modules:
                    yield from self.owners(f"{source}.{rest}")


def _meanings(source: str, inside: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The names that an import binds, each with what it means."""
    first = source.split(".")[0]
    if inside and inside[0] == first and len(inside) < 3:  # as ``import`` has it
        yield (first, first) if len(inside) == 1 else (inside[1], source)
    for at, part in enumerate(inside):
        if part != "as" and (at == 0 or inside[at - 1] != "as"):
            renamed = inside[at + 2] if inside[at + 1 : at + 2] == ("as",) else part
            yield renamed, f"{source}.{part}"


def _binds(module: PyModule, name: str) -> bool:
    """Whether a text may bind a name of the module."""
    before = r"(?:(?:async )?def |class |(?:\w+[ \t]*,[ \t]*)+)?"
    return bool(re.search(rf"^[ \t]*{before}{name}[ \t]*[=:(,]", module.index.text, re.MULTILINE))

"""Methods of a class, translated when they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.tree import Syntax, field, find_declarator
from mlaprobe.evaluator.values.kinds import MethodOf

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator


class Methods:
    """The functions that a class body defines, by name."""

    def __init__(self, tr: Translator, body: Syntax) -> None:
        self._tr = tr
        self._body = body
        self._inside = tr.packs, tr.template_types
        self._known: dict[str, MethodOf | None] = {}

    def of(self, name: str) -> MethodOf | None:
        """The one method of that name; ``None`` where there is none, or several."""
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> MethodOf | None:
        found = []
        for member in self._body.named_children:
            declarator = find_declarator(field(member, "declarator"))
            inner = field(declarator, "declarator") if declarator is not None else None
            if inner is not None and self._tr.source(inner) == name:
                found.append((member, declarator))
        if len(found) != 1 or found[0][0].type != "function_definition":
            return None
        member, declarator = found[0]
        outside = self._tr.packs, self._tr.template_types
        self._tr.packs, self._tr.template_types = self._inside
        try:
            function: ir.Function | None = self._tr.function(member, name)
        finally:
            self._tr.packs, self._tr.template_types = outside
        if function is None:
            return None
        behind = [c.type for c in declarator.children]
        const = "type_qualifier" in behind and "const" in self._tr.source(declarator).split(")")[-1]
        head = self._tr.tree.head(member, field(member, "declarator")).split()
        return MethodOf(function, const=const, static="static" in head)

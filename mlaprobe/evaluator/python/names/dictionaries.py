"""Names of a module that are looked up by their texts: in ``globals()``, or in the module itself
where it is got from ``sys.modules``."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

from mlaprobe.evaluator.python.names.attributes import MUTATORS
from mlaprobe.evaluator.python.names.lookups import Lookups, is_handed_on, last_part
from mlaprobe.evaluator.python.names.writes import key_matches, written_keys
from mlaprobe.evaluator.python.names.writing import CHANGES
from mlaprobe.evaluator.python.place import is_globals, is_own_dictionary

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.index import Index

_WORDS = re.compile(
    r"\b(?:globals|locals|vars|modules|import_module|__import__|__globals__|f_globals|f_locals)\b"
)
_MAKERS = ("globals", "vars", "locals")
"""Functions of Python's that give the dictionary."""
_OF_CODE = ("__globals__", "f_globals", "f_locals")
"""Attributes of functions and frames that are the dictionary."""
_KEEPING_NOTHING = frozenset(
    ("getattr", "hasattr", "setattr", "delattr", "len", "dir", "vars", "sorted", "id", "exec")
)
"""Functions of Python's that do not hand on a dictionary that they are given."""


class Dictionaries:
    """Where the code of one module has such a dictionary."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self.used = _WORDS.search(index.text) is not None
        """Whether the text may have one at all."""

    @cached_property
    def aliases(self) -> frozenset[str]:
        """Variables that are the module itself, or the dictionary of its names."""
        nodes = (n for n in self._nodes if isinstance(n, ast.Assign))
        given = [n.targets for n in nodes if is_globals(n.value)]
        return frozenset(t.id for targets in given for t in targets if isinstance(t, ast.Name))

    def writer(self, name: str) -> ast.AST | None:
        """Where a name may be written by its text, whenever that is run."""
        if self.given is not None:
            return self.given
        for function in self._writers:
            keys = written_keys(function)
            if keys is None or any(key_matches(key, name) for key in keys):
                return function
        return None

    @cached_property
    def _writers(self) -> list[ast.stmt]:
        """Functions that write names of the module by their text."""
        lines = [getattr(n, "lineno", 0) for n in self._nodes if self._writes(n)]
        functions = self._index.all_functions if lines else []
        return [n for n in functions if any(_stands_at(n, line) for line in lines)]

    @cached_property
    def given(self) -> ast.AST | None:
        """Where the module, or the dictionary of its names, goes where it is not followed."""
        scopes = self._index.scopes
        lookups = Lookups(self._nodes)
        for node in self._nodes:
            parent = scopes.parent(node)
            around = scopes.parent(parent) if parent is not None else None
            if self._is_alias(node) or self._is_own(node):
                if not _stays(node, parent, around) or scopes.is_in_class(node):
                    return node
            elif self._may_give_it(node, parent, around, lookups):
                return node
        return None

    def _is_own(self, node: ast.AST) -> bool:
        """Whether an expression is the module, or the dictionary of its names."""
        here = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "locals"
        return is_own_dictionary(node) or (here and self._index.scopes.function_of(node) is None)

    def _may_give_it(
        self, node: ast.AST, parent: ast.AST | None, around: ast.AST | None, lookups: Lookups
    ) -> bool:
        """Whether an expression may have the module or the dictionary in another way."""
        if getattr(node, "attr", "") in _OF_CODE or is_handed_on(node, parent):
            return True
        if getattr(node, "id", "") in _MAKERS and getattr(parent, "func", None) is not node:
            return True
        if isinstance(node, ast.Call) and last_part(node.func) in lookups.importers:
            other_name = last_part(node.func) != "import_module"
            return other_name and not self._names_another(node.args[0] if node.args else None)
        if not lookups.is_list(node):
            return False
        if isinstance(parent, ast.Subscript):
            plain = getattr(getattr(node, "value", None), "id", "") == "sys"
            return not (plain or self._names_another(parent.slice))
        if isinstance(parent, ast.Attribute) and isinstance(around, ast.Call):
            first = around.args[0] if around.args else None
            return parent.attr != "keys" and not self._names_another(first)
        return not isinstance(parent, ast.Compare)

    def _names_another(self, node: ast.AST | None) -> bool:
        """Whether a text is certainly not the module's own name."""
        return isinstance(node, ast.Constant) and node.value != self._index.place.module

    @property
    def _nodes(self) -> list[ast.AST]:
        return self._index.nodes if self.used else []

    def _is_alias(self, node: ast.AST | None) -> bool:
        return (
            isinstance(node, ast.Name)
            and node.id in self.aliases
            and isinstance(node.ctx, ast.Load)
        )

    def _writes(self, node: ast.AST) -> bool:
        """Whether code writes a name of the module by its text."""
        target: ast.AST | None = None
        if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
            target = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            target = node.func.value if node.func.attr in MUTATORS else None
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("setattr", "exec"):
            last = isinstance(node.func, ast.Name) and node.func.id == "exec"
            target = node.args[-1 if last else 0] if node.args else None
        return target is not None and (self._is_alias(target) or is_globals(target))


def _stands_at(function: ast.FunctionDef | ast.AsyncFunctionDef, line: int) -> bool:
    """Whether a line is one of a function's, its decorators' among them."""
    first = min((d.lineno for d in function.decorator_list), default=function.lineno)
    return min(first, function.lineno) <= line <= (function.end_lineno or function.lineno)


def _stays(node: ast.AST, parent: ast.AST | None, around: ast.AST | None) -> bool:
    """Whether a dictionary of names is looked into, gets another name, or is spread."""
    if isinstance(parent, ast.Attribute):
        called = isinstance(around, ast.Call) and around.func is parent
        return parent.attr not in CHANGES or (called and parent.attr in MUTATORS)
    if isinstance(parent, ast.Subscript):
        return parent.value is node
    if isinstance(parent, ast.Assign):
        return all(isinstance(target, ast.Name) for target in parent.targets)
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id in _KEEPING_NOTHING
    return isinstance(parent, (ast.Compare, ast.Expr)) or getattr(parent, "arg", node) is None

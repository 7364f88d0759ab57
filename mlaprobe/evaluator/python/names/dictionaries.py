"""Names of a module that are looked up by their texts: in ``globals()``, or in the module itself
where it is got from ``sys.modules``."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

from mlaprobe.evaluator.python.names.attributes import MUTATORS
from mlaprobe.evaluator.python.names.writes import key_matches, written_keys
from mlaprobe.evaluator.python.names.writing import CHANGES
from mlaprobe.evaluator.python.place import is_globals, is_own_dictionary

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.index import Index

_WORDS = re.compile(r"\b(?:globals|vars|modules|import_module)\b")
_MAKERS = ("globals", "vars")
"""Functions of Python's that give the dictionary."""
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
        for node in self._nodes:
            parent = scopes.parent(node)
            if self._is_alias(node) or is_own_dictionary(node):
                around = scopes.parent(parent) if parent is not None else None
                if not _stays(node, parent, around):
                    return node
            elif getattr(node, "id", "") in _MAKERS and getattr(parent, "func", None) is not node:
                return node
        return None

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

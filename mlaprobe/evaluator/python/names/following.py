"""How the value of an expression is used where it stands: the rules for displays, operators and
subscripts, which those for calls and names are added to."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from mlaprobe.evaluator.python.names.sorts import CHANGE, ESCAPE, NOTHING, Found, Sort, worst

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.index import Index

Rule = Callable[[ast.AST, ast.AST, Sort, int], Found]
"""What the node around an expression does to its value: the expression, the node, the value's sort,
how many rules have been followed."""
_DEPTH = 24
MOST_STEPS = 5_000
"""The most uses that are followed for one question."""


class Following(ABC):
    """Follows the values of one module."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.scopes = index.scopes
        self._rules = self.rules()
        self.steps = 0
        """How many uses have been followed for the question that is being answered."""

    @abstractmethod
    def rules(self) -> dict[type[ast.AST], Rule]:
        """The rules, by the kind of node that is around."""

    @abstractmethod
    def variable(self, scope: ast.AST | None, name: str, sort: Sort, depth: int) -> Found:
        """What is done to the value of a variable of a function, or of the module."""

    def own_rules(self) -> dict[type[ast.AST], Rule]:
        """Those for displays, operators and subscripts."""
        displays = (ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.SetComp, ast.GeneratorExp)
        return {
            **dict.fromkeys((*displays, ast.DictComp), self._display),
            ast.BoolOp: self._operand,
            ast.IfExp: self._test,
            ast.BinOp: self._binary,
            ast.UnaryOp: self._operated,
            ast.Compare: self._operated,
            ast.Dict: self._dict,
            ast.Starred: self._starred,
            ast.Subscript: self._subscript,
            ast.Slice: self._slice,
        }

    def use(self, node: ast.AST, sort: Sort, depth: int) -> Found:
        """What is done to the value of an expression where it stands."""
        self.steps += 1
        if depth > _DEPTH or self.steps > MOST_STEPS:
            return ESCAPE, node
        parent = self.scopes.parent(node)
        rule = self._rules.get(type(parent)) if parent is not None else None
        if parent is None or rule is None:
            harmless = isinstance(parent, _HARMLESS)
            return self.looked(node, sort) if harmless else (ESCAPE, node)
        return rule(node, parent, sort, depth + 1)

    def looked(self, node: ast.AST, sort: Sort) -> Found:
        return (ESCAPE, node) if sort.acting else NOTHING

    def part(self, node: ast.AST, whole: ast.AST, sort: Sort, depth: int) -> Found:
        """``whole`` gives something that the value of ``node`` holds."""
        return worst(self.looked(node, sort), self.out_of(whole, sort, depth))

    def out_of(self, whole: ast.AST, sort: Sort, depth: int, fresh: int = 0) -> Found:
        """What is done to what a value holds, with so many new containers around it."""
        if sort.flat:
            return NOTHING
        inside = sort.inside
        return self.use(whole, replace(inside, fresh=inside.fresh + fresh), depth)

    def _test(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        if node is getattr(parent, "test", None):
            return self.looked(node, sort)
        return self.use(parent, sort, depth)

    def _operand(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        """``and``, ``or``, conditions: the value itself may come out."""
        return worst(self.looked(node, sort), self.use(parent, sort, depth))

    def _binary(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        return worst(self.looked(node, sort), self.out_of(parent, sort, depth, int(sort.plain)))

    def _operated(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        """An operator that gives a new value, but for what the source defines it to give."""
        found = self.looked(node, sort)
        if sort.plain or _GIVING.isdisjoint(self.scopes.methods):
            return found
        return worst(found, self.use(parent, sort.inside, depth))

    def _display(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        """It is put into a list, a tuple, a dict, or what a comprehension makes."""
        if sort.plain and (isinstance(parent, ast.Set) or node is getattr(parent, "key", None)):
            return NOTHING
        return self.use(parent, sort.held, depth)

    def _dict(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        assert isinstance(parent, ast.Dict)
        if sort.plain and any(k is node for k in parent.keys):
            return NOTHING
        spread = any(
            k is None and v is node for k, v in zip(parent.keys, parent.values, strict=True)
        )
        if spread:
            return self._binary(node, parent, sort, depth)
        return self.use(parent, sort.held, depth)

    def _starred(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        return self.part(node, parent, sort, depth)

    def _subscript(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        assert isinstance(parent, ast.Subscript)
        if node is parent.slice:
            return self.looked(node, sort)
        if not isinstance(parent.ctx, ast.Load):
            return NOTHING if sort.fresh else (CHANGE, node)
        key = parent.slice.value if isinstance(parent.slice, ast.Constant) else None
        if sort.grows and not sort.fresh and (key is None or key not in sort.keys):
            return CHANGE, node
        return self.part(node, parent, sort, depth)

    def _slice(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        return self.looked(node, sort)


_HARMLESS = (
    ast.Expr,
    ast.If,
    ast.While,
    ast.Assert,
    ast.FormattedValue,
    ast.JoinedStr,
    ast.Delete,
)
_GIVING = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
_GIVING |= {"__neg__", "__pos__", "__invert__"}

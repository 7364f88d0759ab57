"""Formulas over the inputs of a question, as functions; and answers by the conditions that lead to
them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mlaprobe.core.caches import Cache
from mlaprobe.core.keeping import Memo

Expr = Any
"""An input's name, a number, or ``(op, left, right)``."""


class Floating(float):
    """A number of a floating type in a formula: it equals no whole number, whose formula gives
    another type."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is Floating and float(self) == float(other)

    def __hash__(self) -> int:
        return hash(("floating", float(self)))


def c_divide(a: int, b: int) -> int:
    """C++ integer division: towards zero."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def c_remainder(a: int, b: int) -> int:
    """C++ remainder: the sign of the dividend."""
    return a - b * c_divide(a, b)


def _fits(value: int, bounds: tuple[int, int]) -> bool:
    return bounds[0] <= value <= bounds[1]


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "c/": c_divide,
    "c%": c_remainder,
}
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    **ARITHMETIC,
    **COMPARE,
    "fits": _fits,
    "in": lambda a, b: a in b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a, b: not a,
    "ceil": lambda a, b: math.ceil(a),
    "floor": lambda a, b: math.floor(a),
}


class Tree:
    """A decision tree: answers by the conditions that lead to them, one node per condition."""

    __slots__ = ("_root", "names")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._root: list[Any] = [None, None, None, None, None]
        """[condition, where it is true, where it is false, the answer, the condition's formula]"""

    def find(self, inputs: tuple[int, ...]) -> Any:
        """The answer for inputs, ``None`` where no run has covered them."""
        node = self._root
        while node is not None:
            condition = node[0]
            if condition is None:
                return node[3]
            node = node[1] if condition(inputs) else node[2]
        return None

    def add(
        self, conditions: list[tuple[Expr, bool]], inputs: tuple[int, ...], answer: Any
    ) -> None:
        """Adds the answer of a run for its inputs.

        Another run may have another condition at the same place (a concretized number is one of
        its own): it is evaluated for these inputs on the way.
        """
        node = self._root
        for expr, result in conditions:
            while node[0] is not None and node[4] != expr:
                node = self._side(node, 1 if node[0](inputs) else 2)
            if node[0] is None:
                node[0], node[4] = compile_expr(expr, self.names), expr
            node = self._side(node, 1 if result else 2)
        while node[0] is not None:
            node = self._side(node, 1 if node[0](inputs) else 2)
        node[3] = answer

    @staticmethod
    def _side(node: list[Any], side: int) -> list[Any]:
        if node[side] is None:
            node[side] = [None, None, None, None, None]
        found: list[Any] = node[side]
        return found


Formula = Callable[[tuple[int, ...]], Any]
"""A function of the inputs, in the order of their names."""


def compile_expr(expr: Expr, names: tuple[str, ...]) -> Formula:
    """An expression as a function."""
    key = (expr, names)
    found = _COMPILED.answers.get(key)
    if found is None:
        found = _COMPILED.put(key, eval(f"lambda i: {_source(expr, names)}", _HELPERS))
    return found


def compile_all(parts: Iterable[Expr | Text], names: tuple[str, ...]) -> Formula:
    """Several expressions as one function, which gives a tuple."""
    sources = (repr(p.text) if type(p) is Text else _source(p, names) for p in parts)
    code = f"lambda i: ({''.join(f'{source}, ' for source in sources)})"
    return eval(code, _HELPERS)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Text:
    """A text among expressions, which is no input's name."""

    text: str


_HELPERS: dict[str, Any] = {
    "c_divide": c_divide,
    "c_remainder": c_remainder,
    "_ceil": math.ceil,
    "_floor": math.floor,
    "inf": math.inf,
    "nan": math.nan,
    "__builtins__": {},
}
_COMPILED: Memo[Formula] = Memo(Cache.FORMULAS, 20_000)
"""Functions by their expressions, which many trees share: 5 % of a cold report of v0.1.20."""


def _source(expr: Expr, names: tuple[str, ...]) -> str:
    if type(expr) is str:
        return f"i[{names.index(expr)}]"
    if type(expr) is Floating:
        return f"({float(expr)!r})"  # in parentheses: it may be less than nothing, or ``-inf``
    if type(expr) is not tuple:
        return repr(expr)
    op, left = expr[0], _source(expr[1], names)
    if op == "fits":
        return f"({expr[2][0]} <= {left} <= {expr[2][1]})"
    if op in ("ceil", "floor"):
        return f"_{op}({left})"
    if op == "not":
        return f"(not {left})"
    if op == "in":
        return f"({left} in {expr[2]!r})"
    right = _source(expr[2], names)
    if op == "c/":
        return f"c_divide({left}, {right})"
    if op == "c%":
        return f"c_remainder({left}, {right})"
    return f"({left} {op} {right})"

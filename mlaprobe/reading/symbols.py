"""Whole numbers that remember where they come from, so that one run answers for many questions.

A :class:`Sym` is an input of the question (a head count, a query length) or arithmetic over such
inputs. It computes like its number, and every comparison is written down in a :class:`Recorder`:
another question for which all of them come out the same takes the same path, and its answer is the
same formula. Whatever is done with a symbol that is not understood *pins* it: the answer then
holds for exactly that number. Using one as a plain Python number raises, so that nothing depends
on a value without a trace.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NoReturn

Expr = Any
"""An input's name, a number, or ``(op, left, right)``."""
LARGEST = 100
"""How many names, numbers and operations a formula may have."""


class SymbolMisuse(TypeError):
    """A symbol was used as a plain number."""


def _quotient(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b)


def _fits(value: int, bounds: tuple[int, int]) -> bool:
    return bounds[0] <= value <= bounds[1]


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "**": operator.pow,
    "c/": _quotient,
    "c%": _remainder,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "fits": _fits,
    "in": lambda a, b: a in b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a, b: not a,
    "ceil": lambda a, b: math.ceil(a),
    "floor": lambda a, b: math.floor(a),
}


def value_of(expr: Expr, inputs: Mapping[str, int]) -> Any:
    """What an expression is for certain inputs."""
    if type(expr) is str:
        return inputs[expr]
    if type(expr) is tuple and type(expr[0]) is str and expr[0] in FUNCTIONS:
        right = expr[2] if expr[0] in ("fits", "in") else value_of(expr[2], inputs)
        return FUNCTIONS[expr[0]](value_of(expr[1], inputs), right)
    return expr


_MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_NEGATED = {"!=": "==", ">=": "<", ">": "<="}
"""Comparisons as the denial of another, so that one question is written down once."""
_NEUTRAL = {"+": 0, "-": 0, "*": 1, "c/": 1, "//": 1}


class Recorder:
    """What a run asked of its inputs, in order."""

    __slots__ = ("asked", "conditions", "parts")

    def __init__(self) -> None:
        self.conditions: list[tuple[Expr, bool]] = []
        self.asked: set[Expr] = set()
        self.parts: dict[Expr, None] = {}
        """Comparisons that were part of a larger condition, asked or not: inputs for which they
        come out alike take the same path for the same reason."""

    def note(self, condition: Expr, result: bool) -> bool:
        """Write a comparison down, once."""
        if condition not in self.asked:
            self.asked.add(condition)
            self.conditions.append((condition, result))
        return result


class Condition:
    """A statement about symbols that has not been asked yet."""

    __slots__ = ("expr", "recorder", "size", "value")

    def __init__(self, value: bool, expr: Expr, recorder: Recorder, size: int) -> None:
        self.value = value
        self.expr = expr
        self.recorder = recorder
        self.size = size

    def ask(self) -> bool:
        """Whether it holds, written down."""
        return self.recorder.note(self.expr, self.value)

    def joined(self, op: str, other: Condition) -> Condition:
        """``and`` or ``or`` of two, as one."""
        value = self.value and other.value if op == "and" else self.value or other.value
        expr = (op, self.expr, other.expr)
        return Condition(value, expr, self.recorder, self.size + other.size + 1)

    def denied(self) -> Condition:
        """The opposite."""
        expr = self.expr[1] if self.expr[0] == "not" else ("not", self.expr, None)
        return Condition(not self.value, expr, self.recorder, self.size)


class Sym:
    """A number with its formula."""

    __slots__ = ("expr", "recorder", "size", "value")

    def __init__(self, value: Any, expr: Expr, recorder: Recorder, size: int = 1) -> None:
        self.value = value
        self.expr = expr
        self.recorder = recorder
        self.size = size

    def pin(self) -> Any:
        """The plain number; the answer holds for it alone."""
        self.recorder.note(("==", self.expr, self.value), True)
        return self.value

    def compare(self, op: str, left: Any, right: Any) -> bool:
        """A comparison of this with another number (on either side), written down."""
        if type(left) is not Sym:
            op, left, right = _MIRRORED[op], right, left
        if op in _NEGATED:
            return not self.compare(_NEGATED[op], left, right)
        result = bool(FUNCTIONS[op](_number(left), _number(right)))
        return self.recorder.note((op, _expr(left), _expr(right)), result)

    def condition(self, op: str, left: Any, right: Any) -> Condition | bool:
        """The comparison as a condition that can be asked later; a bool where the run has asked
        it already."""
        if type(left) is not Sym:
            op, left, right = _MIRRORED[op], right, left
        if op in _NEGATED:
            found = self.condition(_NEGATED[op], left, right)
            return found.denied() if type(found) is Condition else not found
        result = bool(FUNCTIONS[op](_number(left), _number(right)))
        return self._stated((op, _expr(left), _expr(right)), result, _size(left) + _size(right))

    def among(self, numbers: tuple[int, ...]) -> Condition | bool:
        """Membership in a handful of numbers, as ``condition``."""
        if not numbers:
            return False
        return self._stated(("in", self.expr, numbers), self.value in numbers, self.size)

    def _stated(self, expr: Expr, result: bool, size: int) -> Condition | bool:
        if expr in self.recorder.asked:
            return result
        self.recorder.parts[expr] = None
        return Condition(result, expr, self.recorder, size + 1)

    def combine(self, op: str, left: Any, right: Any, value: Any) -> Any:
        """The result of arithmetic, whose value has been computed.

        A formula that would grow past :data:`LARGEST` (a loop that squares its number doubles it
        each time) is given up: the operands are pinned, and the result is a plain number.
        """
        same = type(value) is type(self.value)  # a flag becomes a number
        if same and type(right) is int and right == _NEUTRAL.get(op):
            return self
        if same and type(left) is int and op in ("+", "*") and left == _NEUTRAL[op]:
            return self
        size = _size(left) + _size(right) + 1
        if size > LARGEST:
            plain(left), plain(right)
            return value
        return Sym(value, (op, _expr(left), _expr(right)), self.recorder, size)

    def rounded(self, op: str) -> Sym:
        """``ceil`` or ``floor`` of the number."""
        if type(self.value) is int:
            return self
        return Sym(FUNCTIONS[op](self.value, 0), (op, self.expr, 0), self.recorder, self.size + 1)

    def fits(self, low: int, high: int) -> bool:
        """Whether the number lies between two bounds, written down."""
        return self.recorder.note(("fits", self.expr, (low, high)), low <= self.value <= high)

    def _misused(self, *_: object) -> NoReturn:
        raise SymbolMisuse(f"the symbol {self.expr} was used as a plain number")

    __bool__ = __int__ = __index__ = __float__ = __hash__ = _misused
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __ne__ = _misused
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _misused
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__ = _misused

    def __repr__(self) -> str:
        return f"Sym({self.value}, {self.expr})"


class SymText:
    """A text with numbers in it that come from inputs; for messages."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts

    def for_inputs(self, inputs: Mapping[str, int]) -> str:
        """The text for certain inputs."""
        return "".join(
            str(value_of(p.expr, inputs)) if type(p) is Sym else str(p) for p in self.parts
        )

    def __str__(self) -> str:
        return "".join(str(p.value) if type(p) is Sym else str(p) for p in self.parts)


def joined(parts: list[Any], separator: str = "") -> Any:
    """Texts and symbols as one text."""
    if not any(type(p) in (Sym, SymText) for p in parts):
        return separator.join(str(p) for p in parts)
    flat: list[Any] = []
    for at, part in enumerate(parts):
        if at and separator:
            flat.append(separator)
        flat.extend(part.parts if type(part) is SymText else (part,))
    return SymText(tuple(flat))


def plain(value: Any) -> Any:
    """A value without symbols; those in it are pinned."""
    kind = type(value)
    if kind is Sym:
        return value.pin()
    if kind is SymText:
        return "".join(str(plain(p)) for p in value.parts)
    if kind is tuple:
        return tuple(plain(v) for v in value)
    if kind is list:
        value[:] = [plain(v) for v in value]
    return value


def key_of(sym: Sym) -> Hashable:
    """A hashable that stands for the formula."""
    return ("sym", sym.expr)


def _number(value: Any) -> Any:
    return value.value if type(value) is Sym else value


def _size(value: Any) -> int:
    return value.size if type(value) is Sym else 1


def _expr(value: Any) -> Expr:
    return value.expr if type(value) is Sym else value


class Tree:
    """Answers by the conditions that lead to them: one node per condition, asked in order."""

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
            node = node[1] if condition(*inputs) else node[2]
        return None

    def add(
        self, conditions: list[tuple[Expr, bool]], inputs: tuple[int, ...], answer: Any
    ) -> None:
        """Remember what a run found for its inputs.

        Another run may have asked something else at the same place (a pinned number is a question
        of its own): its questions are answered for these inputs on the way.
        """
        node = self._root
        for expr, result in conditions:
            while node[0] is not None and node[4] != expr:
                node = self._side(node, 1 if node[0](*inputs) else 2)
            if node[0] is None:
                node[0], node[4] = compile_expr(expr, self.names), expr
            node = self._side(node, 1 if result else 2)
        while node[0] is not None:
            node = self._side(node, 1 if node[0](*inputs) else 2)
        node[3] = answer

    @staticmethod
    def _side(node: list[Any], side: int) -> list[Any]:
        if node[side] is None:
            node[side] = [None, None, None, None, None]
        found: list[Any] = node[side]
        return found


def compile_expr(expr: Expr, names: tuple[str, ...]) -> Callable[..., Any]:
    """An expression as a function of the inputs, in the order of their names."""
    key = (expr, names)
    found = _COMPILED.get(key)
    if found is None:
        code = f"lambda {', '.join(names)}: {_source(expr)}"
        found = _COMPILED[key] = eval(code, _HELPERS)
    return found


_HELPERS: dict[str, Any] = {
    "_quotient": _quotient,
    "_remainder": _remainder,
    "_ceil": math.ceil,
    "_floor": math.floor,
    "__builtins__": {},
}
_COMPILED: dict[tuple[Expr, tuple[str, ...]], Callable[..., Any]] = {}


def _source(expr: Expr) -> str:
    if type(expr) is str:
        return expr
    if type(expr) is not tuple:
        return repr(expr)
    op, left = expr[0], _source(expr[1])
    if op == "fits":
        return f"({expr[2][0]} <= {left} <= {expr[2][1]})"
    if op in ("ceil", "floor"):
        return f"_{op}({left})"
    if op == "not":
        return f"(not {left})"
    if op == "in":
        return f"({left} in {expr[2]!r})"
    right = _source(expr[2])
    if op == "c/":
        return f"_quotient({left}, {right})"
    if op == "c%":
        return f"_remainder({left}, {right})"
    return f"({left} {op} {right})"

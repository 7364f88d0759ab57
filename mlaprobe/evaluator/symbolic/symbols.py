"""Whole numbers that remember where they come from, so that one run answers for many questions.

A :class:`Sym` is an input of the question (a head count, a query length) or arithmetic over such
inputs. It computes like its number, and every comparison goes into the :class:`PathCondition`:
another question for which all of them come out the same takes the same path, and its answer is the
same formula. Whatever is done with a symbol that is not understood *concretizes* it: the answer
then holds for exactly that number. Using one as a plain Python number raises, so that nothing
depends on a value without a trace.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NoReturn

from mlaprobe.evaluator.symbolic.formulas import FUNCTIONS, Expr, Floating

LARGEST = 100
"""How many names, numbers and operations a formula may have."""


class ConcretizationError(TypeError):
    """A symbol was used as a plain number."""


_MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_NEGATED = {"!=": "==", ">=": "<", ">": "<="}
"""Comparisons as the denial of another, so that one question is written down once."""
_NEUTRAL = {"+": 0, "-": 0, "*": 1, "c/": 1, "//": 1}


class PathCondition:
    """The comparisons that the run of one path made of its inputs, in order."""

    __slots__ = ("asked", "conditions", "parts")

    def __init__(self) -> None:
        self.conditions: list[tuple[Expr, bool]] = []
        self.asked: set[Expr] = set()
        self.parts: dict[Expr, None] = {}
        """Comparisons that are parts of larger conditions, written down or not: inputs for which
        they come out alike take the same path for the same reason."""

    def note(self, condition: Expr, result: bool) -> bool:
        """Write a comparison down, once."""
        if condition not in self.asked:
            self.asked.add(condition)
            self.conditions.append((condition, result))
        return result


@dataclass(slots=True, eq=False)
class Condition:
    """A statement about symbols that is not in the path condition yet."""

    value: bool
    expr: Expr
    path_condition: PathCondition
    size: int

    def ask(self) -> bool:
        """Whether it holds, written down."""
        return self.path_condition.note(self.expr, self.value)

    def joined(self, op: str, other: Condition) -> Condition:
        """``and`` or ``or`` of two, as one."""
        value = self.value and other.value if op == "and" else self.value or other.value
        expr = (op, self.expr, other.expr)
        return Condition(value, expr, self.path_condition, self.size + other.size + 1)

    def denied(self) -> Condition:
        """The opposite."""
        expr = self.expr[1] if self.expr[0] == "not" else ("not", self.expr, None)
        return Condition(not self.value, expr, self.path_condition, self.size)


class Sym:
    """A number with its formula."""

    __slots__ = ("expr", "path_condition", "size", "value")

    def __init__(
        self, value: Any, expr: Expr, path_condition: PathCondition, size: int = 1
    ) -> None:
        self.value = value
        self.expr = expr
        self.path_condition = path_condition
        self.size = size

    def concretize(self) -> Any:
        """The plain number; the answer holds for it alone."""
        self.path_condition.note(("==", self.expr, self.value), True)
        return self.value

    def compare(self, op: str, left: Any, right: Any) -> bool:
        """A comparison of this with another number (on either side), written down."""
        if type(left) is not Sym:
            op, left, right = _MIRRORED[op], right, left
        if op in _NEGATED:
            return not self.compare(_NEGATED[op], left, right)
        result = bool(FUNCTIONS[op](number_of(left), number_of(right)))
        return self.path_condition.note((op, _expr(left), _expr(right)), result)

    def condition(self, op: str, left: Any, right: Any) -> Condition | bool:
        """The comparison as a condition that is written down later; a bool where the path condition
        has it already."""
        if type(left) is not Sym:
            op, left, right = _MIRRORED[op], right, left
        if op in _NEGATED:
            found = self.condition(_NEGATED[op], left, right)
            return found.denied() if type(found) is Condition else not found
        result = bool(FUNCTIONS[op](number_of(left), number_of(right)))
        return self._stated((op, _expr(left), _expr(right)), result, _size(left) + _size(right))

    def among(self, numbers: tuple[int, ...]) -> Condition | bool:
        """Membership in a handful of numbers, as ``condition``."""
        if not numbers:
            return False
        return self._stated(("in", self.expr, numbers), self.value in numbers, self.size)

    def concretize_among(self, numbers: tuple[int, ...]) -> bool:
        """Whether it is one of some numbers; if so, the answer holds for that one alone."""
        found = self.among(numbers)
        there = found.ask() if type(found) is Condition else bool(found)
        if there:
            self.concretize()
        return there

    def _stated(self, expr: Expr, result: bool, size: int) -> Condition | bool:
        if expr in self.path_condition.asked:
            return result
        self.path_condition.parts[expr] = None
        return Condition(result, expr, self.path_condition, size + 1)

    def combine(self, op: str, left: Any, right: Any, value: Any) -> Any:
        """The result of arithmetic, whose value has been computed.

        A formula that would grow past :data:`LARGEST` (a loop that squares its number doubles it
        each time) is given up: the operands are concretized, and the result is a plain number.
        """
        same = type(value) is type(self.value)  # a flag becomes a number
        rounds = op == "//" and type(value) is float
        if same and not rounds and type(right) is int and right == _NEUTRAL.get(op):
            return self
        if same and type(left) is int and op in ("+", "*") and left == _NEUTRAL[op]:
            return self
        size = _size(left) + _size(right) + 1
        if size > LARGEST:
            plain(left), plain(right)
            return value
        return Sym(value, (op, _expr(left), _expr(right)), self.path_condition, size)

    def rounded(self, op: str) -> Sym:
        """``ceil`` or ``floor`` of the number."""
        if type(self.value) is int:
            return self
        return Sym(
            FUNCTIONS[op](self.value, 0), (op, self.expr, 0), self.path_condition, self.size + 1
        )

    def fits(self, low: int, high: int) -> bool:
        """Whether the number lies between two bounds, written down."""
        return self.path_condition.note(("fits", self.expr, (low, high)), low <= self.value <= high)

    def _misused(self, *_: object) -> NoReturn:
        raise ConcretizationError(f"the symbol {self.expr} was used as a plain number")

    __bool__ = __int__ = __index__ = __float__ = __hash__ = _misused
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __ne__ = _misused
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _misused
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__ = _misused
    __str__ = __format__ = _misused

    def __repr__(self) -> str:
        return f"Sym({self.value}, {self.expr})"


class SymText:
    """A text with numbers in it that come from inputs; for messages."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts

    def __str__(self) -> str:
        raise ConcretizationError("a text with symbols in it was used as a plain one")

    def __format__(self, spec: str) -> str:
        return str(self)


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
    """A value without symbols; those in it are concretized."""
    kind = type(value)
    if kind is Sym:
        return value.concretize()
    if kind is SymText:
        return "".join(str(plain(p)) for p in value.parts)
    if isinstance(value, tuple):
        parts = tuple(plain(v) for v in value)
        return parts if kind is tuple else value.remade(parts)  # type: ignore[attr-defined]
    if kind is list:
        value[:] = [plain(v) for v in value]
    return value


def same(a: Any, b: Any) -> bool:
    """Whether two values with symbols in them are equal. What has to be compared for that is
    written down. Of dataclasses the fields count that their own comparison looks at."""
    if a is b:
        return True
    kinds = (type(a), type(b))
    if Sym in kinds:
        return _same_number(a, b)
    if SymText in kinds:
        return _same_text(a, b)
    if kinds[0] is not kinds[1]:
        return bool(a == b)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if is_dataclass(a):
        names = (f.name for f in fields(a) if f.compare)
        return all(same(getattr(a, n), getattr(b, n)) for n in names)
    return bool(a == b)


def _same_number(a: Any, b: Any) -> bool:
    if type(a) is type(b) and a.expr == b.expr:
        return True
    sym, other = (a, b) if type(a) is Sym else (b, a)
    if type(other) is not Sym and not isinstance(other, (int, float)):
        return False
    return bool(sym.compare("==", a, b))


def _same_text(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return False
    if type(a) is type(b) and same(a.parts, b.parts):
        return True
    return bool(plain(a) == plain(b))


def asks_for(value: Any) -> bool:
    """Whether a run has asked for an input, otherwise than whether it fits in a type."""
    asked = value.path_condition.conditions if type(value) is Sym else ()
    return any(expr[0] != "fits" and _mentions(expr, value.expr) for expr, _ in asked)


def _mentions(expr: Expr, name: Expr) -> bool:
    return expr == name or (type(expr) is tuple and any(_mentions(e, name) for e in expr[1:]))


def key_of(sym: Sym) -> Hashable:
    """A hashable that stands for the formula."""
    return ("sym", sym.expr)


def number_of(value: Any) -> Any:
    """The number of a symbol; any other value as it is."""
    return value.value if type(value) is Sym else value


def _size(value: Any) -> int:
    return value.size if type(value) is Sym else 1


def _expr(value: Any) -> Expr:
    if type(value) is Sym:
        return value.expr
    return Floating(value) if type(value) is float else value

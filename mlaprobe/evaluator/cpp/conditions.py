"""Values of preprocessor conditions."""

from __future__ import annotations

import re
from collections.abc import Callable

from mlaprobe.evaluator.cpp.tokens import Token
from mlaprobe.evaluator.symbolic.formulas import FUNCTIONS

_INTEGER = re.compile(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9']+)[uUlLzZ]*")
_UNSIGNED = re.compile(r"[0-9a-fA-F'][lLzZ]*[uU]")
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)


class ConditionError(Exception):
    """A condition that is no constant expression."""


def parse_integer(text: str) -> int | None:
    """The value of a C++ integer literal."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    digits = match.group(1).replace("'", "")
    if len(digits) > 1 and digits[0] == "0" and digits.isdigit():
        return int(digits, 8) if all(d in "01234567" for d in digits) else None
    try:
        return int(digits, 0)
    except ValueError:
        return None


MAX_DEPTH = 20
"""Parentheses within parentheses, for example; each takes a dozen frames of the stack."""


class Condition:
    """Evaluates one expression; names that are left after expansion are 0, as C++ has it."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._unsigned = any(t.kind == "number" and _UNSIGNED.search(t.text) for t in tokens)

    def value(self) -> int:
        """The value.

        Raises:
            ConditionError: the tokens are no expression.
        """
        result = self._inside(self._ternary)
        if self._at != len(self._tokens):
            raise ConditionError(f"unexpected {self._tokens[self._at].text!r}")
        return result

    def _peek(self) -> str:
        return self._tokens[self._at].text if self._at < len(self._tokens) else ""

    def _take(self, text: str) -> None:
        if self._peek() != text:
            raise ConditionError(f"expected {text!r}")
        self._at += 1

    def _inside(self, part: Callable[[], int]) -> int:
        """A part of a part, as long as there are not too many of them."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ConditionError("it is nested too deeply")
        value = part()
        self._depth -= 1
        return value

    def _ternary(self) -> int:
        test = self._level(0)
        if self._peek() != "?":
            return test
        self._at += 1
        then = self._inside(self._ternary)
        self._take(":")
        orelse = self._inside(self._ternary)
        return then if test else orelse

    def _level(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        left = self._level(level + 1)
        while self._peek() in _LEVELS[level]:
            op = self._peek()
            self._at += 1
            left = self._exact(_apply(op, left, self._level(level + 1)))
        return left

    def _exact(self, value: int) -> int:
        """A number, as long as it is the same for signed and unsigned ones of 64 bits."""
        if value < 0 and self._unsigned:
            raise ConditionError("an unsigned number below 0")
        if not -(2**63) <= value < 2 ** (64 if self._unsigned else 63):
            raise ConditionError("a number of more than 64 bits")
        return value

    def _unary(self) -> int:
        op = self._peek()
        if op in ("!", "-", "+", "~", "not"):
            self._at += 1
            value = self._inside(self._unary)
            results = {"!": int(not value), "not": int(not value), "-": -value, "+": value}
            return self._exact(results.get(op, ~value))
        return self._primary()

    def _primary(self) -> int:
        if self._at >= len(self._tokens):
            raise ConditionError("the condition ends early")
        token = self._tokens[self._at]
        self._at += 1
        if token.text == "(":
            value = self._inside(self._ternary)
            self._take(")")
            return value
        if token.kind == "number":
            number = parse_integer(token.text)
            if number is None:
                raise ConditionError(f"{token.text} is no integer")
            return self._exact(number)
        if token.kind == "name":
            if self._peek() == "(":
                raise ConditionError(f"{token.text} is not defined")
            return int(token.text == "true")
        raise ConditionError(f"unexpected {token.text!r}")


def _apply(op: str, a: int, b: int) -> int:
    if op in ("/", "%") and b == 0:
        raise ConditionError("division by zero")
    if op in ("<<", ">>") and not 0 <= b < 64:
        raise ConditionError("shift out of range")
    if op in ("||", "&&"):
        return int(bool(a or b) if op == "||" else bool(a and b))
    return int(FUNCTIONS["c" + op if op in ("/", "%") else op](a, b))

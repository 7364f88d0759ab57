"""Arithmetic over known and unknown values."""

from __future__ import annotations

import re

from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.flags import combined
from mlaprobe.evaluator.objects.objects import NOTHING, NamedTuple
from mlaprobe.evaluator.symbolic.formulas import ARITHMETIC
from mlaprobe.evaluator.symbolic.symbols import Sym, SymText, joined, number_of, plain
from mlaprobe.evaluator.values import Unknown, Value, rest_of
from mlaprobe.evaluator.values.floats import Single, in_one_type, single
from mlaprobe.evaluator.values.kinds import EnumMember, Model, Pointer, Record

LONGEST = 100_000
"""The most items of a text or a list that arithmetic makes."""
WIDEST = 128
"""The most bits of a whole number that arithmetic makes."""
_MOST_SHIFTED = 4096
_SIMPLE_FIELD = re.compile(r"%[sdi]")
WIDE = re.compile(r"\d{5,}")
"""A number in a format that makes a text too long to follow."""
NUMBERS = (int, float)
SETS = (set, frozenset)


def arithmetic(op: str, left: Value, right: Value, span: Span, unsigned: int = 0) -> Value:
    """``left op right`` for an operator that is no comparison. ``unsigned``: how many bits the
    result has, if it is unsigned; one that does not fit is unknown, and where the bits are given as
    a negative number, it wraps around."""
    found = NotImplemented
    if isinstance(left, Model):
        found = left.operate(op, right, reflected=False, span=span)
    elif isinstance(right, Model):
        found = right.operate(op, left, reflected=True, span=span)
    if found is not NotImplemented:
        return found
    if type(left) is Sym or type(right) is Sym:
        return _symbolic(op, left, right, span, unsigned)
    return _plain(op, left, right, span, unsigned)


def _symbolic(op: str, left: Value, right: Value, span: Span, unsigned: int) -> Value:
    """An operation on a symbol. What does not depend on its number is left to the number."""
    unknown = next((s for s in (left, right) if isinstance(s, Unknown)), None)
    if unknown is not None:
        return unknown.derive(op, left, right)
    sides = [plain_number(number_of(s)) for s in (left, right)]
    if Single in map(type, sides):
        return _plain(op, plain(left), plain(right), span, 0)
    if not all(type(s) in (int, bool, float) for s in sides):
        return _plain(op, plain(left), plain(right), span, 0)
    sym: Sym = left if type(left) is Sym else right
    if op in ("/", "//", "%", "c/", "c%") and type(right) is Sym and right.compare("==", right, 0):
        return _compute(op, sides[0], sides[1], span, unsigned)
    if op in ("<<", ">>", "**"):
        return _compute(op, plain(left), plain(right), span, unsigned)
    if op == "c/" and any(isinstance(side, float) for side in sides):
        op = "/"  # only whole numbers are divided towards zero
    value = _compute(op, sides[0], sides[1], span, 0)
    if isinstance(value, Unknown):
        return _compute(op, plain(left), plain(right), span, unsigned)
    result = sym.combine(
        op,
        left if type(left) is Sym else sides[0],
        right if type(right) is Sym else sides[1],
        value,
    )
    if not unsigned:
        return result
    high = (1 << abs(unsigned)) - 1
    fits = result.fits(0, high) if type(result) is Sym else 0 <= result <= high
    if unsigned < 0 and not fits:
        return _compute(op, plain(left), plain(right), span, unsigned)
    return result if fits else Unknown("an unsigned value wraps around", span)


def _plain(op: str, left: Value, right: Value, span: Span, unsigned: int) -> Value:
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        known = left if isinstance(left, Unknown) else right
        return known.derive(op, left, right)
    if type(left) is SymText or type(right) is SymText:
        left, right = plain(left), plain(right)
    if isinstance(left, EnumMember) or isinstance(right, EnumMember):
        flag = combined(op, left, right)
        if flag is not NOTHING:
            return flag
    left, right = plain_number(left), plain_number(right)
    if isinstance(left, NUMBERS) and isinstance(right, NUMBERS):
        return _compute(op, left, right, span, unsigned)
    rest = next((r for r in (rest_of(left), rest_of(right)) if r is not None), None)
    if rest is not None:
        return rest.another()
    left, right = (tuple(s) if type(s) is NamedTuple else s for s in (left, right))
    if op == "+" and type(left) is type(right) and isinstance(left, (str, tuple, list)):
        return left + right if len(left) + len(right) <= LONGEST else _too_long(span)
    if op == "*" and isinstance(left, (str, tuple, list)) and type(right) is int:
        return left * right if len(left) * right <= LONGEST else _too_long(span)
    if op == "%" and isinstance(left, str):
        return _filled_in(left, right, span)
    if isinstance(left, Pointer) or isinstance(right, Pointer):
        return _of_pointers(op, left, right, span)
    if op in ("|", "&", "-", "^") and isinstance(left, SETS) and isinstance(right, SETS):
        return ARITHMETIC[op](left, right)
    return Unknown(f"{op} of {kind_of(left)} and {kind_of(right)}", span)


def _of_pointers(op: str, left: Value, right: Value, span: Span) -> Value:
    """Arithmetic with pointers and iterators."""
    found: Value = None
    if isinstance(left, Pointer) and isinstance(right, Pointer) and op == "-":
        found = right.distance(left)
    elif isinstance(left, Pointer) and type(right) is int and op in ("+", "-"):
        found = left.moved(right if op == "+" else -right)
    elif isinstance(right, Pointer) and type(left) is int and op == "+":
        found = right.moved(left)
    return Unknown("where an iterator is", span) if found is None else found


def shifted(op: str, left: int, right: int, span: Span) -> Value:
    """A shift in Python, where numbers have as many bits as they need."""
    if right < 0:
        raise Failed("exception", "ValueError", "negative shift count", span)
    if op == "<<" and left and left.bit_length() + right > _MOST_SHIFTED:
        return Unknown(f"a number of more than {_MOST_SHIFTED} bits", span)
    return left << right if op == "<<" else left >> right


def _filled_in(text: str, values: Value, span: Span) -> Value:
    """``text % values``."""
    parts = values if isinstance(values, tuple) else (values,)
    if any(type(p) is Sym for p in parts):
        pieces, fields = _SIMPLE_FIELD.split(text), _SIMPLE_FIELD.findall(text)
        simple = "%" not in "".join(pieces) and len(fields) == len(parts)
        if simple and all(map(_fits_field, fields, parts)):
            pairs = zip(pieces, (*parts, ""), strict=True)
            return joined([part for pair in pairs for part in pair])
        values = parts = plain(tuple(parts))
    known = all(type(p) in (int, str, float, bool, type(None)) for p in parts)
    if not known or WIDE.search(text) or "*" in text:
        return Unknown("what a text is formatted with is not known", span)
    try:
        return text % values
    except (TypeError, ValueError) as error:
        raise Failed("exception", type(error).__name__, str(error), span) from None


def _fits_field(field: str, value: Value) -> bool:
    """Whether a field of a text shows just a number or a text."""
    return type(number_of(value)) is int or (field == "%s" and type(value) is str)


def _too_long(span: Span) -> Unknown:
    return Unknown("a text or list too long to follow", span)


def plain_number(value: Value) -> Value:
    """The number that an enumerator without a scope converts to; any other value as it is."""
    if isinstance(value, EnumMember) and not value.scoped and value.value is not None:
        return value.value
    return value


def _compute(op: str, left: Value, right: Value, span: Span, unsigned: int) -> Value:
    if Single in (type(left), type(right)):
        left, right = in_one_type(left, right)
        if type(left) is Single:
            found = _compute(op, float(left), float(right), span, 0)
            return single(found) if isinstance(found, float) else found
    truncating = op.startswith("c")
    if op in ("/", "//", "%", "c/", "c%") and right == 0:
        if truncating and isinstance(left, int) and isinstance(right, int):
            raise Unsupported("division by zero", span)
        if not truncating:
            raise Failed("exception", "ZeroDivisionError", "division by zero", span)
        return Unknown("division by zero", span)
    if truncating and (isinstance(left, float) or isinstance(right, float)):
        return left / right if op == "c/" else Unknown("remainder of floats", span)
    if op in ("<<", ">>") and (not isinstance(right, int) or not 0 <= right < 64):
        return Unknown(f"shift by {right}", span)
    if op == "**" and (abs(right) > 64 or abs(left) > 2**32):
        return Unknown("a power too large to compute", span)
    try:
        result = ARITHMETIC[op](left, right)
    except ZeroDivisionError as error:  # zero to a negative power
        raise Failed("exception", "ZeroDivisionError", str(error), span) from None
    except (TypeError, ValueError, OverflowError) as error:
        return Unknown(str(error), span)
    if unsigned and isinstance(result, int) and not 0 <= result < 1 << abs(unsigned):
        if unsigned < 0 and not (isinstance(left, float) or isinstance(right, float)):
            return result & ((1 << -unsigned) - 1)
        return Unknown("an unsigned value wraps around", span)
    widest = _MOST_SHIFTED if op in ("|", "&", "^", "+", "-") else WIDEST
    if isinstance(result, int) and result.bit_length() > widest:
        return Unknown("a number too large to follow", span)
    return result


def kind_of(value: Value) -> str:
    """What a value is, for a reason."""
    if isinstance(value, Record):
        return value.type
    return "None" if value is None else type(value).__name__

"""Operators over values of every kind: what is known is what Python, or C++, makes of them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.symbolic.symbols import PathCondition, Sym
from mlaprobe.evaluator.values.arithmetic import LONGEST, WIDEST
from mlaprobe.evaluator.values.comparing import compare, entry_of, equals, negate
from mlaprobe.evaluator.values.kinds import EnumMember, Model
from mlaprobe.evaluator.values.membership import contains
from mlaprobe.evaluator.values.operators import binary, unary
from mlaprobe.evaluator.values.unknown import Something, Unknown
from mlaprobe.evaluator.values.unordered import Unordered
from tests.formulas import value_of

PYTHON: dict[str, Callable[[Any, Any], Any]] = {
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
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}
NUMBERS = st.one_of(
    st.integers(-9, 9), st.integers(-(2**40), 2**40), st.booleans(), st.floats(-99, 99)
)
PLAIN = st.one_of(NUMBERS, st.text("ab", max_size=3), st.none())
VALUES = st.one_of(
    PLAIN,
    st.lists(PLAIN, max_size=3),
    st.lists(PLAIN, max_size=3).map(tuple),
    st.frozensets(st.integers(0, 4), max_size=3),
    st.dictionaries(st.integers(0, 4), st.integers(0, 4), max_size=3),
    st.just(range(2, 9, 3)),
)


def in_python(op: str, left: Any, right: Any) -> tuple[Any, str]:
    """The result, or how it fails."""
    try:
        return PYTHON[op](left, right), ""
    except Exception as error:
        return None, type(error).__name__


def evaluated(op: str, left: Any, right: Any) -> tuple[Any, str]:
    """The same of the evaluator."""
    try:
        return binary(op, left, right, NOWHERE), ""
    except Failed as failure:
        return None, failure.how


def check(found: tuple[Any, str], expected: tuple[Any, str]) -> None:
    """What is claimed is so; an unknown claims nothing."""
    value, failure = found
    if isinstance(value, Unknown):
        return
    assert failure == expected[1]
    assert value == expected[0]
    assert type(value) is type(expected[0])


@given(st.sampled_from(sorted(PYTHON)), VALUES, VALUES)
def test_what_is_claimed_is_what_python_computes(op: str, left: Any, right: Any) -> None:
    expected = (None, "") if op in ("<<", "**") and _large(right) else in_python(op, left, right)
    if expected != (None, ""):
        check(evaluated(op, left, right), expected)


def _large(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) > 99


@given(st.sampled_from(sorted(PYTHON)), st.integers(-9, 99), VALUES, st.booleans())
def test_a_symbol_computes_like_its_number(op: str, x: int, other: Any, swap: bool) -> None:
    """Also with what is no number; an answer that remembers its formula gives it for the number."""
    left, right = (other, x) if swap else (x, other)
    sym = Sym(x, "x", PathCondition())
    symbols = (other, sym) if swap else (sym, other)
    if op in ("<<", "**") and _large(right):
        return
    value, failure = evaluated(op, *symbols)
    if isinstance(value, Sym):
        value = value_of(value.expr, {"x": x})
    check((value, failure), in_python(op, left, right))


TRUNCATED = [(7, 2), (-7, 2), (7, -2), (-7, -2), (0, 5), (6, 3), (-6, 3), (2**40 + 1, 3)]


@pytest.mark.parametrize(("a", "b"), TRUNCATED)
def test_cpp_divides_towards_zero(a: int, b: int) -> None:
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    assert binary("c/", a, b, NOWHERE) == quotient
    assert binary("c%", a, b, NOWHERE) == a - quotient * b
    assert binary("c/", float(a), b, NOWHERE) == a / b
    assert isinstance(binary("c%", float(a), b, NOWHERE), Unknown)


def test_dividing_by_zero() -> None:
    """Undefined in C++, and an exception in Python."""
    for op in ("c/", "c%"):
        with pytest.raises(Unsupported):
            binary(op, 4, 0, NOWHERE)
        assert isinstance(binary(op, 4.0, 0, NOWHERE), Unknown)
        with pytest.raises(Unsupported):
            binary(op, 4, Sym(0, "x", PathCondition()), NOWHERE)
    for op, left, right in (("/", 4, 0), ("//", 4, 0), ("%", 4, 0), ("**", 0, -1)):
        with pytest.raises(Failed) as caught:
            binary(op, left, right, NOWHERE)
        assert (caught.value.kind, caught.value.how) == ("exception", "ZeroDivisionError")


@pytest.mark.parametrize("values", ["x", (1, 2), (), ("x",), None])
def test_a_format_that_does_not_fit(values: Any) -> None:
    """Python's own exception."""
    with pytest.raises(TypeError) as wanted:
        "%d".__mod__(values)
    with pytest.raises(Failed) as caught:
        binary("%", "%d", values, NOWHERE)
    assert (caught.value.how, caught.value.message) == ("TypeError", str(wanted.value))


@pytest.mark.parametrize(
    ("op", "left", "right"),
    [
        ("<<", 1, 64),
        ("<<", 1, -1),
        ("<<", 1, 1.5),
        (">>", 1, 64),
        ("**", 2, 65),
        ("**", 2**33, 2),
        ("*", 2**70, 2**70),
        ("+", "x" * LONGEST, "y"),
        ("*", [1], LONGEST + 1),
        ("+", None, 4),
        ("&", 1.5, 2),
        ("<", 1, "a"),
        ("<", [1], ["a"]),
        ("in", 4, 4),
        ("is", 4, 4.0),
        ("-", 3, 4),
    ],
)
def test_what_is_not_computed(op: str, left: Any, right: Any) -> None:
    """Too large, of no meaning, or not the same in every language; the last as an unsigned."""
    unsigned = 32 if (op, left, right) == ("-", 3, 4) else 0
    assert isinstance(binary(op, left, right, NOWHERE, unsigned=unsigned), Unknown)
    assert 2**WIDEST > 2**100


def test_unsigned_numbers_of_a_symbol_wrap_around_unseen_by_nobody() -> None:
    """A result that fits is known for all numbers for which it does."""
    path_condition = PathCondition()
    sym = Sym(5, "x", path_condition)
    fits = binary("-", sym, 4, NOWHERE, unsigned=32)
    assert value_of(fits.expr, {"x": 5}) == 1
    assert [(value_of(c, {"x": 3}), r) for c, r in path_condition.conditions] == [(False, True)]
    assert isinstance(binary("-", sym, 6, NOWHERE, unsigned=32), Unknown)
    assert isinstance(binary("+", sym, 2**32 - 3, NOWHERE, unsigned=32), Unknown)


# --- unknowns ---

OPEN = Unknown("an input", key=("x",), free="x")
THERE = Something("a tensor", key=("t",), free="data")


@pytest.mark.parametrize("op", ["==", "!=", "is", "is not"])
def test_something_unknown_is_not_none(op: str) -> None:
    """And what may be none is neither; from either side."""
    different = op in ("!=", "is not")
    assert binary(op, THERE, None, NOWHERE) is different
    assert binary(op, None, THERE, NOWHERE) is different
    assert isinstance(binary(op, OPEN, None, NOWHERE), Unknown)
    assert isinstance(binary(op, None, OPEN, NOWHERE), Unknown)
    assert isinstance(binary(op, THERE, 4, NOWHERE), Unknown)
    assert isinstance(binary(op, THERE, OPEN, NOWHERE), Unknown)


@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
def test_something_unknown_has_no_order_with_none(op: str) -> None:
    assert isinstance(compare(op, THERE, None, NOWHERE), Unknown)
    assert isinstance(compare(op, None, THERE, NOWHERE), Unknown)


@pytest.mark.parametrize(
    ("op", "expected"),
    [("==", True), ("!=", False), ("<", False), ("<=", True), (">", False), (">=", True)],
)
def test_an_unknown_and_itself(op: str, expected: bool) -> None:
    assert compare(op, OPEN, Unknown("the same", key=("x",)), NOWHERE) is expected
    assert isinstance(compare(op, OPEN, Unknown("another", key=("y",)), NOWHERE), Unknown)


@pytest.mark.parametrize("container", [OPEN, [OPEN], (1, OPEN), {OPEN: 1}, Model(), "ab"])
def test_membership_that_is_not_known(container: Any) -> None:
    assert isinstance(contains(container, 4, NOWHERE), Unknown)
    assert isinstance(negate(contains(container, 4, NOWHERE)), Unknown)


def test_membership_that_is_known_all_the_same() -> None:
    assert contains([OPEN, 4], 4, NOWHERE) is True
    assert contains({4: OPEN}, 4, NOWHERE) is True
    assert contains(Unordered((3, 4)), 4, NOWHERE) is True
    assert contains(Unordered((3, 4)), 5, NOWHERE) is False
    assert contains(range(0), Sym(4, "x", PathCondition()), NOWHERE) is False
    assert contains([], OPEN, NOWHERE) is False
    assert isinstance(contains([1, 2], OPEN, NOWHERE), Unknown)


def test_an_entry_under_a_key_that_is_not_known() -> None:
    assert entry_of({4: "a"}, 4, NOWHERE) == (True, "a")
    assert entry_of({4: "a"}, 5, NOWHERE) == (False, None)
    found, value = entry_of({4: "a"}, OPEN, NOWHERE)
    assert isinstance(found, Unknown)
    assert value is None
    assert entry_of({OPEN: "a", 4: "b"}, 4, NOWHERE) == (True, "b")


@given(st.booleans(), st.integers(1, 4))
def test_twice_denied_is_the_same(value: bool, times: int) -> None:
    found: Any = OPEN
    known: Any = value
    for _ in range(times * 2):
        found, known = negate(found), negate(known)
    assert found.key == OPEN.key
    assert known is value
    assert negate(found).key != OPEN.key


@pytest.mark.parametrize("op", ["-", "+", "~", "not"])
@pytest.mark.parametrize("value", [0, 5, -3, True, 2.5])
def test_one_sided_operators(op: str, value: Any) -> None:
    python: dict[str, Callable[[Any], Any]] = {
        "-": operator.neg,
        "+": operator.pos,
        "~": operator.inv,
        "not": operator.not_,
    }
    if op == "~" and isinstance(value, float):
        assert isinstance(unary(op, value, NOWHERE), Unknown)
        return
    expected = python[op](int(value) if op == "~" else value)
    assert unary(op, value, NOWHERE) == expected
    if type(value) is int:
        found = unary(op, Sym(value, "x", PathCondition()), NOWHERE)
        assert (value_of(found.expr, {"x": value}) if type(found) is Sym else found) == expected
    assert isinstance(unary(op, OPEN, NOWHERE), Unknown)
    assert op == "not" or isinstance(unary(op, [1], NOWHERE), Unknown)


# --- enumerators ---

RED = EnumMember("Colour", "red", 1)
BLUE = EnumMember("Colour", "blue", 2)
NAMELESS = EnumMember("Colour", "green")
OTHER = EnumMember("Shade", "dark")
LOOSE = EnumMember("Mode", "fast", 4, scoped=False)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (RED, EnumMember("Colour", "red", 1), True),
        (RED, BLUE, False),
        (RED, EnumMember("Colour", "rouge", 1), True),
        (NAMELESS, EnumMember("Colour", "green"), True),
        (NAMELESS, RED, False),
        (NAMELESS, OTHER, None),
        (LOOSE, 4, True),
        (LOOSE, 5, False),
        (RED, 1, None),
        (RED, None, False),
        (4, None, None),
        ("a", None, False),
        ([4, OPEN], [5, OPEN], False),
        ([4, OPEN], [4, 3], None),
        ([OPEN, 4], [3, 4], None),
        ([4], [4, 5], False),
        ((4, RED), (4, RED), True),
        ([1], (1,), None),
        (1.0, 1, True),
    ],
)
def test_equality(left: Any, right: Any, expected: bool | None) -> None:
    for found in (equals(left, right, NOWHERE), equals(right, left, NOWHERE)):
        assert (None if isinstance(found, Unknown) else found) is expected
    if isinstance(left, EnumMember) and isinstance(right, EnumMember):
        same = binary("is", left, right, NOWHERE)
        assert (None if isinstance(same, Unknown) else same) is expected


def test_loose_enumerators_are_numbers() -> None:
    assert binary("+", LOOSE, 1, NOWHERE) == 5
    assert compare("<", LOOSE, 5, NOWHERE) is True
    assert isinstance(compare("<", RED, 5, NOWHERE), Unknown)


class Twin(Model):
    """Equal to 4 and to nothing else that it knows."""

    def equals(self, other: Any) -> bool | None:
        return True if other == 4 else None


def test_models_say_what_they_equal() -> None:
    for left, right in ((Twin(), 4), (4, Twin())):
        assert binary("==", left, right, NOWHERE) is True
        assert binary("!=", left, right, NOWHERE) is False
        assert contains([left], right, NOWHERE) is True
    assert isinstance(binary("==", Twin(), 5, NOWHERE), Unknown)
    assert isinstance(binary("!=", 5, Twin(), NOWHERE), Unknown)
    assert binary("is", Twin(), None, NOWHERE) is False
    assert binary("==", Twin(), None, NOWHERE) is False

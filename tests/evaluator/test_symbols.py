"""Laws of numbers that remember their formula."""

from __future__ import annotations

import operator
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.symbolic.formulas import Tree, compile_expr
from mlaprobe.evaluator.symbolic.symbols import LARGEST, PathCondition, Sym
from mlaprobe.evaluator.values.arithmetic import LONGEST, WIDEST
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.evaluator.values.unknown import Unknown
from tests.formulas import value_of

PYTHON = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "c/": lambda a, b: int(a / b),
    "c%": lambda a, b: a - int(a / b) * b,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "&": operator.and_,
}
DIVIDES = ("//", "%", "c/", "c%", "/")
Step = tuple[str, Any, bool]
STEPS = st.lists(
    st.tuples(st.sampled_from(sorted(PYTHON)), st.integers(1, 40), st.booleans()), max_size=8
)
BROKEN = {name: PYTHON[name] for name in ("+", "-", "*", "//", "<", "<=", "==", ">=")}
BROKEN["/"] = operator.truediv
BROKEN_STEPS = st.lists(
    st.tuples(
        st.sampled_from(sorted(BROKEN)),
        st.one_of(st.integers(1, 8), st.integers(1, 16).map(lambda n: n / 2)),
        st.booleans(),
    ),
    max_size=8,
)
"""With numbers that equal a whole one and are none."""


def _run(steps: list[Step], x: Any, apply: Any) -> Any:
    """Operations one after the other; a comparison that holds adds three."""
    for op, other, swap in steps:
        swap = swap and op not in DIVIDES
        found = apply(op, other, x) if swap else apply(op, x, other)
        if op in ("<", "<=", "==", "!=", ">", ">="):
            x = apply("+", x, 3) if found else x
        else:
            x = found
    return x


def _mlaprobe(op: str, left: Any, right: Any) -> Any:
    return binary(op, left, right, NOWHERE)


@given(STEPS, st.integers(1, 200), st.lists(st.integers(1, 200), max_size=20))
def test_one_run_answers_for_every_input_that_takes_its_path(
    steps: list[Step], x: int, others: list[int]
) -> None:
    _holds_for_its_path(steps, x, others)


@given(BROKEN_STEPS, st.integers(1, 200), st.lists(st.integers(1, 200), max_size=20))
@example([("/", 2, False), ("//", 1, False)], 1, [])  # rounds, though it divides by one
def test_a_number_of_a_floating_type_stays_one(
    steps: list[Step], x: int, others: list[int]
) -> None:
    """Also where the same formula over whole numbers was asked before: 2.0 equals 2."""
    _holds_for_its_path(steps, x, others)


def _holds_for_its_path(steps: list[Step], x: int, others: list[int]) -> None:
    path_condition = PathCondition()
    answer = _run(steps, Sym(x, "x", path_condition), _mlaprobe)
    tree = Tree(("x",))
    tree.add(path_condition.conditions, (x,), (answer,))
    assert tree.find((x,)) is not None
    for other in [x, *others]:
        found = tree.find((other,))
        if found is not None:
            expected = _run(steps, other, lambda op, a, b: {**PYTHON, **BROKEN}[op](a, b))
            for value in _by_both(found[0], other):
                assert (type(value), value) == (type(expected), expected)


def _by_both(answer: Any, x: int) -> tuple[Any, ...]:
    """An answer for an input: worked out, and by the compiled formula."""
    if not isinstance(answer, Sym):
        return (answer,)
    return value_of(answer.expr, {"x": x}), compile_expr(answer.expr, ("x",))((x,))


@pytest.mark.parametrize("number", [2, 2.0, -0.5, float("inf"), float("-inf")])
def test_formulas_over_equal_numbers_are_not_mixed_up(number: float) -> None:
    product = binary("*", Sym(4, "x", PathCondition()), number, NOWHERE)
    value = compile_expr(product.expr, ("x",))((4,))
    assert (type(value), value) == (type(number), 4 * number)


def test_a_formula_stops_growing() -> None:
    path_condition = PathCondition()
    value: Any = Sym(3, "x", path_condition)
    expected = 3
    for _ in range(200):
        square = binary("*", value, value, NOWHERE)
        value = binary("%", binary("+", square, 1, NOWHERE), 1009, NOWHERE)
        expected = (expected * expected + 1) % 1009
    assert (value.value if isinstance(value, Sym) else value) == expected
    assert path_condition.conditions
    assert all(len(str(c)) < 40 * LARGEST for c, _ in path_condition.conditions)
    assert all(bool(value_of(c, {"x": 3})) == result for c, result in path_condition.conditions)
    assert not all(bool(value_of(c, {"x": 4})) == result for c, result in path_condition.conditions)


def test_numbers_and_texts_stop_growing() -> None:
    assert isinstance(binary("*", 1 << (WIDEST - 1), 4, NOWHERE), Unknown)
    assert binary("*", 1 << (WIDEST - 3), 2, NOWHERE) == 1 << (WIDEST - 2)
    assert isinstance(binary("*", [0], LONGEST + 1, NOWHERE), Unknown)
    assert len(binary("*", [0], LONGEST, NOWHERE)) == LONGEST
    assert isinstance(binary("+", "a" * LONGEST, "b", NOWHERE), Unknown)

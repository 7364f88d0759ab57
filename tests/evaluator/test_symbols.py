"""Laws of numbers that remember their formula."""

from __future__ import annotations

import operator
from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.symbolic.formulas import Tree
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
DIVIDES = ("//", "%", "c/", "c%")
Step = tuple[str, int, bool]
STEPS = st.lists(
    st.tuples(st.sampled_from(sorted(PYTHON)), st.integers(1, 40), st.booleans()), max_size=8
)


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
    path_condition = PathCondition()
    answer = _run(steps, Sym(x, "x", path_condition), _mlaprobe)
    tree = Tree(("x",))
    tree.add(path_condition.conditions, (x,), (answer,))
    assert tree.find((x,)) is not None
    for other in [x, *others]:
        found = tree.find((other,))
        if found is not None:
            value = found[0]
            value = value_of(value.expr, {"x": other}) if isinstance(value, Sym) else value
            assert value == _run(steps, other, lambda op, a, b: PYTHON[op](a, b))


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

"""What is read off a path with symbols in it holds wherever its conditions do."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mlaprobe.core.shape import StageOutcome, Status
from mlaprobe.evaluator.symbolic.formulas import FUNCTIONS
from mlaprobe.evaluator.symbolic.symbols import PathCondition, Sym, joined, same
from mlaprobe.stages.numbers import calculate, is_whole, multiple
from tests.formulas import value_of

NAMES = ("heads", "qlen")
INPUTS = st.fixed_dictionaries({name: st.integers(1, 48) for name in NAMES})
UNITS = st.one_of(st.integers(1, 17), st.sampled_from(NAMES))
TERMS = st.recursive(
    UNITS, lambda inner: st.tuples(st.sampled_from(("+", "*", "//")), inner, UNITS), max_leaves=4
)


def made(term: Any, inputs: dict[str, Any]) -> Any:
    """A term over inputs, which are numbers or symbols."""
    if isinstance(term, tuple):
        return calculate(term[0], made(term[1], inputs), made(term[2], inputs))
    return inputs[term] if isinstance(term, str) else term


def symbols(inputs: dict[str, int]) -> tuple[dict[str, Any], PathCondition]:
    path_condition = PathCondition()
    return {
        name: Sym(value, name, path_condition) for name, value in inputs.items()
    }, path_condition


def filled(value: Any, inputs: dict[str, int]) -> Any:
    return value_of(value.expr, inputs) if type(value) is Sym else value


def holds(path_condition: PathCondition, inputs: dict[str, int]) -> bool:
    return all(bool(value_of(expr, inputs)) is result for expr, result in path_condition.conditions)


def by_hand(term: Any, inputs: dict[str, int]) -> int:
    if isinstance(term, tuple):
        found: int = FUNCTIONS[term[0]](by_hand(term[1], inputs), by_hand(term[2], inputs))
        return found
    return inputs[term] if isinstance(term, str) else int(term)


@given(TERMS, UNITS, INPUTS, INPUTS)
def test_a_multiple_holds_wherever_its_conditions_do(
    term: Any, unit: Any, asked: dict[str, int], other: dict[str, int]
) -> None:
    known, path_condition = symbols(asked)
    found = multiple(made(term, known), made(unit, known))
    for inputs in (asked, other):
        if holds(path_condition, inputs):
            value, by = by_hand(term, inputs), by_hand(unit, inputs)
            times = value // by if value % by == 0 and value >= by else None
            assert filled(found, inputs) == times


@given(TERMS, TERMS, INPUTS, INPUTS)
def test_equality_holds_wherever_its_conditions_do(
    one: Any, two: Any, asked: dict[str, int], other: dict[str, int]
) -> None:
    known, path_condition = symbols(asked)
    left, right = (
        StageOutcome(
            stage="planner",
            status=Status.FOLD,
            fold=made(term, known),
            message=joined(["to ", made(term, known), " heads"]),
        )
        for term in (one, two)
    )
    found = same(left, right)
    for inputs in (asked, other):
        if holds(path_condition, inputs):
            assert found is (by_hand(one, inputs) == by_hand(two, inputs))


def test_what_is_not_a_number() -> None:
    known, path_condition = symbols({"heads": 16, "qlen": 1})
    flag = Sym(True, ("!=", "lse", 0), path_condition)
    assert is_whole(known["heads"])
    assert is_whole(16)
    assert not any(map(is_whole, (flag, True, 1.0, None, "16")))
    assert not same(known["heads"], None)
    assert not same("16", known["heads"])
    assert not same(joined(["to ", known["heads"]]), None)
    assert same((known["heads"], "a"), (known["heads"], "a"))
    assert not same((known["heads"],), (known["heads"], "a"))
    assert path_condition.conditions == []

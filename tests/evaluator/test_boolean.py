"""``and`` and ``or`` over symbols: what Python computes, in as few runs as there are answers."""

from __future__ import annotations

from itertools import product
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Outcome, Run
from mlaprobe.evaluator.engine.shared import SharedState
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.python.project import PyProject
from mlaprobe.evaluator.symbolic.formulas import Tree
from mlaprobe.evaluator.symbolic.symbols import PathCondition, Sym
from mlaprobe.stages.environment.pybuiltins import python_externals
from mlaprobe.stages.instantiate import PathSummary

GRID = tuple(product(range(-1, 4), (0, 1, 2, 16)))
HELPERS = """
nothing = None
yes = True

def ready():
    return yes


def odd(x):
    if x % 2:
        raise ValueError("odd")
    return x > 1
"""


class Program:
    """A function ``f(a, b)`` that is asked with symbols, and its runs."""

    def __init__(self, text: str) -> None:
        project = PyProject({"aiter/m.py": text}.get, externals=python_externals())
        module = project.module("aiter.m")
        assert module is not None
        self.machine = Machine()
        self.module = module
        self.function = module.lookup(Run(self.machine), "f", NOWHERE)
        self.shared = SharedState()
        self.tree = Tree(("a", "b"))
        self.runs = 0

    def ask(self, a: int, b: int) -> tuple[Outcome, ...]:
        found = self.tree.find((a, b))
        if found is None:
            self.runs += 1
            path_condition = PathCondition()
            args = (Sym(a, "a", path_condition), Sym(b, "b", path_condition))
            paths = self.machine.explore(
                lambda run: self.machine.call(run, self.function, args, {}, NOWHERE),
                lambda script: Run(self.machine, script=script, shared=self.shared),
            )
            found = PathSummary(paths, ("a", "b"), answer=paths)
            self.tree.add(path_condition.conditions, (a, b), found)
        outcomes: tuple[Outcome, ...] = found.answer((a, b))
        return outcomes


def answer(outcomes: tuple[Outcome, ...]) -> object:
    (outcome,) = outcomes
    if outcome.kind == "failed":
        assert outcome.failure is not None
        return outcome.failure.how
    assert outcome.kind == "returned", outcome.reason
    return outcome.value


def python(text: str, a: int, b: int) -> object:
    names: dict[str, Any] = {}
    exec(text, names)
    try:
        return names["f"](a, b)
    except (ValueError, ZeroDivisionError) as error:
        return type(error).__name__


NUMBER = st.sampled_from(("a", "b", "a + b", "2 * a", "16", "3", "b - 1"))
COMPARISON = st.one_of(
    st.tuples(NUMBER, st.sampled_from(("==", "!=", "<", "<=", ">", ">=")), NUMBER).map(" ".join),
    st.tuples(NUMBER, st.sampled_from(("in", "not in")), st.just("(1, 2, 16)")).map(" ".join),
    st.just("1 <= a <= 3"),
    st.just("b in range(0, 17, 2)"),
)
FAILS = st.sampled_from(("7 // b > 2", "odd(a)", "7 % a == 1", "odd(b)"))
LEAF = st.one_of(
    COMPARISON, COMPARISON, FAILS, st.sampled_from(("yes", "ready()", "nothing is None"))
)
CLAUSE = st.recursive(
    LEAF,
    lambda part: st.one_of(
        st.lists(part, min_size=2, max_size=4).map(lambda p: "(" + " and ".join(p) + ")"),
        st.lists(part, min_size=2, max_size=4).map(lambda p: "(" + " or ".join(p) + ")"),
        part.map(lambda p: f"(not {p})"),
    ),
    max_leaves=9,
)


@given(CLAUSE, st.booleans())
def test_a_clause_over_symbols_is_what_python_says(clause: str, tested: bool) -> None:
    body = f"    if {clause}:\n        return 1\n    return 2" if tested else f"    return {clause}"
    text = f"{HELPERS}\ndef f(a, b):\n{body}\n"
    program = Program(text)
    for a, b in GRID:
        assert answer(program.ask(a, b)) == python(text, a, b), (clause, a, b)


@pytest.mark.parametrize(
    ("clause", "runs"),
    [
        ("a == 0 or a == 1 or a == 3 or b == 16 or (b == 2 and a < 2)", 2),
        ("a in (0, 1, 3) or b in {2, 16}", 2),
        ("not (a == 0 or a == 1) and not b == 2", 2),
        ("a == 0 and nothing is not None", 1),
        ("a == 0 or a == 1 or yes", 1),
        ("a == 0 and (b == 2 or yes)", 2),
        ("a == 0 or a == 1 or ready()", 2),  # a call is made in its turn
    ],
)
def test_a_clause_is_one_question(clause: str, runs: int) -> None:
    text = f"{HELPERS}\ndef f(a, b):\n    if {clause}:\n        return 1\n    return 2\n"
    program = Program(text)
    for a, b in GRID:
        assert answer(program.ask(a, b)) == python(text, a, b)
    assert program.runs == runs


def test_an_operand_that_may_fail_waits_for_its_turn() -> None:
    text = f"{HELPERS}\ndef f(a, b):\n    return a == 2 and odd(b)\n"
    program = Program(text)
    assert answer(program.ask(1, 1)) is False
    assert answer(program.ask(2, 1)) == "ValueError"
    assert answer(program.ask(2, 2)) is True
    assert program.runs == 3

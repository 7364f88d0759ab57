"""The evaluator against the meaning of generated rules.

``MLAPROBE_DEEP=1`` asks for many more examples than the default.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.generated.deep import examples
from tests.generated.rules import Rule, random_rule
from tests.generated.rules import opened as with_open_clause
from tests.generated.scramble import scrambled_cpp, scrambled_python
from tests.generated.trees import (
    dispatched,
    dispatcher_text,
    opened,
    planned,
    planner_text,
    question,
    said,
    shapes,
)

ASKED = 40
generated = given(st.randoms(use_true_random=False))
checked = settings(
    max_examples=examples(6, 1000),
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def both(rule: Rule, random: Random) -> tuple[str, str]:
    """The rule as a planner and as a dispatcher."""
    return planner_text(rule, random), dispatcher_text(rule, random)


@checked
@generated
def test_a_rule_is_evaluated_as_it_is_meant(random: Random) -> None:
    rule = random_rule(random)
    planner, dispatcher = both(rule, random)
    capability = opened(planner, dispatcher)
    for shape in shapes(random, ASKED):
        native = rule.holds(shape)
        asked = question(shape)
        assert said(capability.ask("planner", asked)) == planned(native, shape), (shape, planner)
        answer = said(capability.ask("dispatcher", asked))
        assert answer == dispatched(native, shape), (shape, dispatcher)


@checked
@generated
def test_spacing_comments_and_dead_code_change_nothing(random: Random) -> None:
    rule = random_rule(random)
    planner, dispatcher = both(rule, random)
    other = opened(scrambled_cpp(planner, random), scrambled_python(dispatcher, random))
    for shape in shapes(random, ASKED):
        native = rule.holds(shape)
        asked = question(shape)
        assert said(other.ask("planner", asked)) == planned(native, shape), shape
        assert said(other.ask("dispatcher", asked)) == dispatched(native, shape), shape


@checked
@generated
def test_what_cannot_be_followed_flips_nothing(random: Random) -> None:
    rule = with_open_clause(random_rule(random), random)
    planner, dispatcher = both(rule, random)
    capability = opened(planner, dispatcher)
    for shape in shapes(random, ASKED):
        asked, sides = question(shape), (rule.holds(shape), rule.holds(shape, True))
        for stage, means, text in (
            ("planner", planned, planner),
            ("dispatcher", dispatched, dispatcher),
        ):
            answer = said(capability.ask(stage, asked))
            possible = {means(side, shape) for side in sides}
            if answer[0] != "unknown":
                assert possible == {answer}, (shape, text)


def test_an_open_clause_is_mostly_settled_by_others() -> None:
    """The law above is empty if everything is unknown."""
    random, known, total = Random(5), 0, 0
    for _ in range(15):
        rule = with_open_clause(random_rule(random), random)
        capability = opened(planner_text(rule, random))
        for shape in shapes(random, 10):
            total += 1
            known += capability.ask("planner", question(shape)).status != "unknown"
    assert known > total / 10, (known, total)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_rule_in_one_place_only_is_seen(seed: int) -> None:
    random = Random(seed)
    rule = Rule("and", parts=(Rule("arch", name="gfx950"), Rule("heads", values=(48,))))
    capability = opened(planner_text(rule, random))
    shape = next(s for s in shapes(random, 10_000) if (s.arch, s.heads) == ("gfx950", 48))
    assert capability.ask("planner", question(shape)).status == "native"
    assert capability.ask("dispatcher", question(shape)).status != "rejected"

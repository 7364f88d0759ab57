"""What plans say of the needs of their launches."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from pathlib import Path

import pytest

from mlaprobe.core.needs import Consequence, Need
from mlaprobe.core.shape import DecodeShape
from mlaprobe.output.resolve_data import plan_row
from mlaprobe.output.resolve_text import resolve
from mlaprobe.output.style import plain
from mlaprobe.padding.api import plan
from mlaprobe.padding.needed import merged
from mlaprobe.padding.plan import PadPlan
from mlaprobe.rulefiles.arguments import PLANNER, parameters_at
from mlaprobe.rulefiles.requirements import LaunchNeed, needs
from tests.output.fake import NEEDS, Fake
from tests.padding.fake import later
from tests.stages.ask import opened
from tests.stages.test_needs import needing


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> PadPlan:
    """A plan of a tree that needs a lot."""
    capability = opened(tmp_path_factory.mktemp("needing"), needing())
    asked = {"arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8", "qlens": (1, 2)}
    return plan(48, mode="off", capability=capability, **asked)  # type: ignore[arg-type]


def found(plan: PadPlan) -> dict[str, Need]:
    assert plan.asked is not None
    return {need.id: need for need in plan.asked}


def test_what_asking_shows_takes_the_place_of_a_rule(made: PadPlan) -> None:
    asked = found(made)
    assert asked["q-scale-absent"].outcome is Consequence.REJECTED
    assert asked["planner-dtypes-left-out"].outcome is Consequence.INCOHERENT
    noticed = {need.id for need in made.launch}
    assert {"planner-dtypes", "planner-qlen", "planner-heads", "row-width"} <= noticed
    listed = [need.id for need in made.needs]
    assert len(listed) == len(set(listed))
    shown = {"planner-dtypes", "planner-qlen", "metadata-mode"}
    assert set(listed) == (noticed | asked.keys()) - shown


def test_settings_of_several_query_lengths(made: PadPlan) -> None:
    told = dict(found(made)["planner-qlen-one"].settings)
    assert told == {"max_seqlen_qo": 2, "uni_seqlen_qo": 2}, "tried on two query tokens only"
    told = dict(found(made)["planner-uniform-qlen-left-out"].settings)
    assert told == {"uni_seqlen_qo": (1, 2)}


def test_what_is_not_known_takes_no_rules_place() -> None:
    rule = LaunchNeed(id="a", text="b", settings=(), reference=(), shown_by="c")
    need = Need(id="c", change="d", text="e", outcome=Consequence.UNKNOWN)
    assert merged((rule,), (need,)) == (rule, need)


@pytest.mark.parametrize("qlen", [1, 2])
def test_what_can_be_passed_is_filled_in(made: PadPlan, qlen: int) -> None:
    """Whatever a need says of the planner's arguments, the plan passes."""
    takes = parameters_at("v0.1.20")[PLANNER]
    given = made.settings_for(qlen)
    checked = set()
    for need in found(made).values():
        for name, value in need.settings:
            if name in takes:
                each = (
                    dict(zip(made.qlens, value, strict=True))[qlen]
                    if isinstance(value, tuple)
                    else value
                )
                if need.id != "planner-qlen-one" or qlen == 2:
                    assert given[name] == each, (need.id, name)
                    checked.add(name)
    assert {"dtype_q", "dtype_kv", "uni_seqlen_qo", "max_split_per_batch"} <= checked


def test_a_source_that_cannot_be_asked() -> None:
    asked = {"arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8", "qlens": (1,)}
    made = plan(64, capability=later(), **asked)  # type: ignore[arg-type]
    assert made.asked is None
    assert made.needs == made.launch
    assert plan_row(made)["needs"] is None


def test_nothing_is_asked_before_somebody_wants_to_know() -> None:
    class Asked(Fake):
        def needs(self, shape: DecodeShape) -> tuple[Need, ...]:
            raise AssertionError

    asked = {"arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8", "qlens": (1,)}
    made = plan(64, capability=Asked(), **asked)  # type: ignore[arg-type]
    assert made.settings_for(1)
    assert isinstance(made.asked, Sequence)
    assert "needs of 1 launches" in repr(made.asked)
    with pytest.raises(AssertionError):
        len(made.asked)


def test_plans_travel(made: PadPlan) -> None:
    assert made.asked is not None
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert again.asked == tuple(made.asked)


def test_what_people_and_programs_read() -> None:
    asked = {"arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8", "qlens": (1,)}
    fake = Fake()
    made = plan(64, capability=fake, **asked)  # type: ignore[arg-type]
    shown = plain(resolve(fake.source, made, width=300))
    assert "pass the scale; with no scale: REJECTED by host, and the process aborts" in shown
    assert "limit=-1: leave the limit at -1" in shown
    row = json.loads(json.dumps(plan_row(made)))
    assert [need["id"] for need in row["needs"]] == [need.id for need in NEEDS]
    assert all("shown_by" not in need for need in row["launch"])


def test_rules_name_variations_that_there_are(tmp_path: Path) -> None:
    from mlaprobe.rulefiles.variations import variation

    shape = DecodeShape(arch="gfx950", q_dtype="fp8", kv_dtype="fp8", num_heads=64)  # type: ignore[arg-type]
    named = [need.shown_by for need in needs(shape) if need.shown_by]
    assert len(named) >= 4
    assert all(map(variation, named))

"""What launches need, in snapshots: as the live source has it."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.needs import Consequence, Need
from mlaprobe.core.shape import DecodeShape, Dtype, PlannerCall
from mlaprobe.deciding.capability import Capability
from mlaprobe.errors import SourceError, UsageError
from mlaprobe.padding.api import plan
from mlaprobe.rulefiles import variations as rules
from mlaprobe.snapshot import file
from mlaprobe.snapshot.answers import Snapshot
from mlaprobe.snapshot.making import make, sealed
from mlaprobe.snapshot.scope import Scope
from tests.stages.ask import BF16, FP8, opened, shape
from tests.stages.test_needs import needing

PAIRS = tuple((Dtype(q), Dtype(kv)) for q, kv in (FP8, BF16))
SCOPE = Scope(archs=("gfx942", "gfx950"), dtypes=PAIRS, heads=(8, 16, 48, 64), qlens=(1, 2))


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Capability:
    return opened(tmp_path_factory.mktemp("needing"), needing())


@pytest.fixture(scope="module")
def text(live: Capability) -> str:
    return make(live, scope=SCOPE)


@pytest.fixture(scope="module")
def snapshot(text: str) -> Snapshot:
    return read(text)


def read(text: str) -> Snapshot:
    return Snapshot(file.parse(text.encode(), "test"), label="test")


def edited(text: str, edit: Any) -> Snapshot:
    data = json.loads(text)
    del data["sha256"]
    edit(data)
    return read(sealed(json.dumps(data)))


def gist(needs: tuple[Need, ...]) -> list[tuple[Any, ...]]:
    """What a snapshot keeps of needs."""
    return [(n.id, n.outcome, n.failure, n.stage, n.change, n.text, n.settings) for n in needs]


def asked() -> list[DecodeShape]:
    cells = product(SCOPE.archs, (FP8, BF16), SCOPE.heads, SCOPE.qlens)
    flags = list(product((False, True), repeat=3))
    return [
        shape(*cell, lse=lse, persistent=persistent, cp_round_robin=robin)
        for cell in cells
        for lse, persistent, robin in flags
    ]


def test_it_says_what_the_source_says(live: Capability, snapshot: Snapshot) -> None:
    seen = set()
    for each in asked():
        assert snapshot.records_needs(each)
        expected = live.needs(each)
        assert gist(snapshot.needs(each)) == gist(expected), each
        seen |= {need.outcome for need in expected}
    assert len(seen) >= 5


def test_messages_that_say_more_are_kept(snapshot: Snapshot) -> None:
    found = {need.id: need for need in snapshot.needs(shape("gfx950", FP8, 16))}
    message = found["q-scale-absent"].message
    assert message is not None
    assert "no scale" in message


@pytest.mark.parametrize(
    "other",
    [
        {"page_size": 64},
        {"causal": False},
        {"batch": 4},
        {"num_heads": 24},
        {"planner": PlannerCall(q_dtype=None, kv_dtype=None)},
        {"route": "gluon"},
    ],
)
def test_what_is_not_recorded(snapshot: Snapshot, other: dict[str, Any]) -> None:
    unusual = replace(shape("gfx950", FP8, 16), **other)
    assert not snapshot.records_needs(unusual)
    with pytest.raises(UsageError):
        snapshot.needs(unusual)


def test_one_that_was_made_without(text: str) -> None:
    old = edited(text, lambda data: (data.pop("needs"), data["tables"].pop("needs")))
    usual = shape("gfx950", FP8, 16)
    assert old.decide(usual).verdict.runs
    assert not old.records_needs(usual)
    made = plan(16, capability=old, arch="gfx950", q_dtype="fp8", kv_dtype="fp8", qlens=(1,))
    assert made.asked is None


def test_a_plan_has_them(snapshot: Snapshot) -> None:
    made = plan(16, capability=snapshot, arch="gfx950", q_dtype="fp8", kv_dtype="fp8", qlens=(1,))
    assert made.asked is not None
    assert "q-scale-absent" in {need.id for need in made.needs}


def test_what_was_not_tried_is_not_known(text: str) -> None:
    older = edited(text, lambda data: data["needs"]["tried"].pop("kv-scale-absent"))
    found = {need.id: need for need in older.needs(shape("gfx950", FP8, 16))}
    assert found["kv-scale-absent"].outcome is Consequence.UNKNOWN
    # Another change of the same name was.
    other = edited(text, lambda data: data["needs"]["tried"].update({"q-scale-absent": "000000"}))
    found = {need.id: need for need in other.needs(shape("gfx950", FP8, 16))}
    assert found["q-scale-absent"].outcome is Consequence.UNKNOWN


def test_what_this_mlaprobe_does_not_try_is_shown(
    text: str, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    fewer = tuple(each for each in rules.variations() if each.id != "q-sliced")
    monkeypatch.setattr("mlaprobe.snapshot.needs.variations", lambda: fewer)
    monkeypatch.setattr(
        "mlaprobe.snapshot.needs.variation",
        lambda name: next((each for each in fewer if each.id == name), None),
    )
    found = {need.id: need for need in snapshot.needs(shape("gfx950", FP8, 16))}
    assert found["q-sliced"].outcome is Consequence.REJECTED


def test_damage_is_said(text: str) -> None:
    broken = edited(text, lambda data: data["needs"]["sets"].clear())
    with pytest.raises(SourceError, match="damaged"):
        broken.needs(shape("gfx950", FP8, 16))
    broken = edited(text, lambda data: data["needs"].pop("tried"))
    with pytest.raises(SourceError, match="damaged"):
        broken.records_needs(shape("gfx950", FP8, 16))


def test_a_release(aiter_git: Path) -> None:
    live = Capability.open(f"{aiter_git}@v0.1.20.post1")
    scope = replace(SCOPE, archs=("gfx950",), dtypes=PAIRS[:1], heads=(16, 48), qlens=(1, 4))
    held = read(make(live, scope=scope))
    count = 0
    for heads, qlen, robin in product((16, 48), (1, 4), (False, True)):
        each = shape("gfx950", FP8, heads, qlen, lse=robin, cp_round_robin=robin)
        assert gist(held.needs(each)) == gist(live.needs(each)), each
        count += bool(held.needs(each))
    assert count > 4

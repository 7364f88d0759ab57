"""Where the resolver stops, what it takes when nothing is said, and what decides a tie."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, Route, Verdict
from mlaprobe.errors import RuleError
from mlaprobe.padding.api import padded_num_heads, plan
from mlaprobe.padding.plan import PadPlan
from mlaprobe.rulefiles import requirements as launch
from mlaprobe.rulefiles.cost import fit
from mlaprobe.rulefiles.loader import load_yaml
from mlaprobe.rulefiles.policy import SCHEMA, Policy, policy
from tests.padding.fake import Fake, later


def made(heads: int, capability: Fake, **more: Any) -> PadPlan:
    """A plan for fp8 on gfx950."""
    asked = {"arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8", **more}
    return plan(heads, capability=capability, **asked)


def test_nothing_is_padded_above_the_largest_count() -> None:
    """Although a count that is native would be there."""
    largest = policy().largest
    source = Fake(native=lambda s: s.num_heads in (largest, largest + 32))
    for heads in (largest + 1, largest + 16):
        found = made(heads, source)
        assert found.padded_num_heads == largest + 16
        assert f"nothing is padded above {largest} heads" in found.reason
    assert made(largest - 1, source).padded_num_heads == largest


@pytest.mark.parametrize(
    ("heads", "why"),
    [(256, "256 heads are a multiple of 16 already"), (250, "the next multiple of 16")],
)
def test_a_count_that_is_too_large_says_what_is_launched(heads: int, why: str) -> None:
    assert heads > policy().largest
    assert why in made(heads, Fake()).reason


def test_a_plan_asks_for_what_nobody_named() -> None:
    """No round-robin, no log-sum-exp, one query token, causal, pages of one token."""
    source = Fake(native=lambda s: s.num_heads == 64)
    found = made(64, source)
    assert found.verdict is Verdict.NATIVE
    asked = source.asked[-1]
    assert (asked.cp_round_robin, asked.lse, asked.qlen) == (False, False, 1)
    assert (asked.causal, asked.page_size, asked.persistent) == (True, 1, True)
    again = Fake(native=lambda s: s.num_heads == 64)
    assert (
        padded_num_heads(64, capability=again, arch="gfx950", q_dtype="fp8", kv_dtype="fp8") == 64
    )
    assert again.asked[-1] == asked


def test_every_batch_that_must_work_is_asked_where_none_is_named() -> None:
    batches = policy().gluon_batches
    assert len(batches) > 1
    for bad in batches:
        source = Fake(gluon=lambda s, bad=bad: s.batch != bad)  # type: ignore[misc]
        found = made(16, source, q_dtype="bf16", kv_dtype="bf16", route="gluon")
        assert found.route is Route.ASM
        assert made(16, source, route="gluon", batch=bad + 1).route is Route.GLUON
        assert {s.batch for s in source.asked} >= {None, *batches}


def test_a_gluon_plan_is_for_every_query_length() -> None:
    """Whatever their order: one that is refused refuses the route."""
    source = Fake(gluon=lambda s: s.qlen != 2)
    for qlens in ((1, 2), (2, 3), (1, 2, 3)):
        assert made(16, source, route="gluon", qlens=qlens).route is Route.ASM
    assert made(16, source, route="gluon", qlens=(1, 3)).route is Route.GLUON


@pytest.mark.parametrize(
    ("heads", "expected"), [(64, ["for all", "as it is"]), (48, ["for all", "padded"])]
)
def test_what_padding_needs_is_needed_where_something_is_padded(
    monkeypatch: pytest.MonkeyPatch, heads: int, expected: list[str]
) -> None:
    rule = launch.need_rules()[0]
    kinds = {"for all": None, "as it is": False, "padded": True}
    rules = tuple(replace(rule, id=name, padded=padded) for name, padded in kinds.items())
    monkeypatch.setattr(launch, "need_rules", lambda: rules)
    found = made(heads, later())
    assert found.padded_num_heads == 64
    assert [need.id for need in found.launch] == expected
    shape = DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=64)
    assert [need.id for need in launch.needs(shape)] == ["for all", "as it is"]


def test_a_fit_with_a_cost_that_falls_is_none() -> None:
    """Points of a plane: 10 us, and so much for a pass and for a head."""

    def points(per_pass: float, per_head: float) -> dict[tuple[int, int], float]:
        corners = ((16, 1), (32, 1), (64, 2), (128, 4), (64, 4))
        return {(h, p): 100 + per_pass * p + per_head * h for h, p in corners}

    for per_pass, per_head in ((5.0, 0.25), (0.0, 0.25), (5.0, 0.0)):
        found = fit(points(per_pass + 1e-9, per_head + 1e-12))
        assert found == pytest.approx((100, per_pass, per_head), abs=1e-5)
    assert fit(points(-5.0, 0.25)) is None
    assert fit(points(5.0, -0.25)) is None
    assert fit(points(-5.0, -0.25)) is None
    assert fit({(16, 1): 3.0}) is None


def tied(policy_now: Policy, stay_us: float, padded_us: float) -> Policy:
    """A policy whose costs are two measured points."""
    points = {(48, 3): stay_us, (64, 1): padded_us}
    return replace(policy_now, cost=replace(policy_now.cost, points=points))


@pytest.mark.parametrize(
    ("padded_us", "taken"), [(100.0, 64), (100.00000000001, 64), (100.01, 48), (99.0, 64)]
)
def test_a_tie_is_no_loss(monkeypatch: pytest.MonkeyPatch, padded_us: float, taken: int) -> None:
    """Floats that are equal on paper are equal; what is dearer is not taken."""
    rules = tied(policy(), 100.0, padded_us)
    monkeypatch.setattr("mlaprobe.padding.planning.policy", lambda: rules)
    found = made(48, Fake(native=lambda s: s.num_heads == 64))
    assert found.padded_num_heads == taken


@pytest.mark.parametrize(
    ("name", "value", "fits"),
    [
        ("multiple", 1, True),
        ("multiple", 0, False),
        ("largest", 1, True),
        ("largest", 0, False),
        ("growth", 1, True),
        ("growth", 0.99, False),
    ],
)
def test_the_bounds_of_a_policy(tmp_path: Path, name: str, value: float, fits: bool) -> None:
    heads = {
        "multiple": 16,
        "largest": 128,
        "growth": 2,
        "reference": ["https://example.org/report"],
        name: value,
    }
    file = tmp_path / "heads.yaml"
    file.write_text(json.dumps(heads), encoding="utf-8")
    loaded = load_yaml(file)
    schema = SCHEMA.required["heads"]
    if fits:
        schema.check(loaded, loaded.place)
    else:
        with pytest.raises(RuleError, match=name):
            schema.check(loaded, loaded.place)

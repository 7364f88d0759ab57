"""One head count for a run of several launches."""

from __future__ import annotations

import dataclasses
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mlaprobe
from mlaprobe.core.shape import DecodeShape, Route, Verdict
from mlaprobe.errors import UsageError
from mlaprobe.padding.api import plan
from mlaprobe.padding.runplan import CannotServeError, RunCase, RunPlan, plan_run
from tests.padding.fake import Fake, later

WHERE: dict[str, Any] = {"arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8"}
DECODE = {"name": "decode"}
CASES: tuple[tuple[int | None, tuple[int, ...]], ...] = (
    (None, (1,)),
    (32768, (1,)),
    (None, (1, 2)),
)
VERIFY = {"name": "verify", "qlens": 4, "cp_round_robin": True, "lse": True}


def run(source: Fake, heads: int, *cases: Any, **more: Any) -> RunPlan:
    return plan_run(cases, num_heads=heads, capability=source, **{**WHERE, **more})


def test_one_count_for_all_launches_each_with_its_own_settings() -> None:
    # Alone, plain decode would stay at 96; verification has no kernel for that.
    source = Fake(native=lambda s: s.num_heads == 128 or (s.num_heads == 96 and s.qlen == 1))
    assert plan(96, capability=source, **WHERE).padded_num_heads == 96
    found = run(source, 96, DECODE, VERIFY)
    assert (found.padded_num_heads, found.runs, found.conflicts) == (128, True, ())
    assert {each.padded_num_heads for _, each in found.plans} == {128}
    assert found["decode"].settings_for(1)["max_seqlen_qo"] == 1
    told = found["verify"].settings_for(4)
    assert (told["max_seqlen_qo"], told["is_cp_round_robin"]) == (4, True)
    assert found["verify"].lse
    assert not found["decode"].lse
    assert "96 heads folded 6x at qlen 4, in verify" in found.reason
    with pytest.raises(KeyError):
        found["prefill"]


def test_the_cost_is_the_sum() -> None:
    source = Fake(native=lambda s: s.num_heads == 64)
    found = run(source, 48, DECODE, {"name": "long", "kv_len": 32768}, {"qlens": (1, 2)})
    alone = [plan(48, capability=source, kv_len=n, qlens=q, **WHERE) for n, q in CASES]
    assert found.cost_us == pytest.approx(sum(each.cost_us or 0 for each in alone))
    stay = sum(each.stay_us or 0 for each in alone)
    assert found.cost_ratio == pytest.approx((found.cost_us or 0) / stay)
    assert [name for name, _ in found.plans] == ["decode", "long", "case 3"]


def test_cases_that_cannot_be_served_together_are_named() -> None:
    """Each has a count; decode and verify have none in common, and prefix goes with either."""

    def lacks(shape: DecodeShape) -> bool:
        if shape.lse:
            return False
        return shape.num_heads != (64 if shape.qlen == 1 else 96)

    source = Fake(no_kernel=lacks)
    found = run(source, 48, DECODE, {"name": "draft", "qlens": 4}, {"name": "prefix", "lse": True})
    assert not found.runs
    assert found.padded_num_heads == 48
    (conflict,) = found.conflicts
    assert (conflict.cases, conflict.known) == (("decode", "draft"), True)
    assert conflict.reason == (
        "no count serves decode and draft (decode runs with 64, draft runs with 96)"
    )
    assert "no count serves all cases" in found.line
    with pytest.raises(CannotServeError, match="decode and draft") as caught:
        run(source, 48, DECODE, {"name": "draft", "qlens": 4}, strict=True)
    assert caught.value.plan.num_heads == 48


def test_a_case_that_nothing_serves_is_named_alone() -> None:
    source = Fake(no_kernel=lambda s: s.lse, unknown=lambda s: s.qlen == 2)
    found = run(source, 48, DECODE, {"name": "lse", "lse": True}, {"name": "two", "qlens": 2})
    assert [(each.cases, each.known) for each in found.conflicts] == [
        (("lse",), True),
        (("two",), False),
    ]
    assert found["decode"].runs
    assert not found["lse"].runs
    assert found["lse"].ways[-1].what == "lse"


def test_each_case_has_its_own_mode_and_route() -> None:
    source = Fake(
        native=lambda s: s.num_heads == 16 and s.persistent is (s.qlen == 1),
        no_kernel=lambda s: s.num_heads != 16,
        gluon=lambda s: s.num_heads == 8,
    )
    modes = run(
        *(source, 16, {"name": "a", "persistent": "auto"}),
        {"name": "b", "qlens": 4, "persistent": "auto"},
    )
    assert (modes["a"].persistent, modes["b"].persistent) == (True, False)
    bf16 = {"q_dtype": "bf16", "kv_dtype": "bf16"}
    # Eight heads go to gluon alone, and to 16 with a launch that gluon does not take.
    assert run(source, 8, {}, **bf16)["case 1"].route is Route.GLUON
    mixed = run(source, 8, DECODE, {"name": "verify", "qlens": 4, "persistent": False}, **bf16)
    assert mixed.padded_num_heads == 16
    assert {each.route for _, each in mixed.plans} == {Route.ASM}


@pytest.mark.parametrize("heads", [8, 16, 24, 48, 80, 112, 130])
@pytest.mark.parametrize("mode", ["off", "auto", "force"])
@pytest.mark.parametrize("dtype", ["fp8", "bf16"])
@pytest.mark.parametrize("source", [later(), Fake(no_kernel=lambda s: s.num_heads < 96)])
def test_a_run_of_one_is_a_plan(heads: int, mode: str, dtype: str, source: Fake) -> None:
    where = {"arch": "gfx950", "q_dtype": dtype, "kv_dtype": dtype, "mode": mode}
    for case in ({}, {"qlens": (1, 4), "lse": True}, {"persistent": "auto"}, {"route": "gluon"}):
        alone = plan(heads, capability=source, **where, **case)  # type: ignore[arg-type]
        found = plan_run([case], num_heads=heads, capability=source, **where)  # type: ignore[arg-type]
        assert dict(found.plans) == {"case 1": alone}
        assert (found.padded_num_heads, found.reason) == (
            alone.padded_num_heads,
            found.reason if case.get("persistent") else alone.reason,
        )
        assert found.cost_us == alone.cost_us
        assert bool(found.conflicts) is not alone.runs


@settings(max_examples=60)
@given(
    kinds=st.dictionaries(
        st.tuples(st.integers(1, 8).map(lambda n: 16 * n), st.sampled_from([1, 2, 4])),
        st.sampled_from(["native", "fold"]),
        max_size=14,
    ),
    qlens=st.lists(st.sampled_from([(1,), (2,), (4,), (1, 2)]), min_size=1, max_size=3),
    heads=st.integers(1, 128),
)
def test_a_common_count_is_found_where_there_is_one(
    kinds: dict[tuple[int, int], str], qlens: list[tuple[int, ...]], heads: int
) -> None:
    source = Fake(
        native=lambda s: kinds.get((s.num_heads, s.qlen)) == "native",
        no_kernel=lambda s: (s.num_heads, s.qlen) not in kinds,
    )

    def good(count: int, lengths: tuple[int, ...], *names: str) -> bool:
        return all(kinds.get((count, qlen)) in names for qlen in lengths)

    found = run(source, heads, *({"qlens": each} for each in qlens))
    counts = range(heads, 129)
    runs = [n for n in counts if all(good(n, q, "native", "fold") for q in qlens)]
    assert found.runs == bool(runs)
    if runs:
        assert found.padded_num_heads in runs
    forced = run(source, heads, *({"qlens": each} for each in qlens), mode="force")
    native = [n for n in runs if all(good(n, q, "native") for q in qlens)]
    assert (forced.padded_num_heads in native) == bool(native)
    # Conflicts: every part of one is served, and the whole of it is not.
    names = [name for name, _ in found.plans]
    for conflict in found.conflicts:
        wanted = [qlens[names.index(name)] for name in conflict.cases]
        assert not [n for n in counts if all(good(n, q, "native", "fold") for q in wanted)]
        for part in combinations(wanted, len(wanted) - 1):
            assert [n for n in counts if all(good(n, q, "native", "fold") for q in part)]


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ((), "1 to 12 cases, not 0"),
        (({},) * 13, "1 to 12 cases, not 13"),
        (({"name": "a"}, {"name": "a"}), "have one name: a, a"),
        (({"qlen": 1},), "has no 'qlen'"),
        ((4,), "is a RunCase or a mapping, not 4"),
        (({"route": "triton"},), "unknown route"),
    ],
)
def test_what_is_no_run_is_a_usage_error(cases: tuple[Any, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        run(later(), 48, *cases)


def test_it_is_exported() -> None:
    assert mlaprobe.plan_run is plan_run
    case = RunCase(qlens=4, lse=True)
    found = run(later(), 48, case)
    assert found.plans[0][1].verdict is Verdict.NATIVE
    assert dataclasses.asdict(RunCase.of({"qlens": 4, "lse": True})) == dataclasses.asdict(case)

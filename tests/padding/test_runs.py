"""A plan that does not run is no launch: what is chosen where little runs, and what is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlaprobe.core.shape import DecodeShape, Dtype, PlannerCall, Route, Verdict
from mlaprobe.errors import UsageError
from mlaprobe.padding.api import CannotRunError, bare_plan, plan
from mlaprobe.padding.plan import PadPlan
from mlaprobe.padding.request import request_of
from tests.padding.fake import Fake, later


def made(source: Fake, heads: int, **more: Any) -> PadPlan:
    """A plan for fp8 on gfx950."""
    asked = {"arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8", "route": "asm", **more}
    return plan(heads, capability=source, **asked)


@st.composite
def broken_sources(draw: st.DrawFn) -> Fake:
    """Sources where counts are native, fold, lack a kernel or are not known, by query length."""
    kinds = {
        (heads, qlen): draw(st.sampled_from(["native", "fold", "none", "unknown", "missing"]))
        for heads in draw(st.sets(st.integers(1, 16).map(lambda n: 8 * n), max_size=8))
        for qlen in (1, 2)
    }

    def is_kind(*names: str) -> Any:
        return lambda s: kinds.get((s.num_heads, s.qlen), "none") in names

    return Fake(
        native=is_kind("native", "missing"),
        missing=is_kind("missing"),
        unknown=is_kind("unknown"),
        no_kernel=is_kind("none"),
    )


def running(source: Fake, heads: int, qlens: tuple[int, ...]) -> bool:
    """Whether a count runs at all query lengths, asked of the rules alone."""

    def one(qlen: int) -> bool:
        shape = DecodeShape(
            arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=heads, qlen=qlen
        )
        if source.unknown(shape) or source.no_kernel(shape) or source.missing(shape):
            return False
        return source.native(shape) or heads % 16 == 0

    return all(map(one, qlens))


@settings(max_examples=150)
@given(
    source=broken_sources(),
    heads=st.integers(1, 128),
    qlens=st.sampled_from([(1,), (2,), (1, 2)]),
    mode=st.sampled_from(["auto", "force"]),
)
def test_where_any_count_runs_the_plan_runs(
    source: Fake, heads: int, qlens: tuple[int, ...], mode: str
) -> None:
    found = made(source, heads, qlens=qlens, mode=mode)
    assert found.runs == running(source, found.padded_num_heads, qlens)
    assert found.runs == any(running(source, count, qlens) for count in range(heads, 129))
    if not found.runs:
        assert found.padded_num_heads == -(-heads // 16) * 16
    assert bool(found.undecided) <= (not found.runs)


def only(*kernels: int) -> Fake:
    """16 and 128 heads are native, and so many counts have kernels at all."""
    return Fake(
        native=lambda s: s.num_heads in (16, 128), no_kernel=lambda s: s.num_heads not in kernels
    )


def test_the_caps_hold_among_counts_that_run() -> None:
    """As gfx950 fp8 with the log-sum-exp, non-persistent, is at v0.1.20."""
    for heads in (17, 32, 48, 64):
        found = made(only(16, 128), heads)
        assert (found.padded_num_heads, found.runs) == (128, True)
    # 32 heads fold: then four times as many are too many.
    assert made(only(16, 32, 128), 32).padded_num_heads == 32


def test_a_count_that_folds_is_better_than_one_that_does_not_run() -> None:
    source = Fake(no_kernel=lambda s: s.num_heads != 64)
    found = made(source, 33)
    assert (found.padded_num_heads, found.verdict, found.runs) == (64, Verdict.FOLDED, True)
    assert found.reason.startswith("64 heads run at every query length, folded 4x at qlen 1")
    assert "48 do not: NO_KERNEL" in found.reason
    assert 64 not in [rejected.num_heads for rejected in found.rejected]


def test_a_plan_whose_kernel_does_not_ship_does_not_run() -> None:
    source = Fake(native=lambda s: s.num_heads == 48, missing=lambda s: True)
    found = made(source, 48, mode="off")
    assert (found.verdict, found.runs) == (Verdict.NATIVE, False)
    with pytest.raises(CannotRunError, match=r"code object hsa/k\.co is missing"):
        made(source, 48, mode="off", strict=True)


def test_what_would_run_is_said() -> None:
    """One of each kind of change, asked of the source anew."""
    source = Fake(
        native=lambda s: not s.persistent or s.qlen == 3 or s.page_size == 64,
        no_kernel=lambda s: s.persistent and s.qlen != 3 and s.page_size == 1,
        gluon=lambda s: s.num_heads <= 48,
    )
    found = made(source, 48, lse=True, qlens=1)
    assert not found.runs
    assert [(way.what, way.value, way.num_heads) for way in found.ways] == [
        ("persistent", False, 48),
        ("route", Route.GLUON, 48),
        ("qlens", (3,), 48),
        ("page_size", 64, 48),
    ]
    assert {way.verdict for way in found.ways} == {Verdict.NATIVE}
    assert "nothing runs, 48 heads are NO_KERNEL (would run: persistent=False with" in found.line


def test_what_the_planner_is_told_may_be_what_is_wrong() -> None:
    source = Fake(
        native=lambda s: s.planner == PlannerCall(),
        no_kernel=lambda s: s.planner != PlannerCall(),
    )
    found = made(source, 48, planner={"fast_mode": False})
    assert [(way.what, way.value, way.num_heads) for way in found.ways] == [
        ("planner", PlannerCall(), 48)
    ]
    assert "(would run: planner=as launched with 48 heads)" in found.line
    assert made(source, 48).runs


def test_of_several_query_lengths_the_most_that_run_are_said() -> None:
    source = Fake(native=lambda s: s.qlen <= 3, no_kernel=lambda s: s.qlen > 3)
    found = made(source, 48, qlens=(1, 2, 3, 4))
    assert [(way.what, way.value) for way in found.ways] == [("qlens", (1, 2, 3))]


def test_off_says_that_padding_would_run() -> None:
    source = Fake(native=lambda s: s.num_heads == 64, no_kernel=lambda s: s.num_heads != 64)
    found = made(source, 48, mode="off")
    assert not found.runs
    assert [(way.what, str(way.value), way.num_heads) for way in found.ways] == [
        ("mode", "auto", 64)
    ]


def test_what_runs_has_no_ways() -> None:
    assert made(later(), 48).ways == ()


def test_what_is_not_known_is_not_called_a_failure() -> None:
    found = made(Fake(unknown=lambda s: True), 48)
    assert (found.runs, found.verdict) == (False, Verdict.UNKNOWN)
    assert found.undecided == tuple(range(48, 129))
    assert "multiple of 16" not in found.reason
    assert "it is not known whether 48 heads run: UNKNOWN at qlen 1 (planner)" in found.reason
    partly = made(Fake(unknown=lambda s: s.num_heads == 64, no_kernel=lambda s: True), 48)
    assert (partly.verdict, partly.undecided) == (Verdict.NO_KERNEL, (64,))
    assert "is known to run: 48 heads do not run" in partly.reason
    # At one of the query lengths it certainly fails.
    fails = Fake(unknown=lambda s: s.qlen == 1, no_kernel=lambda s: s.qlen == 2)
    assert made(fails, 48, qlens=(1, 2)).undecided == ()


def test_the_mode_that_is_native_is_taken() -> None:
    """Whatever counts the other mode has."""
    only_without = Fake(native=lambda s: not s.persistent and s.num_heads == 48)
    found = made(only_without, 48, persistent="auto")
    assert (found.persistent, found.padded_num_heads) == (False, 48)
    assert "without work metadata, as with it they are folded 3x at qlen 1" in found.reason
    assert found.settings == {}
    only_with = Fake(native=lambda s: s.persistent and s.num_heads == 48)
    found = made(only_with, 48, persistent="auto")
    assert (found.persistent, found.verdict) == (True, Verdict.NATIVE)
    assert "with work metadata, as without it they are folded 3x" in found.reason
    both = made(Fake(native=lambda s: s.num_heads == 48), 48, persistent="auto")
    assert both.persistent
    assert "which does as well as the other mode" in both.reason


@settings(max_examples=80)
@given(
    natives=st.sets(st.tuples(st.integers(1, 8).map(lambda n: 16 * n), st.booleans())),
    fails=st.sets(st.tuples(st.integers(1, 8).map(lambda n: 16 * n), st.booleans())),
    heads=st.integers(1, 128),
)
def test_auto_runs_where_a_mode_does_and_is_native_where_one_is(
    natives: set[tuple[int, bool]], fails: set[tuple[int, bool]], heads: int
) -> None:
    source = Fake(
        native=lambda s: (s.num_heads, s.persistent) in natives,
        no_kernel=lambda s: (s.num_heads, s.persistent) in fails,
    )
    auto, *either = (made(source, heads, persistent=p) for p in ("auto", True, False))
    assert auto.runs == any(each.runs for each in either)
    alone = made(source, heads, persistent=auto.persistent, mode="force")
    assert auto.verdict is not Verdict.NATIVE or alone.verdict is Verdict.NATIVE
    if any(e.verdict is Verdict.NATIVE and e.padded_num_heads == heads for e in either):
        assert (auto.verdict, auto.padded_num_heads) == (Verdict.NATIVE, heads)


def test_persistent_is_yes_no_or_auto() -> None:
    with pytest.raises(UsageError, match="true, false or auto"):
        made(later(), 48, persistent="maybe")
    assert made(later(), 48, persistent=0).persistent is False


def test_a_borrowed_cost_is_a_ratio() -> None:
    """The policy's was measured on gfx950 with fp8."""
    own = made(later(), 48)
    assert (own.cost_us, own.stay_us) == (171.4, 349.0)
    assert own.cost_ratio == pytest.approx(171.4 / 349.0)
    for where in ({"arch": "gfx942"}, {"q_dtype": "bf16"}, {"kv_dtype": "bf16"}):
        source = Fake(native=lambda s: s.num_heads == 64)
        borrowed = made(source, 48, **where)
        assert (borrowed.cost_us, borrowed.stay_us) == (None, None)
        assert borrowed.cost_ratio == own.cost_ratio
        assert borrowed.expected_gain == own.expected_gain
        assert any("measured at 16384 on gfx950 fp8/fp8" in note for note in borrowed.notes)
        dear = made(source, 32, kv_len=100, **where)
        reasons = {rejected.num_heads: rejected.reason for rejected in dear.rejected}
        assert reasons[64].startswith("dearer than 32 heads: +")
        assert not [reason for reason in reasons.values() if " us" in reason]


def test_a_gluon_plan_costs_nobody_knows_what() -> None:
    found = plan(8, capability=later(), arch="gfx950", q_dtype="bf16", kv_dtype="bf16")
    assert (found.route, found.cost_us, found.cost_ratio) == (Route.GLUON, None, None)
    assert found.runs


@pytest.mark.parametrize("heads", [8, 48, 96, 160])
def test_a_plan_in_bulk_is_the_same_but_for_the_ways(heads: int) -> None:
    for source in (later(), Fake(no_kernel=lambda s: s.persistent)):
        question = {"arch": "gfx950", "q_dtype": "bf16", "kv_dtype": "bf16", "qlens": (1, 2)}
        bare = bare_plan(source, request_of({"num_heads": heads, **question}))
        whole = plan(heads, capability=source, **question)  # type: ignore[arg-type]
        assert bare == replace(whole, ways=())
        assert bool(whole.ways) is not whole.runs

"""Operations besides decode: a tree that prefills, and what may not be asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.shape import Failure, Operation, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.errors import UsageError
from mlaprobe.rulefiles.operations import operations, others
from tests.stages.ask import BF16, FP8, ask, opened, shape
from tests.trees import prefill, sparse, today
from tests.trees.common import changed


@pytest.fixture(scope="module")
def capability(tmp_path_factory: pytest.TempPathFactory) -> Capability:
    """A tree that prefills."""
    return opened(tmp_path_factory.mktemp("prefill"), prefill.tree())


def test_a_planned_prefill_runs_through_every_stage(capability: Capability) -> None:
    decision = ask(capability, "gfx950", FP8, 16, op="prefill")
    assert (decision.verdict, decision.fold) == (Verdict.NATIVE, 1)
    assert [(str(name), str(outcome.status)) for name, outcome in decision.stages] == [
        ("sizing", "accepted"),
        ("planner", "accepted"),
        ("dispatcher", "native"),
        ("host", "kernel"),
        ("kernel table", "kernel"),
        ("reducer", "instantiated"),
    ]
    assert [kernel.symbol for kernel in decision.kernels] == ["pfl_fp8_causal"]
    assert {"ps": 1, "prefill": 1, "Gqa": 1}.items() <= dict(decision.key or ()).items()


@pytest.mark.parametrize(
    ("dtypes", "heads", "more", "verdict", "stage"),
    [
        (FP8, 16, {"causal": False}, Verdict.NATIVE, None),
        (FP8, 16, {"num_kv_heads": 2}, Verdict.NATIVE, None),
        (FP8, 16, {"num_kv_heads": 4}, Verdict.NO_KERNEL, "host"),
        (FP8, 16, {"num_kv_heads": 2, "causal": False}, Verdict.NO_KERNEL, "host"),
        (FP8, 16, {"qlen": 5000, "batch": 3}, Verdict.NATIVE, None),
        (FP8, 17, {}, Verdict.NO_REDUCER, "reducer"),
        (FP8, 64, {}, Verdict.NO_REDUCER, "reducer"),  # 64 heads have one at head_dim 512
        (FP8, 113, {}, Verdict.REJECTED, "sizing"),
        (FP8, 128, {"num_kv_heads": 1}, Verdict.REJECTED, "planner"),
        (BF16, 16, {}, Verdict.REJECTED, "host"),
        (BF16, 16, {"persistent": False}, Verdict.NATIVE, None),
        (BF16, 16, {"persistent": False, "page_size": 64}, Verdict.NATIVE, None),
        (BF16, 16, {"persistent": False, "num_kv_heads": 2}, Verdict.REJECTED, "host"),
        (BF16, 17, {"persistent": False}, Verdict.REJECTED, "host"),
        (FP8, 16, {"persistent": False}, Verdict.REJECTED, "host"),
    ],
)
def test_verdicts(
    capability: Capability,
    dtypes: tuple[str, str],
    heads: int,
    more: dict[str, Any],
    verdict: Verdict,
    stage: str | None,
) -> None:
    decision = ask(capability, "gfx950", dtypes, heads, op="prefill", **more)
    assert (decision.verdict, decision.stage) == (verdict, stage)


def test_another_arch_has_no_kernel(capability: Capability) -> None:
    assert ask(capability, "gfx942", FP8, 16, op="prefill").verdict is Verdict.NO_KERNEL


def test_the_first_failure_in_call_order_is_the_verdict(capability: Capability) -> None:
    """113 heads have no reducer either."""
    decision = ask(capability, "gfx950", FP8, 113, op="prefill")
    assert (decision.verdict, decision.failure) == (Verdict.REJECTED, Failure.EXCEPTION)
    assert decision.message == "num_head_k=113 is too many"
    assert dict(decision.stages)["reducer"].status == "missing"


def test_a_source_without_the_function(tmp_path: Path) -> None:
    capability = opened(tmp_path, today.tree())
    for persistent, name in ((True, "mla_prefill_ps_fwd"), (False, "mla_prefill_fwd")):
        decision = ask(capability, "gfx950", FP8, 16, op="prefill", persistent=persistent)
        assert (decision.verdict, decision.failure) == (Verdict.REJECTED, Failure.EXCEPTION)
        assert dict(decision.stages)["dispatcher"].status == "absent"
        assert name in (decision.message or "")
    assert ask(capability, "gfx950", FP8, 16).verdict is Verdict.NATIVE


def test_a_plan_that_may_refuse_in_its_loops_is_not_known(tmp_path: Path) -> None:
    capability = opened(tmp_path, prefill.refusing())
    decision = ask(capability, "gfx950", FP8, 16, op="prefill")
    assert (decision.verdict, decision.stage) == (Verdict.UNKNOWN, "planner")
    assert "get_ps_metadata_v1_2_host may refuse" in (decision.message or "")


@pytest.mark.parametrize(
    "more",
    [
        {"lse": True},
        {"page_size": 64},
        {"cp_round_robin": True},
        {"route": "gluon"},
        {"planner": {"num_heads": 8}},
        {"persistent": False, "causal": False},
    ],
)
def test_what_an_operation_has_no_use_for_is_refused(
    capability: Capability, more: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match="has no use for --"):
        ask(capability, "gfx950", FP8, 16, op="prefill", **more)


def test_kv_heads_of_a_shape() -> None:
    with pytest.raises(UsageError, match="a decode has one KV head"):
        shape("gfx950", FP8, 16, num_kv_heads=1)
    with pytest.raises(UsageError, match="16 query heads cannot share 3 KV heads"):
        shape("gfx950", FP8, 16, op="prefill", num_kv_heads=3)
    with pytest.raises(UsageError, match="unknown operation 'prefil'"):
        shape("gfx950", FP8, 16, op="prefil")


def test_every_operation_is_described_and_has_stages() -> None:
    assert set(operations()) == set(Operation)
    for rule in others():
        for entry in rule.entries:
            assert entry.route or entry.function.arguments
            assert ("gluon" if entry.route else "dispatcher") in entry.stages


@pytest.fixture(scope="module")
def picking(tmp_path_factory: pytest.TempPathFactory) -> Capability:
    """A tree that decodes over picked tokens."""
    return opened(tmp_path_factory.mktemp("sparse"), sparse.tree())


@pytest.mark.parametrize(
    ("arch", "dtypes", "heads", "more", "verdict", "stage"),
    [
        *(("gfx950", FP8, heads, {}, Verdict.NATIVE, None) for heads in (16, 32, 128)),
        ("gfx950", FP8, 64, {}, Verdict.NATIVE, None),
        # These plans are folded, and no launch is; that 48 heads have no reducer comes after.
        ("gfx950", FP8, 64, {"qlen": 2}, Verdict.INCOHERENT, "dispatcher"),
        ("gfx950", FP8, 48, {}, Verdict.INCOHERENT, "dispatcher"),
        ("gfx950", FP8, 16, {"page_size": 64}, Verdict.REJECTED, "host"),
        ("gfx950", BF16, 16, {}, Verdict.REJECTED, "host"),
        ("gfx942", FP8, 16, {}, Verdict.REJECTED, "dispatcher"),
        ("gfx950", FP8, 12, {}, Verdict.REJECTED, "sizing"),
    ],
)
def test_a_kernel_that_is_compiled_with_its_host(
    picking: Capability,
    arch: str,
    dtypes: tuple[str, str],
    heads: int,
    more: dict[str, Any],
    verdict: Verdict,
    stage: str | None,
) -> None:
    decision = ask(picking, arch, dtypes, heads, op="sparse", **more)
    assert (decision.verdict, decision.stage) == (verdict, stage)
    if verdict is Verdict.NATIVE:
        statuses = {str(name): str(outcome.status) for name, outcome in decision.stages}
        assert statuses["host"] == "accepted"
        assert statuses["kernel table"] == "absent"
        assert decision.kernels == ()


def test_a_host_that_launches_nothing_is_not_known(tmp_path: Path) -> None:
    edit = ("    kn_picked<Traits><<<dim3(4, 1, 1), 64, 0, nullptr>>>(q.data_ptr());\n", "")
    capability = opened(tmp_path, changed(sparse.tree(), sparse.HOST, edit))
    decision = ask(capability, "gfx950", FP8, 16, op="sparse")
    assert (decision.verdict, decision.stage) == (Verdict.UNKNOWN, "host")


@pytest.mark.parametrize(
    ("argument", "verdict"),
    [
        ("16", Verdict.REJECTED),  # 32 rows, and the scales have 16
        ("8", Verdict.NATIVE),
        ("kElsewhere", Verdict.UNKNOWN),
    ],
)
def test_a_constant_that_depends_on_a_template_argument(
    tmp_path: Path, argument: str, verdict: Verdict
) -> None:
    text = str(sparse.tree()[sparse.HOST]).replace("Traits::kScale", "Traits::kRows")
    text = text.replace("PickedTraits<16>", f"PickedTraits<{argument}>")
    capability = opened(tmp_path, {**sparse.tree(), sparse.HOST: text})
    decision = ask(capability, "gfx950", FP8, 16, op="sparse")
    assert (decision.verdict, decision.stage) == (
        verdict,
        None if verdict is Verdict.NATIVE else "host",
    )

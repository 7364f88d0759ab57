"""What real releases do with a prefill: facts of their reducers, checks and tables."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, Failure, Operation, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.rulefiles.operations import operations

EARLY = (1, 2, 4, 8, 10, 16, 128)
"""Cases of ``MLA_REDUCE_ROUTER`` at head_dim 128, v0.1.10.post1."""
LATER = (*EARLY[:-1], 32, 40, 64, 128)
NEWEST = (1, 2, 4, 8, 10, 16, 32, 40, 48, 64, 96, 128)


@lru_cache(maxsize=4)
def _opened(spec: str) -> Capability:
    return Capability.open(spec)


def _shape(arch: str, dtype: str, heads: int, *, persistent: bool, causal: bool) -> DecodeShape:
    return DecodeShape(
        arch=arch,
        q_dtype=Dtype(dtype),
        kv_dtype=Dtype(dtype),
        num_heads=heads,
        op=Operation.PREFILL,
        persistent=persistent,
        causal=causal,
    )


@pytest.mark.parametrize(
    ("release", "heads"),
    [
        ("v0.1.10.post1", EARLY),
        ("v0.1.19.post2", LATER),
        ("v0.1.20", NEWEST),
        ("v0.1.20.post1", NEWEST),
    ],
)
@pytest.mark.parametrize("causal", [True, False])
def test_head_counts_of_a_planned_prefill(
    aiter_git: Path, release: str, heads: tuple[int, ...], causal: bool
) -> None:
    capability = _opened(f"{aiter_git}@{release}")
    for count in range(1, 129):
        shape = _shape("gfx950", "fp8", count, persistent=True, causal=causal)
        expected = Verdict.NATIVE if count in heads else Verdict.NO_REDUCER
        assert capability.decide(shape).verdict is expected, count


@pytest.mark.parametrize(
    ("arch", "dtype", "heads", "persistent", "verdict", "stage"),
    [
        ("gfx942", "fp8", 16, True, Verdict.REJECTED, "host"),  # "not supported on gfx942"
        ("gfx950", "bf16", 16, True, Verdict.REJECTED, "host"),  # fp8 only
        ("gfx1250", "fp8", 16, True, Verdict.NO_KERNEL, "host"),
        ("gfx942", "bf16", 16, False, Verdict.NATIVE, None),
        ("gfx950", "bf16", 16, False, Verdict.NATIVE, None),
        ("gfx950", "bf16", 128, False, Verdict.NATIVE, None),
        ("gfx950", "bf16", 64, False, Verdict.REJECTED, "host"),  # 16 or 128 heads
        ("gfx950", "fp8", 16, False, Verdict.REJECTED, "host"),  # bf16 only
    ],
)
def test_what_the_newest_host_takes(
    aiter_git: Path,
    arch: str,
    dtype: str,
    heads: int,
    persistent: bool,
    verdict: Verdict,
    stage: str | None,
) -> None:
    shape = _shape(arch, dtype, heads, persistent=persistent, causal=True)
    decision = _opened(f"{aiter_git}@v0.1.20.post1").decide(shape)
    assert (decision.verdict, decision.stage) == (verdict, stage)
    assert decision.failure is (None if stage is None else Failure.ABORT)


def test_a_release_without_a_planned_prefill(aiter_git: Path) -> None:
    capability = _opened(f"{aiter_git}@v0.1.10")
    planned = capability.decide(_shape("gfx950", "fp8", 16, persistent=True, causal=True))
    assert (planned.verdict, planned.failure) == (Verdict.REJECTED, Failure.EXCEPTION)
    assert planned.stages[0][1].status == "absent"
    other = capability.decide(_shape("gfx942", "bf16", 128, persistent=False, causal=True))
    assert other.verdict is Verdict.NATIVE


@pytest.mark.parametrize("release", ["v0.1.10.post1", "v0.1.20.post1"])
def test_head_dims_are_those_of_the_partial_results(aiter_git: Path, release: str) -> None:
    capability = _opened(f"{aiter_git}@{release}")
    for entry in operations()[Operation.PREFILL].entries:
        shape = _shape("gfx950", "fp8", 16, persistent=entry.mode, causal=True)
        assert capability.entry_point(entry).launch(shape).partial_dim == entry.head_dim


def _decode(op: Operation, heads: int, qlen: int = 1, **more: Any) -> DecodeShape:
    given = {"arch": "gfx950", "q_dtype": Dtype.FP8, "kv_dtype": Dtype.FP8, **more}
    return DecodeShape(op=op, num_heads=heads, qlen=qlen, **given)


@pytest.mark.parametrize(
    ("heads", "more", "verdict", "stage"),
    [
        *((heads, {}, Verdict.NATIVE, None) for heads in (16, 32, 64, 128)),
        # The plan is for batches of 16 heads, and the launch is not folded.
        *((heads, {}, Verdict.INCOHERENT, "dispatcher") for heads in (48, 80, 96, 112)),
        (12, {}, Verdict.REJECTED, "sizing"),
        (16, {"arch": "gfx942"}, Verdict.REJECTED, "dispatcher"),
        (16, {"page_size": 64}, Verdict.REJECTED, "host"),
        (16, {"q_dtype": "bf16", "kv_dtype": "bf16"}, Verdict.REJECTED, "host"),
    ],
)
def test_sparse_decode(
    aiter_git: Path, heads: int, more: dict[str, Any], verdict: Verdict, stage: str | None
) -> None:
    shape = _decode(Operation.SPARSE, heads, **more)
    decision = _opened(f"{aiter_git}@v0.1.20.post1").decide(shape)
    assert (decision.verdict, decision.stage) == (verdict, stage)


def test_sparse_decode_came_with_a_release(aiter_git: Path) -> None:
    decision = _opened(f"{aiter_git}@v0.1.19.post2").decide(_decode(Operation.SPARSE, 16))
    assert (decision.verdict, decision.stages[0][1].status) == (Verdict.REJECTED, "absent")


@pytest.mark.parametrize(
    ("release", "arch", "dtype", "verdict", "said"),
    [
        *(
            (release, "gfx950", dtype, Verdict.NATIVE, "")
            for release in ("v0.1.15", "v0.1.17", "v0.1.20.post1")
            for dtype in ("bf16", "fp16")
        ),
        # Of the Python in front: its arch, and the dtypes that have to be one.
        ("v0.1.15", "gfx942", "bf16", Verdict.REJECTED, "RuntimeError: pa_sparse_prefill_opus re"),
        ("v0.1.20.post1", "gfx950", "fp8", Verdict.REJECTED, "RuntimeError: pa_sparse_prefill_op"),
        ("v0.1.14.post1", "gfx950", "bf16", Verdict.REJECTED, "AttributeError: this AITER has no"),
    ],
)
def test_sparse_prefill_by_a_compiled_kernel(
    aiter_git: Path, release: str, arch: str, dtype: str, verdict: Verdict, said: str
) -> None:
    """Its host (pa_sparse_prefill_opus_kernels.cu) checks sizes against each other, and rounds
    tiles of heads up: no head count and no length is refused."""
    capability = _opened(f"{aiter_git}@{release}")
    for heads in (1, 7, 16, 32, 33, 100, 128):
        for qlen in (1, 5, 4096):
            more = {"arch": arch, "q_dtype": Dtype(dtype), "kv_dtype": Dtype(dtype)}
            decision = capability.decide(
                _decode(Operation.SPARSE_PREFILL_OPUS, heads, qlen, **more)
            )
            assert decision.verdict is verdict, (heads, qlen)
            assert (decision.message or "").startswith(said)
            stages = dict(decision.stages)
            assert ("host" in stages) is (verdict is Verdict.NATIVE)
            assert verdict is not Verdict.NATIVE or stages["dispatcher"].entry == "opus"


V4_TAKEN = {(16, 1), (16, 2), (16, 4), (32, 1), (64, 1), (128, 1)}
"""Heads and query lengths that ``mla_decode_v4_asm`` launches for, compiled with stubs."""


@pytest.mark.parametrize("release", ["v0.1.18", "v0.1.20.post1"])
def test_v4_without_work_metadata(aiter_git: Path, release: str) -> None:
    capability = _opened(f"{aiter_git}@{release}")
    for heads in (1, 8, 16, 24, 32, 48, 64, 96, 128):
        for qlen in (1, 2, 3, 4, 5):
            decision = capability.decide(_decode(Operation.V4, heads, qlen, persistent=False))
            taken = (heads, qlen) in V4_TAKEN
            expected = (Verdict.NATIVE,) if taken else (Verdict.NO_KERNEL, Verdict.REJECTED)
            assert decision.verdict in expected, (heads, qlen)
            if taken:
                assert [kernel.symbol for kernel in decision.kernels] == [
                    "_ZN5aiter36mla_a8w8_qh64_qseqlen1_gqaratio64_nmE"
                ]


def test_v4_with_work_metadata_is_opt_in(aiter_git: Path) -> None:
    capability = _opened(f"{aiter_git}@v0.1.20.post1")
    decision = capability.decide(_decode(Operation.V4, 64))
    assert (decision.verdict, decision.stage) == (Verdict.REJECTED, "dispatcher")
    assert (decision.message or "").startswith("NotImplementedError")
    opted = (("AITER_ENABLE_EXPERIMENTAL", "1"),)
    found = capability.decide(_decode(Operation.V4, 64, env=opted))
    assert dict(found.stages)["dispatcher"].entry == "hk"
    # 48 rows are no tile of its kernels
    assert capability.decide(_decode(Operation.V4, 48, env=opted)).verdict is Verdict.REJECTED

"""What real releases do with a prefill: facts of their reducers, checks and tables."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, Failure, Operation, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.rulefiles.operations import others

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
    for entry in (each for rule in others() for each in rule.entries):
        shape = _shape("gfx950", "fp8", 16, persistent=entry.persistent, causal=True)
        assert capability.entry_point(entry).launch(shape).partial_dim == entry.head_dim

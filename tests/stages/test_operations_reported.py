"""Public reports about prefill, sparse decode and DeepSeek-V4, and what came of what they saw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mlaprobe
from mlaprobe.core.shape import DecodeShape, Dtype, Failure, Operation, Verdict
from mlaprobe.deciding.capability import Capability

OPTED = (("AITER_ENABLE_EXPERIMENTAL", "1"),)


def _fp8(heads: int, op: Operation = Operation.DECODE, **more: Any) -> DecodeShape:
    given = {"arch": "gfx950", "q_dtype": Dtype.FP8, "kv_dtype": Dtype.FP8, **more}
    return DecodeShape(op=op, num_heads=heads, **given)


@pytest.mark.parametrize(
    ("report", "heads"),
    [("ROCm/aiter#4625", 96), ("ROCm/aiter#4727", 48)],
)
def test_kimi_k3_s_prefill_has_a_reducer_since_v0_1_20(report: str, heads: int) -> None:
    """ "mla_reduce_v1 doesn't support the specified settings", at head dimension 128."""
    before = mlaprobe.probe("release:v0.1.19.post2").decide(_fp8(heads, Operation.PREFILL))
    assert (before.verdict, before.failure) == (Verdict.NO_REDUCER, Failure.ABORT), report
    after = mlaprobe.probe("release:v0.1.20.post1").decide(_fp8(heads, Operation.PREFILL))
    assert after.verdict is Verdict.NATIVE, report


def test_a_prefill_of_12_heads_pads_to_16() -> None:
    """vllm-project/vllm#51040: Kimi K3 at TP8."""
    capability = mlaprobe.probe("release:v0.1.19.post2")
    assert capability.decide(_fp8(12, Operation.PREFILL)).verdict is Verdict.NO_REDUCER
    assert mlaprobe.least_count(capability, _fp8(12, Operation.PREFILL), (1,)).num_heads == 16


@pytest.mark.parametrize("release", ["v0.1.10.post1", "v0.1.20.post1"])
def test_no_planned_prefill_on_gfx942(release: str) -> None:
    """ROCm/aiter#1857 adds it to gfx950; vllm-project/vllm#51551: none on gfx942."""
    capability = mlaprobe.probe(f"release:{release}")
    assert capability.decide(_fp8(16, Operation.PREFILL)).verdict is Verdict.NATIVE
    elsewhere = capability.decide(_fp8(16, Operation.PREFILL, arch="gfx942"))
    assert not elsewhere.verdict.runs


def test_four_heads_are_merged_since_v0_1_10() -> None:
    """ROCm/aiter#1779: "#heads: 4, head dimension: 128"."""
    assert 4 not in mlaprobe.probe("release:v0.1.9").reduce_heads(128)
    assert 4 in mlaprobe.probe("release:v0.1.10.post1").reduce_heads(128)


@pytest.mark.parametrize("release", ["v0.1.12.post2", "v0.1.14.post1"])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_sparse_decode_of_8_heads_does_not_run(release: str, arch: str) -> None:
    """ROCm/aiter#2821: GLM-5 at TP8, fp8."""
    capability = mlaprobe.probe(f"release:{release}")
    found = capability.decide(_fp8(8, sparse=True, arch=arch))
    assert found.verdict in (Verdict.REJECTED, Verdict.NO_KERNEL)
    assert capability.decide(_fp8(16, sparse=True, arch=arch)).verdict is Verdict.NATIVE


def test_sparse_decode_of_32_heads_was_wrong() -> None:
    """vllm-project/vllm#41835: DeepSeek-V3.2 at TP4 needs an AITER with kernels of 32 heads."""
    shape = _fp8(32, sparse=True, q_dtype=Dtype.BF16, kv_dtype=Dtype.BF16)
    before = mlaprobe.probe("release:v0.1.14.post1").decide(shape)
    assert before.verdict is Verdict.ERRATUM
    assert mlaprobe.probe("release:v0.1.20.post1").decide(shape).verdict is Verdict.NATIVE


@pytest.mark.parametrize("release", ["v0.1.17-longctx", "v0.1.20.post1"])
def test_v4_takes_64_or_128_rows(aiter_git: Path, release: str) -> None:
    """ROCm/aiter#3459: heads times query tokens are 64 or 128, on gfx950; pages of 1 or 64."""
    capability = Capability.open(f"{aiter_git}@{release}")
    for heads in (8, 16, 32, 48, 64, 96, 128):
        for qlen in (1, 2, 4, 8):
            for page_size in (1, 16, 64):
                more = {"qlen": qlen, "page_size": page_size, "env": OPTED}
                found = capability.decide(_fp8(heads, Operation.V4, **more))
                runs = heads >= 16 and heads * qlen in (64, 128) and page_size != 16
                expected = Verdict.NATIVE if runs else Verdict.REJECTED
                assert found.verdict is expected, (heads, qlen, page_size)
    elsewhere = capability.decide(_fp8(64, Operation.V4, arch="gfx942", env=OPTED))
    assert elsewhere.verdict is Verdict.REJECTED

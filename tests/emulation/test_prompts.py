"""Prefill kernels of real releases, run: right as AITER launches them, and wrong where a launch is
changed."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlaprobe.core.enums import Layout
from mlaprobe.core.shape import DecodeShape, Dtype, Operation
from mlaprobe.deciding.capability import Capability
from mlaprobe.decode.rules import rules as decode_rules
from mlaprobe.emulation.batches.attention import attention
from mlaprobe.emulation.batches.formats import decoded
from mlaprobe.emulation.batches.headvalues import HeadValues
from mlaprobe.emulation.case import Case, layout_of
from mlaprobe.emulation.launch import Change
from mlaprobe.emulation.outcome import Emulated, Standing
from mlaprobe.emulation.padding import Padding
from mlaprobe.emulation.running import Settings, emulate
from mlaprobe.errors import UsageError
from mlaprobe.stages.environment.device import Device
from tests.emulation.changing import adding, doubling, null, swapping

LENS, QLENS = (40, 33), (14, 11)
FOLDER = {arch: f"hsa/{arch}/mla/" for arch in ("gfx942", "gfx950")}


@lru_cache(maxsize=2)
def opened(repository: Path, tag: str) -> Capability:
    return Capability.open(f"{repository}@{tag}")


def case(dtype: Dtype, arch: str = "gfx950", *, causal: bool = True, heads: int = 16) -> Case:
    """A launch: fp8 with keys and values of each head and work metadata, bf16 with the latent
    cache and none."""
    planned = dtype is Dtype.FP8
    shape = DecodeShape(
        op=Operation.PREFILL,
        arch=arch,
        q_dtype=dtype,
        kv_dtype=dtype,
        num_heads=2 if planned else heads,
        num_kv_heads=2 if planned else None,
        qlen=max(QLENS),
        causal=causal,
        persistent=planned,
        batch=len(LENS),
    )
    return Case(symbol="", co="", shape=shape, kv_lens=LENS, qlens=QLENS)


def run(capability: Capability, asked: Case, change: Change | None = None) -> Emulated:
    shape = asked.shape
    settings = Settings(
        tolerance=decode_rules().tolerance(shape.q_dtype, shape.kv_dtype),
        device=Device.of(shape.arch, 256),
        planned_units=4,
        persistent=shape.persistent,
    )
    padding = Padding(heads=shape.num_heads, qlen=shape.qlen)
    decision = capability.decide(shape)
    return emulate(capability, asked.batch, padding, decision, settings, change)


@pytest.mark.parametrize("tag", ["v0.1.17", "v0.1.20.post1"])
@pytest.mark.parametrize(
    ("arch", "dtype", "causal", "file"),
    [
        ("gfx950", Dtype.FP8, True, "mla_pfl_qh192_vh128_m32x8_n128x1_causal1.co"),
        ("gfx950", Dtype.FP8, False, "mla_pfl_qh192_vh128_m32x8_n128x1_causal0.co"),
        ("gfx950", Dtype.BF16, True, "mla_pfl_bf16_a16w16_causal_subQ16_mqa16.co"),
        ("gfx942", Dtype.BF16, True, "mla_pfl_bf16_a16w16_causal_subQ16_mqa16.co"),
    ],
)
def test_they_are_right(
    aiter_git: Path, tag: str, arch: str, dtype: Dtype, causal: bool, file: str
) -> None:
    found = run(opened(aiter_git, tag), case(dtype, arch, causal=causal))
    assert found.standing is Standing.PASSED, found
    assert found.kernel is not None
    assert found.kernel.co == FOLDER[arch] + file
    assert found.error is not None
    assert found.error.max_abs < (0.06 if dtype is Dtype.FP8 else 0.01)
    assert not found.outside


def test_128_heads(aiter_git: Path) -> None:
    found = run(opened(aiter_git, "v0.1.20.post1"), case(Dtype.BF16, heads=128))
    assert found.standing is Standing.PASSED, found
    assert found.kernel is not None
    assert found.kernel.co.endswith("subQ128_mqa128.co")


WRONG: dict[str, tuple[Dtype, Change]] = {
    "planned: the scale": (Dtype.FP8, doubling("scalar")),
    "planned: query, a head on": (Dtype.FP8, adding("ptr_Q", 192)),
    "planned: keys, a token on": (Dtype.FP8, adding("ptr_K", 2 * 192)),
    "planned: values, a token on": (Dtype.FP8, adding("ptr_V", 2 * 128)),
    "planned: keys for values": (Dtype.FP8, swapping("ptr_K", "ptr_V")),
    "latent: the scale": (Dtype.BF16, doubling("scalar")),
    "latent: query, a head on": (Dtype.BF16, adding("ptr_Q", 2 * 576)),
    "latent: cache, a token on": (Dtype.BF16, adding("ptr_KV", 2 * 576)),
}


@pytest.mark.parametrize("what", sorted(WRONG))
def test_a_wrong_launch_is_no_pass(aiter_git: Path, what: str) -> None:
    dtype, change = WRONG[what]
    found = run(opened(aiter_git, "v0.1.20.post1"), case(dtype), change)
    assert found.standing in (Standing.WRONG, Standing.OUTSIDE, Standing.UNWRITTEN), found


@pytest.mark.parametrize("heads", [16, 128])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_the_latent_cache_gets_no_log_sum_exp(aiter_git: Path, arch: str, heads: int) -> None:
    """What faults.md says: the kernel is right with no place to write it, and not with none for
    the output."""
    capability, asked = opened(aiter_git, "v0.1.20.post1"), case(Dtype.BF16, arch, heads=heads)
    assert run(capability, asked, null("ptr_LSE")).standing is Standing.PASSED
    if heads == 16:
        assert run(capability, asked, null("ptr_R")).standing is Standing.OUTSIDE


def test_the_mask_of_the_other_kernel_is_wrong(
    aiter_git: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attention without a mask is not what the causal kernel gives."""

    def unmasked(q: Any, k: Any, v: Any, seen: Any, *others: Any) -> Any:
        return attention(q, k, v, np.ones_like(seen), *others)

    monkeypatch.setattr("mlaprobe.emulation.batches.holding.attention", unmasked)
    found = run(opened(aiter_git, "v0.1.20.post1"), case(Dtype.FP8))
    assert found.standing is Standing.WRONG, found


def test_a_batch_with_keys_of_each_head() -> None:
    """What attention gives, written out for one query token."""
    batch = case(Dtype.FP8).batch
    assert batch.layout is Layout.HEADS
    values = HeadValues.random(batch, seed=3)
    q = decoded(values.q, Dtype.FP8, "gfx950").astype(np.float64)
    k = decoded(values.k, Dtype.FP8, "gfx950").astype(np.float64)
    v = decoded(values.v, Dtype.FP8, "gfx950").astype(np.float64)
    rows = values.kv_indices[: LENS[0]]
    token, head = 5, 1  # sees all but the last eight of fourteen
    seen = rows[: LENS[0] - QLENS[0] + token + 1]
    scores = k[seen, head] @ q[token, head] / np.sqrt(192)
    weights = np.exp(scores - scores.max())
    expected = weights @ v[seen, head] / weights.sum()
    output, _ = values.reference()
    np.testing.assert_allclose(output[token, head], expected, rtol=1e-5, atol=1e-6)


def test_what_is_not_emulated_says_so() -> None:
    shape = DecodeShape(
        op=Operation.V4, arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=64
    )
    with pytest.raises(UsageError, match="launches of v4 by mla_v40_decode_fwd are not emulated"):
        layout_of(shape)

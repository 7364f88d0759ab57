"""Every entry of the errata, on the shapes and releases that it names and their neighbours."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mlaprobe.core.blobs import blob_hash
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Dtype,
    Failure,
    Kernel,
    StageOutcome,
    Status,
    Verdict,
)
from mlaprobe.padding.api import plan
from mlaprobe.rulefiles import errata
from mlaprobe.rulefiles import loader as rulebook
from mlaprobe.rulefiles.errata import Effect
from mlaprobe.sources.interface import Source
from tests.padding.fake import later


def decision(
    where: str,
    heads: int,
    qlen: int = 1,
    *,
    verdict: Verdict = Verdict.NATIVE,
    entry: str = "asm",
    files: tuple[str | None, ...] = (),
    **more: Any,
) -> Decision:
    arch, dtype = where.split()
    q_dtype, kv_dtype = dtype.split("/")
    shape = DecodeShape(
        arch=arch,
        q_dtype=Dtype(q_dtype),
        kv_dtype=Dtype(kv_dtype),
        num_heads=heads,
        qlen=qlen,
        **more,
    )
    outcome = StageOutcome(stage="dispatcher", status=Status.NATIVE, entry=entry)
    kernels = tuple(Kernel(symbol="k", co="k.co", co_present=True, blob=blob) for blob in files)
    return Decision(
        shape=shape, verdict=verdict, kernels=kernels, stages=(("dispatcher", outcome),)
    )


# id, release, decision, whether it concerns it. The decisions are as AITER gives them.
F8, B16 = "fp8/fp8", "bf16/bf16"
PLAIN: dict[str, Any] = {"persistent": False}
FOLDED = Verdict.FOLDED
ONE: dict[str, Any] = {**PLAIN, "num_kv_splits": 1}
TWO: dict[str, Any] = {**PLAIN, "num_kv_splits": 2}
SPARSE: dict[str, Any] = {"verdict": FOLDED, "sparse": True}
_4GIB = 4 << 30
UNLIMITED = {"fast_mode": False, "intra_batch_mode": True}
LIMITED = {**UNLIMITED, "max_split_per_batch": 32}
BAD, GOOD = "a9c3d38f25933e897eced6f374a2f3fc1f9b06d7", "0" * 40
"""The kernel's file in v0.1.20, and one that replaced it."""
SUBQ = "35d87ac4c1cbec7ae84f0c07b8378a1fc25b01dc"
"""The file that issue 5765 names for 128 heads."""


def large(where: str, heads: int, kv_cache_bytes: int, **more: Any) -> Decision:
    """A decision with a KV cache of some size."""
    return decision(where, heads, kv_cache_bytes=kv_cache_bytes, **more)


CASES: list[tuple[str, str | None, Decision, bool]] = [
    *(
        (
            f"emulated-folded-qo-indptr{name}",
            release,
            decision(f"gfx950 {F8}", 48, n, **more),
            known,
        )
        for name, qlen, release in (("", 3, "v0.1.20"), ("-five", 5, "v0.1.19"))
        for n, more, known in (
            (qlen, {"verdict": FOLDED}, True),
            (qlen, {}, False),
            (qlen, {"verdict": FOLDED, "cp_round_robin": True}, False),
            (2, {"verdict": FOLDED}, False),
        )
    ),
    ("aiter-4363", "v0.1.18", decision(f"gfx942 {F8}", 64), True),
    ("aiter-4363", "v0.1.20.post1", decision(f"gfx942 {F8}", 64, lse=True), True),
    ("aiter-4363", "v0.1.29", decision(f"gfx942 {F8}", 64), True),
    ("aiter-4363", None, decision(f"gfx942 {F8}", 64), True),
    ("aiter-4363", "v0.1.20", decision(f"gfx942 {F8}", 64, page_size=64), False),
    ("aiter-4363", "v0.1.20", decision(f"gfx950 {F8}", 64), False),
    ("aiter-4363", "v0.1.20", decision(f"gfx942 {F8}", 64, 2), False),
    ("aiter-4363", "v0.1.17", decision(f"gfx942 {F8}", 64, verdict=FOLDED), False),
    ("aiter-3095", "v0.1.13", decision(f"gfx950 {B16}", 64, page_size=64), True),
    ("aiter-3095", "v0.1.13.post1", decision(f"gfx950 {B16}", 128, page_size=16), True),
    ("aiter-3095", "v0.1.13", decision(f"gfx950 {B16}", 64), False),
    ("aiter-3095", "v0.1.12.post2", decision(f"gfx950 {B16}", 64, page_size=64), False),
    ("aiter-3095", "v0.1.14", decision(f"gfx950 {B16}", 64, page_size=64), False),
    ("intra-batch-unlimited", "v0.1.8", decision(f"gfx950 {F8}", 16, planner=UNLIMITED), True),
    ("intra-batch-unlimited", None, decision(f"gfx950 {B16}", 16, 4, planner=UNLIMITED), True),
    ("intra-batch-unlimited", "v0.1.20", decision(f"gfx942 {F8}", 16, planner=UNLIMITED), False),
    ("intra-batch-unlimited", "v0.1.20", decision(f"gfx950 {F8}", 16, planner=LIMITED), False),
    ("intra-batch-unlimited", "v0.1.20", decision(f"gfx950 {F8}", 16), False),
    ("emulated-24-heads", "v0.1.20", decision(f"gfx950 {B16}", 24, 2), True),
    ("emulated-24-heads", "v0.1.20.post1", decision(f"gfx950 {B16}", 24, 8, lse=True), True),
    ("emulated-24-heads", "v0.1.20", decision(f"gfx950 {B16}", 24), False),
    ("emulated-24-heads", "v0.1.20", decision(f"gfx950 {B16}", 24, 2, causal=False), False),
    ("emulated-24-heads", "v0.1.20", decision(f"gfx950 {B16}", 48, 2), False),
    ("emulated-24-heads", "v0.1.21", decision(f"gfx950 {B16}", 24, 2), False),
    ("emulated-24-heads", "v0.1.21", decision(f"gfx950 {B16}", 24, 2, files=(BAD,)), True),
    ("emulated-24-heads", None, decision(f"gfx950 {B16}", 24, 2, files=(BAD,)), True),
    ("emulated-24-heads", "v0.1.20", decision(f"gfx950 {B16}", 24, 2, files=(GOOD,)), False),
    ("emulated-24-heads", "v0.1.20", decision(f"gfx950 {B16}", 24, 2, files=(None,)), True),
    ("emulated-24-heads", "v0.1.21", decision(f"gfx950 {B16}", 24, 2, files=(None,)), False),
    ("emulated-8-heads-of-8", "v0.1.20", decision(f"gfx950 {B16}", 8, 8), True),
    ("emulated-8-heads-of-8", "v0.1.20", decision(f"gfx950 {B16}", 8, 7), False),
    ("emulated-8-heads-of-8", "v0.1.13.post1", decision(f"gfx950 {B16}", 8, 8), False),
    ("emulated-16-heads", "v0.1.14", decision(f"gfx950 {B16}", 16, 4), True),
    ("emulated-16-heads", "v0.1.20", decision(f"gfx950 {B16}", 16, 7, lse=True), True),
    ("emulated-16-heads", "v0.1.20", decision(f"gfx950 {B16}", 16, 8), False),
    ("emulated-16-heads", "v0.1.20", decision(f"gfx950 {F8}", 16, 4), False),
    ("emulated-16-heads", "v0.1.20", decision(f"gfx950 {B16}", 16, 4, causal=False), False),
    ("emulated-16-heads", "v0.1.20", decision(f"gfx950 {B16}", 32, 4), False),
    ("emulated-16-heads", "v0.1.20", decision(f"gfx950 {B16}", 16, 4, route="gluon"), False),
    ("emulated-16-heads-3-tokens", "v0.1.17", decision(f"gfx950 {B16}", 16, 3), True),
    ("emulated-16-heads-3-tokens", "v0.1.16.post2", decision(f"gfx950 {B16}", 16, 3), False),
    ("emulated-16-heads-3-tokens", "v0.1.20", decision(f"gfx950 {B16}", 16, 2), False),
    ("emulated-24-heads-five", "v0.1.20", decision(f"gfx950 {B16}", 24, 5, causal=False), True),
    ("emulated-24-heads-five", "v0.1.20", decision(f"gfx950 {B16}", 24, 4, causal=False), False),
    ("emulated-24-heads-five", "v0.1.19", decision(f"gfx950 {B16}", 24, 5, causal=False), False),
    ("emulated-8-heads-of-8", "v0.1.14-rc0", decision(f"gfx950 {B16}", 8, 8), True),
    ("emulated-8-heads-of-8", "v0.1.20", decision(f"gfx950 {B16}", 8, 8, causal=False), False),
    ("emulated-8-heads-of-8", "v0.1.20", decision(f"gfx950 {B16}", 16, 8), False),
    ("emulated-16-heads-long", "v0.1.16.post6", decision(f"gfx950 {B16}", 16, 5), True),
    ("emulated-16-heads-long", "v0.1.13.post1", decision(f"gfx950 {B16}", 16, 8), True),
    ("emulated-16-heads-long", "v0.1.16", decision(f"gfx950 {B16}", 16, 4), False),
    ("emulated-16-heads-long", "v0.1.17-rc0", decision(f"gfx950 {B16}", 16, 8), False),
    ("emulated-32-heads-five", "v0.1.14", decision(f"gfx950 {B16}", 32, 5), True),
    ("emulated-32-heads-five", "v0.1.14", decision(f"gfx950 {B16}", 32, 6), False),
    ("emulated-32-heads-five", "v0.1.17", decision(f"gfx950 {B16}", 32, 5), False),
    ("emulated-no-mask", "v0.1.6.post3", decision(f"gfx942 {B16}", 128, 2, **PLAIN), True),
    ("emulated-no-mask", "v0.1.20.post1", decision(f"gfx950 {B16}", 64, 8, **PLAIN), True),
    ("emulated-no-mask", None, decision(f"gfx950 {B16}", 128, 4, **PLAIN), True),
    ("emulated-no-mask", "v0.1.20", decision(f"gfx950 {B16}", 128, **PLAIN), False),
    ("emulated-no-mask", "v0.1.20", decision(f"gfx950 {B16}", 128, 2), False),
    ("emulated-no-mask", "v0.1.20", decision(f"gfx950 {B16}", 32, 2, **PLAIN), False),
    ("emulated-no-mask", "v0.1.20", decision(f"gfx950 {F8}", 128, 2, **PLAIN), False),
    (
        *("emulated-no-mask", "v0.1.20"),
        *(decision(f"gfx950 {B16}", 128, 2, causal=False, **PLAIN), False),
    ),
    ("emulated-half-gfx942", "v0.1.9.post1", decision(f"gfx942 {B16}", 32, 2, **PLAIN), True),
    ("emulated-half-gfx942", "v0.1.20.post1", decision(f"gfx942 {B16}", 32, 2, **PLAIN), True),
    ("emulated-half-gfx942", "v0.1.20", decision(f"gfx942 {B16}", 32, **PLAIN), False),
    ("emulated-half-gfx942", "v0.1.20", decision(f"gfx942 {B16}", 32, 2), False),
    ("emulated-half-gfx950", "v0.1.14.post1", decision(f"gfx950 {B16}", 32, 4, **PLAIN), True),
    ("emulated-half-gfx950", "v0.1.15-rc0", decision(f"gfx950 {B16}", 32, 4, **PLAIN), False),
    ("emulated-8-heads", "v0.1.14-rc0", decision(f"gfx942 {B16}", 8, 4, **PLAIN), True),
    ("emulated-8-heads", "v0.1.19.post2", decision(f"gfx950 {B16}", 8, 2, **PLAIN), True),
    ("emulated-8-heads", "v0.1.20", decision(f"gfx950 {B16}", 8, 2, **PLAIN), False),
    ("emulated-8-heads", "v0.1.16", decision(f"gfx950 {B16}", 8, **PLAIN), False),
    ("emulated-fp8-verify", "v0.1.20", decision(f"gfx950 {F8}", 16, 3, **PLAIN), True),
    (
        *("emulated-fp8-verify", "v0.1.20"),
        *(decision(f"gfx950 {F8}", 16, 4, causal=False, **PLAIN), True),
    ),
    ("emulated-fp8-verify", "v0.1.20", decision(f"gfx950 {F8}", 16, 2, **PLAIN), False),
    ("emulated-fp8-verify", "v0.1.20", decision(f"gfx942 {F8}", 16, 4, **PLAIN), False),
    ("emulated-fp8-verify", "v0.1.20", decision(f"gfx950 {F8}", 16, 4), False),
    ("emulated-merge-fp8-16", "v0.1.16", decision(f"gfx950 {F8}", 16, **PLAIN), True),
    ("emulated-merge-fp8-16", "v0.1.15.post3", decision(f"gfx950 {F8}", 16, **PLAIN), False),
    ("emulated-merge-fp8-16", "v0.1.20", decision(f"gfx942 {F8}", 16, **PLAIN), False),
    ("emulated-merge-fp8-16", "v0.1.20", decision(f"gfx950 {F8}", 16), False),
    ("emulated-merge-fp8-16-two", "v0.1.12", decision(f"gfx942 {F8}", 16, 2, **PLAIN), True),
    ("emulated-merge-fp8-16-two", "v0.1.20", decision(f"gfx942 {F8}", 16, 4, **PLAIN), False),
    ("emulated-merge-fp8-128", "v0.1.20", decision(f"gfx942 {F8}", 128, 2, **PLAIN), True),
    ("emulated-merge-fp8-128", "v0.1.20", decision(f"gfx942 {F8}", 128, **PLAIN), False),
    ("emulated-merge-bf16-32", "v0.1.15-rc0", decision(f"gfx950 {B16}", 32, **PLAIN), True),
    ("emulated-merge-bf16-32", "v0.1.14", decision(f"gfx950 {B16}", 32, **PLAIN), False),
    ("emulated-merge-bf16-32", "v0.1.20", decision(f"gfx950 {B16}", 32), False),
    ("emulated-one-split-8", "v0.1.17", decision(f"gfx942 {B16}", 8, **PLAIN), True),
    ("emulated-one-split-8", "v0.1.17", decision(f"gfx942 {B16}", 8, **ONE), True),
    ("emulated-one-split-8", "v0.1.17", decision(f"gfx942 {B16}", 8, **TWO), False),
    ("emulated-one-split-8", "v0.1.16", decision(f"gfx942 {B16}", 8, **PLAIN), False),
    ("emulated-one-split-32", "v0.1.15", decision(f"gfx942 {B16}", 32, **PLAIN), True),
    ("emulated-one-split-32", "v0.1.15", decision(f"gfx942 {B16}", 32, **ONE), True),
    ("emulated-one-split-32", "v0.1.15", decision(f"gfx942 {B16}", 32, **TWO), False),
    ("emulated-one-split-32", "v0.1.14.post1", decision(f"gfx942 {B16}", 32, **PLAIN), False),
    ("emulated-one-split-32", "v0.1.20", decision(f"gfx950 {B16}", 32, **PLAIN), False),
    ("emulated-pages", "v0.1.20", decision(f"gfx950 {F8}", 64, page_size=64), True),
    ("emulated-pages", "v0.1.20", decision(f"gfx942 {F8}", 64, page_size=64), False),
    ("emulated-pages", "v0.1.20", decision(f"gfx950 {F8}", 64), False),
    ("aiter-2983", "v0.1.13-rc1", decision(f"gfx950 {B16}", 32, persistent=False), True),
    ("aiter-2983", "v0.1.12.post2", decision(f"gfx950 {B16}", 32, persistent=False), False),
    ("aiter-2983", "v0.1.13-rc2", decision(f"gfx950 {B16}", 32, persistent=False), False),
    ("aiter-2983", "v0.1.13", decision(f"gfx950 {B16}", 32, persistent=False), False),
    ("aiter-2983", "v0.1.13-rc1", decision(f"gfx950 {B16}", 32), False),
    ("aiter-3233", "v0.1.14", decision(f"gfx950 {B16}", 32), True),
    ("aiter-3233", "v0.1.14.post1", decision(f"gfx950 {B16}", 32), True),
    ("aiter-3233", "v0.1.15-rc0", decision(f"gfx950 {B16}", 32), False),
    ("aiter-3233", "v0.1.17", decision(f"gfx950 {B16}", 32), False),
    ("aiter-3233", "v0.1.14", decision(f"gfx950 {B16}", 64), False),
    ("aiter-3233-48", "v0.1.14", decision(f"gfx950 {B16}", 48), True),
    ("aiter-3233-48", "v0.1.15", decision(f"gfx950 {B16}", 48), False),
    (
        *("aiter-2996", "v0.1.12.post2"),
        *(decision(f"gfx950 {B16}", 16, persistent=False, page_size=64), True),
    ),
    ("aiter-2996", "v0.1.12.post2", decision(f"gfx950 {B16}", 128, persistent=False), False),
    (
        *("aiter-2996", "v0.1.13"),
        *(decision(f"gfx950 {B16}", 16, persistent=False, page_size=64), False),
    ),
    (
        *("aiter-2996-splits", "v0.1.16.post6"),
        *(decision(f"gfx950 {B16}", 16, persistent=False, page_size=64), True),
    ),
    (
        *("aiter-2996-splits", "v0.1.17-rc0"),
        *(decision(f"gfx950 {B16}", 16, persistent=False, page_size=64), False),
    ),
    ("aiter-2996-splits", "v0.1.16", decision(f"gfx950 {B16}", 16, page_size=64), False),
    ("aiter-5679", "v0.1.20.post1", decision(f"gfx942 {B16}", 16, 8, persistent=False), True),
    ("aiter-5679", "v0.1.19.post2", decision(f"gfx942 {B16}", 16, 8, persistent=False), False),
    ("aiter-5679", "v0.1.20", decision(f"gfx942 {B16}", 16, 4, persistent=False), False),
    ("aiter-2720", "v0.1.10.post2", decision(f"gfx950 {B16}", 16, 3, persistent=False), True),
    ("aiter-2720", "v0.1.20.post1", decision(f"gfx950 {B16}", 16, 6, persistent=False), True),
    ("aiter-2720", "v0.1.10.post2", decision(f"gfx950 {B16}", 16, 4, persistent=False), False),
    ("aiter-2720", "v0.1.10.post2", decision(f"gfx950 {B16}", 16, 8, persistent=False), False),
    ("vllm-42956", "v0.1.13.post1", decision(f"gfx950 {F8}", 32, **SPARSE), True),
    ("vllm-42956", "v0.1.15-rc0", decision(f"gfx950 {F8}", 32, **SPARSE), False),
    ("vllm-42956", "v0.1.13.post1", decision(f"gfx950 {F8}", 64, sparse=True), False),
    ("vllm-42956", "v0.1.13.post1", decision(f"gfx950 {F8}", 32, verdict=FOLDED), False),
    ("vllm-42956-dense", "v0.1.13.post1", decision(f"gfx950 {F8}", 32, verdict=FOLDED), True),
    ("vllm-42956-dense", "v0.1.13.post1", decision(f"gfx950 {F8}", 32, **SPARSE), False),
    ("vllm-42956-dense", "v0.1.15-rc0", decision(f"gfx950 {F8}", 32, verdict=FOLDED), False),
    ("aiter-5765", "v0.1.20", decision(f"gfx950 {B16}", 16, **PLAIN), True),
    ("aiter-5765", "v0.1.20", large(f"gfx950 {B16}", 16, _4GIB + 1, **PLAIN), True),
    ("aiter-5765", "v0.1.20", large(f"gfx950 {B16}", 32, _4GIB + 1, page_size=16, **PLAIN), True),
    ("aiter-5765", "v0.1.30", large(f"gfx950 {B16}", 128, 2 * _4GIB, files=(SUBQ,), **PLAIN), True),
    ("aiter-5765", "v0.1.20", large(f"gfx950 {B16}", 16, 2 * _4GIB, files=(GOOD,), **PLAIN), False),
    ("aiter-5765", "v0.1.20", large(f"gfx950 {B16}", 16, _4GIB, **PLAIN), False),
    ("aiter-5765", "v0.1.20", large(f"gfx950 {B16}", 64, 2 * _4GIB, **PLAIN), False),
    ("aiter-5765", "v0.1.20", large(f"gfx950 {B16}", 16, 2 * _4GIB), False),
    ("aiter-4156", "v0.1.19.post1", large(f"gfx950 {B16}", 64, _4GIB + 1, **PLAIN), True),
    ("aiter-4156", "v0.1.19.post2", large(f"gfx950 {B16}", 64, _4GIB + 1, **PLAIN), False),
    ("aiter-3988", "v0.1.16.post2", large(f"gfx950 {B16}", 32, _4GIB + 1, qlen=4), True),
    ("aiter-3988", "v0.1.16.post2", decision(f"gfx950 {B16}", 32, 4), True),
    ("aiter-3988", "v0.1.17", large(f"gfx950 {B16}", 32, _4GIB + 1, qlen=4), False),
    ("aiter-4341", "v0.1.19", large(f"gfx950 {F8}", 16, 10 << 30), True),
    ("aiter-4341", "v0.1.19", large(f"gfx950 {F8}", 16, 9 << 30), False),
    ("aiter-4341", "v0.1.19.post1", large(f"gfx950 {F8}", 16, 10 << 30), False),
    ("aiter-4452-fp8", "v0.1.19", large(f"gfx950 {F8}", 64, 10 << 30), True),
    ("aiter-4452-fp8", "v0.1.19.post2", large(f"gfx950 {F8}", 64, 10 << 30), False),
    ("aiter-4452-fp8-wrap", "v0.1.19", large(f"gfx950 {F8}", 16, 5 << 30, qlen=4), True),
    ("aiter-4452-fp8-wrap", "v0.1.19.post2", large(f"gfx950 {F8}", 16, 5 << 30, qlen=4), False),
    ("aiter-4452-bf16", "v0.1.19", large(f"gfx950 {B16}", 64, 19 << 30), True),
    ("aiter-4452-bf16", "v0.1.19", large(f"gfx950 {B16}", 64, 18 << 30), False),
    ("aiter-4474", "v0.1.19", large(f"gfx950 {B16}", 8, (2 << 30) + 1, route="gluon"), True),
    ("aiter-4474", "v0.1.18", decision(f"gfx950 {B16}", 8, route="gluon"), True),
    ("aiter-4474", "v0.1.19", large(f"gfx950 {B16}", 8, 2 << 30, route="gluon"), False),
    ("aiter-4474", "v0.1.19.post1", large(f"gfx950 {B16}", 8, 5 << 30, route="gluon"), False),
    ("vllm-43067", "v0.1.13", decision(f"gfx942 {F8}", 128), True),
    ("vllm-43067", "v0.1.20.post1", decision(f"gfx942 {F8}", 128), True),
    ("vllm-43067", "v0.1.13", decision(f"gfx950 {F8}", 128), False),
    ("aiter-3013", "v0.1.13", decision(f"gfx950 {F8}", 16, 2), True),
    ("aiter-3013", "v0.1.20.post1", decision(f"gfx950 {F8}", 16, 2), True),
    ("aiter-3013", "v0.1.13", decision(f"gfx950 {F8}", 16, 4), False),
    ("aiter-4076", "v0.1.16.post2", decision(f"gfx950 {F8}", 16), True),
    ("aiter-4076", "v0.1.17", decision(f"gfx950 {F8}", 16), False),
    ("vllm-55590", "v0.1.19.post2", decision(f"gfx950 {F8}", 16, 2, causal=False), True),
    ("vllm-55590", "v0.1.20", decision(f"gfx950 {F8}", 16, 2, causal=False), False),
    ("vllm-55590", "v0.1.19.post2", decision(f"gfx950 {F8}", 16, 1, causal=False), False),
    ("aiter-4565-hk", "v0.1.21", decision(f"gfx950 {F8}", 16, 4, causal=False, entry="hk"), True),
    ("aiter-4565-hk", "v0.1.21", decision(f"gfx950 {F8}", 16, 4, causal=False), False),
    ("aiter-4565-hk", "v0.1.21", decision(f"gfx950 {F8}", 16, 4, entry="hk"), False),
]
# What somebody looked at and left to something else: a shape that it names stays as it is.
UNTOUCHED = {
    "vllm-45227": ("v0.1.16.post2", decision(f"gfx942 {F8}", 16, 4)),
    "sglang-27188": ("v0.1.14.post1", decision(f"gfx950 {F8}", 64)),
    "vllm-57134": ("v0.1.20.post1", decision(f"gfx950 {F8}", 16)),
}
BY_ID = {each.id: each for each in errata.errata()}


@pytest.mark.parametrize(("name", "release", "found", "concerned"), CASES)
def test_an_erratum_concerns_what_it_names_and_no_more(
    name: str, release: str | None, found: Decision, concerned: bool
) -> None:
    entry = BY_ID[name]
    applied = errata.apply(found, release=release)
    mentioned = name in [note.split(":")[0] for note in applied.notes] or (
        applied.message or ""
    ).startswith(f"{name}:")
    assert mentioned is concerned
    if not concerned:
        return
    unset = entry.pattern.left_open(found.shape)
    if unset:
        assert applied.verdict is found.verdict
        assert f"{entry.text} ({' and '.join(unset)} not given)" in applied.notes
    elif entry.effect is Effect.AVOID:
        assert applied.verdict is Verdict.ERRATUM
        assert applied.failure is entry.failure
        assert applied.stage == "errata"
        assert applied.message == entry.text
        assert f"{name}: {entry.reference[0]}" in applied.notes
        assert applied.stages == found.stages
    else:
        assert applied.verdict is found.verdict
        assert entry.text in applied.notes


@pytest.mark.parametrize("name", sorted(UNTOUCHED))
def test_an_entry_without_effect_changes_nothing(name: str) -> None:
    release, found = UNTOUCHED[name]
    assert BY_ID[name].effect is Effect.NONE
    applied = errata.apply(found, release=release)
    assert applied.verdict is found.verdict
    assert not any(note.startswith(name) for note in applied.notes)


def test_every_entry_is_exercised() -> None:
    assert set(BY_ID) == {case[0] for case in CASES} | set(UNTOUCHED)
    for name in BY_ID:
        if name not in UNTOUCHED:
            assert {case[3] for case in CASES if case[0] == name} == {True, False}


def test_the_decided_effects() -> None:
    """Effects that somebody could want otherwise."""
    assert BY_ID["aiter-4363"].effect is Effect.NOTE
    assert BY_ID["vllm-43067"].effect is Effect.NOTE
    assert BY_ID["aiter-3095"].effect is Effect.AVOID
    assert BY_ID["aiter-4363"].last is None
    assert BY_ID["aiter-2983"].failure is Failure.ABORT


def test_a_verdict_that_does_not_run_is_left_alone() -> None:
    for verdict in Verdict:
        if not verdict.runs:
            found = decision(f"gfx942 {F8}", 64, verdict=verdict)
            assert errata.apply(found, release="v0.1.20") is found


def test_an_unknown_release_takes_open_errata_and_notes_the_others() -> None:
    found = decision(f"gfx950 {B16}", 64, page_size=64)
    for release in (None, "main", "1.2-strange release"):
        applied = errata.apply(found, release=release)
        assert applied.verdict is Verdict.NATIVE
        assert any(
            note.startswith("aiter-3095:") and "up to v0.1.13.post1" in note
            for note in applied.notes
        )
        bad = errata.apply(decision(f"gfx950 {B16}", 128, 2, **PLAIN), release=release)
        assert bad.verdict is Verdict.ERRATUM


def test_applying_twice_changes_nothing_more() -> None:
    for _, release, found, _ in CASES:
        once = errata.apply(found, release=release)
        assert errata.apply(once, release=release) == once


def test_what_is_not_concerned_is_returned_as_it_is() -> None:
    found = decision(f"gfx950 {F8}", 64)
    assert errata.apply(found, release="v0.1.20") is found


def test_notes_that_were_there_stay() -> None:
    found = replace(decision(f"gfx942 {F8}", 128), notes=("a note",))
    assert errata.apply(found, release="v0.1.20").notes[0] == "a note"


@pytest.mark.parametrize("release", ["v0.1.20", "v0.1.20.post1"])
def test_nothing_is_padded_to_a_count_that_is_known_to_be_wrong(release: str) -> None:
    """24 heads of several query tokens would be the next count that is native."""
    source = later(errata=True, release=release)
    question = {"capability": source, "arch": "gfx950", "q_dtype": "bf16", "kv_dtype": "bf16"}
    for heads in range(17, 25):
        for mode in ("auto", "force"):
            found = plan(heads, mode=mode, qlens=(2,), **question)  # type: ignore[arg-type]
            assert found.padded_num_heads == 32
    rejected = {r.num_heads: r for r in found.rejected}
    assert rejected[24].verdict is Verdict.ERRATUM
    assert "emulated-24-heads" in rejected[24].reason
    assert plan(24, **question).padded_num_heads == 24  # type: ignore[arg-type]


@pytest.mark.parametrize("release", ["v0.1.18", "v0.1.20.post1", None])
def test_heads_are_padded_to_64_with_a_note(release: str | None) -> None:
    """The reported fault at page size 1 is of a planner that is told otherwise."""
    source = later(errata=True, release=release)
    question = {"capability": source, "arch": "gfx942", "q_dtype": "fp8", "kv_dtype": "fp8"}
    for heads in (48, 50, 64):
        found = plan(heads, **question)  # type: ignore[arg-type]
        assert found.padded_num_heads == 64
        assert any("aiter-4363" in note for note in found.notes)


class Held(Source):
    """A source that holds the given texts and knows its release or not."""

    kind = "directory"

    def __init__(self, files: dict[str, bytes], release: str | None = None) -> None:
        super().__init__("held")
        self._held = files
        self._named = release

    def _find_release(self) -> str | None:
        return self._named

    def _load(self, path: str) -> tuple[bytes, str | None] | None:
        return (self._held[path], None) if path in self._held else None

    def _exists(self, path: str) -> bool:
        return path in self._held

    def _list(self, prefix: str) -> set[str]:
        return set(self._held)

    def _size(self, path: str) -> int | None:
        return len(self._held[path]) if path in self._held else None


def test_a_release_that_the_source_knows_is_taken() -> None:
    assert errata.release_of(Held({}, "v0.1.18")) == "v0.1.18"


def test_a_release_is_found_by_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = Held({"a": b"1"}), Held({"a": b"1", "b": b"2"})
    known = errata.fingerprint(one, ("a", "b"))
    assert known == blob_hash(f"a {blob_hash(b'1')}\nb -\n".encode())
    rules = {"files": ["a", "b"], "releases": {"v0.1.9": known, "v0.1.10": known, "v0.1.8": "x"}}
    monkeypatch.setattr(errata, "load_rules", lambda name, schema: rules)
    assert errata.release_of(one) == "v0.1.10"
    assert errata.release_of(other) is None
    assert errata.release_of(Held({}, "main")) is None


def test_the_rule_file_of_releases_is_valid() -> None:
    rules = rulebook.load_rules(errata.BLOBS, errata.BLOB_SCHEMA)
    assert len(rules["releases"]) == 52
    assert "aiter/mla.py" in rules["files"]

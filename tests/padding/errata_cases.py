"""Shapes and releases that every erratum names, and their neighbours."""

from __future__ import annotations

from typing import Any

from mlaprobe.core.shape import Decision, DecodeShape, Dtype, Kernel, StageOutcome, Status, Verdict


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
    ("v4-pages", "v0.1.18", decision(f"gfx950 {F8}", 64, op="v4", page_size=16, **PLAIN), True),
    ("v4-pages", "v0.1.20.post1", decision(f"gfx950 {F8}", 16, op="v4", **PLAIN), False),
    ("v4-pages", "v0.1.17", decision(f"gfx950 {F8}", 64, op="v4", page_size=16, **PLAIN), False),
    ("v4-pages", "v0.1.20", decision(f"gfx950 {F8}", 64, op="v4", page_size=16), False),
    ("aiter-3606", "v0.1.20.post1", decision(f"gfx950 {F8}", 16, op="prefill"), True),
    ("aiter-3606", "v0.1.10.post1", decision(f"gfx950 {F8}", 128, 512, op="prefill"), True),
    ("aiter-3606", "v0.1.20", decision(f"gfx950 {B16}", 16, op="prefill", **PLAIN), False),
    ("aiter-3606", "v0.1.20", decision(f"gfx950 {F8}", 16), False),
    *(
        (
            "triton-sparse-heads",
            release,
            decision(f"gfx950 {B16}", n, op="triton-sparse"),
            n % 16 != 0,
        )
        for release in ("v0.1.6.post2", "v0.1.29", None)
        for n in (16, 17, 24, 31, 32, 96, 100, 128, 250, 256)
    ),
    ("triton-sparse-heads", "v0.1.20", decision(f"gfx950 {B16}", 24, op="triton"), False),
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

"""Public reports that hang on the size of the KV cache, on the KV splits or on sparse attention."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.shape import Decision, Verdict
from mlaprobe.deciding.capability import Capability
from tests.stages.ask import BF16, FP8, shape

PLAIN = {"persistent": False}
GIB = 1 << 30
RUNS = {Verdict.NATIVE, Verdict.FOLDED}

SIZE, LSE, SPARSE = "kv_cache_bytes not given", "log-sum-exp", "sparse"
"""Words of the notes."""
# release, arch, dtypes, heads, more of the shape, what is expected: a verdict, "runs" without such
# a note, or the words of the note with which it runs.
CASES: list[tuple[str, str, tuple[str, str], int, dict[str, Any], str]] = [
    # https://github.com/ROCm/aiter/issues/5765
    ("v0.1.20.post1", "gfx950", BF16, 16, PLAIN, SIZE),
    ("v0.1.20.post1", "gfx950", BF16, 128, PLAIN, SIZE),
    ("v0.1.20.post1", "gfx950", BF16, 32, {**PLAIN, "page_size": 16}, SIZE),
    ("v0.1.20.post1", "gfx950", BF16, 64, PLAIN, "runs"),
    ("v0.1.20.post1", "gfx950", BF16, 16, {**PLAIN, "kv_cache_bytes": 4 * GIB + 1152}, "ERRATUM"),
    ("v0.1.20.post1", "gfx950", BF16, 16, {**PLAIN, "kv_cache_bytes": 2 * GIB}, "runs"),
    ("v0.1.20.post1", "gfx950", BF16, 64, {**PLAIN, "kv_cache_bytes": 8 * GIB}, "runs"),
    ("v0.1.19.post1", "gfx950", BF16, 64, {**PLAIN, "kv_cache_bytes": 8 * GIB}, "ERRATUM"),
    ("v0.1.20.post1", "gfx942", FP8, 16, {"kv_cache_bytes": 8 * GIB}, "ERRATUM"),
    ("v0.1.20.post1", "gfx942", FP8, 16, {}, SIZE),
    # https://github.com/ROCm/aiter/pull/4474
    ("v0.1.19", "gfx950", BF16, 8, {"route": "gluon", "kv_cache_bytes": 3 * GIB}, "ERRATUM"),
    ("v0.1.19", "gfx950", BF16, 8, {"route": "gluon"}, SIZE),
    ("v0.1.20", "gfx950", BF16, 8, {"route": "gluon", "kv_cache_bytes": 3 * GIB}, "runs"),
    # https://github.com/vllm-project/vllm/issues/57228
    ("v0.1.20.post1", "gfx942", FP8, 16, {"lse": True}, "NO_KERNEL"),
    ("v0.1.20.post1", "gfx942", FP8, 32, {"lse": True}, "NO_KERNEL"),
    ("v0.1.20.post1", "gfx942", BF16, 16, {"lse": True}, "NO_KERNEL"),
    ("v0.1.20.post1", "gfx942", FP8, 16, {**PLAIN, "lse": True}, LSE),
    ("v0.1.20.post1", "gfx942", FP8, 16, {**PLAIN, "lse": True, "num_kv_splits": 1}, "ERRATUM"),
    ("v0.1.20.post1", "gfx950", FP8, 16, {"lse": True}, "runs"),
    # https://github.com/vllm-project/vllm/pull/41835
    ("v0.1.13.post1", "gfx950", BF16, 32, {}, SPARSE),
    ("v0.1.13.post1", "gfx950", BF16, 32, {"sparse": True}, "ERRATUM"),
    ("v0.1.13.post1", "gfx950", BF16, 32, PLAIN, "runs"),
    ("v0.1.14.post1", "gfx950", BF16, 32, {}, "ERRATUM"),
    ("v0.1.15", "gfx950", BF16, 32, {}, "runs"),
    ("v0.1.15", "gfx950", BF16, 32, {"sparse": True}, "runs"),
    # https://github.com/ROCm/aiter/pull/3993: two query tokens of 8 heads, wrong by emulation
    ("v0.1.19.post2", "gfx950", BF16, 8, {**PLAIN, "qlen": 2}, "ERRATUM"),
]
OPEN: dict[str, Capability] = {}


def decide(git: Path, release: str, arch: str, dtypes: Any, heads: int, **more: Any) -> Decision:
    if release not in OPEN:
        OPEN.clear()
        OPEN[release] = Capability.open(f"{git}@{release}")
    return OPEN[release].decide(shape(arch, dtypes, heads, **more))


@pytest.mark.parametrize(
    ("release", "arch", "dtypes", "heads", "more", "expected"), sorted(CASES, key=str)
)
def test_a_report(
    aiter_git: Path,
    release: str,
    arch: str,
    dtypes: tuple[str, str],
    heads: int,
    more: dict[str, Any],
    expected: str,
) -> None:
    found = decide(aiter_git, release, arch, dtypes, heads, **more)
    if expected in Verdict.__members__:
        assert found.verdict.value == expected
        return
    assert found.verdict in RUNS
    told = {words for words in (SIZE, LSE, SPARSE) if any(words in note for note in found.notes)}
    assert expected in told if expected != "runs" else not told

"""How large a KV cache kernels were emulated with, and what is said of a larger one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mlaprobe.core.enums import Standing
from mlaprobe.core.shape import Decision, DecodeShape, Dtype, Kernel, Verdict
from mlaprobe.deciding import known
from mlaprobe.errors import RuleError
from mlaprobe.rulefiles import cachelimits
from mlaprobe.rulefiles.cachelimits import CacheLimit, limit_of, limits
from mlaprobe.rulefiles.loader import rules_dir
from mlaprobe.rulefiles.outcomes import KernelRun
from tools.kernel_outcomes import limits_text

GIB = 1 << 30
RUN = KernelRun(
    dtype="fp8/fp8", heads=16, qlen=1, kv=((40, 33),), outcome=Standing.PASSED, kv_cache_bytes=GIB
)


def run(size: int, outcome: str = "PASSED", **more: object) -> KernelRun:
    text = "" if outcome == "PASSED" else f"wrong at {size}"
    given = {"kv_cache_bytes": size * GIB, "outcome": Standing(outcome), "text": text, **more}
    return replace(RUN, **given)  # type: ignore[arg-type]


def test_the_shipped_limits_are_those_of_the_shipped_outcomes() -> None:
    assert (rules_dir() / cachelimits.FILE).read_text(encoding="utf-8") == limits_text()
    assert len(limits()) > 100


@pytest.mark.parametrize(
    ("runs", "found"),
    [
        ([], None),
        ([run(0)], None),
        ([run(3), run(20)], (20, None)),
        ([run(3), run(5, "WRONG"), run(20, "WRONG")], (3, 5)),
        ([run(3), run(5), run(20, "UNWRITTEN")], (5, 20)),
        # What is wrong in any cache says nothing of its size.
        ([run(3, "WRONG"), run(5, "WRONG")], None),
        ([run(3, qlen=8, outcome="WRONG"), run(3), run(5, "WRONG")], (3, 5)),
        # Each launch for itself; the smallest of both.
        ([run(3), run(5), run(3, lse=True), run(5, "WRONG", lse=True)], (3, 5)),
        # A pass behind a failure does not count.
        ([run(3), run(5, "WRONG"), run(20)], (3, 5)),
        # Pages of several tokens are another matter.
        ([run(3, page_size=64), run(5, "WRONG", page_size=64)], None),
    ],
)
def test_a_limit(runs: list[KernelRun], found: tuple[int, int | None] | None) -> None:
    limit = limit_of(runs, "v0.1.20")
    sizes = limit and (limit.passes // GIB, limit.fails and limit.fails // GIB)
    assert sizes == found
    if limit and limit.fails:
        assert limit.text == f"wrong at {limit.fails // GIB}"


def decision(blob: str | None, **more: object) -> Decision:
    shape = DecodeShape(
        arch="gfx950",
        q_dtype=Dtype.FP8,
        kv_dtype=Dtype.FP8,
        num_heads=16,
        **more,  # type: ignore[arg-type]
    )
    kernel = Kernel(symbol="k", co="hsa/gfx950/mla/k.co", co_present=True, blob=blob)
    return Decision(shape=shape, verdict=Verdict.NATIVE, kernels=(kernel,))


OPEN, CLOSED, PAGES = "a" * 40, "b" * 40, "d" * 40


@pytest.fixture(autouse=True)
def _limits(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "shipped" not in request.node.name:
        made = {
            CLOSED: CacheLimit(passes=3 * GIB, fails=5 * GIB, text="all wrong", release="v0.1.20"),
            PAGES: CacheLimit(passes=9 * GIB, fails=20 * GIB, text="cut", release="v0.1.20"),
            OPEN: CacheLimit(passes=20 * GIB, fails=None, release="v0.1.20"),
        }
        monkeypatch.setattr(known, "limits", lambda: made)


@pytest.mark.parametrize(
    ("blob", "size", "verdict", "words"),
    [
        (CLOSED, None, "NATIVE", "kv_cache_bytes not given"),
        (CLOSED, 3 * GIB, "NATIVE", ""),
        (CLOSED, 4 * GIB, "NATIVE", "right at 3 GiB, wrong at 5 GiB"),
        (CLOSED, 5 * GIB, "ERRATUM", ""),
        (CLOSED, 50 * GIB, "ERRATUM", ""),
        (OPEN, None, "NATIVE", ""),
        (OPEN, 20 * GIB, "NATIVE", ""),
        (OPEN, 21 * GIB, "NATIVE", "it is right at 20 GiB"),
        ("c" * 40, None, "NATIVE", ""),
        ("c" * 40, 2 * GIB, "NATIVE", ""),
        ("c" * 40, 3 * GIB, "NATIVE", "not emulated with a large one"),
        (None, 3 * GIB, "NATIVE", "not emulated with a large one"),
    ],
)
def test_a_launch(blob: str | None, size: int | None, verdict: str, words: str) -> None:
    found = known.apply(decision(blob, kv_cache_bytes=size), release="v0.2")
    assert found.verdict.value == verdict
    assert len(found.notes) == bool(words)
    assert words in "".join(found.notes)
    if verdict == "ERRATUM":
        assert found.stage == "errata"
        assert "k.co (blob bbbbbbbbbbbb)" in str(found.message)
        assert "right at 3 GiB and wrong at 5 GiB (all wrong)" in str(found.message)


def test_pages_of_several_tokens() -> None:
    """An offset of 32 bits wraps with them as well; a number of pages is reached later."""
    wraps = known.apply(decision(CLOSED, kv_cache_bytes=6 * GIB, page_size=64), release="v0.2")
    assert wraps.verdict is Verdict.ERRATUM
    later = known.apply(decision(PAGES, kv_cache_bytes=21 * GIB, page_size=64), release="v0.2")
    assert later.verdict is Verdict.NATIVE
    for text in (wraps.message, later.notes[0]):
        assert "with pages of one token" in str(text)
    assert known.apply(decision(PAGES, kv_cache_bytes=21 * GIB), release="v0.2").verdict is (
        Verdict.ERRATUM
    )


def test_what_does_not_run_is_left_alone() -> None:
    refused = replace(decision(CLOSED, kv_cache_bytes=9 * GIB), verdict=Verdict.REJECTED)
    assert known.apply(refused, release="v0.2") is refused


@pytest.mark.parametrize("content", ["", "[]", '{"blobs":{"a":1}}', '{"blobs":{"a":{"x":1}}}'])
def test_a_damaged_file(content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / cachelimits.FILE).write_text(content)
    monkeypatch.setattr(cachelimits, "rules_dir", lambda: tmp_path)
    cachelimits.limits.cache_clear()
    with pytest.raises(RuleError, match="no limits of caches"):
        cachelimits.limits()

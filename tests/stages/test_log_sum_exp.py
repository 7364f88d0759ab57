"""A log-sum-exp that is returned and that nothing wrote."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from mlaprobe.core.shape import Decision, StageName, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.snapshot import Snapshot
from mlaprobe.snapshot.file import parse
from mlaprobe.snapshot.making import make
from mlaprobe.snapshot.scope import Scope
from tests.stages.ask import BF16, FP8, ask, opened, shape
from tests.trees import today
from tests.trees.common import Tree, changed

MLA = "aiter/mla.py"
WANTED = {"persistent": False, "lse": True}


def merging(condition: str) -> Tree:
    """A dispatcher that returns early where a condition holds, and else merges."""
    count = "        num_kv_splits = _split_count("
    early = "        )\n        return logits, final_lse\n"
    assert today.tree()[MLA]
    return changed(
        today.tree(),
        MLA,
        (count, "        if num_kv_splits is None:\n            num_kv_splits = _split_count("),
        (
            early,
            f"        )\n        if {condition}:\n            return logits, final_lse\n"
            "        aiter.mla_reduce_v1(logits, logits, splits, max_seqlen_q, 1, o, final_lse)\n"
            "        return logits, final_lse\n",
        ),
    )


def notes(decision: Decision) -> list[str]:
    return [note for note in decision.notes if "log-sum-exp" in note]


def test_one_split_returns_before_the_merge(tmp_path: Path) -> None:
    live = opened(tmp_path, merging("num_kv_splits == 1 and q.dtype == dtypes.fp8"))
    one = ask(live, "gfx950", FP8, 16, num_kv_splits=1, **WANTED)
    assert (one.verdict, one.stage) == (Verdict.ERRATUM, StageName.DISPATCHER)
    assert "with one KV split" in (one.message or "")
    assert any("num_kv_splits == 1" in each.text for each in one.evidence)
    chosen = ask(live, "gfx950", FP8, 16, **WANTED)
    assert chosen.verdict is Verdict.NATIVE
    assert len(notes(chosen)) == 1
    two = ask(live, "gfx950", FP8, 16, num_kv_splits=2, **WANTED)
    plain = ask(live, "gfx950", FP8, 16, num_kv_splits=1, persistent=False)
    for found in (two, plain):
        assert (found.verdict, notes(found)) == (Verdict.NATIVE, [])
    for found in (
        ask(live, "gfx950", BF16, 16, num_kv_splits=1, **WANTED),
        ask(live, "gfx950", FP8, 32, num_kv_splits=1, lse=True),
    ):
        assert found.verdict is not Verdict.ERRATUM
        assert not notes(found)


def test_a_launch_that_never_merges(tmp_path: Path) -> None:
    """However many splits."""
    live = opened(tmp_path, merging("True"))
    for splits in (None, 1, 2):
        found = ask(live, "gfx950", FP8, 16, num_kv_splits=splits, **WANTED)
        assert found.verdict is Verdict.ERRATUM


def test_a_snapshot_says_so_for_every_number_of_splits(tmp_path: Path) -> None:
    live = opened(tmp_path, merging("num_kv_splits == 1 and q.dtype == dtypes.fp8"))
    scope = Scope(archs=("gfx950",), heads=(16, 32), qlens=(1,), page_sizes=(1,))
    kept = Snapshot(parse(make(live, scope=scope).encode(), "it"), label="it")
    for splits in (None, 1, 2, 3, 16, 5000):
        for heads in (16, 32):
            asked = shape("gfx950", FP8, heads, num_kv_splits=splits, **WANTED)
            found, wanted = kept.judge(asked), live.judge(asked)
            assert (found.verdict, found.notes) == (wanted.verdict, wanted.notes)
            assert found.message == wanted.message


@lru_cache(maxsize=2)
def release(git: Path, name: str) -> Capability:
    return Capability.open(f"{git}@{name}")


@pytest.mark.parametrize(
    ("arch", "dtypes", "heads", "qlen"),
    [
        *(("gfx942", FP8, 16, 1), ("gfx950", FP8, 16, 1), ("gfx950", FP8, 128, 1)),
        *(("gfx950", BF16, 16, 4), ("gfx950", BF16, 8, 1), ("gfx950", BF16, 32, 1)),
        ("gfx942", BF16, 32, 1),
    ],
)
def test_known_answers_of_one_split(
    aiter_git: Path, arch: str, dtypes: tuple[str, str], heads: int, qlen: int
) -> None:
    """Of v0.1.20: fp8; bf16 at four query tokens; 8 and 32 heads of bf16."""
    live = release(aiter_git, "v0.1.20")
    one = ask(live, arch, dtypes, heads, qlen, num_kv_splits=1, **WANTED)
    assert (one.verdict, one.stage) == (Verdict.ERRATUM, StageName.DISPATCHER)
    assert any(each.file == MLA and "num_kv_splits == 1" in each.text for each in one.evidence)
    chosen = ask(live, arch, dtypes, heads, qlen, **WANTED)
    assert chosen.verdict is Verdict.NATIVE
    assert len(notes(chosen)) == 1
    two = ask(live, arch, dtypes, heads, qlen, num_kv_splits=2, **WANTED)
    assert two.verdict is Verdict.NATIVE
    # AITER takes fewer splits of fp8 where the KV is short.
    assert len(notes(two)) == (dtypes == FP8)
    plain = ask(live, arch, dtypes, heads, qlen, num_kv_splits=1, persistent=False)
    assert plain.verdict is Verdict.NATIVE


@pytest.mark.parametrize(("heads", "qlen"), [(16, 1), (64, 1), (128, 1)])
def test_the_merge_of_one_split_writes_it(aiter_git: Path, heads: int, qlen: int) -> None:
    live = release(aiter_git, "v0.1.20")
    one = ask(live, "gfx950", BF16, heads, qlen, num_kv_splits=1, **WANTED)
    assert (one.verdict, notes(one)) == (Verdict.NATIVE, [])


def test_an_explicit_number_of_splits_keeps_the_persistent_path(aiter_git: Path) -> None:
    """v0.1.18 and later leave it from a batch of 32 on only where AITER chooses."""
    live = release(aiter_git, "v0.1.20")
    chosen = ask(live, "gfx950", BF16, 16, batch=64)
    given = ask(live, "gfx950", BF16, 16, batch=64, num_kv_splits=16)
    paths = [found.outcome(StageName.DISPATCHER) for found in (chosen, given)]
    assert [path and path.persistent for path in paths] == [False, True]

"""The bundled releases: all are there, small, and say what their sources say."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from mlaprobe.core.grid import Grid
from mlaprobe.core.shape import Decision, DecodeShape, Dtype, PlannerCall, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.opening import bundled
from mlaprobe.rulefiles.errata import BLOB_SCHEMA, BLOBS
from mlaprobe.rulefiles.loader import load_rules
from mlaprobe.snapshot import load
from mlaprobe.snapshot.file import read
from mlaprobe.snapshot.scope import Scope
from mlaprobe.sources import open_source
from mlaprobe.sources.git import find_git_dir, run
from tools import releases as tool

LARGEST, ALL = 200_000, 4_000_000
"""Bytes of a snapshot with all operations, and of all snapshots."""
MADE_AGAIN = ("v0.1.6.post3", "v0.1.10.post3", "v0.1.14.post1")
"""Kernels as statics, the kernel table, and the switch to native 24 heads."""
FILES = tuple(dict.fromkeys(bundled.index().values()))


def newest_of(file: str) -> str:
    return [release for release, its in bundled.index().items() if its == file][-1]


def test_every_release_is_there() -> None:
    assert set(bundled.index()) == set(load_rules(BLOBS, BLOB_SCHEMA)["releases"])
    assert len(bundled.index()) == 52
    assert {path.name for path in bundled.folder().iterdir()} == {
        *FILES,
        bundled.INDEX,
        bundled.READS,
    }
    assert len(FILES) == 32
    assert sum(path.stat().st_size for path in bundled.folder().iterdir()) <= ALL


@pytest.mark.parametrize("file", FILES)
def test_a_file(file: str) -> None:
    path = bundled.folder() / file
    assert path.stat().st_size <= LARGEST
    source = load(path).source
    listed = [release for release, its in bundled.index().items() if its == file]
    assert list(source.same_content) == listed
    assert source.release == listed[-1]
    assert bundled.of_commit(source.commit) in listed


@pytest.mark.parametrize("file", FILES)
def test_nothing_is_unknown(file: str) -> None:
    """On the archs that people serve on, at plain and odd head counts."""
    snapshot = bundled.load(newest_of(file))
    grid = Grid(
        archs=("gfx942", "gfx950"),
        heads=(1, 7, 8, 12, *range(16, 129, 8)),
        qlens=(1, 2, 4, 8),
        lse=(False, True),
        persistent=(True, False),
    )
    verdicts = {snapshot.judge(shape).verdict for shape in grid.shapes()}
    assert Verdict.UNKNOWN not in verdicts
    assert {Verdict.NATIVE, Verdict.FOLDED, Verdict.REJECTED} <= verdicts


def test_the_index_names_the_tags_commits(aiter_git: Path) -> None:
    git = find_git_dir(aiter_git)
    assert git is not None
    index = bundled.index()
    for release in bundled.releases():
        commit = run(git, "rev-parse", f"{release}^{{commit}}").decode().strip()
        found = bundled.of_commit(commit)
        assert found is not None, release
        assert index[found] == index[release]


@pytest.mark.parametrize("release", MADE_AGAIN)
def test_made_again_it_is_the_same(
    aiter_git: Path, release: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = tool.main([str(aiter_git), "--check", "--only", release, "--jobs", "1"])
    assert (code, capsys.readouterr().out) == (0, "3 files compared, 0 differ\n")


def test_what_modules_set_of_each_other_is_of_files_that_are_compared() -> None:
    for release, reads in bundled.reads().items():
        assert {"aiter/__init__.py", "aiter/mla.py"} <= reads.elsewhere.modules, release
        assert reads.elsewhere.modules <= set(reads.paths), release
        assert reads.elsewhere.names.keys() <= reads.elsewhere.modules, release
    unknown = [name for name in bundled.releases() if not bundled.set_elsewhere(name).modules]
    assert unknown == ["v0.1.13-rc5"]


@pytest.mark.parametrize("release", ["v0.1.8", "v0.1.14.post1", "v0.1.20.post1"])
def test_what_modules_set_of_each_other(aiter_git: Path, release: str) -> None:
    with open_source(f"{aiter_git}@{release}") as source:
        assert tool.set_elsewhere(source) == bundled.set_elsewhere(release)
        assert bundled.of_files(source) == release


def shape_of(choose: random.Random, scope: Scope) -> DecodeShape:
    """Any shape that a snapshot holds, plain head counts more often."""
    query, cache = choose.choice(scope.dtypes)
    told = choose.choice([PlannerCall(), PlannerCall(q_dtype=None, kv_dtype=None)])
    plain = (8, 16, 24, 32, 48, 64, 96, 128)
    return DecodeShape(
        arch=choose.choice([arch for arch in scope.archs if arch != "gfx1250"]),
        q_dtype=query,
        kv_dtype=cache,
        num_heads=choose.choice(choose.choice([plain, scope.heads])),
        qlen=choose.choice(scope.qlens),
        lse=choose.random() < 0.5,
        persistent=choose.random() < 0.7,
        causal=choose.random() < 0.7,
        cp_round_robin=choose.random() < 0.2,
        batch=choose.choice([None, None, 1, 31, 32, 33, 257]),
        page_size=choose.choice(scope.page_sizes),
        planner=told,
    )


def said(decision: Decision) -> tuple[object, ...]:
    stages = [(n, replace(o, evidence=(), sizes=None)) for n, o in decision.stages]
    names = ("verdict", "fold", "qlen_fold", "failure", "stage", "message", "kernels", "key")
    return (*(getattr(decision, name) for name in names), decision.notes, stages)


@pytest.mark.parametrize("release", ["v0.1.7.post3", "v0.1.12", "v0.1.16.post2", "v0.1.20"])
def test_it_answers_like_the_source(aiter_git: Path, release: str) -> None:
    kept = bundled.load(release)
    scope = Scope(archs=kept.archs)
    choose = random.Random(release)
    with open_source(f"{aiter_git}@{release}") as source:
        live = Capability(source)
        for _ in range(300):
            shape = shape_of(choose, scope)
            assert said(kept.judge(shape)) == said(live.judge(shape)), shape
        # Another source is taken for this release by what is recorded to be read of it.
        recorded = next(each for each in bundled.reads().values() if each.held_by(source))
        assert set(source.blobs_read) <= set(recorded.paths)
        assert set(live.session.listed) <= set(recorded.listings)


def test_a_case_that_everybody_knows() -> None:
    """AITER v0.1.16 took the 32 heads away that v0.1.15 had, and v0.1.17 gave them back."""
    found = {}
    for release in ("v0.1.15.post3", "v0.1.16.post2", "v0.1.17"):
        shape = DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=32)
        decision = bundled.load(release).decide(shape)
        found[release] = (decision.verdict.value, decision.fold)
    assert found == {
        "v0.1.15.post3": ("NATIVE", 1),
        "v0.1.16.post2": ("FOLDED", 2),
        "v0.1.17": ("NATIVE", 1),
    }


@pytest.mark.parametrize(
    ("old", "new", "replaced"),
    [("v0.1.16.post6", "v0.1.17", 16), ("v0.1.19", "v0.1.19.post2", 23), ("v0.1.18", "v0.1.19", 0)],
)
def test_files_of_kernels_that_were_replaced(old: str, new: str, replaced: int) -> None:
    """Of the kernels that a decode can launch, by git's own listing of both tags."""
    before, after = (
        {
            (kernel.symbol, kernel.co): kernel.blob
            for kernel in read(bundled.folder() / bundled.index()[release]).kernels.values()
            if "/mla_v4/" not in kernel.co
        }
        for release in (old, new)
    )
    assert sum(before[each] != after[each] for each in before.keys() & after.keys()) == replaced

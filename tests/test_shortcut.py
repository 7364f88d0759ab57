"""A revision that is a bundled release is answered without being read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mlaprobe.core.shape import DecodeShape, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.errors import SourceError
from mlaprobe.opening import bundled
from mlaprobe.opening.shortcut import KnownRevision, quickest
from mlaprobe.snapshot.making import make
from mlaprobe.snapshot.scope import Scope
from tests.sources.trees import git, write_git
from tests.stages.ask import BF16, FP8, shape
from tests.trees import today

TAG = "v0.1.20"
SCOPE = Scope(archs=("gfx950",), heads=(16, 24, 32, 48, 64), qlens=(1, 2), page_sizes=(1,))
SHAPES = tuple(
    shape("gfx950", dtypes, heads, qlen, persistent=persistent)
    for dtypes in (BF16, FP8)
    for heads in SCOPE.heads
    for qlen in SCOPE.qlens
    for persistent in (True, False)
)
OUTSIDE = (
    shape("gfx950", FP8, 33),
    shape("gfx950", FP8, 16, page_size=64),
    shape("gfx950", FP8, 32, env={"AITER_ENABLE_EXPERIMENTAL": "1"}),
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_git(tmp_path_factory.mktemp("aiter"), today.tree(), tag=TAG)


@pytest.fixture(scope="module")
def live(repository: Path) -> Capability:
    return Capability.open(f"{repository}@{TAG}")


@pytest.fixture(scope="module")
def releases(
    repository: Path, live: Capability, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The folder of bundled releases, with this one release."""
    folder = tmp_path_factory.mktemp("releases")
    commit = git(repository, "rev-parse", TAG).strip()
    text = make(live, scope=SCOPE, releases={TAG: commit})
    (folder / f"{TAG}.json").write_text(text, encoding="utf-8")
    index = {"releases": {TAG: f"{TAG}.json"}, "commits": {TAG: commit}}
    (folder / bundled.INDEX).write_text(json.dumps(index), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundled, "folder", lambda: folder)
        bundled.index.cache_clear()
        yield folder
    bundled.index.cache_clear()


def _said(found: Capability | KnownRevision, asked: DecodeShape) -> object:
    decision = found.decide(asked)
    stages = [(name, replace(each, sizes=None)) for name, each in decision.stages]
    return replace(decision, stages=tuple(stages)), tuple(decision.evidence)


@pytest.mark.usefixtures("releases")
def test_the_snapshot_answers_for_its_commit(repository: Path, live: Capability) -> None:
    with quickest(f"{repository}@{TAG}") as quick:
        assert isinstance(quick, KnownRevision)
        assert quick.source.label == live.source.label
        assert quick.archs == ("gfx950",)
        for asked in SHAPES:
            assert _said(quick, asked) == _said(live, asked), asked
            assert quick.ask("planner", asked).status == live.ask("planner", asked).status
        assert "live" not in vars(quick), "the source was read"
        assert {quick.decide(s).verdict for s in SHAPES} > {Verdict.NATIVE, Verdict.FOLDED}


@pytest.mark.usefixtures("releases")
def test_the_source_answers_what_the_snapshot_does_not_hold(
    repository: Path, live: Capability
) -> None:
    quick = quickest(f"{repository}@{TAG}")
    for asked in OUTSIDE:
        assert _said(quick, asked) == _said(live, asked)  # type: ignore[arg-type]
    assert quick.source_text(today.DISPATCHER) == live.source_text(today.DISPATCHER)


@pytest.mark.usefixtures("releases")
def test_another_commit_is_read(repository: Path) -> None:
    git(repository, "commit", "--quiet", "--allow-empty", "--message=two")
    assert isinstance(quickest(f"{repository}@HEAD"), Capability)
    assert isinstance(quickest(f"{repository}@{TAG}"), KnownRevision)
    assert isinstance(quickest(str(repository)), Capability)


def test_where_nothing_is_bundled_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundled, "folder", lambda: tmp_path)
    monkeypatch.setattr(bundled, "index", dict)
    with pytest.raises(SourceError, match="no releases are bundled") as caught:
        bundled.load(TAG)
    assert caught.value.hint is not None
    assert "make releases" in caught.value.hint
    assert f"@{TAG}" in caught.value.hint

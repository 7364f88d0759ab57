"""A source that is a bundled release, by its commit or by its files, is answered without being
evaluated."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mlaprobe.core.shape import DecodeShape, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.errors import SourceError
from mlaprobe.opening import bundled
from mlaprobe.opening.shortcut import KnownSource, quickest
from mlaprobe.snapshot import Snapshot
from mlaprobe.snapshot.making import make
from mlaprobe.snapshot.scope import Scope
from mlaprobe.sources import MAX_BYTES, open_source
from mlaprobe.sources.reads import reads_of
from tests.sources.trees import Tree, git, write, write_git, write_zip
from tests.stages.ask import BF16, FP8, shape
from tests.trees import today
from tools.releases import reads_text, set_elsewhere

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
    elsewhere = set_elsewhere(live.source)
    reads = reads_of(live.source, live.source.blobs_read, live.session.listed)
    reads = replace(reads, elsewhere=elsewhere)
    (folder / bundled.READS).write_text(reads_text({TAG: reads}), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundled, "folder", lambda: folder)
        for kept in (bundled.index, bundled.reads):
            kept.cache_clear()
        yield folder
    for kept in (bundled.index, bundled.reads):
        kept.cache_clear()


def _said(found: Capability | KnownSource, asked: DecodeShape) -> object:
    decision = found.decide(asked)
    stages = [(name, replace(each, sizes=None)) for name, each in decision.stages]
    return replace(decision, stages=tuple(stages)), tuple(decision.evidence)


@pytest.mark.usefixtures("releases")
def test_the_snapshot_answers_for_its_commit(repository: Path, live: Capability) -> None:
    with quickest(f"{repository}@{TAG}") as quick:
        assert isinstance(quick, KnownSource)
        assert quick.source.label == live.source.label
        assert quick.archs == ("gfx950",)
        for asked in SHAPES:
            assert _said(quick, asked) == _said(live, asked), asked
            assert quick.ask("planner", asked).status == live.ask("planner", asked).status
        assert "live" not in vars(quick), "the source was read"
        assert {quick.decide(s).verdict for s in SHAPES} > {Verdict.NATIVE, Verdict.FOLDED}


@pytest.mark.usefixtures("releases")
def test_reducers_are_known_as_well(repository: Path, live: Capability) -> None:
    with quickest(f"{repository}@{TAG}") as quick:
        assert isinstance(quick, KnownSource)
        for head_dim in (128, 512, 96):
            merged = tuple(n for n in live.reduce_heads(head_dim) if n in SCOPE.heads)
            assert quick.reduce_heads(head_dim) == merged
            expected = next((n for n in merged if n >= 9), None)
            assert quick.next_reduce_heads(9, head_dim) == expected
        assert quick.reduce_heads(512), "nothing was compared"


@pytest.mark.usefixtures("releases")
def test_whatever_a_source_and_a_snapshot_can_be_asked_it_can(repository: Path) -> None:
    """``judge`` is the answer before errata, for what compares the two."""
    with quickest(f"{repository}@{TAG}") as quick:
        asked = {name for name in dir(Capability) if not name.startswith("_")} & set(dir(Snapshot))
        assert {name for name in asked if not hasattr(quick, name)} == {"judge"}


@pytest.mark.usefixtures("releases")
def test_the_source_answers_what_the_snapshot_does_not_hold(
    repository: Path, live: Capability
) -> None:
    quick = quickest(f"{repository}@{TAG}")
    for asked in OUTSIDE:
        assert _said(quick, asked) == _said(live, asked)  # type: ignore[arg-type]
    assert quick.source_text(today.DISPATCHER) == live.source_text(today.DISPATCHER)


@pytest.mark.usefixtures("releases")
def test_what_modules_set_of_each_other_is_known(repository: Path) -> None:
    """It is read back as it was found, and no module is looked through for it again."""
    with quickest(f"{repository}@{TAG}") as quick:
        assert isinstance(quick, KnownSource)
        known = bundled.set_elsewhere(TAG)
        assert known == set_elsewhere(quick.source)
        assert {"aiter/__init__.py", "aiter/mla.py"} <= known.modules
        python = quick.live.session.python
        assert quick.live.decide(SHAPES[0]).verdict is quick.decide(SHAPES[0]).verdict
        assert "patches" not in vars(python)


@pytest.mark.usefixtures("releases")
def test_another_commit_with_the_same_files_is_known(repository: Path, live: Capability) -> None:
    git(repository, "commit", "--quiet", "--allow-empty", "--message=two")
    for spec in (f"{repository}@HEAD", f"{repository}@{TAG}", str(repository)):
        with quickest(spec) as known:
            assert isinstance(known, KnownSource)
            assert known.source.label == spec
            assert _said(known, SHAPES[0]) == _said(live, SHAPES[0])


@pytest.mark.usefixtures("releases")
@pytest.mark.parametrize("kind", ["directory", "git", "archive"])
def test_the_same_files_wherever_they_lie(kind: str, tmp_path: Path, live: Capability) -> None:
    tree = {**today.tree(), "README.md": "another", "aiter/untouched.py": "import os"}
    spec = _as_source(kind, tmp_path, tree)
    with quickest(spec) as known:
        assert isinstance(known, KnownSource)
        assert (known.release, known.erratum_release) == (None, TAG)
        for asked in (*SHAPES, *OUTSIDE):
            assert _said(known, asked) == _said(live, asked), asked
        assert known.live.erratum_release == TAG


def _changes(live: Capability) -> Iterator[tuple[str, str]]:
    """For every file that was looked for: the same with one more line, or one that was not
    there; then files in the folders that were listed."""
    for path, blob in live.source.blobs_read.items():
        file = live.source.read(path)
        if blob is None:
            if "/" in path and not any(path.startswith(f"{p}/") for p in live.source.blobs_read):
                yield path, ""
        elif file is not None and not file.is_binary:
            yield path, file.text + "\n"
    yield "hsa/gfx950/mla/more.co", "x"
    yield "hsa/gfx9999/mla/mla_asm.csv", ""


@pytest.mark.usefixtures("releases")
def test_whatever_answers_depend_on_has_to_be_the_same(tmp_path: Path, live: Capability) -> None:
    """Each file that was read, each that was looked for in vain, each list of files."""
    tree, seen = today.tree(), 0
    for at, (path, text) in enumerate(_changes(live)):
        changed = {**tree, path: text}
        root = tmp_path / str(at)
        with open_source(_as_source("directory", root, changed)) as source:
            seen += 1
            assert bundled.of_files(source) is None, path
        shutil.rmtree(root)
    assert seen > 20
    with open_source(_as_source("directory", tmp_path / "same", tree)) as source:
        assert bundled.of_files(source) == TAG


@pytest.mark.usefixtures("releases")
def test_a_file_that_cannot_be_read_is_no_match(tmp_path: Path, live: Capability) -> None:
    path = next(path for path, blob in live.source.blobs_read.items() if blob is not None)
    spec = _as_source("directory", tmp_path, {**today.tree(), path: "x" * (MAX_BYTES + 1)})
    with open_source(spec) as source:
        assert bundled.of_files(source) is None


def _as_source(kind: str, folder: Path, tree: Tree) -> str:
    if kind == "git":
        return f"{write_git(folder / 'git', tree, tag=None)}@HEAD"
    if kind == "archive":
        return str(write_zip(folder / "aiter.zip", tree))
    return str(write(folder, tree))


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

"""Git repositories: read at a revision, and never touched."""

from __future__ import annotations

import gc
import hashlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.errors import SourceError
from mlaprobe.sources import open_source
from mlaprobe.sources.git import GitSource
from tests.sources.trees import CHECKOUT, git, write, write_git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits: the tagged one and another on top, with an uncommitted change."""
    root = write_git(tmp_path / "repo", CHECKOUT, tag="v0.1.19")
    write(root, {"aiter/mla.py": "# two\n"})
    git(root, "commit", "--quiet", "--all", "--message=two")
    git(root, "tag", "--annotate", "--message=x", "v0.1.20")
    git(root, "tag", "v0.1.20-rc0")
    git(root, "tag", "nightly")
    write(root, {"aiter/mla.py": "# not committed\n"})
    return root


def _text(spec: str) -> str:
    with open_source(spec) as source:
        file = source.read("aiter/mla.py")
        assert file is not None
        return file.text


def test_reads_what_is_committed(repository: Path) -> None:
    assert _text(f"{repository}@v0.1.20") == _text(f"{repository}@HEAD") == "# two\n"
    assert _text(f"{repository}@main~1").startswith("def mla_decode_fwd")
    assert _text(f"{repository}@HEAD@{{0}}") == "# two\n"
    assert _text(f"{repository / '.git'}@v0.1.20") == "# two\n"
    assert _text(str(repository / ".git")) == "# two\n"
    assert _text(str(repository)) == "# not committed\n"


def test_commit_and_release(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    for revision, release in (
        ("v0.1.20", "v0.1.20"),
        ("v0.1.20-rc0", "v0.1.20-rc0"),
        ("main", "v0.1.20"),
        (head[:8], "v0.1.20"),
        ("nightly", "v0.1.20"),
    ):
        source = open_source(f"{repository}@{revision}")
        assert (source.kind, source.commit, source.release) == ("git", head, release)
    git(repository, "commit", "--quiet", "--all", "--message=three")
    between = open_source(f"{repository}@main")
    assert (between.release, between.ancestor) == (None, "v0.1.20")
    assert open_source(f"{repository}@v0.1.20~1").ancestor == "v0.1.19"
    assert open_source(str(repository)).ancestor == "v0.1.20"


def test_nothing_before_a_commit(tmp_path: Path) -> None:
    """No tag at all, one of something else, and one behind it."""
    root = write_git(tmp_path / "repo", CHECKOUT, tag="nothing")
    assert open_source(f"{root}@HEAD").ancestor is None
    git(root, "tag", "nightly")
    assert open_source(f"{root}@HEAD").ancestor is None
    first = git(root, "rev-parse", "HEAD")
    write(root, {"aiter/mla.py": "# two\n"})
    git(root, "commit", "--quiet", "--all", "--message=two")
    git(root, "tag", "v0.1.20")
    assert open_source(f"{root}@{first}").ancestor is None


def test_paths_with_at_signs_and_spaces(tmp_path: Path) -> None:
    root = write_git(tmp_path / "a b@c@d", CHECKOUT)
    git(root, "branch", "feature@2")
    assert _text(f"{root}@v0.1.20") == _text(f"{root}@feature@2") == _text(str(root))
    with open_source(f"{root}@v0.1.20") as source:
        assert isinstance(source, GitSource)
        assert (source.revision, source.location) == ("v0.1.20", str(root / ".git"))


def test_odd_file_names(tmp_path: Path) -> None:
    tree = {**CHECKOUT, "csrc/a b missing": "1", "csrc/é.h": "2", 'csrc/"q".h': "3"}
    with open_source(f"{write_git(tmp_path, tree)}@HEAD") as source:
        for path in tree:
            assert source.read(path), path
        assert set(source.list("csrc")) == {p for p in tree if p.startswith("csrc/")}


def test_work_trees_and_submodules(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "--quiet", str(tmp_path / "second"), "v0.1.19")
    assert _text(f"{tmp_path / 'second'}@HEAD").startswith("def mla_decode_fwd")
    assert _text(str(tmp_path / "second" / ".git")).startswith("def mla_decode_fwd")
    git(
        repository,
        *("-c", "protocol.file.allow=always"),
        *("submodule", "--quiet", "add", str(repository), "csrc/sub"),
    )
    git(repository, "commit", "--quiet", "--message=sub")
    with open_source(f"{repository}@HEAD") as source:
        assert "csrc/sub" not in source.list("csrc")
        assert source.read("csrc/sub") is None
        assert source.read("csrc/sub/aiter/mla.py") is None


def test_links(tmp_path: Path) -> None:
    root = write(tmp_path / "repo", CHECKOUT)
    (root / "csrc" / "link.h").symlink_to("include/mla.h")
    (root / "csrc" / "away.h").symlink_to("../../outside.h")
    (root / "csrc" / "gone.h").symlink_to("nowhere.h")
    (root / "csrc" / "loop.h").symlink_to("loop.h")
    with open_source(f"{write_git(root, {})}@HEAD") as source:
        link = source.read("csrc/link.h")
        assert link is not None
        assert link.data == b"#pragma once\n"
        for name in ("away", "gone", "loop"):
            assert source.read(f"csrc/{name}.h") is None
        assert source.read("csrc/include/mla.h"), "and git still answers in step"


def test_nothing_is_touched(repository: Path) -> None:
    def state() -> dict[str, tuple[int, str]]:
        return {
            str(file): (file.stat().st_mtime_ns, hashlib.sha1(file.read_bytes()).hexdigest())
            for file in repository.rglob("*")
            if file.is_file()
        }

    # Hooks and settings that a hostile repository would bring along.
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\ntouch touched\n")
    hook.chmod(0o755)
    git(repository, "config", "core.fsmonitor", f"touch {repository}/touched; false")
    git(repository, "config", "core.pager", f"touch {repository}/touched")
    before = state()
    with open_source(f"{repository}@v0.1.20") as source:
        assert all(source.read(path) for path in source.list())
        assert source.release
    assert state() == before


def test_the_callers_git_environment_is_ignored(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "nowhere"))
    assert _text(f"{repository}@v0.1.20") == "# two\n"


@pytest.mark.parametrize(
    ("revision", "message", "hint"),
    [
        ("v0.1.21", "no revision 'v0.1.21'", "v0.1.20"),
        ("0.1.20", "no revision '0.1.20'", "did you mean v0.1.20"),
        ("--output=x", "no revision '--output=x'", "did you mean"),
        ("nope", "no revision 'nope'", "did you mean v0.1.20"),
        ("HEAD:aiter", "no revision", "did you mean"),
        ("a\nb", "is no git revision", "a tag or a commit"),
        ("", "names no revision after the @", "v0.1.20"),
    ],
)
def test_revisions_that_are_not_there(
    repository: Path, revision: str, message: str, hint: str | None
) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        open_source(f"{repository}@{revision}")
    assert caught.value.exit_code == 1
    assert (hint is None) == (caught.value.hint is None)
    assert hint is None or hint in str(caught.value.hint)


def test_without_release_tags(tmp_path: Path) -> None:
    root = write_git(tmp_path, CHECKOUT, tag=None)
    with pytest.raises(SourceError) as caught:
        open_source(f"{root}@v0.1.20")
    assert "git fetch --tags" in str(caught.value.hint)


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="there is no git repository at /nowhere"):
        open_source("/nowhere@v0.1.20")
    write(tmp_path, CHECKOUT)
    with pytest.raises(SourceError, match="is not a git repository"):
        open_source(f"{tmp_path}@v0.1.20")
    write(tmp_path, {".git/HEAD": "nonsense", ".git/refs/x": "", ".git/objects/x": ""})
    with pytest.raises(SourceError, match=r"cannot read the git repository .*: fatal"):
        open_source(f"{tmp_path}@v0.1.20")


def test_no_git(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match="git program is not installed"):
        open_source(f"{repository}@v0.1.20")


def test_a_file_whose_bytes_are_missing(repository: Path) -> None:
    blob = git(repository, "rev-parse", "v0.1.19:aiter/mla.py")
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with open_source(f"{repository}@v0.1.19") as source:
        assert source.exists("aiter/mla.py")
        with pytest.raises(SourceError, match="not in the repository") as caught:
            source.read("aiter/mla.py")
        assert "partial clone" in str(caught.value.hint)
        assert source.read("csrc/include/mla.h")
        assert source.read("csrc/none.h") is None


def test_a_partial_clone_fetches_nothing(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "uploadpack.allowFilter", "true")
    url = f"file://{repository}"
    git(tmp_path, "clone", "--quiet", "--bare", "--filter=blob:none", url, "part.git")
    part = tmp_path / "part.git"
    before = sorted(part.rglob("*"))
    with open_source(f"{part}@v0.1.20") as source:
        assert source.exists("aiter/mla.py")
        with pytest.raises(SourceError, match="not in the repository"):
            source.read("aiter/mla.py")
    assert sorted(part.rglob("*")) == before


def test_git_that_ends_early(repository: Path) -> None:
    others = _children()
    with open_source(f"{repository}@v0.1.20") as source:
        source.hold()
        assert source.read("aiter/mla.py")
        (child,) = _children() - others
        os.kill(int(child), signal.SIGKILL)
        assert source.read("csrc/include/mla.h"), "another git takes over"
        source.rest()


def test_a_read_that_is_interrupted_leaves_nothing_in_the_pipe(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stop(BaseException):
        pass

    class Pipe:
        """A pipe whose reader is interrupted behind the bytes of an answer."""

        def __init__(self, pipe: Any) -> None:
            self.readline, self.close, self._read = pipe.readline, pipe.close, pipe.read
            self._reads = 0

        def read(self, size: int) -> Any:
            self._reads += 1
            if self._reads > 1:
                raise Stop
            return self._read(size)

    start = subprocess.Popen

    def interrupted(command: list[str], **options: Any) -> Any:
        process: Any = start(command, **options)
        if "cat-file" in command:
            process.stdout = Pipe(process.stdout)
        return process

    with open_source(f"{repository}@v0.1.20") as source:
        source.hold()
        with monkeypatch.context() as patch:
            patch.setattr(subprocess, "Popen", interrupted)
            with pytest.raises(Stop):
                source.read("aiter/mla.py")
        with open_source(f"{repository}@v0.1.20") as other:
            for path in ("csrc/include/mla.h", "aiter/mla.py"):
                read, expected = source.read(path), other.read(path)
                assert read is not None
                assert read == expected
        source.rest()


def test_no_process_is_left_behind(repository: Path) -> None:
    others = _children()
    source = open_source(f"{repository}@v0.1.20")
    assert source.read("aiter/mla.py")
    assert not _children() - others, "a single read keeps none"
    source.hold()
    source.hold()
    assert source.read("csrc/include/mla.h")
    source.rest()
    assert _children() - others
    source.rest()
    assert not _children() - others
    source.hold()
    assert source.exists("aiter/mla.py")
    assert source.read("README.md") is None
    del source
    gc.collect()
    assert not _children() - others


def _children() -> set[str]:
    task = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    if not task.exists():
        pytest.skip("the system does not list child processes")
    return set(task.read_text().split())


def test_real_repository(aiter_git: Path) -> None:
    with open_source(f"{aiter_git}@v0.1.20") as source:
        assert source.release == "v0.1.20"
        assert source.read("csrc/kernels/mla/metadata/v1_2_device.cuh")
        assert "hsa/gfx950/mla/mla_asm.csv" in source.list("hsa")

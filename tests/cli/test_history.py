"""``mlaprobe history``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlaprobe.opening import bundled
from mlaprobe.snapshot.making import make
from mlaprobe.snapshot.scope import Scope
from tests.cli.conftest import Run
from tests.sources.trees import OLD, git, write, write_git
from tests.stages.ask import opened
from tests.trees import today
from tests.trees.common import changed

ONE = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "64")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two releases: 64 heads are native in the first, and folded in the second; one before them
    that is too old, and a tag that is no release."""
    root = write_git(tmp_path_factory.mktemp("aiter"), OLD, "v0.1.4")
    without = changed(today.tree(), today.PLANNER, ("(num_heads == 64)", "(num_heads == 65)"))
    for tag, tree in (("v0.1.18", today.tree()), ("v0.1.19", without)):
        write(root, tree)
        git(root, "add", "--all")
        git(root, "commit", "--message", tag)
        git(root, "tag", tag)
    git(root, "tag", "nightly")
    return root


def test_the_tags_of_a_repository(run: Run, repository: Path) -> None:
    done = run("history", "--aiter", str(repository), *ONE)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "AITER v0.1.18 to v0.1.19, from a git repository",
        "",
        "gfx950 fp8/fp8, 64 heads, qlen 1, without LSE",
        "  v0.1.18  native (1 release)",
        "  v0.1.19  incoherent (1 release)",
    ]


def test_flags_and_bounds(run: Run, repository: Path) -> None:
    words = ("--aiter", str(repository), "--since", "v0.1.19", "--lse", "--format", "json")
    done = run("history", *words, *ONE)
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert found["releases"] == ["v0.1.19"]
    (line,) = found["lines"]
    assert line["shape"]["lse"] is True


def test_bundled_releases(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = Scope(archs=("gfx950",), heads=tuple(range(8, 129, 8)), qlens=(1,), page_sizes=(1,))
    with opened(tmp_path / "aiter", today.tree()) as capability:
        (tmp_path / "a.json").write_text(make(capability, scope=scope))
    monkeypatch.setattr(bundled, "folder", lambda: tmp_path)
    monkeypatch.setattr(bundled, "index", lambda: {"v9.0": "a.json", "v9.1": "a.json"})
    words = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "16,24,48,64")
    file = tmp_path / "history.svg"
    done = run("history", *words, "--format", "svg", "-o", str(file))
    assert (done.code, done.out, done.err) == (0, "", "")
    assert file.read_text().startswith("<svg ")
    done = run("history", *words)
    assert done.out.startswith("AITER v9.0 to v9.1, bundled with mlaprobe\n")
    assert "  v9.0  native (2 releases)" in done.out


def test_wrong_usage(run: Run, repository: Path, tmp_path: Path) -> None:
    words = ("--aiter", str(repository), *ONE)
    for more, code, says in (
        (("--since", "main"), 2, "'main' is no release"),
        (("--since", "v0.1.30"), 2, "no release is left"),
        (("--format", "html"), 2, "--format: unknown value 'html'"),
    ):
        done = run("history", *words, *more)
        assert (done.code, done.out) == (code, "")
        assert done.err.startswith(f"error: {says}")
        assert "\nhelp: " in done.err
    done = run("history", "--aiter", str(tmp_path), *ONE)
    assert (done.code, done.out) == (1, "")
    assert "is not a git repository" in done.err


def test_help_has_examples(run: Run) -> None:
    assert run("history", "--help").out.count("  mlaprobe history") >= 5


def test_real_releases(run: Run, aiter_git: Path) -> None:
    bounds = ("--since", "v0.1.14", "--until", "v0.1.14.post1")
    words = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "32", "--format", "json")
    done = run("history", "--aiter", str(aiter_git), *bounds, *words)
    assert (done.code, done.err) == (0, "")
    eras = json.loads(done.out)["lines"][0]["eras"]
    assert [(each["first"], each["verdict"], each["fold"]) for each in eras] == [
        ("v0.1.14", "FOLDED", 2),
        ("v0.1.14.post1", "NATIVE", 1),
    ]

"""Bundled releases on the command line, by their names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlaprobe.deciding.capability import Capability
from mlaprobe.opening import bundled
from mlaprobe.snapshot.making import make
from mlaprobe.snapshot.scope import Scope
from mlaprobe.sources import open_source
from tests.cli.conftest import Run
from tests.trees import today
from tests.trees.common import write

SMALL = Scope(archs=("gfx950",), heads=(16, 32, 48, 64), qlens=(1,))
ASKED = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "16,32,48,64", "--qlen", "1")
RELEASES = {"v0.1.19": "1" * 40, "v0.1.20": "2" * 40}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("aiter")
    write(root, today.tree())
    with open_source(str(root)) as source:
        return make(Capability(source), releases=RELEASES, scope=SMALL)


@pytest.fixture
def releases(snapshot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two releases of one content are all that is bundled."""
    folder = tmp_path / "releases"
    folder.mkdir()
    (folder / "v0.1.20.json").write_text(snapshot, encoding="utf-8")
    files = dict.fromkeys(RELEASES, "v0.1.20.json")
    index = {"releases": files, "commits": RELEASES}
    (folder / bundled.INDEX).write_text(json.dumps(index), encoding="utf-8")
    monkeypatch.setattr(bundled, "folder", lambda: folder)
    monkeypatch.setattr(bundled, "index", bundled.index.__wrapped__)


@pytest.mark.parametrize("name", ["v0.1.20", "0.1.20", "v0.1.19"])
def test_a_release_by_name(run: Run, releases: None, name: str) -> None:
    done = run("report", "--aiter", f"release:{name}", *ASKED)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"AITER v{name.removeprefix('v')}, from a bundled release\n")


def test_an_unknown_release(run: Run, releases: None) -> None:
    done = run("report", "--aiter", "release:v0.1.21", *ASKED)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: no release 'v0.1.21' is bundled with mlaprobe\n")
    assert "help: did you mean v0.1.2" in done.err


def test_every_command_takes_one(run: Run, releases: None) -> None:
    one = ("--arch", "gfx950", "--dtype", "fp8/fp8")
    release = ("--aiter", "release:v0.1.20")
    commands: tuple[tuple[str, ...], ...] = (
        ("table", *release, *ASKED, "--format", "csv"),
        ("explain", *release, *one, "--heads", "32"),
        ("resolve", *release, *one, "--heads", "48"),
        ("compare", "release:v0.1.19", "release:v0.1.20", *ASKED),
        ("check", "--pin", "release:v0.1.19", *release, *ASKED),
    )
    for words in commands:
        done = run(*words)
        assert (done.code, done.err) == (0, ""), words
        assert done.out, words


def test_knobs_that_a_snapshot_does_not_hold(run: Run, releases: None) -> None:
    words = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "32")
    release = ("--aiter", "release:v0.1.20")
    shown = run("explain", *release, *words).out
    assert "  not in a snapshot, ask the source itself: " in shown
    assert "UNKNOWN" not in shown
    found = json.loads(run("explain", *release, *words, "--format", "json").out)
    assert found["knobs"] == []
    assert found["knobs_unanswered"] == found["knobs_tried"]
    assert "AITER_ENABLE_EXPERIMENTAL" in found["knobs_tried"]

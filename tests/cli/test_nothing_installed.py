"""``report`` where no AITER is installed: the newest bundled release, and a banner that says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlaprobe.cli.machine import answers
from mlaprobe.deciding.capability import Capability
from mlaprobe.errors import (
    NotAiterError,
    NotInstalledError,
    OutOfRangeError,
    SourceError,
    UnrelatedPackageError,
)
from mlaprobe.opening import bundled
from mlaprobe.opening.probing import or_bundled, probe
from mlaprobe.opening.shortcut import installed_or_bundled
from mlaprobe.snapshot.making import make
from mlaprobe.snapshot.scope import Scope
from mlaprobe.sources.installed import InstalledSource
from tests.cli.conftest import Run
from tests.trees import today
from tests.trees.common import write

SCOPE = Scope(archs=("gfx950",), heads=(16, 48), qlens=(1,))
ONE = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "16,48", "--qlen", "1")


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> str:
    tree = write(tmp_path_factory.mktemp("aiter"), today.tree())
    live = probe(str(tree))
    assert isinstance(live, Capability)
    return make(live, scope=SCOPE, releases={"v9.9.9": "0" * 40})


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without AITER."""

    def find() -> InstalledSource:
        raise NotInstalledError("no AITER is installed in this environment", hint="name one")

    monkeypatch.setattr(InstalledSource, "find", find)


@pytest.fixture
def release(tmp_path: Path, snapshot: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The one bundled release."""
    (tmp_path / "v9.9.9.json").write_text(snapshot, encoding="utf-8")
    index = {"releases": {"v9.9.9": "v9.9.9.json"}, "commits": {"v9.9.9": "0" * 40}}
    (tmp_path / bundled.INDEX).write_text(json.dumps(index), encoding="utf-8")
    monkeypatch.setattr(bundled, "folder", lambda: tmp_path)
    monkeypatch.setattr(bundled, "index", bundled.index.__wrapped__)
    return "release:v9.9.9"


@pytest.mark.usefixtures("nothing")
def test_the_newest_release_with_a_banner(run: Run, release: str) -> None:
    done = run("report", *ONE)
    assert (done.code, done.err) == (0, "")
    banner, _, rest = done.out.partition("\n\n")
    assert " ".join(banner.split()) == (
        "no AITER is installed in this environment. This is what AITER v9.9.9 does, the newest "
        "release that mlaprobe brings along; --aiter names another source"
    )
    assert rest == run("report", "--aiter", release, *ONE).out
    assert f"mlaprobe explain --aiter {release} " in rest, "the commands to copy work"


def test_the_newest_by_name(run: Run, release: str) -> None:
    named = run("table", "--aiter", "release:newest", *ONE)
    assert (named.code, named.err) == (0, "")
    assert named.out == run("table", "--aiter", release, *ONE).out


@pytest.mark.usefixtures("nothing")
def test_programs_get_it_as_a_warning(run: Run, release: str) -> None:
    done = run("report", *ONE, "--format", "json")
    assert json.loads(done.out)["source"]["release"] == "v9.9.9"
    assert done.err.startswith("warning: no AITER is installed in this environment. This is what ")
    assert run("report", *ONE, "--format", "json", "-q").err == ""


@pytest.mark.usefixtures("nothing")
def test_neither(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "newest", lambda: None)
    done = run("report")
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: no AITER is installed in this environment\nhelp: name one\n"


@pytest.mark.usefixtures("nothing", "release")
def test_a_source_that_was_named_is_not_replaced(run: Run, tmp_path: Path) -> None:
    done = run("report", "--aiter", str(tmp_path / "nowhere"))
    assert (done.code, done.out) == (1, "")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OutOfRangeError("too old"), True),
        (NotAiterError("it has no mla.py"), True),
        (SourceError("its files are not there"), True),
        (UnrelatedPackageError("another"), False),
        (NotInstalledError("another"), False),
    ],
)
def test_only_where_none_is_installed_another_stands_in(
    release: str, monkeypatch: pytest.MonkeyPatch, error: SourceError, told: bool
) -> None:
    """For ``report``, for commands that run decodes, and for the library."""

    def find() -> InstalledSource:
        raise error

    monkeypatch.setattr(InstalledSource, "find", find)
    given = {"aiter": "installed", "quiet": True}
    if told:
        for ask in (lambda: or_bundled("installed"), installed_or_bundled, lambda: answers(given)):
            with pytest.raises(type(error), match=str(error)):
                ask()
    else:
        assert or_bundled("installed") == (release, "another")
        found, why = installed_or_bundled()
        assert (found.source.label, why) == (release, "another")
        assert answers(given).source.label == release

"""The tool that makes the bundled releases, on snapshots that are at hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mlaprobe.opening import bundled
from tools.releases import Made, compared, update_folder

ONE, OTHER = "v0.1.14.post1", "v0.1.20.post1"


def forget() -> None:
    """Lets go of what was read of the folder."""
    bundled.index.cache_clear()
    bundled.reads.cache_clear()


def made(release: str) -> Made:
    """What is bundled of a release, as if it were made now."""
    index = json.loads((bundled.folder() / bundled.INDEX).read_bytes())
    file = index["releases"][release]
    names = [name for name, its in index["releases"].items() if its == file]
    reads = bundled.reads()
    return Made(
        data=json.loads((bundled.folder() / file).read_bytes()),
        releases={name: index["commits"][name] for name in names},
        reads={name: reads[name] for name in names if name in reads},
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the bundled releases, in their place."""
    copy = tmp_path / "releases"
    shutil.copytree(bundled.folder(), copy)
    monkeypatch.setattr(bundled, "folder", lambda: copy)
    forget()
    yield copy
    forget()


def test_what_is_there_is_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compared([made(ONE)], complete=False) == 0
    assert capsys.readouterr().out == "3 files compared, 0 differ\n"


def other_reads(each: Made) -> Made:
    """The same, made of other files."""
    return replace(each, reads={n: replace(r, digest="0" * 40) for n, r in each.reads.items()})


def other_answers(each: Made) -> Made:
    """The same, with other answers."""
    return replace(each, data={**each.data, "has_tables": not each.data["has_tables"]})


def other_commit(each: Made) -> Made:
    """The same, of another commit."""
    return replace(each, releases=dict.fromkeys(each.releases, "0" * 40))


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (other_reads, {bundled.READS}),
        (lambda each: replace(each, reads={}), {bundled.READS}),
        (other_answers, {made(ONE).file}),
        (other_commit, {made(ONE).file, bundled.INDEX}),
    ],
)
def test_what_differs(
    change: object, names: set[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(change)
    assert compared([change(made(ONE))], complete=False) == 1
    lines = capsys.readouterr().out.splitlines()
    found = {line.rpartition("/")[2] for line in lines if line.startswith("differs: ")}
    assert found == names


def test_some_releases_are_written_and_others_stay(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    update_folder(folder, [made(ONE)])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    new = other_answers(other_reads(made(ONE)))
    update_folder(folder, [new])
    forget()
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    changed = {name for name, text in after.items() if before.get(name) != text}
    assert changed == {new.file, bundled.READS}
    assert compared([new], complete=False) == 0
    assert compared([made(OTHER)], complete=False) == 0


def test_a_release_that_leaves_its_file(folder: Path) -> None:
    """Its last release now has answers of its own: the file is named after the one before."""
    old = made(OTHER)
    assert len(old.releases) > 1
    *rest, last = old.releases
    commits = old.releases
    stays = replace(old, releases={name: commits[name] for name in rest}, reads={})
    leaves = other_answers(replace(old, releases={last: commits[last]}))
    update_folder(folder, [stays, leaves])
    forget()
    assert {bundled.index()[name] for name in rest} == {f"{rest[-1]}.json"}
    assert bundled.index()[last] == f"{last}.json"
    names = {*bundled.index().values(), bundled.INDEX, bundled.READS}
    assert {path.name for path in folder.iterdir()} == names

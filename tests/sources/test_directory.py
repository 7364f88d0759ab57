"""Directories: layouts, versions, and things that are no plain files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mlaprobe.errors import SourceError
from mlaprobe.sources import open_source
from mlaprobe.sources.directory import DirectorySource, version_in
from tests.sources.trees import CHECKOUT, git, installed, write, write_git


def test_a_checkout_that_is_called_aiter(tmp_path: Path) -> None:
    root = write(tmp_path / "aiter", CHECKOUT)
    assert DirectorySource.open(root).read("csrc/include/mla.h")
    assert DirectorySource.open(root / "aiter").read("csrc/include/mla.h")


def test_the_package_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = write(tmp_path, installed())
    monkeypatch.chdir(site / "aiter")
    assert open_source(".").read("csrc/include/mla.h")
    monkeypatch.chdir(site / "aiter_meta")
    assert open_source(".").read("aiter/mla.py")


@pytest.mark.parametrize(("mode", "expected"), [("install", "meta"), ("develop", "root")])
def test_both_layouts_at_once(tmp_path: Path, mode: str, expected: str) -> None:
    tree = {
        "aiter/mla.py": "",
        "aiter/install_mode": mode,
        "csrc/a.h": "root",
        "aiter_meta/csrc/a.h": "meta",
    }
    file = open_source(str(write(tmp_path, tree))).read("csrc/a.h")
    assert file is not None
    assert file.text == expected


def test_no_bytecode_and_no_git_in_listings(tmp_path: Path) -> None:
    root = write_git(tmp_path, CHECKOUT)
    write(root, {"aiter/__pycache__/mla.pyc": b"\0"})
    assert open_source(str(root)).list() == tuple(sorted(CHECKOUT))


def test_release_of_a_checkout_is_its_tag(tmp_path: Path) -> None:
    root = write_git(tmp_path, CHECKOUT, tag="v0.1.16.post2")
    assert open_source(str(root)).release == "v0.1.16.post2"
    assert open_source(str(root)).commit is None, "the files may be edited"
    write(root, {"aiter/_version.py": "__version__ = version = '0.1.99.dev3'\n"})
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=two")
    assert open_source(str(root)).release == "0.1.99.dev3"


def test_release_beside_a_broken_repository(tmp_path: Path) -> None:
    root = write(tmp_path, {**CHECKOUT, ".git": "gitdir: /nowhere\n"})
    assert open_source(str(root)).release is None


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("version: str\n__version__ = version = '0.1.7'\n", "0.1.7"),
        ('__version__ = "0.1.9+g12"\n', "0.1.9+g12"),
        ("version_tuple = (0, 1, 'x')\n", None),
        ("", None),
    ],
)
def test_version_in(text: str, version: str | None) -> None:
    assert version_in(text) == version


def test_links_are_followed(tmp_path: Path) -> None:
    root = write(tmp_path / "a", {"aiter/mla.py": ""})
    (root / "csrc").symlink_to(write(tmp_path / "b", {"x.h": "text"}))
    (root / "aiter" / "gone.py").symlink_to("nowhere")
    (root / "aiter" / "loop.py").symlink_to("loop.py")
    source = open_source(str(root))
    assert source.list("csrc") == ("csrc/x.h",)
    assert source.read("aiter/gone.py") is None
    with pytest.raises(SourceError, match=r"cannot read aiter/loop\.py"):
        source.read("aiter/loop.py")


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    root = write(tmp_path, {"aiter/mla.py": ""})
    os.mkfifo(root / "aiter" / "pipe.py")
    source = open_source(str(root))
    assert source.read("aiter/pipe.py") is None
    assert source.list("aiter") == ("aiter/mla.py",)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_not_absent(tmp_path: Path) -> None:
    root = write(tmp_path, CHECKOUT)
    (root / "aiter" / "mla.py").chmod(0)
    source = open_source(str(root))
    assert source.exists("aiter/mla.py")
    with pytest.raises(SourceError, match="Permission denied"):
        source.read("aiter/mla.py")


def test_a_read_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    root = write(tmp_path, CHECKOUT)
    source = open_source(str(root))
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(SourceError, match=r"cannot read aiter/mla\.py in .*: Permission denied"):
        source.read("aiter/mla.py")
    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(SourceError, match="cannot read csrc"):
        source.list("csrc")

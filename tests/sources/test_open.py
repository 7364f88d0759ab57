"""What people may type, and what they are told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlaprobe.core.releases import is_release, release_key
from mlaprobe.errors import OutOfRangeError, SourceError
from mlaprobe.sources import open_source, require_aiter
from mlaprobe.sources.git import run
from tests.sources.trees import CHECKOUT, write


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "names no source"),
        ("a\0b", "names no source"),
        ("/nowhere", "there is nothing at /nowhere"),
        ("/nowhere@v1@v2", "there is no git repository at /nowhere@v1"),
        ("@v1", "there is nothing at @v1"),
        ("x" * 5000, "there is nothing at x"),
        ("/dev/null", "neither a file nor a directory"),
    ],
)
def test_no_source(spec: str, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        open_source(spec)
    assert caught.value.exit_code == 1
    assert "REPO@REV" in str(caught.value.hint)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bool:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.whl").write_bytes(b"")
    monkeypatch.setattr("zipfile.is_zipfile", refuse)
    with pytest.raises(SourceError, match=r"cannot read the archive .*a\.whl: .*Permission denied"):
        open_source(str(tmp_path / "a.whl"))


def test_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "aiter", CHECKOUT)
    source = open_source("~/aiter")
    assert source.label == "~/aiter"
    assert source.read("aiter/mla.py")


def test_importing_loads_little() -> None:
    program = (
        "import sys, mlaprobe.sources, mlaprobe.core.releases\n"
        "import mlaprobe.rulefiles.loader, mlaprobe.rulefiles.schema\n"
        "heavy = {'torch', 'tree_sitter', 'typer', 'rich', 'importlib.metadata'}\n"
        "print(', '.join(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=os.environ
    )
    assert (done.stdout, done.stderr) == ("\n", "")


def test_every_release(aiter_git: Path) -> None:
    """The releases that hold a planner are let in, and no other."""
    tags = run(aiter_git / ".git" if (aiter_git / ".git").exists() else aiter_git, "tag")
    releases = sorted(filter(is_release, tags.decode().split()), key=release_key)
    out = []
    for tag in releases:
        with open_source(f"{aiter_git}@{tag}") as source:
            assert source.release == tag
            try:
                require_aiter(source)
            except OutOfRangeError as error:
                out.append((tag, error.message))
    first = releases.index("v0.1.6.post2")
    assert [tag for tag, _ in out] == releases[:first]
    assert all(tag in message and "v0.1.6.post2" in message for tag, message in out)
    assert len(out) == 11
    assert len(releases) - first >= 52

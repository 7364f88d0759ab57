"""Streams that are closed, full, or left by whoever read them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_manners import FAKE_MAIN, ROOT

ONE = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads")
LINES = [
    ("--help",),
    (),
    ("report", "--help"),
    ("report", *ONE, "16"),
    ("table", *ONE, "1-64"),
]
"""Each kind of output: typer's own, the help that is shown for nothing, lines, rows."""


def shell(redirection: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command line with its streams redirected, as a shell does it."""
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirection}', "bash", sys.executable, "-c", FAKE_MAIN, *words],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_no_room_for_stdout(words: tuple[str, ...]) -> None:
    done = shell(">/dev/full", *words)
    assert done.stderr == (
        "error: cannot write to stdout: No space left on device\nhelp: name a file: --output FILE\n"
    )
    assert done.returncode == 2


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_stdout_is_closed(words: tuple[str, ...]) -> None:
    done = shell(">&-", *words)
    assert done.stderr.startswith("error: cannot write to stdout: ")
    assert (done.returncode, done.stderr.count("\n")) == (2, 2)


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_nobody_reads(words: tuple[str, ...]) -> None:
    done = shell('| true; exit "${PIPESTATUS[0]}"', *words)
    # A short text may be in the pipe before its reader leaves.
    assert (done.stdout, done.stderr) == ("", "")
    assert done.returncode in (141, 2 if not words else 0)


@pytest.mark.parametrize("redirection", ["2>&-", "<&-", "2>/dev/full"])
def test_the_other_streams_do_not_matter(redirection: str) -> None:
    words = ("report", *ONE, "16")
    done = shell(redirection, *words)
    assert (done.returncode, done.stdout) == (0, shell("", *words).stdout)
    wrong = shell(redirection, "report", "--heads", "x")
    assert wrong.returncode == 2


def test_a_file_needs_no_stdout(tmp_path: Path) -> None:
    file = tmp_path / "report.txt"
    done = shell(">&- 2>&-", "report", *ONE, "16", "-o", str(file))
    assert done.returncode == 0
    assert file.read_text(encoding="utf-8").startswith("AITER v9.9.9")


@pytest.mark.usefixtures("fake")
def test_stdout_is_left_as_it_was(run: Run) -> None:
    before = sys.stdout
    assert run("report", *ONE, "16").code == 0
    assert run("report", "--heads", "x").code == 2
    assert sys.stdout is before

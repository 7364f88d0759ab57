"""``mlaprobe doctor``."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.trees import today
from tests.trees.common import write


def test_a_tree(run: Run, tmp_path: Path) -> None:
    source = str(write(tmp_path / "aiter", today.tree()))
    done = run("doctor", "--aiter", source)
    assert (done.code, done.err) == (0, "")
    assert f"present dispatcher: {today.DISPATCHER}" in done.out
    assert "mlaprobe works here" in done.out
    file = tmp_path / "doctor.json"
    done = run("doctor", "--aiter", source, "--format", "json", "-o", str(file))
    assert (done.code, done.out, done.err) == (0, "", "")
    data = json.loads(file.read_text())
    assert (data["schema"], data["works"]) == (1, True)
    topics = [check["topic"] for check in data["checks"]]
    assert topics[:3] == ["mlaprobe", "git", "AITER"]


def test_no_aiter_to_read(run: Run, tmp_path: Path) -> None:
    done = run("doctor", "--aiter", str(tmp_path))
    assert (done.code, done.err) == (1, "")
    assert f"there is no AITER in {tmp_path}" in done.out
    assert "mlaprobe cannot do its main job here" in done.out


def test_wrong_usage(run: Run) -> None:
    done = run("doctor", "--format", "html")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: --format: unknown value 'html'")


def test_help_has_examples(run: Run) -> None:
    done = run("doctor", "--help")
    assert done.code == 0
    assert done.out.partition("Examples:\n")[2].count("  mlaprobe doctor") == 5

"""What the README has that other pages have not. What holds for every page, that its commands print
what it shows among it, is tested in ``test_docs``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mlaprobe.cli import main
from tests import documents
from tests.documents import ROOT

PAGE = ROOT / "README.md"
README = PAGE.read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line, given as words, that must succeed; what it prints."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "AITER_META_DIR"):
        monkeypatch.delenv(name, raising=False)

    def call(*words: str) -> str:
        code = main(words)
        captured = capsys.readouterr()
        assert (code, captured.err) == (0, "")
        return captured.out

    return call


def test_the_first_screen() -> None:
    first = next(documents.examples(PAGE))
    assert first.command == "make report"
    assert len(first.shown) > 2
    assert README.index("make report") < 1500, "the report belongs on the first screen"
    used = {example.words[0] for example in documents.examples(PAGE)}
    assert {"report", "compare", "explain", "check"} <= used
    assert "mlaprobe.plan(" in documents.blocks(PAGE, "pycon")[0]


def test_every_target_exists() -> None:
    named = set(re.findall(r"(?:^|[`$] ?)make ([a-z]+)", README, re.MULTILINE))
    assert {"report", "test", "help"} <= named
    assert named <= set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))


def test_every_verdict_is_explained() -> None:
    from mlaprobe.core.shape import Verdict

    table = README.partition("## Verdicts")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([A-Z_]+)`", table, re.MULTILINE)) == {v.value for v in Verdict}


def test_the_example_of_an_unknown(run: Run, aiter_git: Path) -> None:
    assert "`AITER_TRITON_ONLY=1` on v0.1.20 is an example" in README.replace("\n  ", " ")
    shape = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "64")
    printed = run(
        "table", "--aiter", f"{aiter_git}@v0.1.20", *shape, "--env", "AITER_TRITON_ONLY=1"
    )
    assert '"verdict":"UNKNOWN"' in printed


def test_the_architecture_names_what_there_is() -> None:
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    for name in re.findall(r"`mlaprobe/([\w/.]+)`", page):
        assert (ROOT / "mlaprobe" / name).exists(), name
    modules = {p.name for p in (ROOT / "mlaprobe").rglob("*.py")}
    for folder, name in re.findall(r"`(\w+/)?(\w+\.py)`", page):
        assert name in modules or folder == "hsa/", name

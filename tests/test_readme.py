"""The README shows what the commands print, and names only what there is.

In a block that is marked ``console`` a line ``$ ...`` is a command and what follows its output,
in which a line ``...`` stands for lines left out. What is asked of ``path/to/aiter`` is checked
where a repository is named.
"""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from mlaprobe.cli import COMMANDS, main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
REPOSITORY = "path/to/aiter"
Run = Callable[..., str]


class Example(NamedTuple):
    command: str
    shown: tuple[tuple[str, ...], ...]
    """Pieces of the output, in order; each begins with its first line and has no gap."""


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def examples() -> Iterator[Example]:
    for block in blocks("console"):
        for text in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = text.partition("\n")
            pieces = re.split(r"^\.\.\.\n", output, flags=re.MULTILINE)
            yield Example(command, tuple(tuple(p.splitlines()) for p in pieces if p))


def commands() -> Iterator[list[str]]:
    """Every command line of mlaprobe that the README has, in blocks and in the text."""
    joined = README.replace(".venv/bin/mlaprobe", "mlaprobe")
    for line in re.findall(r"(?:^|^\$ |`)mlaprobe ([^`\n]+)", joined, re.MULTILINE):
        if not line.startswith("says"):  # the first sentence
            yield shlex.split(line)


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


EXAMPLES = list(examples())
WITHOUT_GIT = [e for e in EXAMPLES if REPOSITORY not in e.command]
WITH_GIT = [e for e in EXAMPLES if REPOSITORY in e.command]


def missing(shown: tuple[tuple[str, ...], ...], printed: str) -> str | None:
    """The first piece that is not in the output, behind the ones before it."""
    lines, at = printed.splitlines(), 0
    for piece in shown:
        size = len(piece)
        starts = range(at, len(lines) - size + 1)
        found = next((s for s in starts if tuple(lines[s : s + size]) == piece), None)
        if found is None:
            return "\n".join(piece)
        at = found + size
    return None


def check(run: Run, words: list[str], shown: tuple[tuple[str, ...], ...]) -> None:
    printed = run(*words)
    assert printed.splitlines()[0] == shown[0][0]
    assert missing(shown, printed) is None


@pytest.mark.usefixtures("aiter_wheel")
@pytest.mark.parametrize("example", WITHOUT_GIT, ids=lambda e: e.command)
def test_shows_what_the_wheel_gives(run: Run, example: Example) -> None:
    words = shlex.split(example.command)
    # What `make report` runs is the command itself, on the same AITER.
    words = ["mlaprobe", "report"] if words == ["make", "report"] else words
    check(run, words[1:], example.shown)


@pytest.mark.parametrize("example", WITH_GIT, ids=lambda e: e.command)
def test_shows_what_a_release_gives(run: Run, aiter_git: Path, example: Example) -> None:
    words = shlex.split(example.command.replace(REPOSITORY, str(aiter_git)))
    check(run, words[1:], example.shown)


@pytest.mark.parametrize("source", blocks("pycon"))
def test_library_examples(aiter_git: Path, source: str) -> None:
    text = source.replace(REPOSITORY, str(aiter_git))
    example = doctest.DocTestParser().get_doctest(text, {}, "README", "README.md", 0)
    assert example.examples
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0


def test_the_examples_are_there() -> None:
    assert [e.command for e in WITHOUT_GIT] == ["make report"]
    assert len(WITH_GIT) >= 5
    assert README.index("make report") < 1500, "the report belongs on the first screen"


def test_make_report_is_the_report() -> None:
    assert re.search(r"^report:.*\n\t\$\(VENV\)/bin/mlaprobe report$", MAKEFILE, re.MULTILINE)


def test_every_target_exists() -> None:
    named = set(re.findall(r"(?:^|[`$] ?)make ([a-z]+)", README, re.MULTILINE))
    assert {"report", "test", "help"} <= named
    assert named <= set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))


def test_every_command_exists(run: Run) -> None:
    asked = list(commands())
    assert len(asked) > 6
    for words in asked:
        if words[0].startswith("-") or words[0] == "COMMAND":
            continue
        assert words[0] in COMMANDS
        helped = run(words[0], "--help")
        for option in (w for w in words if w.startswith("--")):
            assert re.search(rf"{option}\b", helped), f"mlaprobe {words[0]} has no {option}"


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", README):
        if not target.startswith("https://"):
            assert (ROOT / target).exists(), target


def test_every_verdict_is_explained() -> None:
    from mlaprobe.shape import Verdict

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

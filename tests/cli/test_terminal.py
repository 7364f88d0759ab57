"""What a terminal shows: of any width, in colour or not, with help at hand."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from mlaprobe.cli import COMMANDS, main
from mlaprobe.core.keeping import Topics
from mlaprobe.output.style import Line, Span, broken, line, plain
from mlaprobe.padding import planning
from tests.cli.conftest import Run
from tests.findings.pairs import fold_32
from tests.trees import today
from tests.trees.common import write

ONE = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads")
THERE = [name for name in COMMANDS if find_spec(f"mlaprobe.cli.{name}")]
WIDTHS = (40, 60, 80, 100)


def too_long(printed: str, width: int) -> list[str]:
    """Lines that are longer than the terminal is wide, and need not be. A command to copy and a
    place to click on are never broken, and neither is a name."""
    found = []
    for text in printed.splitlines():
        words = text.split()
        indent = len(text) - len(text.lstrip())
        command = words[:1] == ["mlaprobe"]
        label = re.match(r" {2,6}\S+ {1,6}", text)  # what it is, and one thing that is long
        room = width - (label.end() if label and len(words) == 2 else indent)
        if len(text) > width and not command and max(map(len, words)) <= room:
            found.append(text)
    return found


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "words",
    [
        ("report",),
        ("report", "--lse", "0,1", "--persistent", "0,1", "--qlen", "1,2"),
        ("explain", *ONE, "48"),
        ("explain", *ONE, "48", "--qlen", "4", "--lse", "--env", "SOME_KNOB=1"),
        ("resolve", *ONE, "48", "--qlens", "1-4"),
        ("models", "--arch", "gfx950"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("fake")
def test_it_fits(
    run: Run, monkeypatch: pytest.MonkeyPatch, width: int, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    done = run(*words)
    assert (done.code, done.err) == (0, "")
    assert too_long(done.out, width) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_changes_and_findings_fit(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, width: int
) -> None:
    old, new = write(tmp_path / "old", today.tree()), write(tmp_path / "new", fold_32())
    monkeypatch.setenv("COLUMNS", str(width))
    asked = (*ONE, "32", "--qlen", "1")
    for words in (("compare", str(old), str(new), *asked), ("findings", "--aiter", str(new))):
        done = run(*words, *(asked if words[0] == "findings" else ()))
        assert done.err == ""
        assert done.out
        assert too_long(done.out, width) == []


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("command", ["", *THERE])
def test_help(run: Run, monkeypatch: pytest.MonkeyPatch, command: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    done = run(*filter(None, [command, "-h"]))
    assert done.code == 0
    assert done.out == run(*filter(None, [command, "--help"])).out
    before, examples, after = done.out.partition("Examples:\n")
    assert examples
    assert command or "..." not in before.replace("[ARGS]...", ""), "a sentence is cut off"
    assert "<str>" not in before, "a value without a name"
    # typer goes no lower than 50 columns.
    long = [t for t in (before + after).splitlines() if len(t) > max(width, 50)]
    assert [t for t in long if not t.strip().startswith("mlaprobe ")] == []


@pytest.mark.parametrize("command", THERE)
def test_every_command_has_examples_and_says_what_it_is_for(run: Run, command: str) -> None:
    examples = run(command, "--help").out.partition("Examples:\n")[2]
    assert examples.count(f"mlaprobe {command}") >= 2
    listed = run("--help").out.partition("Commands:\n")[2].partition("\n\n")[0]
    assert re.search(rf"^  {command} +\w+ \w+", listed, re.MULTILINE)


def test_broken_lines() -> None:
    given: Line = line("  ab ", Span("cd ef", "fail"), " gh")
    assert broken(given, 13) == [given]
    assert plain(broken(given, 8, rest="    ")) == "  ab cd\n    ef\n    gh\n"
    assert broken(given, 8, rest="    ")[1] == (Span("    "), Span("ef", "fail"))
    assert plain(broken(line("x" * 30), 8)) == "x" * 30 + "\n", "a word stays whole"
    assert plain(broken((), 8)) == "\n"


@pytest.mark.parametrize(
    ("words", "warned"),
    [
        (("report", "--arch", "gfx9ff", "--dtype", "fp8/fp8", "--heads", "16"), True),
        (("report", "--arch", "GFX950", "--dtype", "FP8/FP8", "--heads", "16"), False),
        (("table", "--arch", "gfx9ff,gfx950", "--dtype", "fp8/fp8", "--heads", "16"), True),
        (("resolve", "--arch", "gfx9ff", "--dtype", "fp8/fp8", "--heads", "16"), True),
        (("models", "--arch", "gfx9ff", "--model", "kimi-k2"), True),
    ],
)
@pytest.mark.usefixtures("fake")
def test_an_arch_that_may_be_a_slip(run: Run, words: tuple[str, ...], warned: bool) -> None:
    done = run(*words)
    assert done.code == 0
    said = "warning: this AITER does not name gfx9ff; it names gfx942"
    assert done.err.startswith(said) if warned else done.err == ""
    assert run(*words, "-q").err == ""


@pytest.mark.parametrize(
    ("words", "says", "help"),
    [
        (("report", "--heads", "1", "--heads", "2"), "--heads is given 2 times", "A,B"),
        (("table", "--lse", "0", "--no-lse"), "--lse is given 2 times", "A,B"),
        (("check", "--pin", "a", "--pin=b"), "--pin is given 2 times", "once"),
        (("compare", "a", "b", "-o", "/no/such/x"), "cannot write /no/such/x: no such", "yours"),
        (("report", "-o", ""), "invalid value for '--output'", "mlaprobe report --help"),
        (("report", "--aiter"), "option '--aiter' requires", "mlaprobe report --help"),
    ],
)
@pytest.mark.usefixtures("fake")
def test_slips(run: Run, words: tuple[str, ...], says: str, help: str) -> None:
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    first, second = done.err.splitlines()
    assert says in first
    assert second.startswith("help: ")
    assert help in second


def test_what_may_be_repeated(run: Run, fake: object) -> None:
    words = ("report", *ONE, "16", "--env", "A=1", "--env", "B=2", "-q", "-q")
    assert run(*words).code == 0


@pytest.mark.parametrize("url", ["https://example.org/a/b", "git@example.org:a/b"])
def test_an_address_is_no_source(run: Run, url: str) -> None:
    for spec in (url, f"{url}@v0.1.20"):
        done = run("report", "--aiter", spec)
        assert done.code == 1
        assert f"help: git clone --bare {url} aiter.git, then " in done.err


@pytest.mark.usefixtures("fake")
def test_what_the_library_logs_is_a_warning(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for heads, quiet, said in (("301", ["-q"], ""), ("300", [], "warning: 300 query heads per")):
        monkeypatch.setattr(planning, "WARNED", Topics())
        done = run("resolve", *ONE, heads, *quiet)
        assert done.code == 0
        assert done.err.startswith(said)
        assert bool(done.err) is bool(said)


def test_errors_of_files_say_what_next(run: Run, tmp_path: Path) -> None:
    served = tmp_path / "served.yaml"
    for text in ("", "deployments: 3\n", "- 1\n", "a: b: c\n", "\x00"):
        served.write_text(text, encoding="utf-8")
        done = run("compare", "a", "b", "--deployments", str(served))
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("error: ")
        assert f"  --> {served}" in done.err
        assert done.err.splitlines()[-1].startswith("help: ")


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("mlaprobe re", {"report", "resolve"}),
        ("mlaprobe report --hea", {"--heads"}),
        ("mlaprobe check --pi", {"--pin"}),
    ],
)
def test_completion(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    found: set[str],
) -> None:
    monkeypatch.setenv("_MLAPROBE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    with pytest.raises(SystemExit) as ended:
        main([])
    assert not ended.value.code
    assert set(capsys.readouterr().out.split()) == found


def test_completion_is_offered(run: Run) -> None:
    shown = run("--help").out
    assert "--install-completion" in shown
    assert "--show-completion" in shown

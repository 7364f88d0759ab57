"""What commands need of typer, whichever version is installed: CONTRIBUTING.md says how to run this
with another."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.cli import COMMANDS, command_of
from mlaprobe.cli.support import emit
from tests.cli.conftest import Run

ROOT = Path(__file__).parent.parent.parent
HEAVY = {"pydantic", "rich", "tree_sitter", "torch", "asyncio"}
VALUES: dict[str, tuple[Any, ...]] = {
    str(str): ("", "1", "a b"),
    str(list[str]): (("a", "b c"), ("",)),
    str(bool): (True, False),
    str(int): (0, 7, "8"),
}
ONE = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "48")


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("--help",),
        *((command, "--help") for command in ("resolve", "compare")),
        ("report", "--aiter", "release:newest", "--heads", "16"),
        ("resolve", "--aiter", "release:newest", *ONE),
        ("compare", "release:newest", "release:newest", "--heads", "16"),
        ("table", "--aiter", "release:newest", "--heads", "16", "--env", "A=1", "--lse"),
    ],
    ids=" ".join,
)
def test_a_command_loads_nothing_to_read_its_words(words: tuple[str, ...]) -> None:
    script = (
        f"import sys; from mlaprobe.cli import main; code = main({words!r}); "
        f"sys.exit(repr(heavy) if (heavy := {HEAVY!r} & set(sys.modules)) else code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def parameters() -> Iterator[Any]:
    app = command_of()
    for command in (app, *app.commands.values()):
        yield from command.params
        yield command.get_help_option(command.make_context("x", ["--help"], resilient_parsing=True))


def test_values_are_what_typer_makes_of_them() -> None:
    """What is spared is no more than the time."""
    context = command_of(("report",)).make_context("x", [], resilient_parsing=True)
    compared = 0
    for each in parameters():
        if "process_value" not in vars(each):
            continue
        each.callback = None  # is asked by both: here it is about values
        for value in (*VALUES[str(each.type_descriptor.annotation)], None):
            if value is not None or not each.required:
                typers = type(each).process_value(each, context, value)
                assert each.process_value(context, value) == typers, (each.name, value)
                compared += 1
    if not compared:
        pytest.skip("this typer converts values without help")
    assert compared > 500


def test_what_options_become(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr("mlaprobe.cli.table._run", seen.update)
    words = ("--env", "A=1", "--env", "B=2", "--lse", "--no-causal", "--persistent", "0,1")
    assert run("table", *words, "--heads=1", "-q", "-o", "-").code == 0
    wanted: dict[str, Any] = {"env": ["A=1", "B=2"], "lse": "1", "causal": "0", "heads": "1"}
    wanted |= {"persistent": "0,1", "quiet": True, "output": "-", "arch": None, "stage": None}
    assert {name: seen[name] for name in wanted} | {"env": list(seen["env"])} == wanted
    assert not seen["planner"]


def test_numbers_are_numbers(run: Run) -> None:
    done = run("decode", *ONE, "--seed", "x")
    assert done.code == 2
    assert done.err.startswith("error: invalid value for '--seed': ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("repot",), "no such command 'repot'"),
        (("report", "--nope"), "--nope"),
        (("explain", "--dtype", "fp8/fp8"), "missing option '--arch'"),
        (("compare", "a"), "missing argument 'NEW'"),
        (("report", "--aiter"), "option '--aiter' requires an argument"),
        (("report", "--aiter="), "invalid value for '--aiter': nothing is named"),
        (("compare", "", "b"), "invalid value for 'OLD': nothing is named"),
        (("report", "more"), "got unexpected extra argument"),
        (("report", "--heads", "1", "--heads=2"), "--heads is given 2 times"),
        (("check", "--pin", "a", "--lse", "--lse", "1"), "--lse is given 2 times"),
    ],
    ids=str,
)
def test_wrong_words(run: Run, words: tuple[str, ...], says: str) -> None:
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    first, second = done.err.splitlines()
    assert first.startswith("error: ")
    assert says in first
    assert second.startswith("help: ")


def test_nothing_is_asked(run: Run) -> None:
    done = run()
    assert (done.code, done.err) == (2, "")
    assert done.out == run("--help").out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_every_value(run: Run, command: str) -> None:
    shown = run(command, "--help")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(f"Usage: mlaprobe {command} ")
    assert "--help" in shown.out
    assert "\\[" not in shown.out
    assert not {"<str>", "TEXT", "STR"} & set(shown.out.split())


def test_a_command_that_fails_is_told_by_its_exit_code(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(*_: Any, **__: Any) -> int:
        return 10

    monkeypatch.setattr("mlaprobe.cli.bench._run", leave)
    assert run("bench").code == 10
    monkeypatch.setattr(emit, "write_lines", lambda *_: 1 / 0)
    done = run("resolve", "--aiter", "release:newest", *ONE)
    assert done.code == 1
    assert done.err.startswith("error: mlaprobe itself failed: ZeroDivisionError")

"""Usage errors, help, signals and start-up."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mlaprobe.cli import COMMANDS, main
from mlaprobe.cli.support import common, progress
from mlaprobe.core.shape import Dtype
from mlaprobe.errors import UsageError
from tests.cli.conftest import Run
from tests.output.fake import Fake

ROOT = Path(__file__).parent.parent.parent
# Whoever runs the tests in the background has them, and what they start, ignore SIGINT.
FAKE_MAIN = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from tests.output.fake import Fake; import mlaprobe.cli.support.common as common; "
    "common.load = lambda spec, **_: Fake(); from mlaprobe.cli import main; sys.exit(main())"
)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["reprt"], "no such command 'reprt'"),
        (["report", "--nope"], "no such option"),
        (["explain", "--arch", "gfx950"], "missing option '--dtype'"),
        (["report", "--aiter"], "option '--aiter' requires an argument"),
        (["report", "extra"], "got unexpected extra argument"),
        (["report", "--heads", "3-1"], "--heads: the range '3-1' ends before it starts"),
        (["report", "--heads", "1,,2"], "--heads: an empty value in '1,,2'"),
        (["report", "--heads", "0"], "--heads: '0' must start at 1 or above"),
        (["report", "--heads", "٣"], "--heads: '٣' is neither a number nor a range"),
        (["report", "--heads", "1-99999"], "--heads: more than 4096 values"),
        (["report", "--arch", "mi300"], "--arch: 'mi300' is no GPU architecture"),
        (["report", "--dtype", "fp8"], "--dtype: 'fp8' is no pair of dtypes"),
        (["report", "--dtype", "fp8/x"], "--dtype: unknown data type 'x'"),
        (["report", "--lse", "2"], "--lse: '2' is neither 0 nor 1"),
        (["report", "--env", "1=2"], "--env: '1=2' is not NAME=VALUE"),
        (["report", "--route", "ck"], "--route: unknown route 'ck'"),
        (["report", "--format", "txt"], "--format: unknown value 'txt'"),
        (["report", "--planner", "x"], "--planner: 'x' is not FIELD=VALUE"),
        (
            ["report", "--planner", "qlen=x"],
            "--planner: planner qlen must be a positive whole number",
        ),
        (["report", "--planner", "fast_mode=maybe"], "--planner: planner fast_mode must be true"),
        (["report", "--planner", "x=1"], "--planner: unknown planner field 'x'"),
        (["table", "--stage", "table"], "--stage: unknown value 'table'"),
        (["report", "-o", "/no/such/folder/x"], "cannot write /no/such/folder/x"),
        (
            ["explain", "--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "1,2"],
            "--heads: one value is wanted, not 2",
        ),
    ],
)
@pytest.mark.usefixtures("fake")
def test_wrong_usage(run: Run, words: list[str], says: str) -> None:
    done = run(*words)
    assert done.code == 2
    assert done.out == ""
    first, second = done.err.splitlines()
    assert first.startswith(f"error: {says}")
    assert second.startswith("help: ")


def test_filters() -> None:
    assert common.parse_numbers("--heads", "1-3, 8,2") == (1, 2, 3, 8)
    assert common.parse_flags("--lse", "1,0,1") == (True, False)
    assert common.parse_archs("--arch", "gfx942,gfx90a") == ("gfx942", "gfx90a")
    assert common.parse_dtypes("--dtype", "fp8/bfloat16") == ((Dtype.FP8, Dtype.BF16),)
    assert common.parse_env("--env", ["B=1", "A=x=y", "B="]) == (("A", "x=y"), ("B", ""))
    with pytest.raises(UsageError):
        common.parse_numbers("--heads", "9" * 50)


@pytest.mark.parametrize("command", ["", *COMMANDS[:3]])
def test_help_has_examples(run: Run, command: str) -> None:
    done = run(*filter(None, [command, "--help"]))
    assert done.code == 0
    examples = done.out.partition("Examples:\n")[2]
    assert examples.count("  mlaprobe ") >= 4
    assert "\x08" not in done.out


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("command", COMMANDS[:3])
def test_the_examples_are_right(run: Run, command: str, tmp_path: Path) -> None:
    examples = run(command, "--help").out.partition("Examples:\n")[2]
    for example in examples.splitlines():
        words = example.strip().split("    ")[0].split()[1:]
        if "-o" in words:
            words[words.index("-o") + 1] = str(tmp_path / "out")
        assert run(*words).code == 0, example


def test_nothing_asked(run: Run) -> None:
    done = run()
    assert done.code == 2
    assert done.out.startswith("Usage: mlaprobe")


def test_version(run: Run) -> None:
    done = run("--version")
    assert done.code == 0
    assert done.out.startswith("mlaprobe 0.")
    assert "(schema 1)" in done.out


def test_a_crash_with_its_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "load", lambda spec, **_: 1 / 0)
    monkeypatch.setenv("MLAPROBE_DEBUG", "1")
    done = run("report")
    assert done.code == 1
    assert "Traceback" in done.err


def test_control_c(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(spec: str, **_: object) -> Fake:
        raise KeyboardInterrupt

    monkeypatch.setattr(common, "load", interrupt)
    assert (run("report").code, run("report").err) == (130, "")


def process(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", FAKE_MAIN, *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"},
    )


def test_a_reader_that_goes_away() -> None:
    with process("table", "--qlen", "1-8") as running:
        assert running.stdout is not None
        assert running.stdout.readline().startswith(b'{"shape"')
        running.stdout.close()
        assert running.wait(timeout=60) == 141
        assert running.stderr is not None
        assert running.stderr.read() == b""


def test_control_c_from_outside() -> None:
    with process("table", "--qlen", "1-64", "--lse", "0,1") as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        running.stdout.read()
        assert running.wait(timeout=60) == 130
        assert running.stderr is not None
        assert running.stderr.read() == b""


@pytest.mark.parametrize("command", ["report", "table"])
def test_a_start_loads_little(command: str) -> None:
    script = (
        "import sys; from mlaprobe.cli import main; "
        f"main([{command!r}, '--help']); "
        "heavy = {'rich', 'tree_sitter', 'yaml', 'torch', 'asyncio'} & set(sys.modules); "
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_as_a_module() -> None:
    words = [sys.executable, "-m", "mlaprobe", "--version"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("mlaprobe ")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_progress_on_a_terminal(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "HEARTBEAT", 1000)
    with progress.Progress("rows", 30) as shown:
        shown.step()
        assert screen.getvalue() == "", "nobody waits yet"
        clock[0] = 1.5
        shown.step()
        shown.step()
        assert screen.getvalue() == "\rrows: 2 of 30"
    assert screen.getvalue().endswith("\r             \r")


def test_work_that_says_nothing_of_itself(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "HEARTBEAT", 0.001)
    clock[0] = 10.0
    with progress.Progress("reading AITER"):
        clock[0] = 12.4
        for _ in range(1000):
            if screen.getvalue():
                break
            threading.Event().wait(0.01)
        assert screen.getvalue() == "\rreading AITER (2 s)"
    assert screen.getvalue().endswith("\r" + " " * 19 + "\r")


def test_progress_is_never_broken(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "HEARTBEAT", 1000)
    monkeypatch.setenv("COLUMNS", "12")
    with progress.Progress("head counts asked", 30) as shown:
        clock[0] = 1.5
        shown.step()
        assert screen.getvalue() == "\rhead counts"


def test_no_progress_elsewhere(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    for screen, quiet in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr(sys, "stderr", screen)
        with progress.Progress("rows", quiet=quiet) as shown:
            clock[0] += 5
            shown.step()
        assert screen.getvalue() == ""


def test_what_a_terminal_cannot_show(monkeypatch: pytest.MonkeyPatch, fake: Fake) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    fake.source = type(fake.source)(label="é", location="é")
    assert main(["report", "--heads", "16"]) == 0
    assert b"\\xe9" in raw.getvalue()

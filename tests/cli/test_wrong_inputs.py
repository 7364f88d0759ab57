"""What is wrong with what a person gives: told by where and what next, before anything is done, and
with the exit code of who has to mend it: 2 the one who wrote the words or the file, 1 a source that
cannot be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run

HEAD = "deployments:\n  - {name: a, arch: gfx950, dtype: fp8/fp8, "
FILES = {
    "good.yaml": HEAD + "num_heads: 16}\n",
    "no.yaml": "deployments: [\n",
    "key.yaml": HEAD + "num_heads: 16, heads: 16}\n",
    "twice.yaml": HEAD + "num_heads: 16, num_heads: 16}\n",
    "model.yaml": HEAD + "model: kimi-k9}\n",
    "arch.yaml": "deployments:\n  - {name: a, num_heads: 16, arch: MI355X, dtype: fp8/fp8}\n",
    "dtype.yaml": "deployments:\n  - {name: a, num_heads: 16, arch: gfx950, dtype: fp8}\n",
    "qlen.yaml": HEAD + "num_heads: 16, qlens: [0]}\n",
    "tp.yaml": HEAD + "num_heads: 10, tp: 4}\n",
    "list.yaml": "- 1\n",
    "empty.yaml": "",
    "huge.yaml": HEAD + f"num_heads: {'9' * 5000}}}\n",
    "kind.yaml": "waivers:\n  - {change: worse, reason: x, until: v0.1.20}\n",
    "until.yaml": "waivers:\n  - {change: slower, reason: x, until: soon}\n",
    "shape.yaml": "waivers:\n  - {change: slower, reason: x, until: v0.1.20, shapes: {head: 1}}\n",
    "profile.yaml": "name: x\n",
    "zero.json": '{"name": "x", "arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8", '
    '"kv_len": 1, "batch": 1, "points": [{"heads": 16, "passes": 1, "us": 0}]}\n',
    "aiter.pin": '{"mlaprobe": 1}\n',
}
ONE = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "16")
COMPARE = ("compare", "here", "here")
CHECK = ("check", "--pin", "here", "--aiter", "here")
RESOLVE = ("resolve", *ONE)


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files, in which the commands run. ``here`` is no AITER."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "latin.yaml").write_bytes(b"deployments: \xff\n")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(run: Run, words: tuple[str, ...], code: int, message: str) -> str:
    """Runs a command that must fail, and returns what it says."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    done = run(*words)
    assert (done.code, done.out) == (code, ""), done.err
    lines = done.err.splitlines()
    assert lines[0].startswith("error: "), done.err
    assert message in lines[0]
    assert lines[-1].startswith("help: ")
    assert "Traceback" not in done.err
    after = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert after == before, "nothing was written"
    return done.err


@pytest.mark.parametrize(
    ("file", "message", "at"),
    [
        ("no.yaml", "not YAML", ""),
        ("key.yaml", "unknown key 'heads'", "heads: 16}"),
        ("twice.yaml", "the key 'num_heads' is there twice", "num_heads: 16}"),
        ("model.yaml", "unknown model 'kimi-k9'", "kimi-k9"),
        ("arch.yaml", "'MI355X' is not an arch like gfx950", "MI355X"),
        ("dtype.yaml", "'fp8' is not a dtype pair like fp8/fp8", "fp8}"),
        ("qlen.yaml", "0 is less than 1", "0]"),
        ("tp.yaml", "10 heads do not split evenly over tp 4", "4}"),
        ("list.yaml", "a mapping expected, not a list", "- 1"),
        ("huge.yaml", "a number that is too large", "999"),
        ("empty.yaml", "the deployments file is empty", None),
        ("latin.yaml", "cannot read the deployments file: it is not UTF-8", None),
        ("none.yaml", "cannot read the deployments file: No such file or directory", None),
        ("here", "cannot read the deployments file: Is a directory", None),
    ],
)
@pytest.mark.parametrize("command", [COMPARE, CHECK])
def test_deployments(
    run: Run, command: tuple[str, ...], file: str, message: str, at: str | None
) -> None:
    check_place(told(run, (*command, "--deployments", file), 2, message), file, at)


@pytest.mark.parametrize(
    ("option", "file", "message", "at"),
    [
        ("--waivers", "kind.yaml", "unknown value 'worse'", "worse"),
        ("--waivers", "until.yaml", "'soon' is no release", "soon"),
        ("--waivers", "shape.yaml", "unknown key 'head'", "head: 1"),
        ("--waivers", "no.yaml", "not YAML", ""),
        ("--waivers", "good.yaml", "unknown key 'deployments'", "deployments"),
        ("--waivers", "none.yaml", "cannot read the waivers file: No such file", None),
        ("--profile", "profile.yaml", "the key 'arch' is missing", "name"),
        ("--profile", "zero.json", "0 is less than 0.001", "0}]"),
        ("--profile", "no.yaml", "not YAML", ""),
        ("--profile", "none.json", "cannot read the cost profile: No such file", None),
    ],
)
def test_other_files(run: Run, option: str, file: str, message: str, at: str | None) -> None:
    command = CHECK if option == "--waivers" else RESOLVE
    check_place(told(run, (*command, option, file), 2, message), file, at)


def check_place(said: str, file: str, at: str | None) -> None:
    """The file is named, and the place shown.

    Args:
        at: what stands there in the file; empty: its end; ``None``: the whole file is wrong.
    """
    if at is None:
        assert re.search(rf"^  --> {file}(?::1)?$", said, re.MULTILINE)
        return
    text = FILES[file]
    start = text.index(at) if at else len(text)
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    assert f"  --> {file}:{line}:{column}\n" in said
    caret = next(each for each in said.splitlines() if re.fullmatch(r" +\| +\^", each))
    assert len(caret) - len("   | ") == column


@pytest.mark.parametrize(
    ("words", "message"),
    [
        # a variable that was not set is no answer
        (("report", "--aiter", ""), "'--aiter': nothing is named"),
        (("report", "--format", "html", "--against", " "), "'--against': nothing is named"),
        (("compare", "", "here"), "'OLD': nothing is named"),
        (("compare", "here", ""), "'NEW': nothing is named"),
        ((*COMPARE, "--deployments", ""), "'--deployments': nothing is named"),
        (("check", "--pin", ""), "'--pin': nothing is named"),
        ((*CHECK, "--waivers", ""), "'--waivers': nothing is named"),
        ((*CHECK, "--fail-on", ""), "--fail-on: an empty value"),
        (("findings", "--rule", ""), "--rule: an empty value"),
        (("findings", "--rule", "MLA001,,"), "--rule: an empty value"),
        (("history", "--aiter", ""), "'--aiter': nothing is named"),
        (("models", "--arch", "gfx950", "--model", ""), "--model: an empty value"),
        ((*RESOLVE, "--profile", ""), "'--profile': nothing is named"),
        (("snapshot", "-o", ""), "'--output' / '-o': nothing is named"),
        (("doctor", "--aiter", ""), "'--aiter': nothing is named"),
        (("decode", "--selftest", "--json", ""), "'--json': nothing is named"),
        (("bench", "--results", ""), "'--results': nothing is named"),
        (("bench", "--profiles", ""), "'--profiles': nothing is named"),
        # values that mean nothing
        ((*CHECK, "--fail-on", "worse"), "--fail-on: unknown value 'worse'"),
        ((*COMPARE, "--env", "A"), "--env: 'A' is not NAME=VALUE"),
        ((*COMPARE, "--planner", "q_dtype=fp4"), "unknown data type 'fp4'"),
        ((*COMPARE, "--arch", "MI355X"), "--arch: 'MI355X' is no GPU architecture"),
        (("explain", "--arch", "gfx950", "--dtype", "fp8", "--heads", "1"), "no pair of dtypes"),
        ((*RESOLVE, "--kv-len", "0"), "--kv-len: '0' must start at 1 or above"),
        ((*RESOLVE, "--mode", "on"), "--mode: unknown value 'on'"),
        (("report", "--format", "pdf"), "--format: unknown value 'pdf'"),
        (("table", "--stage", "cook"), "--stage: unknown value 'cook'"),
        (("findings", "--fail-on", "fatal"), "--fail-on: unknown value 'fatal'"),
        (("findings", "--rule", "MLA999"), "--rule: unknown value 'MLA999'"),
        (("models", "--arch", "gfx950", "--model", "kimi-k9"), "unknown model 'kimi-k9'"),
        (("history", "--since", "soon"), "'soon' is no release"),
        (("doctor", "--format", "xml"), "--format: unknown value 'xml'"),
        (("decode", *ONE, "--backend", "cuda"), "--backend: unknown value 'cuda'"),
        (("decode", "--selftest", "--backend", "cuda"), "--backend: unknown value 'cuda'"),
        (("decode", *ONE, "--strategy", "copy"), "--strategy: unknown value 'copy'"),
        (("bench", "--backend", "cuda"), "--backend: unknown value 'cuda'"),
        # contradictions
        ((*COMPARE, "--deployments", "good.yaml", "--heads", "16"), "contradict each other"),
        ((*CHECK, "--deployments", "good.yaml", "--lse", "0"), "contradict each other"),
        (("report", "--against", "here"), "--against goes with --format html"),
        (("decode", *ONE, "--json", "x.json"), "--json is for --selftest"),
        (("decode", "--selftest", "--heads", "16"), "--selftest and --heads contradict"),
        (("decode", "--selftest", "--no-lse"), "--selftest and --lse contradict"),
        (("bench", "--native", "16", "--backend", "aiter"), "contradict each other"),
        # places that cannot be written, or must not
        (("report", "-o", "none/x"), "cannot write none/x: no such directory"),
        (("snapshot", "-o", "here"), "cannot write here: it is a directory"),
        ((*CHECK, "--format", "sarif=none/x"), "cannot write none/x: no such directory"),
        ((*CHECK, "--format", "sarif=here"), "cannot write here: it is a directory"),
        ((*CHECK, "--format", "text=x", "--format", "junit=./x"), "--format: two outputs go to "),
        ((*CHECK, "--format", "json", "--format", "sarif=-"), "two outputs go to stdout"),
        ((*CHECK, "--waivers", "w.yaml", "-o", "here/../good.yaml", "--deployments", "good.yaml"),
         "here/../good.yaml is read, and cannot be written as well"),
        (("check", "--pin", "aiter.pin", "--format", "json=aiter.pin"), "aiter.pin is read"),
        (("compare", "aiter.pin", "here", "-o", "aiter.pin"), "aiter.pin is read"),
        (("check", "--pin", "here", "--accept"), "--accept: here is no file"),
        (("decode", "--selftest", "--json", "none/x"), "cannot write none/x: no such directory"),
        (("bench", "--results", "none/x"), "cannot write none/x: no such directory"),
        (("bench", "--profiles", "none"), "--profiles: none is no directory"),
        (("bench", "--results", "good.yaml"), "good.yaml, line 1: not a line of bench results"),
    ],
)  # fmt: skip
def test_wrong_usage(run: Run, words: tuple[str, ...], message: str) -> None:
    if words[0] in ("decode", "bench"):
        pytest.importorskip("torch", reason="decode and bench need PyTorch")
    told(run, words, 2, message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("report", "--aiter", "none"), "there is nothing at none"),
        (("report", "--aiter", "good.yaml"), "good.yaml is a file, and not an archive"),
        (("report", "--aiter", "here"), "here"),
        (("compare", "none", "here"), "there is nothing at none"),
        (("check", "--pin", "none.pin"), "there is nothing at none.pin"),
        (("check", "--pin", "aiter.pin"), "aiter.pin"),
        (("history", "--aiter", "here"), "here is not a git repository"),
        (("snapshot", "--aiter", "none", "-o", "x"), "there is nothing at none"),
        ((*RESOLVE, "--aiter", "release:v9.9.9"), "bundled"),
    ],
)
def test_a_source_that_cannot_be_read(run: Run, words: tuple[str, ...], message: str) -> None:
    told(run, words, 1, message)


def test_devices_take_any_number_of_outputs(run: Run) -> None:
    """What goes to one file would be lost; here it is meant to be."""
    formats = ("--format", "text=/dev/null", "--format", "sarif=/dev/null")
    done = run("compare", "none", "here", *formats)
    assert done.code == 1, "what fails is the source"

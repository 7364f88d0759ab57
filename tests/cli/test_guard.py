"""compare, check and findings from the outside: a simulated bump in a repository of our own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mlaprobe.capability import probe as live
from mlaprobe.snapshot.making import make
from mlaprobe.snapshot.scope import Scope
from tests.cli.conftest import Run
from tests.findings.pairs import fold_32
from tests.trees import today
from tests.trees.common import Tree, write

KIMI = """\
deployments:
  - name: kimi-k2.5-tp2-fp8
    model: kimi-k2.5
    arch: gfx950
    dtype: fp8/fp8
    tp: 2
"""
ENTRY = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
NAMED = "gfx950 fp8/fp8, 32 heads, qlen 1: native -> fold 2"


def git(repository: Path, *words: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(
        ["git", "-C", str(repository), *who, *words],
        check=True,
        capture_output=True,
        env={"PATH": "/usr/bin:/bin:/usr/local/bin", **ENTRY},
    )


def commit(repository: Path, tree: Tree, tag: str) -> None:
    write(repository, tree)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "--allow-empty", "-m", tag)
    git(repository, "tag", tag)


@pytest.fixture(scope="module")
def bumped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A release with 32 heads native, one that folds them, and one that has them back."""
    repository = tmp_path_factory.mktemp("aiter")
    git(repository, "init", "-q")
    commit(repository, today.tree(), "v0.9.1")
    commit(repository, fold_32(), "v0.9.2")
    commit(repository, today.tree(), "v0.9.3")
    yield repository
    shutil.rmtree(repository, ignore_errors=True)


@pytest.fixture
def kimi(tmp_path: Path) -> str:
    file = tmp_path / "deployments.yaml"
    file.write_text(KIMI, encoding="utf-8")
    return str(file)


def words(repository: Path, old: str, new: str, kimi: str) -> tuple[str, ...]:
    source = ("--pin", f"{repository}@{old}", "--aiter", f"{repository}@{new}")
    return ("check", *source, "--deployments", kimi)


def test_the_bump_fails(run: Run, bumped: Path, kimi: str) -> None:
    done = run(*words(bumped, "v0.9.1", "v0.9.2", kimi))
    assert (done.code, done.err) == (10, "")
    assert f"x {NAMED}" in done.out
    assert "hits: kimi-k2.5-tp2-fp8" in done.out
    assert "1 of them fails the check" in done.out


def test_the_next_one_passes(run: Run, bumped: Path, kimi: str) -> None:
    done = run(*words(bumped, "v0.9.2", "v0.9.3", kimi))
    assert (done.code, done.err) == (0, "")
    assert "the check passes" in done.out


def test_every_format_at_once(run: Run, bumped: Path, kimi: str, tmp_path: Path) -> None:
    names = ("json-v1", "markdown", "sarif", "junit", "github")
    formats = [f"--format={name}={tmp_path / name}" for name in names]
    done = run(*words(bumped, "v0.9.1", "v0.9.2", kimi), *formats)
    assert done.code == 10
    assert NAMED in done.out, "the text still goes to stdout"
    texts = {name: (tmp_path / name).read_text(encoding="utf-8") for name in names}
    for name, text in texts.items():
        assert "kimi" in text or name in ("sarif", "github")
        assert "32 heads, qlen 1: native" in text, name
    (change,) = json.loads(texts["json-v1"])["changes"]
    assert (change["class"], change["deployments"]) == ("slower", ["kimi-k2.5-tp2-fp8"])
    (run_,) = json.loads(texts["sarif"])["runs"]
    assert "slower" in [result["ruleId"] for result in run_["results"]]
    assert ElementTree.fromstring(texts["junit"]).find(".//failure") is not None
    assert texts["github"].startswith("::warning title=slower%3A")
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


@pytest.mark.parametrize("name", ["json", "markdown", "sarif", "junit", "github"])
def test_one_format_to_stdout(run: Run, bumped: Path, kimi: str, name: str) -> None:
    done = run(*words(bumped, "v0.9.1", "v0.9.2", kimi), "--format", name)
    assert done.code == 10
    assert "32 heads" in done.out
    assert "x gfx950" not in done.out


def test_fail_on_and_waivers(run: Run, bumped: Path, kimi: str, tmp_path: Path) -> None:
    asked = words(bumped, "v0.9.1", "v0.9.2", kimi)
    assert run(*asked, "--fail-on", "breaks").code == 0
    assert run(*asked, "--fail-on", "none").code == 0
    file = tmp_path / "waivers.yaml"
    waiver = "waivers:\n  - {change: slower, reason: we pad, until: v0.9.2}\n"
    file.write_text(waiver, encoding="utf-8")
    assert run(*asked, "--waivers", str(file)).code == 0
    file.write_text(waiver.replace("v0.9.2", "v0.9.1"), encoding="utf-8")
    done = run(*asked, "--waivers", str(file))
    assert done.code == 10
    assert "error expired-waiver: a waiver does not hold any longer" in done.out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--fail-on", "worse"), "--fail-on: unknown value 'worse'"),
        (("--heads", "32"), "--deployments and --heads contradict each other"),
        (("--format", "xml"), "--format: unknown value 'xml'"),
        (("--format", "sarif="), "--format: 'sarif=' names no file"),
        (("--format", "json", "--format", "sarif"), "--format: two outputs go to stdout"),
        (("--format", "sarif=/no/where/x"), "cannot write /no/where/x: no such directory"),
        (("--format", "sarif=/tmp"), "cannot write /tmp: it is a directory"),
        (("--waivers", "/no/where"), "cannot read the waivers file"),
        (("--accept",), "--accept: "),
    ],
)
def test_wrong_usage(
    run: Run, bumped: Path, kimi: str, more: tuple[str, ...], message: str
) -> None:
    done = run(*words(bumped, "v0.9.1", "v0.9.2", kimi), *more)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert done.out == "", "nothing was done"


SMALL = Scope(archs=("gfx950",), heads=(16, 32, 48, 64), qlens=(1,))


@pytest.fixture
def pin(bumped: Path, tmp_path: Path) -> Path:
    """A snapshot of the release in use."""
    file = tmp_path / "aiter.pin"
    with live(f"{bumped}@v0.9.1") as capability:
        file.write_text(make(capability, scope=SMALL), encoding="utf-8")
    return file


def test_a_pin_in_a_file(run: Run, bumped: Path, pin: Path, kimi: str) -> None:
    asked = ("check", "--pin", str(pin), "--deployments", kimi)
    done = run(*asked, "--aiter", f"{bumped}@v0.9.2")
    assert (done.code, done.err) == (10, "")
    assert f"x {NAMED}" in done.out
    assert run(*asked, "--aiter", f"{bumped}@v0.9.3").code == 0


def test_what_the_pin_does_not_hold(run: Run, bumped: Path, pin: Path, kimi: str) -> None:
    """A query length that it was not asked: whether it became worse cannot be told."""
    Path(kimi).write_text(KIMI + "    qlens: [2]\n", encoding="utf-8")
    done = run("check", "--pin", str(pin), "--deployments", kimi, "--aiter", f"{bumped}@v0.9.2")
    assert done.code == 11
    assert "warning unknown: an answer is known on one side only" in done.out


def test_accept(
    run: Run, bumped: Path, pin: Path, kimi: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlaprobe.snapshot.making.make", partial(make, scope=SMALL))
    asked = ("check", "--pin", str(pin), "--deployments", kimi, "--aiter", f"{bumped}@v0.9.2")
    done = run(*asked, "--accept")
    assert done.code == 0
    assert f"x {NAMED}" in done.out, "what is accepted is shown"
    assert done.err == f"{pin} is the pin of {bumped}@v0.9.2 now\n"
    assert [each.name for each in pin.parent.iterdir() if each.name.startswith(".")] == []
    again = run(*asked)
    assert (again.code, again.err) == (0, "")
    assert "no change of behaviour" in again.out


def test_a_snapshot_is_not_accepted(run: Run, pin: Path) -> None:
    before = pin.read_bytes()
    done = run("check", "--pin", str(pin), "--aiter", str(pin), "--heads", "32", "--accept")
    assert (done.code, done.out) == (2, "")
    assert "is a snapshot already" in done.err
    assert pin.read_bytes() == before


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: text[: len(text) // 2], "aiter.pin"),
        (lambda text: text.replace('"schema":1', '"schema":99', 1), "schema 99"),
        (lambda text: "{}", "aiter.pin"),
    ],
)
def test_a_pin_that_is_damaged(
    run: Run, bumped: Path, pin: Path, edit: Callable[[str], str], message: str
) -> None:
    text = pin.read_text(encoding="utf-8")
    pin.write_text(edit(text), encoding="utf-8")
    assert edit(text) != text
    done = run("check", "--pin", str(pin), "--aiter", f"{bumped}@v0.9.2", "--heads", "32")
    assert (done.code, done.out) == (1, "")
    assert message in done.err


def test_findings_in_a_snapshot(run: Run, pin: Path) -> None:
    done = run("findings", "--aiter", str(pin), *FEW, "--fail-on", "never")
    assert done.code == 11, "what could not be checked is no success"
    assert "not checked: MLA005, MLA006, MLA007" in done.out


def test_compare(run: Run, bumped: Path) -> None:
    sources = (f"{bumped}@v0.9.1", f"{bumped}@v0.9.2")
    done = run("compare", *sources, "--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "32")
    assert (done.code, done.err) == (0, "")
    assert "gfx950 fp8/fp8, 32 heads, qlen 1-2, without LSE: native -> fold 2" in done.out
    assert "planner told no dtypes: native -> incoherent" in done.out
    assert f"mlaprobe explain --aiter {bumped}@v0.9.2 --arch gfx950" in done.out


def test_compare_with_filters(run: Run, bumped: Path) -> None:
    sources = (f"{bumped}@v0.9.1", f"{bumped}@v0.9.2", "--format", "json")
    only = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "32", "--qlen", "1")
    done = run("compare", *sources, *only, "--lse", "0", "--planner", "q_dtype=none")
    found = json.loads(done.out)
    assert [change["class"] for change in found["changes"]] == ["gains"]
    assert found["changes"][0]["shape"]["planner"] == {"q_dtype": None}
    done = run("compare", *sources, *only, "--route", "gluon")
    assert json.loads(done.out)["shapes"] == 1


def test_compare_what_is_the_same(run: Run, bumped: Path) -> None:
    done = run("compare", f"{bumped}@v0.9.1", f"{bumped}@v0.9.3", "--heads", "8-64")
    assert (done.code, done.err) == (0, "")
    assert "no change of behaviour, in " in done.out


FEW = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "16,32", "--qlen", "1")


def test_findings(run: Run, bumped: Path) -> None:
    done = run("findings", "--aiter", f"{bumped}@v0.9.2", *FEW)
    assert (done.code, done.err) == (10, "")
    assert "error MLA010: dtypes left out of the planner call contradict the dispatcher" in done.out
    assert "x gfx950 fp8/fp8, 32 heads, qlen 1, planner told no dtypes" in done.out


def test_findings_of_some_rules(run: Run, bumped: Path) -> None:
    asked = ("findings", "--aiter", f"{bumped}@v0.9.2", *FEW)
    assert run(*asked, "--rule", "MLA005,mla007").code == 0
    assert run(*asked, "--rule", "MLA012").code == 10
    assert run(*asked, "--rule", "MLA012", "--fail-on", "error").code == 0
    assert run(*asked, "--rule", "MLA010", "--fail-on", "never").code == 0
    done = run(*asked, "--rule", "MLA099")
    assert (done.code, done.out) == (2, "")
    assert "--rule: unknown value 'MLA099'" in done.err


def test_findings_in_json(run: Run, bumped: Path) -> None:
    done = run("findings", "--aiter", f"{bumped}@v0.9.2", *FEW, "--format", "json")
    found = json.loads(done.out)
    assert found["source"]["release"] == "v0.9.2"
    assert {each["rule"] for each in found["findings"]} >= {"MLA010", "MLA012"}
    assert all(each["evidence"] for each in found["findings"])
    assert len(found["rules"]) == 17


def test_source_that_cannot_be_followed(run: Run, tmp_path: Path) -> None:
    edit = ("        (num_heads == 16) ||\n", "        (num_heads == 16) || ask(num_heads) ||\n")
    text = str(today.tree()[today.PLANNER]).replace(*edit)
    write(tmp_path, {**today.tree(), today.PLANNER: text})
    done = run("findings", "--aiter", str(tmp_path), *FEW, "--rule", "MLA014")
    assert done.code == 11
    assert "note MLA014" in done.out


@pytest.mark.parametrize("command", ["compare", "check", "findings"])
def test_help_has_examples(run: Run, command: str) -> None:
    done = run(command, "--help")
    assert done.code == 0
    assert "Examples:" in done.out

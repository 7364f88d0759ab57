"""compare, check and findings from the outside, on a repository of our own."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from mlaprobe.deciding.capability import Capability
from mlaprobe.snapshot.making import make
from mlaprobe.snapshot.scope import Scope
from tests.cli.conftest import Run
from tests.trees import today
from tests.trees.common import write
from tests.trees.repository import AGAIN, CHANGE, FOLDED, KIMI, NATIVE, SERVED
from tests.trees.repository import bumped as repository_of_releases


@pytest.fixture(scope="module")
def bumped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with 32 heads native, one that folds them, and one that has them back."""
    return repository_of_releases(tmp_path_factory.mktemp("aiter"))


@pytest.fixture
def kimi(tmp_path: Path) -> str:
    file = tmp_path / "deployments.yaml"
    file.write_text(SERVED, encoding="utf-8")
    return str(file)


def words(repository: Path, old: str, new: str, kimi: str) -> tuple[str, ...]:
    source = ("--pin", f"{repository}@{old}", "--aiter", f"{repository}@{new}")
    return ("check", *source, "--deployments", kimi)


def test_fail_on_and_waivers(run: Run, bumped: Path, kimi: str, tmp_path: Path) -> None:
    asked = words(bumped, NATIVE, FOLDED, kimi)
    assert run(*asked, "--fail-on", "breaks").code == 0
    assert run(*asked, "--fail-on", "none").code == 0
    file = tmp_path / "waivers.yaml"
    waiver = "waivers:\n  - {change: slower, reason: we pad, until: v0.1.16.post2}\n"
    file.write_text(waiver, encoding="utf-8")
    assert run(*asked, "--waivers", str(file)).code == 0
    file.write_text(waiver.replace(FOLDED, NATIVE), encoding="utf-8")
    done = run(*asked, "--waivers", str(file))
    assert done.code == 10
    assert "error expired-waiver: a waiver does not hold any longer" in done.out


def test_a_waiver_for_no_deployment_is_told(
    run: Run, bumped: Path, kimi: str, tmp_path: Path
) -> None:
    file = tmp_path / "waivers.yaml"
    entry = "{change: slower, reason: we pad, until: v0.1.16.post2, deployment: %s}"
    asked = (*words(bumped, NATIVE, FOLDED, kimi), "--waivers", str(file))
    file.write_text(f"waivers:\n  - {entry % KIMI[:-1]}\n", encoding="utf-8")
    done = run(*asked)
    assert done.code == 10
    assert f"warning: {file}:2: the waiver for {KIMI[:-1]!r} covers nothing" in done.err
    assert f"(did you mean {KIMI!r}?)" in done.err
    assert run(*asked, "--quiet").err == ""
    file.write_text(f"waivers:\n  - {entry % KIMI}\n", encoding="utf-8")
    done = run(*asked)
    assert done.code == 0
    assert "covers nothing" not in done.err


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
    done = run(*words(bumped, NATIVE, FOLDED, kimi), *more)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert done.out == "", "nothing was done"


SMALL = Scope(archs=("gfx950",), heads=(16, 32, 48, 64), qlens=(1,))


@pytest.fixture
def pin(bumped: Path, tmp_path: Path) -> Path:
    """A snapshot of the release in use."""
    file = tmp_path / "aiter.pin"
    with Capability.open(f"{bumped}@{NATIVE}") as capability:
        file.write_text(make(capability, scope=SMALL), encoding="utf-8")
    return file


def test_a_pin_in_a_file(run: Run, bumped: Path, pin: Path, kimi: str) -> None:
    asked = ("check", "--pin", str(pin), "--deployments", kimi)
    done = run(*asked, "--aiter", f"{bumped}@{FOLDED}")
    assert (done.code, done.err) == (10, "")
    assert f"x {CHANGE}" in done.out
    assert run(*asked, "--aiter", f"{bumped}@{AGAIN}").code == 0


def test_what_the_pin_does_not_hold(run: Run, bumped: Path, pin: Path, kimi: str) -> None:
    """A query length that it was not asked: whether it became worse cannot be told."""
    Path(kimi).write_text(SERVED + "    qlens: [2]\n", encoding="utf-8")
    done = run("check", "--pin", str(pin), "--deployments", kimi, "--aiter", f"{bumped}@{FOLDED}")
    assert done.code == 11
    assert "warning unknown: an answer is known on one side only" in done.out


def test_accept(
    run: Run, bumped: Path, pin: Path, kimi: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlaprobe.snapshot.making.make", partial(make, scope=SMALL))
    asked = ("check", "--pin", str(pin), "--deployments", kimi, "--aiter", f"{bumped}@{FOLDED}")
    done = run(*asked, "--accept")
    assert done.code == 0
    assert f"x {CHANGE}" in done.out, "what is accepted is shown"
    assert done.err == f"{pin} is the pin of {bumped}@{FOLDED} now\n"
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
        (lambda text: text.replace('"schema":3', '"schema":99', 1), "schema 99"),
        (lambda text: "{}", "aiter.pin"),
    ],
)
def test_a_pin_that_is_damaged(
    run: Run, bumped: Path, pin: Path, edit: Callable[[str], str], message: str
) -> None:
    text = pin.read_text(encoding="utf-8")
    pin.write_text(edit(text), encoding="utf-8")
    assert edit(text) != text
    done = run("check", "--pin", str(pin), "--aiter", f"{bumped}@{FOLDED}", "--heads", "32")
    assert (done.code, done.out) == (1, "")
    assert message in done.err


def test_findings_in_a_snapshot(run: Run, pin: Path) -> None:
    done = run("findings", "--aiter", str(pin), *FEW, "--fail-on", "never")
    assert done.code == 11, "what could not be checked is no success"
    assert "not checked: MLA005, MLA006, MLA007" in done.out


def test_compare(run: Run, bumped: Path) -> None:
    sources = (f"{bumped}@{NATIVE}", f"{bumped}@{FOLDED}")
    done = run("compare", *sources, "--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "32")
    assert (done.code, done.err) == (0, "")
    assert "gfx950 fp8/fp8, 32 heads, qlen 1-2, without LSE: native -> fold 2" in done.out
    assert "planner told no dtypes: native -> incoherent" in done.out
    assert f"mlaprobe explain --aiter {bumped}@{FOLDED} --arch gfx950" in done.out


def test_compare_with_filters(run: Run, bumped: Path) -> None:
    sources = (f"{bumped}@{NATIVE}", f"{bumped}@{FOLDED}", "--format", "json")
    only = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "32", "--qlen", "1")
    done = run("compare", *sources, *only, "--lse", "0", "--planner", "q_dtype=none")
    found = json.loads(done.out)
    assert [change["class"] for change in found["changes"]] == ["gains"]
    assert found["changes"][0]["shape"]["planner"] == {"q_dtype": None}
    done = run("compare", *sources, *only, "--route", "gluon")
    assert json.loads(done.out)["shapes"] == 1


def test_compare_what_is_the_same(run: Run, bumped: Path) -> None:
    """Errata of bf16, and of launches without metadata, end and begin between the two."""
    words = ("--heads", "8-64", "--dtype", "fp8/fp8", "--persistent", "1")
    done = run("compare", f"{bumped}@{NATIVE}", f"{bumped}@{AGAIN}", *words)
    assert (done.code, done.err) == (0, "")
    assert "no change of behaviour, in " in done.out


FEW = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "16,32", "--qlen", "1")


def test_findings(run: Run, bumped: Path) -> None:
    done = run("findings", "--aiter", f"{bumped}@{FOLDED}", *FEW)
    assert (done.code, done.err) == (10, "")
    assert "error MLA010: dtypes left out of the planner call contradict the dispatcher" in done.out
    assert "x gfx950 fp8/fp8, 32 heads, qlen 1, planner told no dtypes" in done.out


def test_findings_of_some_rules(run: Run, bumped: Path) -> None:
    asked = ("findings", "--aiter", f"{bumped}@{FOLDED}", *FEW)
    assert run(*asked, "--rule", "MLA005,mla007").code == 0
    assert run(*asked, "--rule", "MLA012").code == 10
    assert run(*asked, "--rule", "MLA012", "--fail-on", "error").code == 0
    assert run(*asked, "--rule", "MLA010", "--fail-on", "never").code == 0
    done = run(*asked, "--rule", "MLA099")
    assert (done.code, done.out) == (2, "")
    assert "--rule: unknown value 'MLA099'" in done.err


def test_findings_in_json(run: Run, bumped: Path) -> None:
    done = run("findings", "--aiter", f"{bumped}@{FOLDED}", *FEW, "--format", "json")
    found = json.loads(done.out)
    assert found["source"]["release"] == FOLDED
    assert {each["rule"] for each in found["findings"]} >= {"MLA010", "MLA012"}
    assert all(each["evidence"] for each in found["findings"])
    assert len(found["rules"]) == 19


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

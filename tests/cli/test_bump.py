"""A team pins AITER, and bumps it: v0.1.15.post3 to v0.1.16.post2, which folds the 32 heads that it
serves, and on to v0.1.17, which does not. Once on trees of our own text and once on the releases
themselves, in every format."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mlaprobe.cli import main
from mlaprobe.snapshot.making import make
from mlaprobe.snapshot.scope import Scope
from tests.cli.conftest import Run
from tests.trees.repository import AGAIN, BACK, CHANGE, FOLDED, KIMI, NATIVE, SERVED, bumped

SMALL = Scope(archs=("gfx950",), heads=(16, 32, 64), qlens=(1,), page_sizes=(1,))
"""What the pins of these tests hold: a whole one takes its time."""


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bumped(tmp_path_factory.mktemp("aiter"))


@pytest.fixture(scope="module", params=["ours", "releases"])
def repository(request: pytest.FixtureRequest) -> Path:
    """A repository that has the three releases."""
    name = "ours" if request.param == "ours" else "aiter_git"
    found: Path = request.getfixturevalue(name)
    return found


@pytest.fixture(scope="module")
def pins(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pin of each release, and what is served."""
    folder = tmp_path_factory.mktemp("pins")
    (folder / "served.yaml").write_text(SERVED, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mlaprobe.snapshot.making.make", partial(make, scope=SMALL))
        for tag in (NATIVE, FOLDED):
            made = main(["snapshot", "--aiter", f"{repository}@{tag}", "-o", str(folder / tag)])
            assert made == 0
    return folder


def words(pins: Path, repository: Path, old: str, new: str) -> tuple[str, ...]:
    served = ("--deployments", str(pins / "served.yaml"))
    return ("check", "--pin", str(pins / old), "--aiter", f"{repository}@{new}", *served)


# --- what each format says of one change ---------------------------------------------------------


def in_text(out: str) -> Iterator[tuple[str, str, bool]]:
    """Message, deployments, and whether it fails the check."""
    message = ""
    for line in out.splitlines():
        if line.startswith(("  x ", "  - ")):
            message = line[4:]
        if line.startswith("      hits: "):
            fails = f"  x {message}" in out
            yield message, line.partition(": ")[2], fails


def in_json(out: str) -> Iterator[tuple[str, str, bool]]:
    for change in json.loads(out)["changes"]:
        yield change["message"], ", ".join(change["deployments"]), change["fails"]


def in_markdown(out: str) -> Iterator[tuple[str, str, bool]]:
    for line in out.splitlines():
        cells = [cell.strip().replace("\\", "") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 6 and cells[1].startswith("gfx"):
            yield cells[1], cells[5], cells[0] == "fails"


def in_sarif(out: str) -> Iterator[tuple[str, str, bool]]:
    (found,) = json.loads(out)["runs"]
    for result in found["results"]:
        names: list[str] = result["properties"].get("deployments", [])
        message = result["message"]["text"].partition(" (hits ")[0]
        if names:
            yield message, ", ".join(names), result["ruleId"] in ("breaks", "slower")


def in_junit(out: str) -> Iterator[tuple[str, str, bool]]:
    for case in ElementTree.fromstring(out).iter("testcase"):
        if case.attrib["classname"].endswith(".deployments"):
            failure = case.find("failure")
            said = case.find("system-out") if failure is None else failure
            text = "" if said is None else said.attrib.get("message", said.text or "")
            for change in text.split("\n"):
                yield change, case.attrib["name"], failure is not None


def in_github(out: str) -> Iterator[tuple[str, str, bool]]:
    for line in out.splitlines():
        head, _, data = line.removeprefix("::").partition("::")
        lines = data.split("%0A")
        hits = [each.partition(": ")[2] for each in lines if each.startswith("hits: ")]
        if hits:
            yield lines[0], hits[0], "title=breaks" in head or "title=slower" in head


READERS: dict[str, Callable[[str], Iterator[tuple[str, str, bool]]]] = {
    "text": in_text,
    "json-v1": in_json,
    "markdown": in_markdown,
    "sarif": in_sarif,
    "junit": in_junit,
    "github": in_github,
}


Said = tuple[int, dict[str, str]]


@pytest.fixture(scope="module")
def said(pins: Path, repository: Path) -> dict[str, Said]:
    """The exit code of each bump, and what was written in every format, by the new release."""
    found = {}
    for old, new in ((NATIVE, FOLDED), (FOLDED, AGAIN)):
        formats = [f"--format={name}={pins / f'{new}.{name}'}" for name in READERS]
        code = main([*words(pins, repository, old, new), *formats])
        texts = {name: (pins / f"{new}.{name}").read_text(encoding="utf-8") for name in READERS}
        found[new] = (code, texts)
    return found


@pytest.mark.parametrize("format", READERS)
def test_the_bump_fails(said: dict[str, Said], format: str) -> None:
    code, texts = said[FOLDED]
    assert code == 10
    assert (CHANGE, KIMI, True) in READERS[format](texts[format])


@pytest.mark.parametrize("format", READERS)
def test_the_next_one_passes(said: dict[str, Said], format: str) -> None:
    code, texts = said[AGAIN]
    assert code == 0
    found = list(READERS[format](texts[format]))
    assert (BACK, KIMI, False) in found
    assert [each for each in found if each[2]] == []


@pytest.mark.parametrize("format", READERS)
def test_one_format_to_stdout(
    run: Run, pins: Path, repository: Path, said: dict[str, Said], format: str
) -> None:
    done = run(*words(pins, repository, NATIVE, FOLDED), "--format", format)
    assert (done.code, done.err) == (10, "")
    assert done.out == said[FOLDED][1][format]


def test_the_text_goes_to_stdout_as_well(
    run: Run, pins: Path, repository: Path, tmp_path: Path
) -> None:
    done = run(*words(pins, repository, NATIVE, FOLDED), f"--format=sarif={tmp_path / 'x'}")
    assert (done.code, done.err) == (10, "")
    assert (CHANGE, KIMI, True) in in_text(done.out)
    assert "1 of them fails the check" in done.out
    assert [each.name for each in tmp_path.iterdir()] == ["x"], "nothing half-written stays"


def test_the_pin_itself_passes(run: Run, pins: Path, repository: Path) -> None:
    done = run(*words(pins, repository, NATIVE, NATIVE))
    assert (done.code, done.err) == (0, "")
    assert "no change of behaviour" in done.out


def test_the_pin_says_what_it_is_of(pins: Path) -> None:
    kept: Any = json.loads((pins / NATIVE).read_text(encoding="utf-8"))
    assert NATIVE in json.dumps(kept)

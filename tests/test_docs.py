"""The documentation is true: its commands print what it shows, its links lead somewhere, and its
generated pages are those that the code would write."""

from __future__ import annotations

import ast
import doctest
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from mlaprobe.cli import COMMANDS, main
from mlaprobe.compare import waivers
from mlaprobe.compare.waivers import load_waivers
from mlaprobe.opening import bundled
from mlaprobe.rulefiles import serving
from mlaprobe.rulefiles.cost import load_profile
from mlaprobe.rulefiles.policy import policy
from mlaprobe.rulefiles.schema import Record
from mlaprobe.rulefiles.serving import load_deployments
from tests import documents
from tests.documents import ROOT, Example, name_of
from tools import reference

PAGES = documents.pages()
STORIES = [page for page in PAGES if any(documents.examples(page))]


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of which nothing is known."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "AITER_META_DIR"):
        monkeypatch.delenv(name, raising=False)


def made_by(target: str) -> list[str]:
    """The command of mlaprobe that a target of the Makefile runs."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rule = re.search(rf"^{target}:.*\n\t@\$\(VENV\)/bin/mlaprobe (.*)$", makefile, re.MULTILINE)
    assert rule is not None
    return rule[1].split()


def run_story(
    examples: Iterator[Example], capsys: pytest.CaptureFixture[str], git: Path | None
) -> None:
    """Runs a page's commands in their order."""
    for example in examples:
        words = [word.replace(documents.REPOSITORY, str(git)) for word in example.words]
        if example.command == "make report":
            words = made_by("report")
        code = main(words)
        printed = capsys.readouterr()
        assert code == example.code, (example.command, printed.err)
        if example.starts:
            assert printed.out.splitlines()[0] == example.shown[0][0], example.command
        gone = documents.missing(example.shown, printed.out)
        assert gone is None, f"{example.command} does not print, in this order:\n{gone}"


def in_folder(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Goes where the page's files are."""
    for name, text in documents.files(page).items():
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)


def releases(page: Path) -> set[str]:
    """The bundled releases that a page asks."""
    return {tag for e in documents.examples(page) for tag in documents.RELEASE.findall(e.command)}


@pytest.mark.usefixtures("aiter_wheel")
@pytest.mark.parametrize("page", STORIES, ids=name_of)
def test_commands(
    page: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if missing := releases(page) - set(bundled.index()):
        pytest.skip(f"not bundled: {', '.join(sorted(missing))}")
    in_folder(page, tmp_path, monkeypatch)
    run_story((e for e in documents.examples(page) if not e.needs_git), capsys, None)


@pytest.mark.parametrize(
    "page", [p for p in STORIES if any(e.needs_git for e in documents.examples(p))], ids=name_of
)
def test_commands_on_releases(
    page: Path,
    aiter_git: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_folder(page, tmp_path, monkeypatch)
    run_story((e for e in documents.examples(page) if e.needs_git), capsys, aiter_git)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links(page: Path) -> None:
    for target in documents.links(page):
        if re.match(r"https://[\w.-]+(?:/|$)", target):
            continue
        assert "://" not in target, f"{target}: write https"
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{target} leads nowhere"
        assert file.is_relative_to(ROOT), f"{target} leads out of the project"
        if anchor:
            assert anchor in documents.headings(file), f"{target}: there is no such heading"


def test_every_page_can_be_reached() -> None:
    """From the README, by following links."""
    seen: set[Path] = set()
    todo = [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md" or not page.is_file():
            continue
        seen.add(page)
        targets = (t.partition("#")[0] for t in documents.links(page) if "://" not in t)
        todo += [(page.parent / target).resolve() for target in targets if target]
    assert {name_of(page) for page in PAGES} - {name_of(page) for page in seen} == set()


def test_generated_pages() -> None:
    assert reference.stale() == [], "make reference"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_is_code(page: Path) -> None:
    for block in documents.blocks(page, "python"):
        try:
            ast.parse(block)
        except SyntaxError:
            ast.parse(f"def {block.rstrip()}: ...")  # a signature
    for block in documents.blocks(page, "json"):
        json.loads(block)
    for block in documents.blocks(page, "yaml"):
        yaml.safe_load(block)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_sessions(page: Path) -> None:
    for number, source in enumerate(documents.blocks(page, "pycon")):
        if missing := set(documents.RELEASE.findall(source)) - set(bundled.index()):
            pytest.skip(f"not bundled: {', '.join(sorted(missing))}")
        example = doctest.DocTestParser().get_doctest(source, {}, f"{number}", str(page), 0)
        assert doctest.DocTestRunner(verbose=False).run(example).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files(page: Path, tmp_path: Path) -> None:
    readers: dict[str, Callable[[Path], object]] = {
        "deployments": load_deployments,
        "waivers": load_waivers,
        "profile": lambda file: load_profile(file, policy().cost),
    }
    for name, text in documents.files(page).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        reader = next((r for kind, r in readers.items() if name.startswith(kind)), None)
        assert reader is None or reader(tmp_path / name)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_exist(page: Path) -> None:
    """Also those that are only mentioned, with the options that they are mentioned with."""
    text = page.read_text(encoding="utf-8")
    for command, rest in re.findall(r"(?:`|^\$ |^)mlaprobe ([a-z-]+)\b([^`\n#]*)", text, re.M):
        if command in COMMANDS:
            known = _options(command)
            for option in re.findall(r"(?<=\s)--[a-z-]+", rest):
                assert option in known, f"mlaprobe {command} has no {option}"


def _options(command: str) -> set[str]:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    section = page.partition(f"## mlaprobe {command}\n")[2].partition("\n## ")[0]
    return {"--help", *re.findall(r"`(--[a-z-]+)`", section)}


def test_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in PAGES:
        named = re.findall(r"(?:^|[`$] ?)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.M)
        assert set(named) <= targets, name_of(page)


@pytest.mark.parametrize(
    ("heading", "schema"), [("Deployments", serving.FIELDS), ("Waivers", waivers.FIELDS)]
)
def test_every_field_is_described(heading: str, schema: Record) -> None:
    """With whether it must be there."""
    page = (ROOT / "docs" / "reference" / "files.md").read_text(encoding="utf-8")
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", section, re.MULTILINE)
    assert [name for name, _ in rows if name in schema.optional] == list(schema.optional)
    assert {name for name, _ in rows} == {*schema.required, *schema.optional}
    assert {name for name, default in rows if default == "required"} == set(schema.required)

"""``make rule``: what it writes is a rule and a pair, and both are red until they are filled in."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.findings.rules import SCHEMA
from mlaprobe.rulefiles.loader import load_yaml
from tools import new_rule


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The part of a checkout that a rule is written into."""
    for part in (new_rule.RULES, new_rule.PAIRS.parent):
        shutil.copytree(new_rule.ROOT / part, tmp_path / part)
    return tmp_path


def pairs_of(file: Path) -> dict[str, Any]:
    spec = spec_from_file_location("pairs_with_a_new_one", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        found: dict[str, Any] = module.pairs()
        return found
    finally:
        del sys.modules[spec.name]


def test_begins_a_rule(checkout: Path) -> None:
    before = {file.stem for file in (checkout / new_rule.RULES).iterdir()}
    others = pairs_of(checkout / new_rule.PAIRS)
    rule_id, (rule, pairs) = new_rule.begin(checkout, "a  row nobody\nreads")
    assert rule_id not in before
    assert rule_id == f"MLA{len(before) + 1:03}"
    loaded = load_yaml(rule)
    SCHEMA.check(loaded, loaded.place)
    assert (loaded["id"], loaded["title"]) == (rule_id, "a row nobody reads")
    made = pairs_of(pairs)
    assert sorted(made) == sorted([*others, rule_id])
    assert made[rule_id].good == made[rule_id].bad, "its test fails until it is filled in"
    assert new_rule.begin(checkout, "another")[0] == f"MLA{len(before) + 2:03}"


def test_the_stub_is_in_the_projects_style(checkout: Path) -> None:
    _, (_, pairs) = new_rule.begin(checkout, "a row nobody reads")
    words = [sys.executable, "-m", "ruff", "format", "--check", "--line-length", "100", str(pairs)]
    subprocess.run(words, check=True, capture_output=True)


@pytest.mark.parametrize("title", ["", "A Title", "x" * 71, "a: b", "a\\b", "{x}", '"'])
def test_no_title(checkout: Path, title: str) -> None:
    before = (checkout / new_rule.PAIRS).read_bytes()
    with pytest.raises(new_rule.NotBegunError, match="a title is a few plain words"):
        new_rule.begin(checkout, title)
    assert (checkout / new_rule.PAIRS).read_bytes() == before


def test_another_checkout(checkout: Path) -> None:
    (checkout / new_rule.PAIRS).write_text("PAIRS = ()\n", encoding="utf-8")
    count = len(list((checkout / new_rule.RULES).iterdir()))
    with pytest.raises(new_rule.NotBegunError, match="does not end with the mapping"):
        new_rule.begin(checkout, "a row nobody reads")
    assert len(list((checkout / new_rule.RULES).iterdir())) == count


def test_the_command(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(new_rule, "ROOT", checkout)
    assert new_rule.main(["a", "row", "nobody", "reads"]) == 0
    said = capsys.readouterr().out
    assert re.findall(r"^wrote (\S+)", said, re.MULTILINE) == [
        next(iter(re.findall(r"rules/findings/MLA\d+\.yaml", said))),
        "tests/findings/pairs.py",
    ]
    assert new_rule.main([]) == 2
    assert capsys.readouterr().err.splitlines()[1].startswith("help: make rule ")

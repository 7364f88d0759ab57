"""Values of a module that another one changes, or may change, by whatever it does with them: known
only as what Python itself finds. What is only read stays known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluator.test_patches import TARGET, _python, _told
from tests.evaluator.test_patches_further_down import _files


def _cases(name: str) -> dict[str, str]:
    text = (Path(__file__).parent / name).read_text()
    parts = (part.partition("\n") for part in text.split("=== ")[1:])
    return {title: code for title, _, code in parts}


WRITES, READS = _cases("writes_elsewhere.txt"), _cases("reads_elsewhere.txt")
DICTIONARIES = _cases("dictionaries_elsewhere.txt")


@pytest.mark.parametrize("name", sorted(WRITES))
def test_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    files = _files(WRITES[name])
    assert _python(tmp_path, files, monkeypatch) == 32
    assert _told(files) in (None, 32)


@pytest.mark.parametrize("name", sorted(DICTIONARIES))
def test_what_is_done_with_a_module_or_its_dictionary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    other = f"{DICTIONARIES[name]}\nnothing = 0\n"
    root = "from .other import *\n"
    files = {"pkg/__init__.py": root, "pkg/other.py": other, "pkg/target.py": TARGET}
    assert _python(tmp_path, files, monkeypatch) == 32
    assert _told(files) in (None, 32)


@pytest.mark.parametrize("name", sorted(READS))
def test_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    files = _files(READS[name])
    assert _python(tmp_path, files, monkeypatch) == 16
    assert _told(files) == 16


def test_another_name_in_a_third_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = _files("from . import more\n\nmore.rows['limit'] = 32\n")
    files["pkg/more.py"] = "from .target import TABLE as table\n\nrows = table\n"
    assert _python(tmp_path, files, monkeypatch) == 32
    assert _told(files) in (None, 32)


def test_a_module_that_is_reached_over_two_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is given away has them as attributes, and these have it."""
    write = "m.inner.target.TABLE = {'limit': 32}"
    files = _files(f"from . import outer\n\n\ndef f(m):\n    {write}\n\n\nf(outer)\n")
    files["pkg/outer.py"] = "from . import inner\n"
    files["pkg/inner.py"] = "from . import target\n"
    assert _python(tmp_path, files, monkeypatch) == 32
    assert _told(files) in (None, 32)

"""What is released: a wheel and an sdist that need nothing of the repository.

Both are built with the build backend of this environment; then the wheel goes into an empty
environment, which may reach the package index and nothing else, and is used there as a stranger
would use it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from tests.findings.pairs import fold_32
from tests.trees import today
from tests.trees.common import write

ROOT = Path(__file__).resolve().parent.parent
pytest.importorskip("hatchling", reason="hatchling, which builds the wheel, is not installed")

MOST_BYTES = 15_000_000
"""How large mlaprobe may be where it is installed, compiled modules included."""
SHAPE = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "32")


def clean() -> dict[str, str]:
    """The environment without what would let this checkout be found."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "AITER_META_DIR", "FORCE_COLOR")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def build(project: Path, target: Path, *kinds: str) -> None:
    words = [sys.executable, "-m", "hatchling", "build", "-d", str(target), *kinds]
    subprocess.run(words, cwd=project, env=clean(), check=True, capture_output=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and an sdist."""
    target = tmp_path_factory.mktemp("built")
    build(ROOT, target, "-t", "sdist", "-t", "wheel")
    return target


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode("utf-8"))


def shipped(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel, but for the list of them."""
    with zipfile.ZipFile(wheel) as archive:
        return {n: archive.read(n) for n in archive.namelist() if not n.endswith("/RECORD")}


def test_everything_is_in_the_wheel(wheel: Path) -> None:
    files = {n for n in shipped(wheel) if ".dist-info/" not in n}
    package = {
        p.relative_to(ROOT).as_posix()
        for p in (ROOT / "mlaprobe").rglob("*")
        if p.is_file() and p.suffix != ".pyc"
    }
    rules = {
        f"mlaprobe/_rules/{p.relative_to(ROOT / 'rules').as_posix()}"
        for p in (ROOT / "rules").rglob("*")
        if p.is_file()
    }
    assert len(rules) > 20
    assert {"mlaprobe/py.typed", "mlaprobe/output/json-v1.schema.json"} <= package
    assert package | rules == files


def test_the_sdist_makes_the_same_wheel(built: Path, wheel: Path, tmp_path: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
        # Python 3.10 and 3.11 have the filter from a patch release on.
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(tmp_path, **safely)  # type: ignore[arg-type]
    (unpacked,) = tmp_path.iterdir()
    for name in ("LICENSE", "tests/conftest.py", "docs/ARCHITECTURE.md", "action.yml", "Makefile"):
        assert f"{unpacked.name}/{name}" in names
    assert not [n for n in names if "__pycache__" in n or "/.venv/" in n]
    build(unpacked, tmp_path / "again", "-t", "wheel")
    (again,) = (tmp_path / "again").glob("*.whl")
    assert shipped(again) == shipped(wheel)


def test_metadata(metadata: Message) -> None:
    assert metadata["License-Expression"] == "MIT"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    assert {"torch", "dev"} <= set(metadata.get_all("Provides-Extra", []))


def test_what_it_brings(metadata: Message) -> None:
    """Nothing comes in by itself that could replace what a ROCm image holds."""
    wanted = metadata.get_all("Requires-Dist", [])
    always = (each for each in wanted if "extra ==" not in each)
    names = sorted(re.split(r"[^A-Za-z-]", each)[0].lower() for each in always)
    assert names == ["pyyaml", "rich", "tree-sitter", "tree-sitter-cuda", "typer"]
    assert not [each for each in wanted if "aiter" in each]
    assert any(each.startswith("torch") and "extra == 'torch'" in each for each in wanted)


def install(python: Path, *what: str) -> subprocess.CompletedProcess[str]:
    words = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--retries", "1"]
    return subprocess.run(
        [*words, "--timeout", "15", *what],
        env=clean(),
        cwd=python.parent,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment into which the wheel was installed."""
    root = tmp_path_factory.mktemp("elsewhere") / "env"
    venv.create(root, with_pip=True, symlinks=True)
    python = root / "bin" / "python"
    done = install(python, str(wheel))
    if done.returncode and install(python, "--no-deps", "PyYAML").returncode:
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr
    return python


def run(python: Path, work: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python.parent / "mlaprobe", *words],
        cwd=work,
        env=clean(),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with two AITERs to read, far from the repository."""
    write(tmp_path / "new", fold_32())
    write(tmp_path / "old", today.tree())
    return tmp_path


def test_the_wheel_reports(elsewhere: Path, work: Path) -> None:
    done = run(elsewhere, work, "report", "--aiter", "old", *SHAPE[:4])
    assert (done.returncode, done.stderr) == (0, "")
    assert "native at" in done.stdout


def test_the_wheel_resolves(elsewhere: Path, work: Path) -> None:
    done = run(elsewhere, work, "resolve", "--aiter", "new", *SHAPE, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["padded_num_heads"] == 64


def test_the_wheel_checks(elsewhere: Path, work: Path) -> None:
    asked = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "32", "--qlen", "1")
    for old, new, code in (("old", "old", 0), ("old", "new", 10)):
        done = run(elsewhere, work, "check", "--pin", old, "--aiter", new, *asked)
        assert (done.returncode, done.stderr) == (code, "")
    assert "native -> fold 2" in done.stdout


def test_the_wheel_is_where_it_was_installed(elsewhere: Path, work: Path) -> None:
    """As a module, with its rules, and small."""
    version = subprocess.run(
        [elsewhere, "-m", "mlaprobe", "--version"],
        cwd=work,
        env=clean(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert version.stdout == run(elsewhere, work, "--version").stdout
    assert "(schema " in version.stdout
    where = "import mlaprobe.rulefiles.loader as r; print(r.rules_dir()); import compileall as c; "
    where += "c.compile_dir(r.rules_dir().parent, quiet=2)"
    done = subprocess.run(
        [elsewhere, "-c", where], cwd=work, env=clean(), capture_output=True, text=True, check=True
    )
    package = Path(done.stdout.strip()).parent
    assert package.parent.name == "site-packages"
    assert package.is_relative_to(elsewhere.parent.parent)
    files = [p for p in package.rglob("*") if p.is_file()]
    assert len(files) > 300, "modules, and what Python compiled of them"
    assert sum(p.stat().st_size for p in files) < MOST_BYTES

"""The GitHub action and the pre-commit hooks: what they would run is run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlaprobe.cli.check import check
from mlaprobe.deciding.capability import Capability
from mlaprobe.snapshot.making import make
from mlaprobe.snapshot.scope import Scope
from tests.trees import repository
from tests.trees.repository import AGAIN, CHANGE, FOLDED, KIMI, NATIVE, SERVED

ROOT = Path(__file__).resolve().parent.parent
SMALL = Scope(archs=("gfx950",), heads=(16, 32, 64), qlens=(1,), page_sizes=(1,))


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


ACTION = read("action.yml")
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an AITER of our own text, and a pin of two of its releases."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "aiter").mkdir()
    repository.bumped(folder / "aiter")
    for tag in (NATIVE, FOLDED):
        with Capability.open(f"{folder / 'aiter'}@{tag}") as capability:
            (folder / f"{tag}.pin").write_text(make(capability, scope=SMALL), encoding="utf-8")
    return folder


@pytest.fixture
def work(made: Path, tmp_path: Path) -> Path:
    """A repository that pins that AITER."""
    for each in made.iterdir():
        (tmp_path / each.name).symlink_to(each)
    (tmp_path / "served.yaml").write_text(SERVED, encoding="utf-8")
    return tmp_path


def environment(work: Path) -> dict[str, str]:
    """What a runner gives to a step, with this environment's mlaprobe first: this checkout's."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    return {
        "PATH": path,
        "PYTHONPATH": str(ROOT),
        "HOME": str(work),
        "GITHUB_STEP_SUMMARY": str(work / "summary.md"),
        "GITHUB_OUTPUT": str(work / "output"),
    }


def run_check(work: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """The step that checks, with the variables that the action would make of the inputs."""
    given = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()}
    given |= {name.replace("_", "-"): value for name, value in inputs.items()}
    variables = {
        name: re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda m: given[m[1]], value)
        for name, value in STEPS["Check"]["env"].items()
    }
    # As the runner does it: bash, stopping at the first failure.
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS["Check"]["run"]],
        cwd=work,
        env={**environment(work), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


BUMPS = ((f"{NATIVE}.pin", f"aiter@{FOLDED}", 10), (f"{FOLDED}.pin", f"aiter@{AGAIN}", 0))


@pytest.mark.parametrize(("old", "new", "code"), BUMPS)
def test_check_step(work: Path, old: str, new: str, code: int) -> None:
    done = run_check(work, pin=old, aiter=new, deployments="served.yaml", junit="j.xml")
    assert (done.returncode, done.stderr) == (0, ""), "the last step passes the answer on"
    assert (work / "output").read_text(encoding="utf-8") == f"exit-code={code}\n"
    summary = (work / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("## mlaprobe check\n")
    (log,) = json.loads((work / "mlaprobe.sarif").read_text(encoding="utf-8"))["runs"]
    assert log["tool"]["driver"]["name"] == "mlaprobe"
    shown = {
        "annotations": done.stdout,
        "summary": summary.replace("\\", ""),
        "sarif": json.dumps(log),
        "junit": (work / "j.xml").read_text(encoding="utf-8").replace("&gt;", ">"),
    }
    for name, text in shown.items():
        assert (CHANGE in text) is (code == 10), name
        assert KIMI in text, name
    assert ("::warning title=slower%3A" in done.stdout) is (code == 10)


def test_check_step_with_a_mistake(work: Path) -> None:
    done = run_check(work, pin="nowhere", aiter="aiter")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")


def test_check_step_that_would_check_nothing(work: Path) -> None:
    """An input from a variable that was not set."""
    done = run_check(work, pin=f"{NATIVE}.pin", aiter=f"aiter@{FOLDED}", fail_on="")
    assert done.returncode == 2
    assert "--fail-on" in done.stderr


def test_inputs_cannot_run_anything(work: Path) -> None:
    done = run_check(work, pin="$(touch hacked)", aiter='"; touch hacked; "')
    assert done.returncode != 0
    assert not (work / "hacked").exists()
    for step in STEPS.values():
        assert "${{" not in step.get("run", ""), "inputs reach scripts as variables only"


@pytest.mark.parametrize("code", [0, 10, 11])
def test_last_step(work: Path, code: int) -> None:
    done = subprocess.run(
        ["bash", "-c", STEPS["Pass the answer on"]["run"]],
        env={**environment(work), "MLAPROBE_CODE": str(code)},
        check=False,
    )
    assert done.returncode == code


def test_the_action_knows_the_command() -> None:
    taken = set(re.findall(r"--([a-z-]+)", STEPS["Check"]["run"]))
    known = {name.replace("_", "-") for name in check.__annotations__}
    assert taken <= known
    assert all(
        re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"])
        for step in STEPS.values()
        if "uses" in step
    ), "other actions are named by their commit"


HOOKS = {hook["id"]: hook for hook in read(".pre-commit-hooks.yaml")}


SERVES = ("--deployments", "served.yaml")


@pytest.mark.parametrize(
    ("hook", "args", "code"),
    [
        *(("mlaprobe-check", ("--pin", p, "--aiter", a, *SERVES), code) for p, a, code in BUMPS),
        ("mlaprobe-findings", ("--aiter", f"aiter@{NATIVE}", "--rule", "MLA007"), 0),
    ],
)
def test_hooks(work: Path, hook: str, args: tuple[str, ...], code: int) -> None:
    entry = HOOKS[hook]
    assert entry["language"] == "python"
    done = subprocess.run(
        [*shlex.split(entry["entry"]), *args],
        cwd=work,
        env=environment(work),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, "")
    if hook == "mlaprobe-check":
        assert (f"x {CHANGE}" in done.stdout) is (code == 10)
        assert f"hits: {KIMI}" in done.stdout


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("requirements.txt", True),
        ("ci/requirements-rocm.txt", True),
        ("aiter.pin", True),
        ("deploy/deployments.yaml", True),
        ("src/main.py", False),
        ("notes/requirements.md", False),
    ],
)
def test_hooks_run_when_it_matters(name: str, wanted: bool) -> None:
    assert bool(re.search(HOOKS["mlaprobe-check"]["files"], name)) is wanted

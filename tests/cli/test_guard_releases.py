"""Comparing real releases: what is known to have changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Result, Run

FILTERS = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "32", "--qlen", "1")
KIMI = """\
deployments:
  - {name: kimi-k2.5-tp2-fp8, model: kimi-k2.5, arch: gfx950, dtype: fp8/fp8, tp: 2}
"""
CARELESS = KIMI.replace("tp: 2", "tp: 2, planner_dtypes: omitted")


def changes(done: Result) -> list[tuple[str, str]]:
    return [(c["class"], c["message"]) for c in json.loads(done.out)["changes"]]


def test_the_fold_of_v0_1_16(run: Run, aiter_git: Path) -> None:
    """The example of the specification."""
    sources = (f"{aiter_git}@v0.1.15.post3", f"{aiter_git}@v0.1.16.post2")
    found = changes(run("compare", *sources, *FILTERS, "--format", "json"))
    assert ("slower", "gfx950 fp8/fp8, 32 heads, qlen 1, without LSE: native -> fold 2") in found
    broken = "gfx950 fp8/fp8, 32 heads, qlen 1, without LSE, planner told no dtypes: native -> "
    assert ("breaks", f"{broken}incoherent") in found


@pytest.mark.parametrize(
    ("old", "new", "deployments", "code", "said"),
    [
        ("v0.1.15.post3", "v0.1.16.post2", KIMI, 10, "32 heads, qlen 1: native -> fold 2"),
        ("v0.1.16.post2", "v0.1.17", KIMI, 0, "32 heads, qlen 1: fold 2 -> native"),
        ("v0.1.15.post3", "v0.1.16.post2", CARELESS, 10, "no dtypes: native -> incoherent"),
        ("v0.1.16.post2", "v0.1.17", CARELESS, 0, "no dtypes: incoherent -> native"),
    ],
)
def test_kimi(
    run: Run,
    aiter_git: Path,
    tmp_path: Path,
    old: str,
    new: str,
    deployments: str,
    code: int,
    said: str,
) -> None:
    file = tmp_path / "deployments.yaml"
    file.write_text(deployments, encoding="utf-8")
    sources = ("--pin", f"{aiter_git}@{old}", "--aiter", f"{aiter_git}@{new}")
    done = run("check", *sources, "--deployments", str(file))
    assert (done.code, done.err) == (code, "")
    assert said in done.out
    assert "hits: kimi-k2.5-tp2-fp8" in done.out


def test_releases_of_one_content(run: Run, aiter_git: Path) -> None:
    """v0.1.13.post1 has the files of v0.1.13."""
    sources = (f"{aiter_git}@v0.1.13", f"{aiter_git}@v0.1.13.post1")
    done = run("compare", *sources, "--arch", "gfx950", "--heads", "16-64", "--qlen", "1,4")
    assert (done.code, done.err) == (0, "")
    assert "no change of behaviour, in " in done.out

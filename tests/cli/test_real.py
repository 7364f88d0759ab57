"""The commands on real AITER: the wheel that is always there, and releases where a repository
is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Result, Run

pytest.importorskip("mlaprobe.deciding.capability", reason="there is no capability to ask yet")


def rows(done: Result) -> list[dict[str, Any]]:
    assert (done.code, done.err) == (0, "")
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.usefixtures("aiter_wheel")
def test_report_of_the_wheel(run: Run) -> None:
    done = run("report")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("AITER 0.1.7.post2.dev18, installed in this environment\n")
    assert "native at" in done.out
    assert "unknown at" not in done.out
    assert max(map(len, done.out.splitlines())) <= 130


@pytest.mark.usefixtures("aiter_wheel")
def test_explain_of_the_wheel(run: Run) -> None:
    done = run("explain", "--arch", "gfx942", "--dtype", "bf16/bf16", "--heads", "48")
    assert (done.code, done.err) == (0, "")
    assert "csrc/kernels/mla/metadata/v1_2_device.cuh:" in done.out
    assert "| " in done.out


KNOWN: list[tuple[str, str, tuple[Any, ...]]] = [
    ("v0.1.20", "gfx950 fp8/fp8 48 1", ("FOLDED", 3)),
    ("v0.1.20", "gfx950 fp8/fp8 64 1", ("NATIVE", 1)),
    ("v0.1.20", "gfx950 bf16/bf16 24 1", ("NATIVE", 1)),
    ("v0.1.20", "gfx950 bf16/bf16 40 1", ("NO_REDUCER", 1)),
    ("v0.1.16.post2", "gfx950 fp8/fp8 32 1", ("FOLDED", 2)),
    ("v0.1.16.post2", "gfx950 fp8/fp8 32 2", ("NATIVE", 1)),
]


@pytest.mark.parametrize(("tag", "question", "answer"), KNOWN)
def test_known_answers(
    run: Run, aiter_git: Path, tag: str, question: str, answer: tuple[Any, ...]
) -> None:
    arch, dtype, heads, qlen = question.split()
    words = ("--arch", arch, "--dtype", dtype, "--heads", heads, "--qlen", qlen)
    (row,) = rows(run("table", "--aiter", f"{aiter_git}@{tag}", *words))
    assert (row["verdict"], row["fold"]) == answer
    assert row["evidence"], "no answer without its proof"
    shown = run("explain", "--aiter", f"{aiter_git}@{tag}", *words)
    assert shown.code == 0
    assert answer[0] in shown.out


def test_report_of_a_release(run: Run, aiter_git: Path) -> None:
    done = run("report", "--aiter", f"{aiter_git}@v0.1.20")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("AITER v0.1.20, from a git revision\n")
    fp8 = done.out.partition("gfx950  fp8/fp8")[2].partition("\n\n")[0]
    assert "native at every qlen: 16*, 32, 64, 128" in fp8
    assert "fold 3" in fp8
    assert f"--aiter {aiter_git}@v0.1.20" in done.out


def test_explain_where_no_kernel_matches(run: Run, aiter_git: Path) -> None:
    done = run(
        *("explain", "--aiter", f"{aiter_git}@v0.1.20", "--format", "json", "--lse"),
        *("--arch", "gfx942", "--dtype", "fp8/fp8", "--heads", "128"),
    )
    found = json.loads(done.out)
    assert (found["verdict"], found["failure"]) == ("NO_KERNEL", "abort")
    assert found["key"]
    assert len(found["nearest_rows"]) == 3
    assert all(row["differs"] and row["line"] > 1 for row in found["nearest_rows"])
    assert {"lse"} <= {each["differs"] for each in found["alternatives"]}
    assert found["knobs_tried"]


@pytest.mark.parametrize("stage", ["planner", "sizing", "dispatcher", "host", "gluon"])
def test_stages_of_a_release(run: Run, aiter_git: Path, stage: str) -> None:
    source = ("--aiter", f"{aiter_git}@v0.1.20", "--heads", "1-160", "--qlen", "1-8")
    found = rows(run("table", "--stage", stage, *source, "--arch", "gfx942,gfx950"))
    assert len(found) == 2 * 3 * 160 * 8
    assert "unknown" not in {row["status"] for row in found}


@pytest.mark.parametrize("revision", ["v0.0.0", "v0.1.4"])
def test_revisions_that_cannot_be_read(run: Run, aiter_git: Path, revision: str) -> None:
    done = run("report", "--aiter", f"{aiter_git}@{revision}")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err


def test_no_aiter(run: Run, tmp_path: Path) -> None:
    done = run("report", "--aiter", str(tmp_path))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: there is no AITER in {tmp_path}")
    assert "help: " in done.err

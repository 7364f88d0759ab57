"""``mlaprobe kernels --run`` of DeepSeek-V4's kernels, in a real release."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from tests.cli.conftest import Run

TAG = "v0.1.20.post1"
FEW = "--op v4 --heads 64 --qlen 1 --kv-len 33 --jobs 1 --schedules one -q"


def test_they_are_run_and_kept(run: Run, aiter_git: Path, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    words = f"kernels --run --aiter {aiter_git}@{TAG} --arch gfx950 {FEW} --record {file}"
    done = run(*words.split(), "--format", "json")
    assert done.code == 0, done.err
    found = json.loads(done.out)["results"]
    assert [row["standing"] for row in found] == ["PASSED", "PASSED"]
    assert [row["case"] for row in found] == [
        "v4, fp8/fp8, 64 heads, qlen 1, no metadata, KV 33",
        "v4, fp8/fp8, 64 heads, qlen 1, no metadata, one split, KV 33",
    ]
    assert len(file.read_text("utf-8").splitlines()) == 2
    again = run(*words.split(), "--format", "junit")
    assert again.code == 0
    cases = ElementTree.fromstring(again.out).findall(".//testcase")
    assert len(cases) == 2
    assert len(file.read_text("utf-8").splitlines()) == 2


def test_what_is_no_arch_of_the_emulator(run: Run, aiter_git: Path) -> None:
    done = run(
        "kernels", "--run", "--aiter", f"{aiter_git}@{TAG}", "--arch", "gfx1250", *FEW.split()
    )
    assert done.code == 2
    assert "fp8 on gfx1250 is not emulated" in done.err

"""bench from the outside, on a CPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.decode import bench as bench_module
from mlaprobe.rulefiles.cost import load_profile
from mlaprobe.rulefiles.policy import policy
from tests.cli.conftest import Result, Run
from tests.padding.tensors import torch_or_skip

SMALL = (
    *("--native", "16,64,128", "--device", "cpu", "--arch", "gfx950", "--heads", "16,48,64"),
    *("--dtype", "bf16/bf16", "--batch", "1", "--kv-len", "8,16"),
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of one's own."""
    torch_or_skip()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _bench(run: Run, *words: str) -> Result:
    return run("bench", *SMALL, *words)


def test_measures_and_writes_a_profile(run: Run, here: Path) -> None:
    done = _bench(run)
    assert (done.code, done.err) == (0, "")
    assert "decisions for gfx950: nobody's: kernels for 16, 64, 128 heads" in done.out
    rows = [line.split() for line in done.out.splitlines() if line.startswith("bf16/bf16")]
    assert [row[3:5] for row in rows] == [[n, h] for n in ("8", "16") for h in ("16", "48", "64")]
    assert rows[1][5:8] == ["48", "fold", "3"]
    assert "48 heads as 64 instead of folded 3: " in done.out
    assert "Absolute figures hold for this device only." in " ".join(done.out.split())
    assert "profile: mlaprobe-cpu-bf16-bf16.json\n" in done.out
    profile = load_profile(here / "mlaprobe-cpu-bf16-bf16.json", policy().cost)
    assert (profile.arch, profile.batch, profile.kv_len) == ("cpu", 1, 16)
    assert set(profile.points) == {(16, 1), (48, 3), (64, 1)}


def test_goes_on_where_it_stopped(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    measure = bench_module.measure

    def seen(*given: Any) -> Any:
        asked.append(given[2])
        if len(asked) == 4:
            raise KeyboardInterrupt
        return measure(*given)

    monkeypatch.setattr(bench_module, "measure", seen)
    assert _bench(run).code == 130
    assert not list(here.glob("*.json"))
    done = _bench(run, "--format", "json")
    assert done.code == 0
    # The fourth was begun twice, the three before it once.
    assert len(asked) == 4 + 3
    assert asked[3] == asked[4]
    found = json.loads(done.out)
    assert [point["case"]["heads"] for point in found["points"]] == [16, 48, 64] * 2
    assert {point["status"] for point in found["points"]} == {"measured"}
    assert (found["left"], found["profiles"]) == (0, ["mlaprobe-cpu-bf16-bf16.json"])
    assert found["environment"]["ran_on"] == "cpu"
    # All is done: nothing is measured, and the answer is the same.
    assert json.loads(_bench(run, "--format", "json").out)["points"] == found["points"]
    assert len(asked) == 7


def test_what_failed_is_said_and_tried_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = bench_module.measure
    broken = [True]

    def fails(*given: Any) -> Any:
        if given[2].heads == 48 and broken[0]:
            raise RuntimeError("HIP error: \x1b[31minvalid")
        return measure(*given)

    monkeypatch.setattr(bench_module, "measure", fails)
    done = _bench(run)
    assert done.code == 0
    assert "failed: bf16/bf16 qlen 1 batch 1 KV tokens 8 heads 48: RuntimeError" in done.out
    assert "\x1b" not in done.out
    broken.clear()
    broken.append(False)
    assert "failed" not in _bench(run).out


def test_a_back_end_that_cannot_run_here_measures_nothing(run: Run) -> None:
    done = _bench(run, "--backend", "triton")
    assert done.code == 1, "all of it failed"
    assert "failed: bf16/bf16 qlen 1 batch 1 KV tokens 8 heads 16: the triton back end" in done.out


def test_what_had_no_memory_is_left_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlaprobe.decode.memory import OutOfMemoryError

    calls: list[int] = []

    def short(*given: Any) -> Any:
        calls.append(1)
        raise OutOfMemoryError("9 GiB")

    monkeypatch.setattr(bench_module, "measure", short)
    assert (
        "skipped: bf16/bf16 qlen 1 batch 1 KV tokens 8 heads 16: out of memory" in _bench(run).out
    )
    assert len(calls) == 6
    _bench(run)
    assert len(calls) == 6
    _bench(run, "--retry")
    assert len(calls) == 12


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--profiles", "nowhere"), "no directory"),
        (("--backend", "aiter"), "AITER folds what it folds"),
        (("--backend", "cuda"), "--backend"),
        (("--results", "there/bench.jsonl"), "cannot write"),
        (("--format", "csv"), "--format"),
    ],
)
def test_bad_words(run: Run, words: tuple[str, ...], says: str) -> None:
    done = _bench(run, *words)
    assert done.code == 2
    assert says in done.err
    assert done.out == ""


def test_results_of_elsewhere_are_not_added_to(run: Run) -> None:
    assert _bench(run).code == 0
    done = _bench(run, "--page-size", "4")
    assert done.code == 2
    assert "mlaprobe-bench.jsonl holds what was measured with page_size 1" in done.err

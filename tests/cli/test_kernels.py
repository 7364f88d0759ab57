"""``mlaprobe kernels``, with the code objects of the installed wheel."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from mlaprobe.emulation import launch, matrix, pool, running
from mlaprobe.emulation.batches.values import Values
from mlaprobe.emulation.case import Case, CaseResult
from mlaprobe.emulation.outcome import Check, Emulated, Standing
from mlaprobe.emulation.padding import Padding, pad
from mlaprobe.emulation.planned import emulate_launch
from mlaprobe.emulator.errors import UnknownInstruction
from mlaprobe.emulator.machine import RunResult
from mlaprobe.emulator.races import Race
from tests.cli.conftest import Result, Run

pytestmark = pytest.mark.usefixtures("aiter_wheel")
FEW = "--arch gfx942 --dtype fp8/fp8 --heads 16 --qlen 1 --name qh16_qseqlen1 --jobs 1 -q"
"""A kernel with metadata, one without, and that once more with one split."""
TINY = "--kv-len 20"
PERSISTENT = "hsa/gfx942/mla/mla_a8w8_qh16_qseqlen1_gqaratio16_ps.co"


def kernels(run: Run, words: str) -> Result:
    return run("kernels", *words.split())


def test_what_is_in_a_code_object(run: Run) -> None:
    done = kernels(run, "--arch gfx942 --name qh16_qseqlen1_gqaratio16_ps")
    assert (done.code, done.err) == (0, "")
    assert PERSISTENT in done.out
    # The metadata note of the file has these: .vgpr_count, .agpr_count, .group_segment_fixed_size.
    assert "65536 bytes of LDS, 512 vector registers (256 of them for accumulation)" in done.out
    assert "1 kernels; the emulator knows all of 1" in done.out


def test_the_same_for_programs(run: Run) -> None:
    done = kernels(run, "--arch gfx942 --name qh16_qseqlen1_gqaratio16_ps --format json")
    (found,) = json.loads(done.out)["kernels"]
    assert found["co"] == PERSISTENT
    assert found["mnemonics"]["s_endpgm"] >= 1
    assert sum(found["mnemonics"].values()) == found["instructions"]
    assert (found["workgroup_size"], found["without_rule"], found["runs"]) == (256, [], True)


def test_the_kernels_of_an_operation(run: Run) -> None:
    done = kernels(run, "--arch gfx942 --op prefill --format json")
    assert done.code == 0
    found = json.loads(done.out)["kernels"]
    assert [row["co"].rpartition("/")[2] for row in found] == [
        "mla_pfl_bf16_a16w16_causal_subQ128_mqa128.co",
        "mla_pfl_bf16_a16w16_causal_subQ16_mqa16.co",
    ]
    every = json.loads(kernels(run, "--arch gfx942 --format json").out)["kernels"]
    decode = json.loads(kernels(run, "--arch gfx942 --op decode --format json").out)["kernels"]
    assert len(every) == len(decode) + len(found)


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ("--op v4", 1, "has no code object of a v4 kernel for gfx942"),
        ("--op sparse", 2, "sparse has no code objects: its kernels are compiled where they run"),
        ("--op prefil", 2, "prefil"),
    ],
)
def test_operations_without_code_objects(run: Run, words: str, code: int, text: str) -> None:
    done = kernels(run, f"--arch gfx942 {words}")
    assert (done.code, done.out) == (code, "")
    assert text in done.err


def test_every_kernel_is_run_at_its_shapes(run: Run, tmp_path: Path) -> None:
    """And a second time it goes on where the first ended, which is at the end."""
    file = tmp_path / "runs.jsonl"
    done = kernels(run, f"--run {FEW} {TINY} --record {file} --format json")
    assert done.code == 0
    found = json.loads(done.out)
    assert found["how"] == "emulated"
    cases = [result["case"] for result in found["results"]]
    assert cases == [
        "fp8/fp8, 16 heads, qlen 1, KV 20",
        "fp8/fp8, 16 heads, qlen 1, no metadata, KV 20",
        "fp8/fp8, 16 heads, qlen 1, no metadata, one split, KV 20",
    ]
    assert {result["standing"] for result in found["results"]} == {"PASSED"}
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    assert kept == found["results"]
    lines = [json.dumps({**row, "instructions": 7}) for row in kept[:2]]
    file.write_text("\n".join(lines) + "\n")
    again = json.loads(kernels(run, f"--run {FEW} {TINY} --record {file} --format json").out)
    assert [result["instructions"] == 7 for result in again["results"]] == [True, True, False]
    assert len(file.read_text().splitlines()) == 3


def test_one_launch_of_each_kernel_is_run_again(run: Run, tmp_path: Path) -> None:
    """Under other timings; and what was run in another way is run anew."""
    file = tmp_path / "runs.jsonl"
    words = f"--run {FEW} {TINY} --record {file} --format json"
    found = json.loads(kernels(run, words).out)["results"]
    assert [result["schedules"] for result in found] == ["races", "races", "one"]
    assert [result["races"] for result in found] == [[], [], []]
    once = json.loads(kernels(run, f"{words} --schedules one").out)["results"]
    assert [result["schedules"] for result in once] == ["one", "one", "one"]
    assert len(file.read_text().splitlines()) == 5


def test_timing_is_a_fault_and_what_hangs_on_it_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    race = Race(
        load=16, load_text="ds_read_b32 v1, v2", use=32, use_text="v_mov_b32 v3, v1", count=1
    )

    def emulated(*args: Any, **kwargs: Any) -> Emulated:
        found = emulate_launch(*args, **kwargs)
        late = Check(schedule="late", seed=3, same=False, passed=False, plausible=True)
        never = Check(schedule="clock-at-wait", seed=1, same=False, passed=True, plausible=False)
        return replace(found, checks=(late, never), races=(race,) * 5, standing=Standing.TIMING)

    monkeypatch.setattr(matrix, "emulate_launch", emulated)
    done = kernels(run, f"--run {FEW} {TINY} --schedules one")
    assert done.code == 10
    assert "TIMING    fp8/fp8, 16 heads, qlen 1, KV 20: max error" in done.out
    assert "another result under late\n" in done.out
    assert "another result under clock-at-wait, which no hardware has" in done.out
    assert "v_mov_b32 v3, v1 at 0x20 does not wait for ds_read_b32 v1, v2 at 0x10, once" in done.out
    assert "and 2 pairs of instructions more" in done.out


def test_lengths_at_the_edges_of_tiles(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four launches of each kernel."""
    ran: list[Case] = []

    def passed(capability: Any, case: Case, how: Any) -> CaseResult:
        ran.append(case)
        return CaseResult(
            symbol=case.symbol, co=case.co, blob=None, case=case.id, standing="PASSED"
        )

    monkeypatch.setattr(pool, "run_case", passed)
    done = kernels(run, f"--run {FEW} --sweep edges")
    assert done.code == 0
    assert "8 launches: 8 PASSED" in done.out
    assert [case.units for case in ran[:4]] == [1, 29, 87, 145]
    assert [case.kv_splits for case in ran[4:]] == [1, 2, 3, 4]
    assert [case.first for case in ran] == [True, False, False, False] * 2
    assert {case.kv_lens[:4] for case in ran} == {(1, 16, 17, 18)}


@pytest.mark.parametrize(
    ("words", "want"),
    [
        ("--heads 16 --qlen 1 --scales 0.5,2", ["0.5 and 2"]),
        ("--heads 16 --qlen 1", [None]),
        ("", [None, "0.5 and 1.5"]),
    ],
)
def test_scales(run: Run, words: str, want: list[str | None]) -> None:
    """One launch of a kernel that nothing narrows is with scales other than 1."""
    file = f"--name {Path(PERSISTENT).stem}.co --schedules one --jobs 1"
    words = f"--run --arch gfx942 --dtype fp8/fp8 {words} {file} {TINY} --format json -q"
    found = json.loads(kernels(run, words).out)["results"]
    scales = [result["case"].partition("scales ")[2].partition(",")[0] or None for result in found]
    assert scales == want
    assert {result["standing"] for result in found} == {"PASSED"}


def test_another_file_of_code_is_run_anew(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    few = FEW.replace("qh16_qseqlen1", Path(PERSISTENT).stem)
    words = f"--run {few} {TINY} --record {file} --format json"
    (first,) = json.loads(kernels(run, words).out)["results"]
    file.write_text(json.dumps({**first, "blob": "0" * 40, "standing": "WRONG"}) + "\n")
    done = kernels(run, words)
    assert done.code == 0
    assert json.loads(done.out)["results"][0]["blob"] == first["blob"]


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads in a wrong order."""

    def rolled(values: Values, padding: Padding) -> Values:
        padded = pad(values, padding)
        return replace(padded, q=np.roll(padded.q, 1, axis=1))

    monkeypatch.setattr(running, "pad", rolled)


def ended(*args: Any, **kwargs: Any) -> RunResult:
    strange = UnknownInstruction(mnemonic="v_odd", offset=64, encoding=(1,), reason="no rule")
    return RunResult(
        instructions=7, workgroups=0, outside=(), unmodelled=strange, budget_exhausted=False
    )


@pytest.mark.usefixtures("wrong")
def test_a_wrong_kernel_is_exit_10(run: Run) -> None:
    done = kernels(run, f"--run {FEW} {TINY}")
    assert done.code == 10
    assert "WRONG     fp8/fp8, 16 heads, qlen 1, KV 20: max error" in done.out
    assert "the relative RMSE is" in done.out
    assert "3 launches: 3 WRONG" in done.out


@pytest.mark.usefixtures("wrong")
def test_junit(run: Run) -> None:
    done = kernels(run, f"--run {FEW} {TINY} --format junit")
    suites = ElementTree.fromstring(done.out)
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("3", "3", "0")
    first = suites.findall("./testsuite/testcase")[0]
    assert first.get("classname") == PERSISTENT
    failure = first.find("failure")
    assert failure is not None
    assert failure.get("type") == "WRONG"


def test_what_is_not_known_is_exit_11(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "run", ended)
    done = kernels(run, f"--run {FEW} {TINY}")
    assert done.code == 11
    assert "v_odd at 0x40 (00000001): no rule" in done.out
    suites = ElementTree.fromstring(kernels(run, f"--run {FEW} {TINY} --format junit").out)
    assert (suites.get("failures"), suites.get("errors")) == ("0", "3")


def test_kernels_that_nothing_leads_to_are_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """No shape of 16 heads has one for 128."""
    monkeypatch.setattr(matrix, "HEADS", (16,))
    few: Callable[..., Any] = lambda found: []  # noqa: E731
    monkeypatch.setattr(matrix, "extremes", few)
    done = kernels(run, "--run --arch gfx942 --dtype fp8/fp8 --jobs 1 -q")
    assert done.code == 0
    assert "0 launches: none" in done.out


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("--format xml", 2, "--format: unknown value 'xml'"),
        ("--format junit", 2, "--format: unknown value 'junit'"),
        ("--run --schedules some", 2, "--schedules: unknown value 'some'"),
        ("--record runs", 2, "--record is for --run"),
        ("--run --jobs x", 2, "--jobs: 'x'"),
        ("--run --kv-len 5,x", 2, "--kv-len: 'x'"),
        ("--run --sweep some", 2, "--sweep: unknown value 'some'"),
        ("--run --sweep edges --kv-len 5", 2, "--sweep and --kv-len contradict each other"),
        ("--sweep edges", 2, "--sweep is for --run"),
        ("--run --dtype bf16/bf16 --scales 1,2", 2, "--scales is for fp8"),
        ("--run --kv-cache-bytes 5GB5", 2, "--kv-cache-bytes: '5GB5' is no size"),
        ("--aiter release:v0.1.20", 1, "a snapshot has no code objects"),
    ],
)
def test_bad_input(run: Run, words: str, code: int, says: str) -> None:
    done = kernels(run, f"--arch gfx942 {words}")
    assert done.code == code
    assert f"error: {says}" in done.err


def test_a_record_of_something_else(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "other.jsonl"
    file.write_text('{"schema": 1}\n')
    done = kernels(run, f"--run {FEW} --record {file}")
    assert done.code == 2
    assert "holds something else than results of kernels" in done.err
    assert f"--> {file}:1" in done.err

"""``mlaprobe decode --backend emulate``, with the code objects of the installed wheel."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlaprobe.cli import emulated
from mlaprobe.decode.rules import rules as decode_rules
from mlaprobe.emulation import launch, rules, running
from mlaprobe.emulation.batches.values import Values
from mlaprobe.emulation.padding import Padding, pad
from mlaprobe.emulator.errors import UnknownInstruction
from mlaprobe.emulator.machine import RunResult
from tests.cli.conftest import Result, Run

pytestmark = pytest.mark.usefixtures("aiter_wheel")
SMALL = "--arch gfx942 --kv-len 20,9 -q"
FP8 = "--heads 12 --dtype fp8/fp8"


def decode(run: Run, words: str) -> Result:
    return run("decode", *words.split(), *SMALL.split())


def test_text(run: Run) -> None:
    """It is AITER's kernel, and nobody ran it on a GPU."""
    done = decode(run, f"{FP8} --backend emulate --schedules one")
    assert (done.code, done.err) == (0, "")
    for words in (
        "gfx942 fp8/fp8, 12 heads, qlen 1, batch 2, 9 to 20 KV tokens",
        "plan      launch 16 heads on the asm route, NATIVE",
        "back end  emulate: AITER's kernel, emulated; nothing was run on a GPU",
        "hsa/gfx942/mla/mla_a8w8_qh16_qseqlen1_gqaratio16_ps.co, blob ",
        "verified  PASSED",
    ):
        assert words in done.out
    assert "run on gfx" not in done.out


def test_json(run: Run) -> None:
    done = decode(run, f"{FP8} --backend emulate --format json")
    found = json.loads(done.out)
    assert (done.code, found["backend"], found["standing"]) == (0, "emulate", "PASSED")
    assert found["passed"] is found["error"]["passed"] is True
    assert found["problem"]["kv_lens"] == [20, 9]
    slots = {slot["name"]: slot for slot in found["arguments"]}
    assert slots["ptr_Q"]["value"] == "q [2, 16, 576] fp8/e4m3fnuz"
    assert slots["s_MQA"] == {
        "name": "s_MQA", "offset": 128, "bytes": 4, "value": 16, "uninitialised": False,
    }  # fmt: skip
    assert found["instructions"] > 1000
    assert found["outside"] == []
    right = {"same": True, "passed": True, "plausible": True, "zeros": False}
    assert found["checks"] == [
        {"schedule": "early", "seed": 2, **right},
        {"schedule": "late", "seed": 3, **right},
    ]
    assert found["races"] == found["wrong_requests"] == []
    assert found["kernel"]["co"].endswith("_ps.co")
    assert len(found["blob"]) == 40


def test_a_wrong_result_is_exit_10(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def rolled(values: Values, padding: Padding) -> Values:
        padded = pad(values, padding)
        return replace(padded, q=np.roll(padded.q, 1, axis=1))

    monkeypatch.setattr(running, "pad", rolled)
    done = decode(run, f"{FP8} --backend emulate")
    assert done.code == 10
    assert "verified  WRONG" in done.out
    assert "the relative RMSE is" in done.out


def test_an_instruction_without_a_rule_is_exit_11(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    strange = UnknownInstruction(
        mnemonic="v_strange", offset=0x40, encoding=(1,), reason="no rule for it"
    )

    def ended(*args: Any, **kwargs: Any) -> RunResult:
        return RunResult(
            instructions=7, workgroups=0, outside=(), unmodelled=strange, budget_exhausted=False
        )

    monkeypatch.setattr(launch, "run", ended)
    done = decode(run, f"{FP8} --backend emulate")
    assert done.code == 11
    assert "verified  UNKNOWN" in done.out
    assert "v_strange at 0x40 (00000001)" in done.out


def test_a_kernel_that_does_not_end_is_exit_11(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    cheap = replace(rules.rules(), per_token=1, per_workgroup=1)
    monkeypatch.setattr("mlaprobe.emulation.planned.rules", lambda: cheap)
    done = decode(run, f"{FP8} --backend emulate")
    assert done.code == 11
    assert "the kernel had not ended after" in done.out


def test_auto_takes_it_where_no_gpu_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulated, "gpu_here", lambda: False)
    done = decode(run, FP8)
    assert done.code == 0
    assert "back end  emulate: AITER's kernel, emulated" in done.out


def test_auto_passes_it_over_where_one_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(emulated, "gpu_here", lambda: True)
    done = decode(run, f"{FP8} --device cpu")
    assert "AITER's kernel, emulated" not in done.out


def test_auto_says_why_it_does_not_wait(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(emulated, "gpu_here", lambda: False)
    done = run("decode", *FP8.split(), "--arch", "gfx942", "--kv-len", "60000", "-q")
    assert done.code == 0
    assert "not emulate: it would take about " in done.out


@pytest.mark.parametrize(
    ("words", "code", "says", "helps"),
    [
        (
            f"{FP8} --backend emulate --aiter release:v0.1.20",
            1,
            "the emulate back end cannot run this: a snapshot has no code objects",
            "--aiter names a source: a checkout of AITER with its hsa folder, or REPO@REV",
        ),
        (
            f"{FP8} --backend emulate --schedules none",
            2,
            "--schedules: unknown value 'none'",
            "",
        ),
    ],
)
def test_what_cannot_be_emulated(run: Run, words: str, code: int, says: str, helps: str) -> None:
    done = decode(run, words)
    assert done.code == code
    assert f"error: {says}" in done.err
    assert helps in done.err


def test_an_arch_that_is_not_emulated(run: Run) -> None:
    done = run("decode", *FP8.split(), "--backend", "emulate", "--arch", "gfx90a", "--kv-len", "9")
    assert done.code == 1
    assert "the emulate back end cannot run this: gfx90a is not emulated" in done.err


def test_what_would_take_an_hour_is_refused(run: Run) -> None:
    words = f"{FP8} --backend emulate --arch gfx942 --batch 64 --kv-len 60000"
    done = run("decode", *words.split())
    assert done.code == 2
    assert "error: emulating 3840000 KV tokens would take about" in done.err
    assert "KV lengths up to about" in done.err


def test_without_numpy_it_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlaprobe.decode.backends.emulate.find_spec", lambda name: None)
    done = decode(run, f"{FP8} --backend emulate")
    assert done.code == 1
    assert "it needs numpy" in done.err
    assert "mlaprobe[emulate]" in done.err


def test_selftest(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each shape is cut to what takes seconds."""
    few = [test for test in decode_rules().selftest if test.id in ("padded-12", "native-16-fp8")]
    cut = replace(decode_rules(), selftest=tuple(few))
    monkeypatch.setattr("mlaprobe.decode.rules.rules", lambda: cut)
    monkeypatch.setattr("mlaprobe.decode.selftest_emulated.MOST_TOKENS", 20)
    file = tmp_path / "self.json"
    words = "--selftest --backend emulate --arch gfx942 --schedules one -q --json"
    done = run("decode", *words.split(), str(file))
    assert done.code == 0
    assert "self-test for gfx942: AITER's kernels, emulated" in done.out
    assert "  padded-12      PASSED    12 heads as 16, max error" in done.out
    kept = json.loads(file.read_text())
    assert [row["run"]["standing"] for row in kept["results"]] == ["PASSED", "PASSED"]
    assert kept["results"][1]["problem"]["kv_lens"] == [20, 20]

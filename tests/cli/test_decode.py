"""``mlaprobe decode``, on PyTorch's operators."""

from __future__ import annotations

import builtins
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.decode import tensors
from mlaprobe.decode.backends import torch as torch_backend
from mlaprobe.decode.rules import rules
from tests.cli.conftest import Result, Run
from tests.output.fake import Fake
from tests.padding.tensors import torch_or_skip

SMALL = ("--kv-len", "64", "--device", "cpu", "--arch", "gfx950")


@pytest.fixture
def torch() -> Any:
    return torch_or_skip()


def _decode(run: Run, words: str) -> Result:
    return run("decode", *words.split(), *SMALL)


def _plain(run: Run, words: str, *more: str) -> Result:
    return run("decode", *words.split(), *more)


@pytest.mark.usefixtures("torch", "fake")
def test_text(run: Run) -> None:
    done = _decode(run, "--heads 40 --dtype fp8/fp8 --batch 2 --mode force")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(
        "gfx950 fp8/fp8, 40 heads, qlen 1, batch 2, 64 KV tokens\n  AITER v9.9.9, installed"
    )
    for words in (
        "plan      launch 64 heads on the asm route, NATIVE",
        "back end  torch, on ",
        "a stand-in: it carries out the plan, and AITER's kernels were not run",
        "verified  PASSED",
    ):
        assert words in done.out


@pytest.mark.usefixtures("torch", "fake")
def test_json_is_one_object(run: Run) -> None:
    done = _decode(run, "--heads 40 --dtype fp8/fp8 --lse --mode force --compare --format json")
    assert done.code == 0
    found = json.loads(done.out)
    assert found["backend"] == "torch"
    assert found["passed"] is found["error"]["passed"] is True
    assert found["plan"]["padded_num_heads"] == 64
    assert found["error"]["lse_max_abs"] < 1e-3
    assert found["problem"]["kv_bytes"] == 64 * 576
    assert found["unpadded"]["plan"]["padded_num_heads"] == 48
    assert (found["fold"], found["unpadded"]["fold"]) == (1, 3)
    assert found["winner"] in ("pad", "fold", None)
    assert found["surroundings"]["torch"]


@pytest.mark.usefixtures("torch", "fake")
def test_nothing_to_compare_with(run: Run) -> None:
    done = _decode(run, "--heads 16 --dtype bf16/bf16 --compare")
    assert done.code == 0
    assert "compare   the plan launches 16 heads anyway" in done.out


@pytest.mark.usefixtures("torch", "fake")
def test_a_wrong_result_is_exit_10(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    attend = torch_backend.TorchPrepared.attend

    def wrong(self: Any, request: int, query: Any, kv: Any) -> Any:
        o, lse = attend(self, request, query, kv)
        return o.roll(1, dims=1), lse

    monkeypatch.setattr(torch_backend.TorchPrepared, "attend", wrong)
    done = _decode(run, "--heads 40 --dtype fp8/fp8")
    assert done.code == 10
    assert "verified  FAILED" in done.out
    assert "the relative RMSE is" in done.out
    assert (
        json.loads(_decode(run, "--heads 40 --dtype fp8/fp8 --format json").out)["passed"] is False
    )


@pytest.fixture
def no_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    for name in [name for name in sys.modules if name.startswith("mlaprobe.decode.triton_")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.usefixtures("torch", "fake", "no_triton")
def test_why_a_back_end_was_not_taken(run: Run) -> None:
    """Each is named once."""
    done = _decode(run, "--heads 16 --dtype bf16/bf16")
    assert done.code == 0
    assert "\n            not triton: it needs triton, which is not installed here\n" in done.out
    done = _decode(run, "--heads 16 --dtype bf16/bf16 --backend triton")
    assert (done.code, done.out) == (1, "")
    said = "error: the triton back end cannot be used: it needs triton, which is not installed here"
    assert done.err.splitlines()[-2] == said


@pytest.mark.usefixtures("torch", "fake")
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("--heads 129 --dtype fp8/fp8", 2, "129 query heads: one call decodes at most 128"),
        ("--heads 4 --dtype fp8", 2, "--dtype: 'fp8' is no pair of dtypes"),
        ("--heads 4 --dtype fp16/fp16", 2, "the driver does not run fp16"),
        ("--heads 4 --dtype fp8/fp8 --qlen 65", 2, "kv_lens[0] is 64, less than the 65 query"),
        ("--heads 4 --dtype fp8/fp8 --backend x", 2, "--backend: unknown value 'x'"),
        ("--heads 4 --dtype fp8/fp8 --mode x", 2, "--mode: unknown value 'x'"),
        ("--dtype fp8/fp8", 2, "missing option '--heads'"),
        ("--heads 4 --dtype fp8/fp8 --json x", 2, "--json is for --selftest"),
        ("--heads 4 --dtype fp8/fp8 --format x", 2, "--format: unknown value 'x'"),
        ("--heads 4 --dtype bf16/bf16 --scales 1,2", 2, "--scales is for fp8"),
        ("--heads 4 --dtype fp8/fp8 --batch 99999", 2, "--batch: more than 4096 requests"),
    ],
)
def test_bad_input(run: Run, words: str, code: int, says: str) -> None:
    done = _decode(run, words)
    assert done.code == code
    assert done.out == ""
    assert done.err.startswith(f"error: {says}")
    assert "\nhelp: " in done.err


@pytest.mark.usefixtures("torch", "fake")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--kv-len 5,6 --batch 3", "--kv-len names 2 lengths for a batch of 3"),
        ("--kv-len 0", "--kv-len: '0' must start at 1 or above"),
        ("--device nowhere", "--device: nowhere cannot be used"),
        ("--scales 0.5", "--scales: two numbers are wanted, not 1"),
        ("--scales 1,-1", "--scales: '-1' is no positive number"),
        ("--scales 1,nan", "--scales: 'nan' is no positive number"),
        ("--scales 0,1", "--scales: '0' is no positive number"),
    ],
)
def test_bad_lengths_and_devices(run: Run, words: str, says: str) -> None:
    done = run("decode", "--heads", "4", "--dtype", "fp8/fp8", "--arch", "gfx950", *words.split())
    assert done.code == 2
    assert done.err.startswith(f"error: {says}")


@pytest.mark.usefixtures("torch", "fake")
def test_more_than_the_memory_is_said_before_it_is_taken(run: Run) -> None:
    words = "--heads 4 --dtype fp8/fp8 --arch gfx950 --device cpu --batch 4096"
    done = _plain(run, words, "--kv-len", "999999999")
    assert done.code == 1
    assert done.err.startswith("error: there is not enough memory: ")


@pytest.mark.usefixtures("fake")
def test_without_torch_it_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors.torch.cache_clear()
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "torch":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr("importlib.import_module", _without_torch)
    monkeypatch.setattr(builtins, "__import__", without)
    done = _plain(run, "--heads 4 --dtype fp8/fp8 --arch gfx950")
    tensors.torch.cache_clear()
    assert done.code == 1
    first, second = done.err.splitlines()
    assert first == "error: running a decode needs PyTorch, which is not installed here"
    assert second.startswith("help: pip install 'mlaprobe[torch]'")


def _without_torch(name: str, package: str | None = None) -> Any:
    if name.split(".")[0] == "torch":
        raise ImportError(name)
    __import__(name)
    return sys.modules[name]


@pytest.mark.usefixtures("torch", "fake")
def test_where_nothing_says_the_arch(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlaprobe.system.gpu.archs", lambda: ())
    done = _plain(run, "--heads 16 --dtype bf16/bf16 --kv-len 9 --device cpu")
    assert done.code == 0
    assert done.err.startswith(f"warning: no AMD GPU is here: the plan is for {rules().arch}")
    quiet = _plain(run, "--heads 16 --dtype bf16/bf16 --kv-len 9 --device cpu -q")
    assert quiet.err == ""


@pytest.mark.usefixtures("torch")
def test_selftest(run: Run, fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from mlaprobe.decode import selftest

    few = rules().selftest[:3]
    monkeypatch.setattr(selftest, "rules", lambda: replace(rules(), selftest=few))
    file = tmp_path / "self.json"
    words = "--selftest --arch gfx950 --device cpu --backend torch --json"
    done = _plain(run, words, str(file))
    assert (done.code, done.err) == (0, "")
    assert "  padded-12      passed   12 heads as 16, NATIVE, on torch: max error" in done.out
    assert "\n  3 passed\n" in done.out
    assert "Nothing of this has run on AMD hardware yet" in done.out
    kept = json.loads(file.read_text())
    assert [each["standing"] for each in kept["results"]] == ["passed"] * 3
    assert kept["passed"] is True
    assert kept["results"][0]["run"]["error"]["max_abs"] < 1e-2
    assert kept["stages"][0] == {
        "stage": "planner",
        "status": "present",
        "text": "csrc/planner.cuh",
    }
    assert kept["surroundings"]["mlaprobe"]


def test_the_help_says_what_has_run(run: Run) -> None:
    done = run("decode", "--help")
    assert done.code == 0
    text = " ".join(done.out.split())
    assert "Nothing of this has run on AMD hardware yet" in text
    assert "mlaprobe decode --selftest --json selftest.json" in text

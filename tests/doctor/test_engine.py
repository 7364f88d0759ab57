"""What ``doctor --engine`` says of an engine that is installed, and of what it is to serve."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.cli import main

ENGINE = "from aiter.mla import mla_decode_fwd\n_MLA_ASM_PS_MAX_QLEN = 4\n"


class _Installed:
    """A distribution of which there is no more than a folder."""

    version = "0.5.23"

    def __init__(self, root: Path) -> None:
        self._root = root

    def locate_file(self, name: str) -> Path:
        return self._root / name


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "sglang"
    folder.mkdir()
    (folder / "backend.py").write_text(ENGINE, encoding="utf-8")
    found = metadata.distribution

    def distribution(name: str) -> Any:
        return _Installed(tmp_path) if name == "sglang" else found(name)

    monkeypatch.setattr(metadata, "distribution", distribution)
    return folder


def checks(capsys: pytest.CaptureFixture[str], words: str) -> dict[str, list[dict[str, Any]]]:
    command = f"doctor --aiter release:v0.1.20.post1 --format json -q {words}"
    assert main(command.split()) == 0
    found: dict[str, list[dict[str, Any]]] = {}
    for check in json.loads(capsys.readouterr().out)["checks"]:
        found.setdefault(check["topic"], []).append(check)
    return found


def test_an_engine_that_is_here(engine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = checks(capsys, "--engine sglang")
    assert set(found) == {"AITER", "sglang", "decisions"}
    assert found["sglang"][0]["found"] == "version 0.5.23"
    (decisions,) = found["decisions"]
    assert decisions["standing"] == "warning"
    assert decisions["detail"] == {
        "judged": 1,
        "disagree": ["_MLA_ASM_PS_MAX_QLEN"],
        "unknown": [],
    }
    assert decisions["found"] == "of 1 that have a rule, 1 do not agree with this AITER"
    assert decisions["more"] == ["_MLA_ASM_PS_MAX_QLEN: qlen 3-4 on gfx950: ERRATUM"]
    assert "mlaprobe.adapters.sglang" in decisions["advice"]
    assert str(engine) in decisions["how"]


def test_what_is_not_known_is_said(engine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "from aiter.mla import mla_decode_fwd\n_MLA_ASM_PS_MAX_QLEN = f()\n"
    (engine / "backend.py").write_text(text, encoding="utf-8")
    (decisions,) = checks(capsys, "--engine sglang")["decisions"]
    assert decisions["standing"] == "note"
    assert decisions["found"].endswith("0 do not agree with this AITER, and of 1 that is not known")
    assert decisions["detail"]["unknown"] == ["_MLA_ASM_PS_MAX_QLEN"]


@pytest.mark.parametrize(
    ("engine", "launched", "verdict"),
    [("vllm", 32, "NATIVE"), ("sglang", 24, "REJECTED"), ("atom", 24, "REJECTED")],
)
def test_each_engine_has_its_own_head_count(
    capsys: pytest.CaptureFixture[str], engine: str, launched: int, verdict: str
) -> None:
    """96 heads over 4 ranks: vLLM goes to the next multiple of 16, the others stay; four tokens of
    fp8, where 32 heads are native and 24 are no count of the planner's."""
    words = f"--engine {engine} --model kimi-k3 --tp 4 --draft 3 --arch gfx950 --dtype fp8/fp8"
    (found,) = checks(capsys, words)["launch"]
    assert found["detail"]["num_heads"] == 24
    assert (found["detail"]["launched"], found["detail"]["pad_to"]) == (launched, 32)
    assert found["detail"]["verdict"] == verdict
    how = "the next multiple of 16" if launched == 32 else "as they are"
    assert f"24 heads at {launched}, {how}: {verdict}" in found["found"]
    assert ("launch 32 heads" in found["advice"]) is (launched == 24)


def test_an_engine_that_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    found = checks(capsys, "--engine atom")
    assert set(found) == {"AITER", "atom"}
    assert found["atom"][0]["standing"] == "note"
    assert "mlaprobe audit" in found["atom"][0]["advice"]


def test_what_is_served(capsys: pytest.CaptureFixture[str]) -> None:
    """128 heads over 8 ranks, gathered by 3: 48 heads fold, and 64 are native."""
    words = "--engine vllm --model deepseek-v3 --tp 8 --draft 0 --arch gfx950 --dtype fp8/fp8"
    (plain,) = checks(capsys, words)["launch"]
    assert (plain["standing"], plain["detail"]["launched"]) == ("ok", 16)
    assert plain["detail"]["verdict"] == "NATIVE"
    words = "--engine vllm --model kimi-k3 --tp 2 --draft 0 --arch gfx950 --dtype fp8/fp8"
    (folded,) = checks(capsys, words)["launch"]
    assert folded["detail"]["num_heads"] == 48
    assert folded["detail"]["verdict"] == "FOLDED"
    assert folded["detail"]["pad_to"] == 64
    assert "launch 64 heads" in folded["advice"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--engine vlm", "--engine: unknown value 'vlm'"),
        ("--model kimi-k3", "--model is for --engine"),
        ("--engine vllm --model nobody", "unknown model 'nobody'"),
        ("--engine vllm --model kimi-k3 --tp 5 --arch gfx950", "no deployment is possible"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: str, says: str) -> None:
    assert main(["doctor", "--aiter", "release:v0.1.20.post1", *words.split()]) == 2
    assert says in capsys.readouterr().err

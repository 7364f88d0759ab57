"""``mlaprobe report --format html``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser import browser, missing
from tests.cli.conftest import Run
from tests.output.test_html import island, numbers
from tests.trees import launching, prefill, today
from tests.trees.common import changed, write

LEAST = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "16,48,64", "--qlen", "1,2")


def cells(data: Any, heads: int, qlen: int, place: str = "0,0") -> tuple[str, int]:
    """Verdict and passes of a cell of the only block."""
    (block,) = data["map"]["blocks"]
    at = block["heads"].index(heads) * len(data["map"]["qlens"])
    at += data["map"]["qlens"].index(qlen)
    record = data["records"][list(numbers(block["planes"][place]))[at]]
    return data["texts"][record[0]], record[2]


def test_a_tree_against_another(run: Run, tmp_path: Path) -> None:
    new = str(write(tmp_path / "new", today.tree()))
    edit = ("((num_heads == 32) || (num_heads == 128))", "(num_heads == 128)")
    old = str(write(tmp_path / "old", changed(today.tree(), today.PLANNER, edit)))
    file = tmp_path / "report.html"
    words = ("--aiter", new, "--against", old, "--format", "html", "-o", str(file))
    done = run("report", *words, *LEAST[:4], "--heads", "16,32,48,64", "--qlen", "1,2")
    assert (done.code, done.out, done.err) == (0, "", "")
    data = island(file.read_text(encoding="utf-8"))
    assert cells(data, 16, 1) == ("NATIVE", 1)
    assert cells(data, 48, 1) == ("FOLDED", 3)
    assert cells(data, 64, 1) == ("NATIVE", 1)
    assert [each["name"] for each in data["map"]["switches"]] == ["lse", "persistent"]
    assert list(data["deployments"]["pairs"]) == ["gfx950 fp8/fp8"]
    assert data["findings"]["found"]
    messages = [data["texts"][each[2]] for each in data["changes"]["found"]]
    assert any("32 heads" in each and "-> native" in each for each in messages)
    assert data["before"] is not None


def test_another_operation_than_decode(run: Run, tmp_path: Path) -> None:
    """The tree's reducer has 16 heads at head_dim 128, and 64 is a count of models."""
    source = str(write(tmp_path / "aiter", prefill.tree()))
    words = ("--op", "prefill", "--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "16,64")
    done = run("report", "--aiter", source, "--format", "html", *words)
    assert (done.code, done.err) == (0, "")
    data = island(done.out)
    assert "<title>MLA prefill of " in done.out
    assert (data["op"], data["options"]) == ("prefill", "--op prefill")
    (function,) = data["functions"]
    assert function.startswith("prefill by mla_prefill_ps_fwd: ")
    assert (cells(data, 16, 1, ""), cells(data, 64, 1, "")) == (("NATIVE", 1), ("NO_REDUCER", 1))
    assert data["map"]["switches"] == []
    assert data["deployments"]["places"] == []
    (found,) = data["findings"]["found"]
    assert "64 heads" in data["texts"][found[2]]


def test_variables_of_another_operation(run: Run, tmp_path: Path) -> None:
    """A knob without which the launch is refused."""
    line = "    assert causal, "
    refused = '    assert os.environ.get("AITER_TRY"), "set AITER_TRY"\n'
    tree = changed(
        launching.tree(),
        f"{launching.FOLDER}/attention/mla.py",
        ("import torch\n", "import os\n\nimport torch\n"),
        (line, refused + line),
    )
    source = str(write(tmp_path / "aiter", tree))
    words = ("--op", "triton", "--arch", "gfx950", "--dtype", "bf16/bf16", "--heads", "16")
    data = island(run("report", "--aiter", source, "--format", "html", *words).out)
    example = "gfx950 bf16/bf16, 16 heads, qlen 1"
    assert data["variables"] == [f"AITER_TRY=1: {example}: REJECTED -> NATIVE"]


def test_a_filter_takes_its_switch_away(run: Run, tmp_path: Path) -> None:
    source = str(write(tmp_path / "aiter", today.tree()))
    done = run("report", "--aiter", source, "--format", "html", "--lse", *LEAST)
    assert (done.code, done.err) == (0, "")
    data = island(done.out)
    assert [each["name"] for each in data["map"]["switches"]] == ["persistent"]
    assert data["options"] == "--lse"


@pytest.mark.usefixtures("fake")
def test_wrong_usage(run: Run) -> None:
    done = run("report", "--against", "release:v0.1.19")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: --against goes with --format html")
    done = run("report", "--format", "html", "-o", "/no/such/folder/x.html")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: cannot write /no/such/folder/x.html")


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_real_release(run: Run, aiter_git: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    words = ("--aiter", f"{aiter_git}@v0.1.20", "--format", "html", "-o", str(file))
    assert run("report", *words, *LEAST).code == 0
    with browser() as window:
        window.open(file)
        assert window.complaints() == []
        (label,) = window.run(
            "return [...document.querySelectorAll('.block td[data-row]')].map((e) => e.ariaLabel)"
            ".filter((each) => each.startsWith('48 heads, qlen 1:'))"
        )
        assert label.startswith("48 heads, qlen 1: folded, KV cache read 3 times")
        window.run(
            "[...document.querySelectorAll('.block td[data-row]')]"
            ".find((e) => e.ariaLabel === arguments[0]).focus()",
            label,
        )
        assert window.text("#detail h3").startswith("FOLDED by 3 gfx950 fp8/fp8, 48 heads")
        assert "csrc/kernels/mla/metadata/v1_2_device.cuh:" in window.text("#detail")

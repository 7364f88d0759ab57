"""report, explain and table from the outside."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from mlaprobe.cli.support import common
from mlaprobe.errors import SourceError
from mlaprobe.rulefiles.loader import rules_dir
from tests.cli.conftest import Run
from tests.output.fake import LONG_KNOB, Fake

pytestmark = pytest.mark.usefixtures("fake")
ONE = ("--arch", "gfx950", "--dtype", "fp8/fp8")


def test_report(run: Run) -> None:
    done = run("report")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("AITER v9.9.9, installed in this environment\n")
    assert "gfx942  bf16/bf16" in done.out
    assert "\x1b" not in done.out


def test_report_filters(run: Run, fake: Fake) -> None:
    done = run("report", *ONE, "--heads", "16,48", "--qlen", "1,2", "--env", f"{LONG_KNOB}=1")
    assert done.code == 0
    assert {shape.num_heads for shape in fake.asked} == {16, 48}
    assert all(shape.env == ((LONG_KNOB, "1"),) for shape in fake.asked)
    assert "native at every qlen: 16, 48" in done.out


def test_report_takes_flags_and_lists(run: Run, fake: Fake) -> None:
    words = ("report", *ONE, "--heads", "16", "--qlen", "1")
    run(*words, "--lse", "--no-persistent", "--no-causal", "--cp-round-robin")
    (shape,) = fake.asked
    assert (shape.lse, shape.persistent, shape.causal) == (True, False, False)
    assert shape.cp_round_robin
    fake.asked.clear()
    assert run(*words, "--lse", "0,1", "--persistent", "0,1").code == 0
    assert len(fake.asked) == 6, "each mode, and once more with LSE where it was without"


@pytest.mark.parametrize("format", ["json", "jsonl", "csv", "markdown"])
def test_report_formats(run: Run, format: str, tmp_path: Path) -> None:
    words = ("report", *ONE, "--heads", "48,128", "--qlen", "1", "--format", format)
    done = run(*words)
    assert done.code == 0
    if format == "json":
        found = json.loads(done.out)
        assert found["source"]["release"] == "v9.9.9"
        assert [row["verdict"] for row in found["rows"]] == [
            *("FOLDED", "FOLDED", "NATIVE", "NO_KERNEL")
        ]
        assert found["troubles"][0]["lse_only"] is True
    if format == "csv":
        assert len(list(csv.DictReader(io.StringIO(done.out)))) == 4
    file = tmp_path / "out"
    assert run(*words, "-o", str(file)).out == ""
    assert file.read_text(encoding="utf-8") == done.out
    assert list(tmp_path.iterdir()) == [file]


def test_explain(run: Run) -> None:
    done = run("explain", *ONE, "--heads", "48", "--qlen", "4", "--lse")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("gfx950 fp8/fp8, 48 heads, qlen 4: FOLDED by 3\n  with LSE")


def test_explain_json(run: Run) -> None:
    done = run(
        *("explain", *ONE, "--heads", "48", "--no-persistent", "--no-causal", "--batch", "3"),
        *("--cp-round-robin", "--page-size", "64", "--planner", "q_dtype=none"),
        *("--planner", "uniform_qlen=-1", "--planner", "fast_mode=0", "--format", "json"),
        *("--planner", "intra_batch_mode=true", "--planner", "max_split_per_batch=32"),
    )
    shape = json.loads(done.out)["shape"]
    assert (shape["persistent"], shape["causal"], shape["cp_round_robin"]) == (False, False, True)
    assert (shape["batch"], shape["page_size"]) == (3, 64)
    assert shape["planner"] == {
        "q_dtype": None,
        "uniform_qlen": -1,
        "fast_mode": False,
        "intra_batch_mode": True,
        "max_split_per_batch": 32,
    }


def test_explain_an_arch_that_the_source_does_not_name(run: Run) -> None:
    done = run("explain", "--arch", "gfx90a", "--dtype", "fp8/fp8", "--heads", "16")
    assert done.code == 0
    assert done.err.startswith("warning: this AITER does not name gfx90a; it names gfx942")
    assert not run("explain", "--arch", "gfx90a", *ONE[2:], "--heads", "16", "-q").err


def test_table_defaults(run: Run) -> None:
    rows = [json.loads(line) for line in run("table").out.splitlines()]
    assert len(rows) == 3 * 3 * 128
    shape = rows[0]["shape"]
    assert (shape["qlen"], shape["lse"], shape["persistent"], shape["page_size"]) == (
        *(1, False, True, 1),
    )


def test_table_each_combination_once(run: Run) -> None:
    done = run(
        *("table", "--arch", "gfx942,gfx950", "--dtype", "fp8/fp8,bf16/bf16", "--heads", "16-17"),
        *("--qlen", "1-3", "--lse", "0,1", "--persistent", "0,1", "--causal", "0,1"),
        *("--cp-round-robin", "0,1", "--page-size", "1,64", "--batch", "4"),
    )
    shapes = [json.dumps(json.loads(line)["shape"]) for line in done.out.splitlines()]
    assert len(shapes) == len(set(shapes)) == 2 * 2 * 2 * 3 * 2**5


@pytest.mark.parametrize("stage", ["planner", "sizing", "dispatcher", "host", "gluon"])
def test_table_of_a_stage(run: Run, stage: str) -> None:
    done = run("table", "--stage", stage, *ONE, "--heads", "16,48")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["num_heads"] for row in rows] == [16, 48]
    assert "status" in rows[0]


def test_table_of_the_reducer(run: Run) -> None:
    done = run("table", "--stage", "reducer", "--heads", "24", "--format", "csv")
    assert done.out == "num_heads,head_dim,status\n24,128,missing\n24,512,instantiated\n"


@pytest.mark.parametrize("format", ["jsonl", "json", "csv", "markdown"])
def test_table_formats(run: Run, format: str) -> None:
    done = run("table", *ONE, "--heads", "16-18", "--format", format)
    assert done.code == 0
    assert len(done.out.splitlines()) == {"jsonl": 3, "json": 5, "csv": 4, "markdown": 5}[format]


def test_no_arch(run: Run, fake: Fake) -> None:
    fake.archs = ()
    done = run("table")
    assert done.code == 2
    assert "the source names no GPU architecture" in done.err
    assert run("table", "--arch", "gfx950").code == 0


def test_an_error_of_the_source(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(spec: str, **_: object) -> Fake:
        raise SourceError(
            f"cannot read \x1b{spec}", hint="look", file="a.cu", line=3, column=4, text="abc x"
        )

    monkeypatch.setattr(common, "load", fail)
    done = run("report", "--aiter", "here")
    assert done.code == 1
    assert done.out == ""
    assert done.err == (
        "error: cannot read \\x1bhere\n  --> a.cu:3:4\n   | abc x\n   |    ^\nhelp: look\n"
    )


def test_a_failure_half_way_leaves_the_file_as_it_was(
    run: Run, fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "table.jsonl"
    file.write_text("old")
    monkeypatch.setattr(fake, "archs", ("gfx950", "gfx0bad"))
    words = ("table", "--stage", "planner", "-o", str(file))
    original = Fake.ask

    def ask(self: Fake, stage: str, shape: object, **more: object) -> object:
        if getattr(shape, "arch", "") == "gfx0bad":
            raise ValueError("no such thing")
        return original(self, stage, shape)  # type: ignore[arg-type]

    monkeypatch.setattr(Fake, "ask", ask)
    done = run(*words)
    assert done.code == 1
    assert done.err.startswith("error: mlaprobe itself failed: ValueError: no such thing\n  --> ")
    assert "Traceback" not in done.err
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_the_mode_of_a_file_is_kept(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "r.txt"
    file.write_text("")
    file.chmod(0o640)
    assert run("report", *ONE, "-o", str(file)).code == 0
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_device_is_written_to(run: Run) -> None:
    assert run("report", *ONE, "-o", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()
    assert run("report", *ONE, "-o", "-").out.startswith("AITER")


def test_width_and_colour(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    narrow = run("report").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = run("report").out
    assert "\x1b[" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert run("report").out == narrow
    assert max(map(len, narrow.splitlines())) < 80


def test_resolve_says_that_a_profile_is_of_another_gpu(run: Run) -> None:
    words = ("resolve", "--arch", "gfx950", "--heads", "48")
    file = str(rules_dir() / "profiles" / "h200-triton-fp8-fp8.json")
    done = run(*words, "--dtype", "fp8/fp8", "--profile", file)
    assert done.code == 0
    assert "was measured on sm_90 with fp8/fp8: it says nothing of gfx950" in done.err
    assert run(*words, "--dtype", "fp8/fp8").err == ""
    assert run(*words, "--dtype", "fp8/fp8", "--profile", file, "-q").err == ""

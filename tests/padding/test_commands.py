"""``mlaprobe resolve`` and ``mlaprobe models``, as people and programs see them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from mlaprobe.cli import main
from mlaprobe.cli.support import common
from mlaprobe.opening import bundled
from mlaprobe.output.models_text import fitting
from mlaprobe.padding import doubt
from mlaprobe.sources.closest_release import Nearest
from mlaprobe.system import gpu as local
from tests.padding.fake import Fake, later
from tests.trees import today
from tests.trees.common import write


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Fake:
    found = later(release="v0.1.21", errata=True)
    monkeypatch.setattr(common, "load", lambda spec, **_: found)
    return found


@pytest.fixture
def run(source: Fake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "MLAPROBE_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def call(words: str) -> Result:
        code = main(words.split())
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


def test_resolve_tells_the_answer_and_why(run: Run) -> None:
    found = run("resolve --heads 40 --arch gfx950 --dtype fp8/fp8 --qlens 1-4 --lse")
    assert found.code == 0
    assert found.out.startswith(
        "gfx950 fp8/fp8, 40 heads: launch 64 heads on the asm route, NATIVE\n"
        "  qlen 1-4, with log-sum-exp, mode auto\n"
    )
    for words in (
        "why     64 heads are native at every query length: -50.9% against 48 heads folded 3x",
        "685.6 us a launch, summed over 4 query lengths, instead of 1396.0 us (-50.9%)",
        "an estimate from",
        "MI355X, fp8, AITER v0.1.21.post1",
        "pad     40 heads to 64, by tile",
        "kv_granularity=32",
        "max_seqlen_qo=each of 1-4",
        "Not taken",
        "48  folded 3x at qlen 4",
        "41-47  REJECTED at qlen 4 (planner): heads % 16",
        "this pays from about",
    ):
        assert words in found.out.replace("\n          ", " "), words
    assert "kv_granularity=16" not in found.out
    assert not found.err
    assert max(map(len, found.out.split("\n"))) <= 100


def test_resolve_where_nothing_is_padded(run: Run) -> None:
    found = run("resolve --heads 64 --arch gfx950 --dtype fp8/fp8")
    assert "64 heads are native as they are" in found.out
    assert "  pad " not in found.out
    assert "Not taken" not in found.out


def test_resolve_where_nothing_works(run: Run) -> None:
    found = run("resolve --heads 128 --arch gfx942 --dtype fp8/fp8 --lse")
    assert found.code == 10
    assert "128 heads: nothing runs, 128 heads are NO_KERNEL\n" in found.out
    assert "launch" not in found.out, "a plan that does not run is no launch"
    assert "instead without the log-sum-exp (--no-lse): 128 heads, NATIVE" in found.out


def test_resolve_where_it_is_not_known(
    run: Run, source: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "unknown", lambda shape: True)
    found = run("resolve --heads 48 --arch gfx950 --dtype fp8/fp8")
    assert found.code == 11
    assert "48 heads: not known whether anything runs, 48 heads are UNKNOWN\n" in found.out
    assert "multiple of 16" not in found.out
    assert "cannot follow f()" in found.out
    assert "mlaprobe explain" in found.out
    row = json.loads(run("resolve --heads 48 --arch gfx950 --dtype fp8/fp8 --format json").out)
    assert (row["runs"], row["undecided"][0]) == (False, 48)


def test_resolve_names_the_obstacle_and_the_nearest_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planner that asks a function which nobody defines, in a tree that is near a release."""
    files = today.tree()
    planner = "csrc/kernels/mla/metadata/v1_2_device.cuh"
    text = str(files[planner])
    assert "natively_supported =" in text
    text = text.replace("natively_supported =", "natively_supported = ask_the_moon() &&", 1)
    files[planner] = text
    tree = write(tmp_path, files)
    near = Nearest(
        release="v0.1.20",
        same_as=("v0.1.20",),
        changed=("a", "b"),
        missing=(),
        added=(),
        files=9,
    )
    monkeypatch.setattr(doubt, "nearest", lambda source: near)
    monkeypatch.setattr("mlaprobe.padding.origin.nearest", lambda source: near)
    monkeypatch.setattr(bundled, "releases", lambda: ("v0.1.20",))
    monkeypatch.setattr(bundled, "load", lambda name: later(release=name))
    words = f"resolve --aiter {tree} --heads 48 --arch gfx950 --dtype fp8/fp8"
    code = main(words.split())
    shown = " ".join(capsys.readouterr().out.split())
    assert code == 11
    line = 1 + text[: text.index("ask_the_moon")].count("\n")
    assert f"where {planner}:{line}: " in shown
    assert "ask_the_moon" in shown
    assert "nearest v0.1.20, of which 2 files differ: launch 64 heads on the asm route" in shown
    code = main([*words.split(), "--format", "json"])
    row = json.loads(capsys.readouterr().out)
    assert (code, row["nearest"], row["runs"]) == (11, "v0.1.20", False)


def test_resolve_chooses_the_mode(run: Run, source: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "native", lambda shape: not shape.persistent)
    found = run("resolve --heads 48 --arch gfx950 --dtype fp8/fp8 --auto-persistent")
    assert "launch 48 heads on the asm route, non-persistent, NATIVE" in found.out
    assert "without work metadata, as with it they are folded 3x" in " ".join(found.out.split())
    told = json.loads(
        run("resolve --heads 48 --arch gfx950 --dtype fp8/fp8 --auto-persistent --format json").out
    )
    assert told["persistent"] is False


def test_resolve_shows_a_borrowed_cost_as_a_ratio(run: Run) -> None:
    found = run("resolve --heads 112 --arch gfx942 --dtype fp8/fp8")
    shown = " ".join(found.out.split())
    assert " us " not in shown
    assert (
        "cost 0.38x the time of the unpadded count (-62.4%); a ratio borrowed from MI355X" in shown
    )
    row = json.loads(run("resolve --heads 112 --arch gfx942 --dtype fp8/fp8 --format json").out)
    assert (row["cost_us"], row["stay_us"]) == (None, None)
    assert row["cost_ratio"] == pytest.approx(247.2 / 658.2)


def test_resolve_for_programs(run: Run) -> None:
    found = run("resolve --heads 48 --arch gfx950 --dtype fp8/fp8 --format json")
    row = json.loads(found.out)
    assert row["schema"] == 1
    assert row["source"]["release"] == "v0.1.21"
    assert (row["num_heads"], row["padded_num_heads"], row["verdict"]) == (48, 64, "NATIVE")
    assert (row["cost_us"], row["stay_us"]) == (171.4, 349.0)
    assert row["expected_gain"] == pytest.approx(0.509, abs=0.001)
    assert [each["num_heads"] for each in row["rejected"]] == list(range(48, 64))
    assert row["rejected"][0] == {
        "num_heads": 48,
        "reason": "folded 3x at qlen 1",
        "verdict": "FOLDED",
        "qlen": 1,
    }
    assert row["settings"]["kv_granularity"] == 32
    assert row["launch"][0]["reference"]
    assert row["decisions"][0]["shape"]["num_heads"] == 64


def test_resolve_takes_every_option(run: Run, source: Fake) -> None:
    found = run(
        "resolve --heads 12 --arch gfx950 --dtype bf16/bf16 --qlens 2,4 --mode force --route asm "
        "--no-persistent --no-causal --cp-round-robin --batch 3 --page-size 16 --kv-len 100 "
        "--strategy zero --pad-qlen --env A=1 --format json"
    )
    assert found.code == 0
    row = json.loads(found.out)
    assert (row["mode"], row["strategy"], row["qlens"]) == ("force", "zero", [2, 4])
    shape = source.asked[-1]
    assert (shape.persistent, shape.causal, shape.cp_round_robin) == (False, False, True)
    assert (shape.batch, shape.page_size, shape.env) == (3, 16, (("A", "1"),))


def test_resolve_on_the_gluon_route(run: Run) -> None:
    found = run("resolve --heads 8 --arch gfx950 --dtype bf16/bf16")
    assert "launch 8 heads on the gluon route, NATIVE" in found.out
    assert "min_kv_seq_len" in found.out


def test_resolve_shows_rows_that_ride_a_longer_kernel(
    run: Run, source: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "native", lambda shape: shape.qlen == 4)
    found = run("resolve --heads 16 --arch gfx950 --dtype bf16/bf16 --qlens 2 --pad-qlen")
    assert "queries of 2 to 4 rows, zero rows in front" in found.out


def test_resolve_counts_what_it_does_not_show(
    run: Run, source: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every other count folds or is unknown: a reason of its own each.
    monkeypatch.setattr(source, "native", lambda shape: False)
    monkeypatch.setattr(source, "unknown", lambda shape: shape.num_heads % 2 == 1)
    found = run("resolve --heads 33 --arch gfx950 --dtype fp8/fp8 --mode force")
    assert "more: --format json has all" in found.out


def test_resolve_shows_what_a_wider_need_still_sets(run: Run) -> None:
    found = run("resolve --heads 16 --arch gfx950 --dtype fp8/fp8")
    assert "kv_granularity=16: cut the KV cache into works" in found.out


def test_resolve_takes_a_measured_profile(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(
        json.dumps(
            {
                **{"name": "my bench", "arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8"},
                **{"kv_len": 1000, "batch": 1},
                "points": [{"heads": 64, "passes": 1, "us": 1.5}],
            }
        )
    )
    found = run(f"resolve --heads 64 --arch gfx950 --dtype fp8/fp8 --profile {path} --format json")
    row = json.loads(found.out)
    assert (row["cost_us"], row["cost_measured_on"]) == (1.5, "my bench")
    missing = run("resolve --heads 48 --arch gfx950 --dtype fp8/fp8 --profile /nowhere.json")
    assert missing.code == 2
    assert "error: cannot read the cost profile" in missing.err


def test_the_arch_is_this_machine_s(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "archs", lambda topology=None: ("gfx950",))
    assert "gfx950 fp8/fp8" in run("resolve --heads 48 --dtype fp8/fp8").out
    assert "gfx950 fp8/fp8" in run("models --dtype fp8/fp8 --model kimi-k3").out
    monkeypatch.setattr(local, "archs", lambda topology=None: ())
    for words in ("resolve --heads 48 --dtype fp8/fp8", "models"):
        found = run(words)
        assert found.code == 2
        assert found.err == (
            "error: no AMD GPU is here to take the arch from\n"
            "help: name one, for example --arch gfx950\n"
        )


def test_an_arch_that_the_source_does_not_name(run: Run) -> None:
    found = run("resolve --heads 48 --arch gfx1250 --dtype fp8/fp8")
    assert "warning: this AITER does not name gfx1250" in found.err
    assert "the source names no gfx1250" in found.out
    assert not run("resolve --heads 48 --arch gfx1250 --dtype fp8/fp8 -q").err


@pytest.mark.parametrize(
    "words",
    [
        "resolve --heads 48 --arch gfx950",
        "resolve --heads 0 --arch gfx950 --dtype fp8/fp8",
        "resolve --heads 16,32 --arch gfx950 --dtype fp8/fp8",
        "resolve --heads 48 --arch gfx950 --dtype fp8",
        "resolve --heads 48 --arch mi300 --dtype fp8/fp8",
        "resolve --heads 48 --arch gfx950 --dtype fp8/fp8 --mode on",
        "resolve --heads 48 --arch gfx950 --dtype fp8/fp8 --route triton",
        "resolve --heads 48 --arch gfx950 --dtype fp8/fp8 --strategy mirror",
        "resolve --heads 48 --arch gfx950 --dtype fp8/fp8 --format yaml",
        "resolve --heads 48 --arch gfx950 --dtype fp8/fp8 --qlens 4-1",
        "models --arch gfx950 --model kimi-k4",
        "models --arch gfx950 --draft 3-1",
        "models --arch gfx950 --draft x",
        "models --arch gfx950 --draft 999",
        "models --arch gfx950 --tp 7 --model kimi-k3",
        "models --arch gfx950 --format csv",
    ],
)
def test_wrong_usage(run: Run, words: str) -> None:
    found = run(words)
    assert found.code == 2
    assert found.err.startswith("error: ")
    assert "\nhelp: " in found.err
    assert not found.out


def test_models_shows_what_breaks_or_folds_first(run: Run) -> None:
    found = run("models --arch gfx942,gfx950 --dtype fp8/fp8 --tp 1,2,8 --dcp 1,8")
    assert found.code == 0
    assert max(map(len, found.out.split("\n"))) <= 100
    first, second = found.out.split("gfx950 fp8/fp8")
    verdicts = [line.split() for line in first.split("\n") if " no " in line or " yes " in line]
    order = [" ".join(words) for words in verdicts]
    assert "NO_KERNEL" in order[0]
    folds = [line for line in order if line.split()[3] == "FOLDED"]
    assert order.index(folds[0]) < order.index(next(o for o in order if o.split()[3] == "NATIVE"))
    assert "FOLDED by 6" in folds[0]
    assert "MiniCPM3-4B: a KV row of 256 latent and 32 rope values is outside" in second
    assert "FOLDED by 3   64: NATIVE       -50.9%" in second


def test_models_for_programs(run: Run) -> None:
    words = "models --arch gfx950 --dtype fp8/fp8 --model kimi-k3 --tp 2 --dcp 1 --draft 0,2"
    rows = [json.loads(line) for line in run(f"{words} --format jsonl").out.splitlines()]
    assert [(r["model"], r["num_heads"], r["qlens"], r["verdict"]) for r in rows] == [
        ("kimi-k3", 48, [1], "FOLDED"),
        ("kimi-k3", 48, [1, 2, 3], "FOLDED"),
    ]
    assert (rows[0]["fold"], rows[0]["padded_num_heads"], rows[0]["failure"]) == (3, 64, None)
    whole = json.loads(run(f"{words} --format json").out)
    assert whole["rows"] == rows
    assert whole["source"]["release"] == "v0.1.21"


def test_models_as_markdown(run: Run) -> None:
    words = "models --arch gfx950 --dtype fp8/fp8 --model kimi-k3,minicpm --tp 2 --dcp 1"
    lines = run(f"{words} --format markdown").out.splitlines()
    assert lines[0].startswith("| model | tp |")
    assert lines[2] == "| MiniCPM3-4B | 2 | 1 | 0 | gfx950 | fp8/fp8 | 20 | outside |  |  |"
    assert lines[3] == (
        "| Kimi-K3 | 2 | 1 | 0 | gfx950 | fp8/fp8 | 48 | FOLDED by 3 | 64: NATIVE | -50.9% |"
    )


def test_models_go_to_a_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "models.txt"
    found = run(f"models --arch gfx950 --model kimi-k3 -o {path}")
    assert (found.code, found.out) == (0, "")
    assert "Kimi-K3" in path.read_text()


def test_both_commands_describe_themselves(run: Run) -> None:
    for command in ("resolve", "models"):
        found = run(f"{command} --help")
        assert found.code == 0
        assert "Examples:" in found.out
        assert "--aiter" in found.out


@pytest.mark.parametrize(
    ("room", "text"),
    [(100, "one, two, three"), (14, "one, two, +1"), (8, "one, +2"), (3, "3 deployments")],
)
def test_names_that_fit(room: int, text: str) -> None:
    assert fitting(["one", "two", "three"], room) == text

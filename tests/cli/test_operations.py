"""Commands about operations besides decode."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from mlaprobe.opening.probing import probe
from mlaprobe.rulefiles.operations import others
from tests.cli.conftest import Run, fake, run
from tests.trees import launching, prefill
from tests.trees.common import write

__all__ = ["fake", "run"]
ONE = ("--arch", "gfx950", "--dtype", "fp8/fp8")
RELEASE = "release:v0.1.20.post1"
PREFILL = ("--op", "prefill", *ONE)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write(tmp_path_factory.mktemp("aiter"), prefill.tree()))


def test_ops_lists_what_each_stage_is(run: Run) -> None:
    done = run("ops")
    assert (done.code, done.err) == (0, "")
    for word in ("decode:", "prefill:", "sparse:", "v4:", "mla_prefill_ps_fwd (--persistent)"):
        assert word in done.out
    found = json.loads(run("ops", "--format", "json").out)
    assert found["schema"] == 1
    by_name = {rule["op"]: rule for rule in found["operations"]}
    entry = by_name["prefill"]["entries"][0]
    assert (entry["function"], entry["persistent"]) == ("mla_prefill_ps_fwd", True)
    assert list(entry["stages"])[-1] == "reducer"


def test_rows_have_the_operation(run: Run, tree: str) -> None:
    done = run("table", "--aiter", tree, *PREFILL, "--heads", "16,17", "--causal", "0,1")
    rows = [json.loads(each) for each in done.out.splitlines()]
    assert [row["verdict"] for row in rows] == ["NATIVE"] * 2 + ["NO_REDUCER"] * 2
    assert {row["shape"]["op"] for row in rows} == {"prefill"}
    assert list(rows[0]["stages"]) == [
        *("sizing", "planner", "dispatcher", "host", "kernel table", "reducer")
    ]
    plain = run("table", "--aiter", tree, *ONE, "--heads", "16")
    assert json.loads(plain.out)["shape"]["op"] == "decode"


def test_kv_heads(run: Run, tree: str) -> None:
    done = run("table", "--aiter", tree, *PREFILL, "--heads", "16", "--kv-heads", "2,16")
    rows = [json.loads(each) for each in done.out.splitlines()]
    assert [row["shape"]["num_kv_heads"] for row in rows] == [2, 16]
    assert [row["kernels"][0]["symbol"] for row in rows] == ["pfl_fp8_gqa8", "pfl_fp8_causal"]


@pytest.mark.parametrize(
    ("op", "persistent"),
    [(str(rule.op), each.persistent) for rule in others() for each in rule.entries],
)
def test_whatever_runs_is_explained(run: Run, op: str, persistent: bool | None) -> None:
    modes = {True: ["--persistent"], False: ["--no-persistent"], None: []}
    words = ("--op", op, *modes[persistent], "--arch", "gfx950", "--heads", "64")
    for dtypes in ("fp8/fp8", "bf16/bf16"):
        done = run("explain", "--aiter", RELEASE, *words, "--dtype", dtypes)
        assert (done.code, done.err) == (0, ""), (op, dtypes)
        assert "Verdict:" in done.out


def test_explain(run: Run, tree: str) -> None:
    runs = run("explain", "--aiter", tree, *PREFILL, "--heads", "16")
    assert (runs.code, runs.err) == (0, "")
    assert "Verdict: NATIVE" in runs.out
    done = run("explain", "--aiter", tree, *PREFILL, "--heads", "17")
    assert done.code == 0
    assert "prefill, gfx950 fp8/fp8, 17 heads, qlen 1: NO_REDUCER" in done.out
    assert "it is instantiated for 16 heads at head_dim 128" in done.out
    assert "--op prefill" in done.out


@pytest.mark.parametrize(
    ("heads", "code", "padded"), [("12", 0, 16), ("16", 0, 16), ("17", 10, None)]
)
def test_resolve(run: Run, tree: str, heads: str, code: int, padded: int | None) -> None:
    words = ("resolve", "--aiter", tree, *PREFILL, "--heads", heads, "--qlens", "1,4096")
    done = run(*words, "--format", "json")
    assert done.code == code
    found = json.loads(done.out)
    assert (found["padded_num_heads"], found["runs"]) == (padded, padded is not None)
    assert found["qlens"] == [1, 4096]
    text = run(*words)
    assert text.code == code
    assert f"launch {padded} heads" in text.out or padded is None


def test_a_report_of_everything_has_a_line_for_each(run: Run, tree: str) -> None:
    done = run("report", "--aiter", tree, "--arch", "gfx950")
    assert done.code == 0
    text = " ".join(done.out.split())
    assert (
        "prefill (mla_prefill_ps_fwd) gfx950 fp8/fp8: runs at 16; no reducer at 1-15, 17-112; "
        "rejected at any other"
    ) in text
    # The tree's host looks at the query's dtype only.
    assert (
        "prefill (mla_prefill_fwd) gfx950 bf16/bf16, bf16/fp8: runs at 16; rejected at any other"
    ) in text
    absent = text[text.index("sparse (mla_decode_fwd_ds32), ") :].partition(": absent")[0]
    assert absent.endswith("triton-sparse (unified_attention_sparse_mla)")
    found = json.loads(run("report", "--aiter", tree, *ONE, "--format", "json").out)
    row = next(each for each in found["operations"] if each["function"] == "mla_prefill_ps_fwd")
    assert (row["runs"], set(row["fails"])) == ([16], {"NO_REDUCER", "REJECTED"})


def test_a_report_of_one_operation(run: Run, tree: str) -> None:
    done = run("report", "--aiter", tree, *PREFILL)
    assert done.code == 0
    assert "prefill by mla_prefill_ps_fwd" in done.out
    assert "native at qlen 1: 16" in done.out
    assert "Other operations" not in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("table", *PREFILL, "--lse", "1"), "prefill by mla_prefill_ps_fwd has no use for --lse"),
        (("table", *PREFILL, "--stage", "host"), "--stage goes with decode"),
        (("table", *ONE, "--op", "prefil"), "--op: unknown operation 'prefil'"),
        (("table", *PREFILL, "--heads", "6", "--kv-heads", "4"), "cannot share 4 KV heads"),
        (("table", *ONE, "--kv-heads", "1"), "a decode has one KV head"),
        (("table", *ONE, "--op", "triton", "--persistent", "0"), "has no use for --persistent"),
        (("resolve", *PREFILL, "--heads", "8", "--mode", "off"), "--mode goes with decode"),
        (("models", *PREFILL, "--dcp", "2"), "--dcp goes with decode"),
        (("findings", *PREFILL, "--rule", "MLA001"), "MLA001 is about a decode"),
        (("findings", *ONE, "--rule", "MLA022"), "MLA022 is about another operation"),
    ],
)
def test_what_does_not_go_together(run: Run, tree: str, words: tuple[str, ...], said: str) -> None:
    done = run(words[0], "--aiter", tree, *words[1:])
    assert done.code == 2
    assert said in done.err
    assert done.out == ""


def test_compare(run: Run, tree: str, tmp_path: Path) -> None:
    from tests.trees import today

    old = prefill.tree()
    old[today.REDUCER] = (
        today.REDUCER_HEAD + today.router(((17, 128), *today.ROUTED)) + today.REDUCER_ENTRY
    )
    write(tmp_path, old)
    done = run("compare", str(tmp_path), tree, *PREFILL, "--heads", "16-18", "--quiet")
    assert done.code == 0
    assert "gfx950 fp8/fp8, 17 heads, qlen 1, prefill: native -> no reducer" in done.out


def _merged_at_128(root: Path, *counts: int) -> str:
    """The tree, whose reducer has some head counts at head_dim 128."""
    from tests.trees import today

    merged = (*((heads, 128) for heads in counts), *today.ROUTED[1:])
    routed = today.REDUCER_HEAD + today.router(merged) + today.REDUCER_ENTRY
    return str(write(root, {**prefill.tree(), today.REDUCER: routed}))


def test_findings_of_an_operation(run: Run, tree: str) -> None:
    """The tree merges 16 heads at head_dim 128, and takes 64 until then."""
    done = run("findings", "--aiter", tree, *PREFILL, "--heads", "16,64", "--format", "json")
    assert done.code == 10
    found = json.loads(done.out)["findings"]
    assert [(each["rule"], each["level"]) for each in found] == [("MLA022", "warning")]
    assert found[0]["shapes"]["heads"] == [64]
    assert run("findings", "--aiter", tree, *PREFILL, "--heads", "16").code == 0


def test_findings_are_about_the_heads_of_models(run: Run, tree: str) -> None:
    done = run("findings", "--aiter", tree, *PREFILL, "--rule", "MLA022", "--format", "json")
    (found,) = json.loads(done.out)["findings"]
    assert {8, 64, 96} <= set(found["shapes"]["heads"])  # 64 / 8, 128 / 2 and 96 / 1
    assert not {16, 9, 50} & set(found["shapes"]["heads"])


def test_models_in_an_operation(run: Run, tree: str) -> None:
    """The tree merges 16 heads at head_dim 128: less is padded to 16, more has no reducer up to
    112, and is refused beyond."""
    words = ("--model", "deepseek-v3", "--tp", "1,2,8,16", "--op", "prefill", *ONE)
    text = run("models", "--aiter", tree, *words)
    assert (text.code, text.err) == (0, "")
    lines = [each.split() for each in text.out.splitlines()]
    assert ["8", "NO_REDUCER", "16", "DeepSeek-V3", "TP16"] in lines
    assert ["16", "NATIVE", "16", "DeepSeek-V3", "TP8"] in lines
    assert ["64", "NO_REDUCER", "none", "works", "DeepSeek-V3", "TP2"] in lines
    assert ["128", "REJECTED", "none", "works", "DeepSeek-V3", "TP1"] in lines
    rows = run("models", "--aiter", tree, *words, "--format", "jsonl").out.splitlines()
    found = {row["tp"]: row for row in map(json.loads, rows)}
    assert {row["function"] for row in found.values()} == {"mla_prefill_ps_fwd"}
    assert (found[16]["num_heads"], found[16]["padded_num_heads"]) == (8, 16)
    assert (found[1]["verdict"], found[1]["padded_num_heads"]) == ("REJECTED", None)
    whole = json.loads(run("models", "--aiter", tree, *words, "--format", "json").out)
    assert (whole["schema"], len(whole["rows"])) == (1, 4)
    table = run("models", "--aiter", tree, *words, "--format", "markdown").out
    head = "| DeepSeek-V3 | 16 | mla\\_prefill\\_ps\\_fwd | gfx950 | fp8/fp8 | 8 |"
    assert head in table
    nothing = run("models", "--aiter", tree, "--op", "triton-rope", *ONE)
    assert "triton-rope by decode_attention_fwd_grouped_rope: absent" in nothing.out


def test_check_an_operation(run: Run, tree: str, tmp_path: Path) -> None:
    """What the new source does worse fails, and no finding about decodes is shown."""
    better = _merged_at_128(tmp_path, 16, 24)
    words = (*PREFILL, "--heads", "16-32", "--quiet")
    worse = run("check", "--pin", better, "--aiter", tree, *words)
    assert worse.code == 10
    assert "gfx950 fp8/fp8, 24 heads, qlen 1, prefill: native -> no reducer" in worse.out
    assert "MLA022: an operation has no reducer for the heads of a model" in worse.out
    assert worse.out.count("MLA") == 1
    same = run("check", "--pin", tree, "--aiter", better, *words)
    assert (same.code, "MLA" in same.out) == (0, False)
    assert "no reducer -> native" in same.out


def test_check_an_operation_that_the_pin_does_not_hold(run: Run, tree: str) -> None:
    """A release that is bundled without it: nothing is new in that."""
    words = ("--op", "triton", *ONE, "--heads", "16", "--quiet")
    done = run("check", "--pin", RELEASE, "--aiter", tree, *words)
    assert "MLA" not in done.out


def test_check_an_operation_that_one_side_lacks(run: Run, tree: str, tmp_path: Path) -> None:
    """A difference, with what is missing."""
    launches = str(write(tmp_path / "launching", launching.tree()))
    words = ("--op", "triton", "--arch", "gfx950", "--dtype", "bf16/bf16", "--heads", "16")
    gone = run("check", "--pin", launches, "--aiter", tree, *words, "--quiet")
    assert gone.code == 10
    lacks = "rejected (there is no aiter/ops/triton/attention/mla.py)"
    assert f"triton: native -> {lacks}" in " ".join(gone.out.split())
    came = run("check", "--pin", tree, "--aiter", launches, *words, "--quiet")
    assert came.code == 0
    assert f"triton: {lacks} -> native" in " ".join(came.out.split())
    both = run("check", "--pin", tree, "--aiter", tree, *words, "--quiet")
    assert (both.code, "rejected" in both.out) == (0, False)


def test_reduce_heads(tree: str) -> None:
    capability = probe(tree)
    assert capability.reduce_heads() == (8, 16, 32, 64, 96, 128)
    assert capability.reduce_heads(128) == (16,)
    assert capability.next_reduce_heads(33) == 64
    assert capability.next_reduce_heads(17, 128) is None


def test_least_count_from_python(tree: str) -> None:
    import mlaprobe

    shape = mlaprobe.DecodeShape(
        arch="gfx950",
        q_dtype=mlaprobe.Dtype.FP8,
        kv_dtype=mlaprobe.Dtype.FP8,
        num_heads=9,
        op="prefill",  # type: ignore[arg-type]
    )
    found = mlaprobe.least_count(probe(tree), shape, (1, 4096))
    assert (found.num_heads, found.runs, found.undecided) == (16, True, False)
    assert found.own.verdict is mlaprobe.Verdict.NO_REDUCER
    with pytest.raises(mlaprobe.UsageError, match=r"resolved by mlaprobe\.plan"):
        mlaprobe.least_count(probe(tree), replace(shape, op=mlaprobe.Operation.DECODE), (1,))
    with pytest.raises(mlaprobe.UsageError, match="padding would give query heads"):
        mlaprobe.least_count(probe(tree), replace(shape, num_kv_heads=3), (1,))


def test_variables_that_change_an_operation(run: Run) -> None:
    """V4 with work metadata is opt-in (v0.1.20: NotImplementedError without)."""
    words = ("--op", "v4", "--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "64")
    repository = os.environ.get("MLAPROBE_AITER_GIT")
    if repository is None:
        pytest.skip("MLAPROBE_AITER_GIT names no git repository of AITER")
    done = run("report", "--aiter", f"{repository}@v0.1.20.post1", *words, "--format", "json")
    (found,) = json.loads(done.out)["variables"]
    assert (found["name"], found["value"]) == ("AITER_ENABLE_EXPERIMENTAL", "1")
    assert (found["num_heads"], found["verdict"]) == (64, "REJECTED")
    assert found["changed"] != "REJECTED"
    text = run("report", "--aiter", f"{repository}@v0.1.20.post1", *words)
    assert "AITER_ENABLE_EXPERIMENTAL=1: gfx950 fp8/fp8, 64 heads, qlen 1: REJECTED ->" in text.out

"""The deployments file."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlaprobe.core.axes import OMITTED
from mlaprobe.core.shape import DecodeShape, Dtype, PlannerCall
from mlaprobe.errors import InputFileError, RuleError
from mlaprobe.rulefiles.serving import Serving, load_deployments

# As the specification has it.
KIMI = """\
deployments:
  - name: kimi-k2.5-tp2-fp8
    model: kimi-k2.5
    arch: gfx950
    dtype: fp8/fp8
    tp: 2
    dcp: 1
    qlens: [1]
    lse: false
    page_size: 1
    planner_dtypes: given
"""


def loaded(root: Path, text: str) -> tuple[Serving, ...]:
    file = root / "deployments.yaml"
    file.write_text(text, encoding="utf-8")
    return load_deployments(file)


def test_the_example(tmp_path: Path) -> None:
    (each,) = loaded(tmp_path, KIMI)
    assert (each.name, each.num_heads) == ("kimi-k2.5-tp2-fp8", 32)
    assert list(each.shapes) == [
        DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=32)
    ]


def test_everything(tmp_path: Path) -> None:
    text = """\
deployments:
  - name: all
    num_heads: 128
    arch: [gfx942, gfx950]
    dtype: [bf16/fp8, fp8/fp8]
    tp: 8
    dcp: 2
    qlens: [4, 1]
    persistent: false
    causal: false
    cp_round_robin: true
    batch: 7
    page_size: 64
    kv_cache_bytes: 20GiB
    num_kv_splits: 2
    sparse: true
    planner_dtypes: omitted
    env: {AITER_ENABLE_EXPERIMENTAL: 1, AITER_MLA_USE_OPUS: "0"}
"""
    (each,) = loaded(tmp_path, text)
    assert each.num_heads == 128 // 8 * 2
    shapes = list(each.shapes)
    assert len(shapes) == 2 * 2 * 2
    first = shapes[0]
    assert (first.arch, first.dtype, first.qlen) == ("gfx942", "bf16/fp8", 1)
    assert first.lse, "ranks that share a context merge by the log-sum-exp"
    assert (first.persistent, first.causal, first.cp_round_robin) == (False, False, True)
    assert (first.batch, first.page_size, first.planner) == (7, 64, OMITTED)
    assert (first.kv_cache_bytes, first.num_kv_splits, first.sparse) == (20 << 30, 2, True)
    assert first.env == (("AITER_ENABLE_EXPERIMENTAL", "1"), ("AITER_MLA_USE_OPUS", "0"))


def test_defaults(tmp_path: Path) -> None:
    text = "deployments:\n  - {name: a, num_heads: 16, arch: gfx950, dtype: bf16/bf16}\n"
    (each,) = loaded(tmp_path, text)
    (shape,) = each.shapes
    assert (shape.num_heads, shape.qlen, shape.lse, shape.page_size) == (16, 1, False, 1)
    assert (shape.persistent, shape.planner) == (True, PlannerCall())
    assert [s.num_heads for s in each.padded(32)] == [32]


HEAD = "deployments:\n  - {name: a, arch: gfx950, dtype: fp8/fp8, "


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("deployments: []\n", "a list of at least 1 expected", 1),
        ("- a\n", "a mapping expected, not a list", 1),
        (HEAD + "num_heads: 16, model: kimi-k2.5}\n", "a model or num_heads, and not both", 2),
        (HEAD + "tp: 1}\n", "a model or num_heads, and not both", 2),
        (HEAD + "num_heads: 10, tp: 4}\n", "10 heads do not split evenly over tp 4", 2),
        (HEAD + "num_heads: 16, tp: 4, dcp: 3}\n", "dcp 3 does not divide tp 4", 2),
        (HEAD + "num_heads: 16, heads: 4}\n", "unknown key 'heads'", 2),
        (HEAD + "num_heads: 0}\n", "0 is less than 1", 2),
        (HEAD + "num_heads: 16, planner_dtypes: maybe}\n", "unknown value 'maybe'", 2),
        (KIMI + KIMI.partition("\n")[2], "'kimi-k2.5-tp2-fp8' is there twice", 12),
        (HEAD + "num_heads: 16, env: {A B: 1}}\n", "'A B' is not a name of an env", 2),
        (HEAD + "num_heads: 16, env: {A: 1.5}}\n", "text or a whole number expected", 2),
        (HEAD + "num_heads: " + "1" * 5000 + "}\n", "a number that is too large", 2),
        (KIMI.replace("fp8/fp8", "fp8"), "'fp8' is not a dtype pair like fp8/fp8", 5),
        (KIMI.replace("fp8/fp8", "fp8/fp8_e5m2"), "unknown data type 'fp8_e5m2'", 5),
        (HEAD + "num_heads: 16, planner: {fast: 1}}\n", "unknown key 'fast'", 2),
        (HEAD + "num_heads: 16, planner: {max_split_per_batch: 0}}\n", "0 is less than 1", 2),
        (KIMI.replace("gfx950", "MI355X"), "'MI355X' is not an arch like gfx950", 4),
    ],
)
def test_wrong(tmp_path: Path, text: str, message: str, line: int) -> None:
    with pytest.raises(RuleError) as raised:
        loaded(tmp_path, text)
    assert message in raised.value.message
    assert raised.value.line == line
    assert raised.value.file is not None
    assert raised.value.exit_code == 2


def test_a_model_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="unknown model 'kimi-k9'") as raised:
        loaded(tmp_path, KIMI.replace("kimi-k2.5\n    arch", "kimi-k9\n    arch"))
    assert (raised.value.line, raised.value.column) == (3, 12)
    assert raised.value.hint == "did you mean kimi-k3?"


def test_the_rules_of_mlaprobe_are_not_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(name: str) -> None:
        raise RuleError("damaged", file="rules/models.yaml", line=3)

    monkeypatch.setattr("mlaprobe.rulefiles.serving.find", damaged)
    with pytest.raises(RuleError) as raised:
        loaded(tmp_path, KIMI)
    assert not isinstance(raised.value, InputFileError)
    assert raised.value.exit_code == 1


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="cannot read"):
        load_deployments(tmp_path / "none.yaml")


def test_what_engines_write(tmp_path: Path) -> None:
    """An arch with its features, an engine's names of dtypes, and how it makes its metadata."""
    text = (
        HEAD.replace("gfx950", "'gfx950:sramecc+:xnack-'").replace("fp8/fp8", "fp8_e4m3/auto")
        + "num_heads: 16, planner_dtypes: omitted,\n     planner: {fast_mode: false, "
        "intra_batch_mode: true, max_split_per_batch: 32}}\n"
    )
    (found,) = loaded(tmp_path, text)
    (shape,) = found.shapes
    assert (shape.arch, shape.dtype) == ("gfx950", "fp8/fp8")
    assert shape.planner == PlannerCall(
        q_dtype=None,
        kv_dtype=None,
        fast_mode=False,
        intra_batch_mode=True,
        max_split_per_batch=32,
    )

"""Slips in rule files are errors with file and line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, Operation, PlannerCall
from mlaprobe.errors import RuleError
from mlaprobe.rulefiles import errata, models, policy
from mlaprobe.rulefiles import loader as rulebook
from mlaprobe.rulefiles import requirements as launch
from mlaprobe.rulefiles.pattern import PATTERN, Numbers, Pattern
from mlaprobe.rulefiles.schema import Schema
from mlaprobe.sources import closest_release as nearest

FILES: dict[str, Schema] = {
    "errata": errata.SCHEMA,
    "release_blobs": errata.BLOB_SCHEMA,
    "release_files": nearest.SCHEMA,
    "launch": launch.SCHEMA,
    "models": models.SCHEMA,
    "policy": policy.SCHEMA,
}


def _check(name: str, change: Callable[[str], str], tmp_path: Path) -> RuleError | None:
    text = (rulebook.rules_dir() / f"{name}.yaml").read_text(encoding="utf-8")
    changed = change(text)
    assert changed != text
    path = tmp_path / f"{name}.yaml"
    path.write_text(changed, encoding="utf-8")
    try:
        loaded = rulebook.load_yaml(path)
        FILES[name].check(loaded, loaded.place)
    except RuleError as error:
        return error
    return None


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_shipped_file_is_right(name: str) -> None:
    assert rulebook.load_rules(name, FILES[name])


SLIPS = [
    ("errata", "    effect: avoid\n", "    efect: avoid\n", "efect"),
    ("errata", "effect: avoid", "effect: avid", "avid"),
    ("errata", "id: aiter-3095", "id: aiter-4363", "there twice"),
    ("errata", "first: v0.1.13,", "first: 13,", "release"),
    ("errata", "last: v0.1.13.post1", "last: latest", "latest"),
    ("errata", "      arch: [gfx942]\n", "      arc: [gfx942]\n", "arc"),
    ("errata", "      arch: [gfx942]\n", "      arch: [mi300]\n", "mi300"),
    ("errata", "      dtype: [fp8/fp8]\n", "      dtype: [fp8]\n", "fp8"),
    ("errata", "page_size: [2+]", "page_size: [2-1]", "no range"),
    ("errata", "page_size: [2+]", "page_size: [-2]", "less than"),
    ("errata", "persistent: true", "persistent: 1", "true or false"),
    ("errata", "verdict: [NATIVE]", "verdict: [native]", "native"),
    ("errata", "    failure: abort\n", "    failure: abort\n    failure: abort\n", "twice"),
    ("errata", "- https://github.com/ROCm/aiter/pull/4365", "- aiter 4365", "address"),
    ("release_blobs", "v0.1.18: ", "main: ", "release"),
    ("release_blobs", 'v0.1.20: "6', 'v0.1.20: "', "fingerprint"),
    ("release_files", "    v0.1.20: ", "    main: ", "release"),
    ("release_files", 'v0.1.20: "1', 'v0.1.20: "', "blob hash"),
    ("launch", "set: {num_head_qo: $heads}", "sets: {num_head_qo: $heads}", "sets"),
    ("launch", "set: {num_head_qo: $heads}", "set: {num_head_qo: $head}", "a value"),
    ("launch", "id: planner-dtypes", "id: planner-heads", "there twice"),
    ("launch", "route: asm, persistent", "rout: asm, persistent", "rout"),
    ("models", "    heads: 96\n", "    head: 96\n", "head"),
    ("models", "    heads: 96\n", "    heads: 0\n", "less than"),
    ("models", "    heads: 96\n", "    heads: many\n", "whole number"),
    ("models", "id: kimi-k2.5", "id: kimi-k2", "there twice"),
    ("policy", "  growth: 2\n", "  growht: 2\n", "growht"),
    ("policy", "  growth: 2\n", "  growth: 0.5\n", "less than"),
    ("policy", "  per_pass: 68.7\n", "", "per_pass"),
    ("policy", "{heads: 16, passes: 1,", "{heads: 16, pases: 1,", "pases"),
]


@pytest.mark.parametrize(("name", "old", "new", "said"), SLIPS)
def test_a_slip_is_an_error_with_its_place(
    tmp_path: Path, name: str, old: str, new: str, said: str
) -> None:
    error = _check(name, lambda text: text.replace(old, new, 1), tmp_path)
    assert error is not None
    assert error.file is not None
    assert error.file.endswith(f"{name}.yaml")
    assert error.line is not None
    assert said in f"{error.message} {error.hint} {error.text}"


def test_numbers() -> None:
    numbers = Numbers.of([1, "5-8", "64+"])
    assert [n for n in range(1, 70) if n in numbers] == [1, 5, 6, 7, 8, *range(64, 70)]


def test_a_pattern_without_fields_matches_everything() -> None:
    shape = DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=1)
    assert Pattern({}).matches(shape)


def test_a_pattern_is_about_decode_unless_it_names_another_operation() -> None:
    shape = DecodeShape(
        arch="gfx950",
        q_dtype=Dtype.FP8,
        kv_dtype=Dtype.FP8,
        num_heads=16,
        op=Operation.PREFILL,
        num_kv_heads=4,
    )
    assert not Pattern({}).matches(shape)
    assert not Pattern({"heads": [16]}).matches_but_for_numbers(shape)
    assert Pattern({"op": "prefill", "kv_heads": ["2+"]}).matches(shape)
    assert not Pattern({"op": "prefill", "kv_heads": [1]}).matches(shape)
    assert not Pattern({"kv_heads": [1]}).matches(
        replace(shape, op=Operation.DECODE, num_kv_heads=None)
    )


def test_each_field_of_a_pattern_counts() -> None:
    shape = DecodeShape(
        arch="gfx950",
        q_dtype=Dtype.FP8,
        kv_dtype=Dtype.BF16,
        num_heads=48,
        qlen=2,
        lse=True,
        page_size=16,
        kv_cache_bytes=5 << 30,
        num_kv_splits=1,
        sparse=True,
        env=(("A", "1"), ("B", "2")),
        planner=PlannerCall(max_split_per_batch=32),
    )
    fits = {
        **{"arch": ["gfx950"], "dtype": ["fp8/bf16"], "heads": ["40-50"], "qlen": [2]},
        **{"kv_cache_bytes": ["4GiB-6GiB"], "num_kv_splits": [1], "sparse": True},
        **{"page_size": ["2+"], "lse": True, "persistent": True, "causal": True},
        **{"cp_round_robin": False, "route": "asm", "env": {"A": 1}, "op": "decode"},
        "planner": {"fast_mode": True, "max_split_per_batch": 32},
    }
    assert {*fits, "kv_heads"} == set(PATTERN.optional)
    assert Pattern(fits).matches(shape)
    other = {
        **{"arch": ["gfx942"], "dtype": ["bf16/fp8"], "heads": [47], "qlen": ["3+"]},
        **{"kv_cache_bytes": [5, "6GiB+"], "num_kv_splits": ["2+"], "sparse": False},
        **{"page_size": [1], "lse": False, "persistent": False, "causal": False},
        **{"cp_round_robin": True, "route": "gluon", "env": {"A": 2}, "op": "prefill"},
        "planner": {"fast_mode": True, "max_split_per_batch": -1},
    }
    for name, value in other.items():
        assert not Pattern({**fits, name: value}).matches(shape)

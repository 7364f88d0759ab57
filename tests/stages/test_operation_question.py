"""What questions of an operation share an answer of one of its functions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, Operation
from mlaprobe.rulefiles.operations import Function, entry_of
from mlaprobe.stages.operations.question import plan_family

BF16, FP8 = Dtype.BF16, Dtype.FP8
SHAPE = DecodeShape(op=Operation.PREFILL, arch="gfx950", q_dtype=BF16, kv_dtype=BF16, num_heads=16)
SIZES = {"seqlens": "i32[indptr]", "gqa_ratio": "heads // kv_heads"}


def function(arguments: dict[str, str], on: dict[str, dict[str, str]] | None = None) -> Function:
    return Function(places=(("a.cu", "plan"),), arguments=arguments, arguments_on=on or {})


@pytest.mark.parametrize(
    ("asked", "q", "kv"),
    [
        (function(SIZES), False, False),
        (function({**SIZES, "query": "q[tokens, heads]"}), True, False),
        (function({**SIZES, "cache": "kv[some]"}), False, True),
        (function(SIZES, {"gfx950": {"query": "q[tokens]"}}), True, False),
        (function(SIZES, {"bf16": {"wide": "1"}, "fp8": {"wide": "2"}}), False, True),
        (function(SIZES, {"fp8": {"wide": "2"}}), False, True),
    ],
)
def test_dtypes_that_matter_tell_questions_apart(asked: Function, q: bool, kv: bool) -> None:
    """By what a caller passes for them."""

    def key(shape: DecodeShape) -> object:
        return plan_family(shape, entry_of(shape), "planner", asked)

    assert (key(replace(SHAPE, q_dtype=FP8)) != key(SHAPE)) is q
    assert (key(replace(SHAPE, kv_dtype=FP8)) != key(SHAPE)) is kv
    assert key(replace(SHAPE, num_heads=32)) == key(SHAPE)  # an input, which runs share

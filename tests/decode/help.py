"""What tests of decode runs have in common."""

from __future__ import annotations

from typing import Any

from mlaprobe.core.shape import DecodeShape, Dtype
from mlaprobe.decode.problem import Inputs, Problem
from mlaprobe.padding.api import plan
from mlaprobe.padding.plan import PadPlan
from tests.padding.fake import Fake


def tile(shape: DecodeShape) -> bool:
    """What a source calls native whose kernels have 16, 64 or 128 heads."""
    return shape.num_heads in (16, 64, 128)


def a_plan(heads: int, dtype: str = "bf16/bf16", *, native: Any = tile, **given: Any) -> PadPlan:
    """A plan from a made-up source."""
    q_dtype, kv_dtype = dtype.split("/")
    given.setdefault("arch", "gfx950")
    return plan(heads, capability=Fake(native=native), q_dtype=q_dtype, kv_dtype=kv_dtype, **given)


def a_problem(found: PadPlan, kv_lens: tuple[int, ...], **given: Any) -> Problem:
    """The problem that a plan is for."""
    shape = found.decisions[0].shape
    given.setdefault("qlen", found.qlens[0])
    return Problem(
        arch=found.arch,
        num_heads=found.num_heads,
        q_dtype=Dtype(found.q_dtype),
        kv_dtype=Dtype(found.kv_dtype),
        kv_lens=kv_lens,
        page_size=shape.page_size,
        lse=found.lse,
        causal=shape.causal,
        **given,
    )


def expected(problem: Problem, inputs: Inputs) -> tuple[Any, Any]:
    """What a decode of the inputs has to give."""
    from mlaprobe.decode.reference import reference

    return reference(
        inputs.q,
        inputs.kv,
        inputs.layout,
        sm_scale=problem.sm_scale,
        q_scale=inputs.q_scale,
        kv_scale=inputs.kv_scale,
        causal=problem.causal,
    )

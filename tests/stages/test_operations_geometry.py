"""Tokens of other sizes than an operation's: refused where AITER checks them, with that place.

The sizes are part of the data; here they are replaced. What is checked, and where, is from AITER's
source at v0.1.20.post1. Functions that only compare sizes with each other (``triton``,
``triton-prefill``, ``mla_decode_fwd_v4_nm``, ...) refuse none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, Operation, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.rulefiles.operations import Entry, entry_of

NO_ROPE: Mapping[str, str] = {"64": "0"}
"""A latent of 512 without a rope part."""
SMALL: Mapping[str, str] = {"512": "256", "64": "32"}
"""256 and 32."""
OPTED = (("AITER_ENABLE_EXPERIMENTAL", "1"),)


def resized(entry: Entry, sizes: Mapping[str, str]) -> Entry:
    """The entry with tensors whose last dimension is another."""
    last = re.compile(r"\b\d+(?=\])")

    def of(tensor: str) -> str:
        return last.sub(lambda found: sizes.get(found[0], found[0]), tensor)

    arguments = {name: of(value) for name, value in entry.function.arguments.items()}
    return replace(entry, function=replace(entry.function, arguments=arguments))


@pytest.mark.parametrize(
    ("op", "dtype", "sizes", "verdict", "stage", "file", "text"),
    [
        (
            *(Operation.SPARSE_PREFILL, "bf16", SMALL, Verdict.REJECTED, "dispatcher"),
            *("aiter/ops/triton/gluon/mla_gluon.py", "head_dim_ckv == 512"),
        ),
        (
            *(Operation.SPARSE_PREFILL_OPUS, "bf16", SMALL, Verdict.REJECTED, "host"),
            *("csrc/py_itfs_cu/pa_sparse_prefill_opus_kernels.cu", "D == 512"),
        ),
        (
            *(Operation.V4, "fp8", SMALL, Verdict.REJECTED, "dispatcher"),
            *("aiter/mla.py", "q.shape[-1] == _V40_DIM_QK_PACKED"),
        ),
        (
            *(Operation.V4, "fp8", NO_ROPE, Verdict.REJECTED, "dispatcher"),
            *("aiter/mla.py", "q_rope.shape[-1] == _V40_DIM_ROPE"),
        ),
        (
            *(Operation.SPARSE, "fp8", SMALL, Verdict.NO_REDUCER, "reducer"),
            *("csrc/kernels/mla/reduce.cu", "false"),
        ),
    ],
)
def test_another_geometry_is_refused_where_it_is_checked(
    aiter_git: Path,
    op: Operation,
    dtype: str,
    sizes: Mapping[str, str],
    verdict: Verdict,
    stage: str,
    file: str,
    text: str,
) -> None:
    more: dict[str, Any] = {"env": OPTED} if op is Operation.V4 else {}
    shape = DecodeShape(
        arch="gfx950",
        q_dtype=Dtype(dtype),
        kv_dtype=Dtype(dtype),
        num_heads=16 if op is not Operation.V4 else 64,
        op=op,
        **more,
    )
    with Capability.open(f"{aiter_git}@v0.1.20.post1") as capability:
        entry = entry_of(shape)
        found = capability.entry_point(resized(entry, sizes)).judge(shape)
        assert (found.verdict, found.stage) == (verdict, stage)
        outcome = found.outcome(stage)
        assert outcome is not None
        assert (file, text) in [(place.file, place.text) for place in outcome.evidence]
    with Capability.open(f"{aiter_git}@v0.1.20.post1") as capability:
        assert capability.entry_point(entry).judge(shape).verdict is Verdict.NATIVE

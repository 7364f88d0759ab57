"""Functions that launch kernels of their own, on AITER's releases, against Python itself.

``tests/data/launch_truth.json`` holds what the functions of each distinct version did when they
were executed with stand-ins for torch and triton whose tensors have shapes and dtypes only:
refused, launched which kernels, or launched one over a grid without a workgroup. The rows are a
sample of 28,512 answers, drawn so that every kind is in it. Pairs of dtypes that AITER neither
checks nor documents are left out, as are launches by a configuration that earlier calls
have changed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, Operation, Verdict
from mlaprobe.deciding.capability import Capability

DATA = Path(__file__).parents[1] / "data" / "launch_truth.json"
TRUTH: dict[str, list[list[Any]]] = json.loads(DATA.read_text())


def shape_of(row: list[Any]) -> DecodeShape:
    op, arch, pair, heads, qlen, *_ = row
    q_dtype, kv_dtype = map(Dtype, pair.split("/"))
    return DecodeShape(
        arch=arch,
        q_dtype=q_dtype,
        kv_dtype=kv_dtype,
        num_heads=heads,
        qlen=qlen,
        op=Operation(op),
        persistent=op != Operation.SPARSE,
    )


@pytest.mark.parametrize("release", TRUTH)
def test_launches(aiter_git: Path, release: str) -> None:
    with Capability.open(f"{aiter_git}@{release}") as capability:
        for row in TRUTH[release]:
            found = capability.judge(shape_of(row))
            what, kernels = row[-2:]
            absent = what == "absent"
            assert found.verdict is (Verdict.REJECTED if absent else Verdict(what)), row
            assert (found.stages[0][1].status == "absent") is absent, row
            if kernels:
                (note,) = [text for text in found.notes if text.startswith("launches ")]
                names = note.removeprefix("launches ").partition(";")[0].split(", ")
                assert set(kernels) <= set(names), row


@pytest.mark.parametrize(
    ("release", "arch", "message"),
    [
        ("v0.1.20.post1", "gfx942", "RuntimeError: Boolean value of Tensor"),
        ("v0.1.19.post2", "gfx942", "pa_prefill_sparse requires gfx1250, got gfx942"),
        ("v0.1.19.post2", "gfx950", "pa_prefill_sparse requires gfx1250, got gfx950"),
    ],
)
def test_why_a_sparse_prefill_is_refused(
    aiter_git: Path, release: str, arch: str, message: str
) -> None:
    """v0.1.20: ``attn_sink or ...`` asks a tensor of as many elements as heads for its truth."""
    with Capability.open(f"{aiter_git}@{release}") as capability:
        row = ["sparse-prefill", arch, "bf16/bf16", 16, 1]
        found = capability.judge(shape_of(row))
        assert (found.message or "").startswith(message)


def test_configurations_that_earlier_calls_have_changed(aiter_git: Path) -> None:
    """Up to v0.1.19.post2 a launch writes into the configuration that is kept for all calls."""
    for release, known in (("v0.1.19.post2", False), ("v0.1.20.post1", True)):
        with Capability.open(f"{aiter_git}@{release}") as capability:
            found = capability.judge(shape_of(["triton-rope", "gfx950", "bf16/bf16", 16, 1]))
            assert found.verdict is (Verdict.NATIVE if known else Verdict.UNKNOWN)
            if not known:
                assert "what a later call finds is not known" in (found.message or "")
                (place,) = found.evidence
                assert place.text == 'config["BLOCK_C"]'

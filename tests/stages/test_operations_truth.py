"""Prefill on every distinct version of AITER's host functions and routers, against compiled truth.

``tests/data/prefill_truth.json`` holds answers of the real code: the two host functions of each
version were compiled against stubs, with the kernel tables as another reader has them, and run for
1 to 128 heads and all KV heads that divide them. The rows are a sample, drawn so that every kind of
answer is in it; whether a reducer has the pair is from the cases of its macro.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, Operation, Verdict
from mlaprobe.deciding.capability import Capability

DATA = Path(__file__).parents[1] / "data" / "prefill_truth.json"
TRUTH: dict[str, list[list[Any]]] = json.loads(DATA.read_text())


def shape_of(row: list[Any]) -> DecodeShape:
    function, arch, pair, heads, kv_heads, qlen, other, *_ = row
    q_dtype, kv_dtype = map(Dtype, pair.split("/"))
    planned = function == "ps"
    return DecodeShape(
        arch=arch,
        q_dtype=q_dtype,
        kv_dtype=kv_dtype,
        num_heads=heads,
        num_kv_heads=kv_heads,
        qlen=qlen,
        op=Operation.PREFILL,
        persistent=planned,
        causal=bool(other) if planned else True,
        page_size=1 if planned else other,
    )


@pytest.mark.parametrize("release", TRUTH)
def test_prefill(aiter_git: Path, release: str) -> None:
    with Capability.open(f"{aiter_git}@{release}") as capability:
        for row in TRUTH[release]:
            decision = capability.decide(shape_of(row))
            planned, symbol, merged = row[0] == "ps", row[-2], row[-1]
            if symbol is None:
                assert decision.verdict in (Verdict.REJECTED, Verdict.NO_KERNEL), row
                assert decision.stage == "host", row
                continue
            assert [kernel.symbol for kernel in decision.kernels] == [symbol], row
            runs = merged or not planned
            expected = Verdict.NATIVE if runs else Verdict.NO_REDUCER
            assert decision.verdict is expected, row

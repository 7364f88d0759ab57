"""Every distinct version of AITER's deciding files against compiled truth.

``tests/data/truth.json`` holds answers of the real code: the host functions of each release were
compiled against stub headers and run, its Python functions executed with stand-in tensors. The
rows are a sample, drawn so that every kind of answer of every version is in it.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, StageOutcome
from mlaprobe.deciding.capability import Capability
from mlaprobe.stages.planner import PlannerQuestion

TRUTH: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "truth.json").read_text())
EXPERIMENTAL = (("AITER_ENABLE_EXPERIMENTAL", "1"),)


def versions(stage: str) -> list[Any]:
    return [pytest.param(v["release"], v["rows"], id=v["release"]) for v in TRUTH[stage]]


@pytest.fixture
def capability(aiter_git: str, release: str) -> Capability:
    return _opened(f"{aiter_git}@{release}")


@lru_cache(maxsize=2)
def _opened(spec: str) -> Capability:
    return Capability.open(spec)


def dtype(name: str | None) -> Dtype | None:
    return None if name is None else Dtype.of(name)


def folds(outcome: StageOutcome) -> list[object]:
    rejected = outcome.status == "rejected"
    return [
        outcome.status,
        outcome.fold,
        outcome.qlen_fold,
        None if rejected else outcome.final_heads,
    ]


@pytest.mark.parametrize(("release", "rows"), versions("planner"))
def test_planner(capability: Capability, rows: list[Any]) -> None:
    assert capability.planner is not None
    for arch, q, kv, experimental, heads, qlen, uniform, *expected in rows:
        question = PlannerQuestion(
            arch=arch,
            q_dtype=dtype(q),
            kv_dtype=dtype(kv),
            num_heads=heads,
            qlen=qlen,
            uniform_qlen=uniform or qlen,
            env=EXPERIMENTAL if experimental else (),
        )
        assert folds(capability.planner.decide(question)) == expected, question


@pytest.mark.parametrize(("release", "rows"), versions("dispatcher"))
def test_dispatcher(capability: Capability, rows: list[Any]) -> None:
    for arch, q, kv, experimental, persistent, heads, qlen, *expected, other_entry in rows:
        shape = DecodeShape(
            arch=arch,
            q_dtype=q,
            kv_dtype=kv,
            num_heads=heads,
            qlen=qlen,
            persistent=bool(persistent),
            env=EXPERIMENTAL if experimental else (),
        )
        outcome = capability.ask("dispatcher", shape)
        status, *rest = expected
        if status.endswith("Error"):
            assert outcome.status == "rejected", shape
            assert (outcome.message or "").startswith(status), shape
            continue
        assert folds(outcome) == [status, *rest], shape
        assert (outcome.entry not in (None, "asm")) is bool(other_entry), shape


@pytest.mark.parametrize(("release", "rows"), versions("host"))
def test_host(capability: Capability, rows: list[Any]) -> None:
    assert capability.host is not None
    for arch, q, kv, persistent, lse, causal, round_robin, heads, qlen, status, symbols in rows:
        question = DecodeShape(
            arch=arch,
            q_dtype=Dtype.of(q),
            kv_dtype=Dtype.of(kv),
            num_heads=heads,
            qlen=qlen,
            persistent=bool(persistent),
            lse=bool(lse),
            causal=bool(causal),
            cp_round_robin=bool(round_robin),
            page_size=64 if arch == "gfx1250" or kv == "byte" else 1,
        )
        outcome = capability.host.decide(question)
        assert outcome.status == status, question
        assert sorted(k.symbol for k in outcome.kernels) == symbols, question


@pytest.mark.parametrize(("release", "rows"), versions("reducer"))
def test_reducer(capability: Capability, rows: list[Any]) -> None:
    assert capability.reducer is not None
    for heads, head_dim, there in rows:
        outcome = capability.reducer.decide((heads, head_dim))
        assert outcome.status == ("instantiated" if there else "missing"), (heads, head_dim)


@pytest.mark.parametrize(("release", "rows"), versions("sizing"))
def test_sizing(capability: Capability, rows: list[Any]) -> None:
    for arch, q, kv, heads, qlen, status in rows:
        shape = DecodeShape(arch=arch, q_dtype=q, kv_dtype=kv, num_heads=heads, qlen=qlen)
        assert capability.ask("sizing", shape).status == status, shape


@pytest.mark.parametrize(("release", "rows"), versions("gluon"))
def test_gluon(capability: Capability, rows: list[Any]) -> None:
    for arch, q, kv, batch, qlen, lse, heads, accepted in rows:
        shape = DecodeShape(
            arch=arch,
            q_dtype=q,
            kv_dtype=kv,
            num_heads=heads,
            qlen=qlen,
            lse=bool(lse),
            batch=batch,
        )
        status = capability.ask("gluon", shape).status
        assert status == ("accepted" if accepted else "rejected"), shape

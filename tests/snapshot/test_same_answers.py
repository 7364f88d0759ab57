"""A snapshot answers what its source answers, or says that it does not hold the question."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from mlaprobe.capability import Capability
from mlaprobe.shape import Decision, DecodeShape, Dtype, PlannerCall, Verdict
from mlaprobe.snapshot import Snapshot
from mlaprobe.snapshot.file import parse
from mlaprobe.snapshot.making import make
from mlaprobe.snapshot.scope import Scope
from tests.stages.ask import opened
from tests.trees import today

SCOPE = Scope(
    archs=("gfx950",),
    heads=(1, 8, 16, 24, 32, 40, 48, 64, 96, 128),
    qlens=(1, 2, 5),
    page_sizes=(1, 64),
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Capability, Snapshot]:
    capability = opened(tmp_path_factory.mktemp("today"), today.tree())
    text = make(capability, scope=SCOPE)
    return capability, Snapshot(parse(text.encode(), "today"), label="today")


def _shape(choose: random.Random, arch: str) -> DecodeShape:
    query, cache = choose.choice(SCOPE.dtypes)
    told = choose.choice([PlannerCall(), PlannerCall(q_dtype=None, kv_dtype=None)])
    return DecodeShape(
        arch=arch,
        q_dtype=query,
        kv_dtype=cache,
        num_heads=choose.choice(SCOPE.heads),
        qlen=choose.choice(SCOPE.qlens),
        lse=choose.random() < 0.5,
        persistent=choose.random() < 0.5,
        batch=choose.choice([None, None, 1, 3, 31, 32, 33, 64, 257]),
        page_size=choose.choice(SCOPE.page_sizes),
        planner=PlannerCall.of(told),
    )


def _said(decision: Decision) -> list[Any]:
    names = ("verdict", "fold", "qlen_fold", "failure", "stage", "message", "kernels", "key")
    stages = [(n, replace(o, evidence=(), sizes=None)) for n, o in decision.stages]
    return [*(getattr(decision, n) for n in names), decision.notes, stages]


def test_a_snapshot_answers_like_its_source(pair: tuple[Capability, Snapshot]) -> None:
    live, kept = pair
    choose = random.Random(20)
    seen = set()
    for _ in range(600):
        shape = _shape(choose, "gfx950")
        answer = kept.decide(shape)
        assert _said(answer) == _said(live.decide(shape)), shape
        seen.add(answer.verdict)
    assert {Verdict.NATIVE, Verdict.FOLDED, Verdict.NO_KERNEL, Verdict.REJECTED} <= seen


def test_what_was_not_asked_is_unknown(pair: tuple[Capability, Snapshot]) -> None:
    kept = pair[1]
    inside = DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=32, qlen=1)
    assert kept.decide(inside).verdict is Verdict.NATIVE
    beyond: tuple[dict[str, Any], ...] = (
        {"arch": "gfx942"},
        {"num_heads": 33},
        {"qlen": 3},
        {"page_size": 16},
    )
    for change in beyond:
        answer = kept.decide(replace(inside, **change))
        assert answer.verdict is Verdict.UNKNOWN
        assert answer.stage == "snapshot"

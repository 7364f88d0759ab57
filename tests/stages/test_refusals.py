"""Refusals that are told by the path are those that every question gets for itself."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.axes import OMITTED
from mlaprobe.core.shape import DecodeShape, Dtype, PlannerCall
from mlaprobe.deciding.capability import Capability
from mlaprobe.deciding.refusals import STAGES
from tests.stages.ask import opened
from tests.trees import today

HEADS = (*range(1, 50), 64, 80, 96, 112, 128, 144, 256)
QLENS = (1, 2, 3, 4, 5, 8)
SETTINGS = [
    DecodeShape(
        arch=arch,
        q_dtype=dtype,
        kv_dtype=dtype,
        num_heads=1,
        lse=lse,
        persistent=persistent,
        planner=planner,
    )
    for arch, dtype, lse, persistent, planner in product(
        ("gfx942", "gfx950"),
        (Dtype.BF16, Dtype.FP8),
        (False, True),
        (True, False),
        (PlannerCall(), OMITTED),
    )
]


def compared(by_path: Capability, by_question: Capability) -> int:
    """How many refusals were the same, all stages and settings together."""
    refusals = 0
    for stage, setting in product(STAGES, SETTINGS):
        found = by_path.refusals(stage, setting)
        for heads, qlen in product(HEADS, QLENS):
            shape = replace(setting, num_heads=heads, qlen=qlen)
            outcome, refusal = by_question.ask(stage, shape), found.refusal(heads, qlen)
            wanted: Any = outcome.failure if outcome.status == "rejected" else "not refused"
            assert (refusal.failure if refusal else "not refused") == wanted, shape
            refusals += refusal is not None
    return refusals


def test_a_tree_of_today(tmp_path: Path) -> None:
    assert compared(*(opened(tmp_path, today.tree()) for _ in range(2))) > 1000


@pytest.mark.parametrize("release", ["v0.1.7.post3", "v0.1.16.post2", "v0.1.20"])
def test_releases(aiter_git: Path, release: str) -> None:
    assert compared(*(Capability.open(f"{aiter_git}@{release}") for _ in range(2))) > 1000


def test_most_are_told_by_the_path(tmp_path: Path) -> None:
    asked: list[DecodeShape] = []
    capability = opened(tmp_path, today.tree())
    ask = capability.ask
    capability.ask = lambda stage, shape: asked.append(shape) or ask(stage, shape)  # type: ignore
    found = capability.refusals("planner", SETTINGS[0])
    for at in product(HEADS, QLENS):
        found.refusal(*at)
    assert len(asked) < len(HEADS) * len(QLENS) / 4

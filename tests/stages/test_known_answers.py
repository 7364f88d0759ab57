"""Answers that are known from the releases themselves and from public reports."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.shape import Decision, DecodeShape, Failure
from mlaprobe.deciding.capability import Capability

REPORTED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "reported.json").read_text()
)
FP8, BF16 = "fp8/fp8", "bf16/bf16"


@lru_cache(maxsize=4)
def _opened(spec: str) -> Capability:
    return Capability.open(spec)


def decide(git: str, release: str, arch: str, pair: str, heads: int, **more: Any) -> Decision:
    q, kv = pair.split("/")
    shape = DecodeShape(arch=arch, q_dtype=q, kv_dtype=kv, num_heads=heads, **more)  # type: ignore[arg-type]
    return _opened(f"{git}@{release}").decide(shape)


def said(decision: Decision) -> str:
    fold = f" {decision.fold}" if decision.fold > 1 else ""
    return decision.verdict.value + fold


KNOWN: list[tuple[str, str, str, str, int, dict[str, Any]]] = [
    *(("NATIVE", "v0.1.20", "gfx950", FP8, h, {}) for h in (16, 32, 64, 128)),
    *((f"FOLDED {h // 16}", "v0.1.20", "gfx950", FP8, h, {}) for h in (48, 80, 96, 112)),
    ("FOLDED 2", "v0.1.16.post2", "gfx950", FP8, 32, {}),
    *(("NATIVE", "v0.1.16.post2", "gfx950", FP8, 32, {"qlen": q}) for q in (2, 4)),
    *(("NATIVE", "v0.1.15", "gfx950", FP8, 32, {"qlen": q}) for q in (1, 2, 4)),
    ("NO_KERNEL", "v0.1.15", "gfx950", FP8, 32, {"lse": True}),
    ("NATIVE", "v0.1.12", "gfx950", FP8, 32, {"qlen": 4}),
    ("FOLDED 2", "v0.1.12", "gfx950", FP8, 32, {}),
    *(
        ("NO_KERNEL", release, "gfx950", FP8, 64, {"qlen": q})
        for release in ("v0.1.16", "v0.1.17")
        for q in (5, 6, 7, 8)
    ),
    ("NO_REDUCER", "v0.1.13", "gfx950", BF16, 96, {"qlen": 4}),
    ("NO_KERNEL", "v0.1.10.post3", "gfx942", FP8, 32, {"qlen": 4}),
    # Planner and dispatcher fold differently, and there is no kernel for what is launched.
    ("NO_KERNEL", "v0.1.7.post3", "gfx942", "bf16/fp8", 128, {}),
    *(("NATIVE", "v0.1.20", "gfx942", FP8, 64, {"page_size": 64, "lse": x}) for x in (False, True)),
    ("NATIVE", "v0.1.20", "gfx942", FP8, 128, {}),
    ("NO_KERNEL", "v0.1.20", "gfx942", FP8, 128, {"lse": True}),
    *(("NATIVE", "v0.1.20", "gfx950", BF16, 24, {"lse": lse}) for lse in (False, True)),
    ("REJECTED", "v0.1.20", "gfx950", BF16, 12, {}),
    ("NO_REDUCER", "v0.1.20", "gfx950", BF16, 40, {}),
    ("AMBIGUOUS", "v0.1.20", "gfx950", BF16, 8, {"qlen": 2, "persistent": False}),
    ("NO_KERNEL", "v0.1.20", "gfx950", FP8, 16, {"qlen": 2, "lse": True}),
    ("NO_KERNEL", "v0.1.20", "gfx942", BF16, 16, {"qlen": 5}),
    ("REJECTED", "v0.1.19.post2", "gfx950", FP8, 128, {"qlen": 5, "persistent": False}),
    (
        "INCOHERENT",
        "v0.1.16.post2",
        "gfx950",
        FP8,
        32,
        {"planner": {"q_dtype": None, "kv_dtype": None}},
    ),
    ("REJECTED", "v0.1.20", "gfx950", FP8, 128, {"env": {"AITER_ENABLE_EXPERIMENTAL": "1"}}),
    ("NATIVE", "v0.1.19.post2", "gfx950", FP8, 128, {"env": {"AITER_ENABLE_EXPERIMENTAL": "1"}}),
]


@pytest.mark.parametrize(("expected", "release", "arch", "pair", "heads", "more"), KNOWN)
def test_known_answers(
    aiter_git: str,
    expected: str,
    release: str,
    arch: str,
    pair: str,
    heads: int,
    more: dict[str, Any],
) -> None:
    assert said(decide(aiter_git, release, arch, pair, heads, **more)) == expected


def test_how_it_fails_is_read_from_the_source(aiter_git: str) -> None:
    old = decide(aiter_git, "v0.1.13", "gfx950", BF16, 96, qlen=4)
    new = decide(aiter_git, "v0.1.20", "gfx950", BF16, 40)
    assert (old.failure, new.failure) == (Failure.EXCEPTION, Failure.ABORT)


def test_beyond_a_rejection_the_rest_is_still_reported(aiter_git: str) -> None:
    decision = decide(aiter_git, "v0.1.20", "gfx950", BF16, 12)
    assert decision.stage == "sizing"
    host = decision.outcome("host")
    assert host is not None
    assert host.status == "no_kernel"


def test_a_missing_entry_point_leaves_the_dispatcher_s_status(aiter_git: str) -> None:
    decision = decide(
        aiter_git, "v0.1.20", "gfx950", FP8, 128, env={"AITER_ENABLE_EXPERIMENTAL": "1"}
    )
    dispatcher = decision.outcome("dispatcher")
    assert dispatcher is not None
    assert (decision.stage, dispatcher.status, dispatcher.entry) == ("dispatcher", "native", "hk")


def test_gates_on_the_batch_are_notes_until_a_batch_is_given(aiter_git: str) -> None:
    unset = decide(aiter_git, "v0.1.18", "gfx950", BF16, 16)
    small = decide(aiter_git, "v0.1.18", "gfx950", BF16, 16, batch=31)
    large = decide(aiter_git, "v0.1.18", "gfx950", BF16, 16, batch=32)
    assert any("from batch 32 on" in note for note in unset.notes)
    assert unset.kernels == small.kernels
    assert [k.symbol for k in large.kernels] == [
        "_ZN5aiter39mla_dec_stage1_bf16_a16w16_subQ16_mqa16E"
    ]


@pytest.mark.parametrize(
    "case", REPORTED, ids=lambda c: f"{c['report']}-{c['release']}-{c['shape']['num_heads']}"
)
def test_public_reports(aiter_git: str, case: dict[str, Any]) -> None:
    decision = _opened(f"{aiter_git}@{case['release']}").decide(DecodeShape(**case["shape"]))
    if case["verdict"] == "NATIVE_OR_FOLDED":
        # an erratum is a running verdict that people found to be bad
        assert decision.verdict.value in ("NATIVE", "FOLDED", "ERRATUM")
    else:
        assert decision.verdict.value == case["verdict"]

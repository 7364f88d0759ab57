"""What the rules find in real releases: the counts that are known of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from mlaprobe.core.axes import OMITTED
from mlaprobe.core.shape import DecodeShape, Dtype
from mlaprobe.deciding.capability import Capability
from mlaprobe.findings.facts.shapes import Scope
from mlaprobe.findings.inspection import inspect
from mlaprobe.findings.model import Finding, Level

ROWS = ("MLA005", "MLA006", "MLA007", "MLA008", "MLA009")
FEW = (16, 32, 64, 128)
FP8_32 = DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=32)


@lru_cache(maxsize=16)
def rows(repository: Path, tag: str) -> tuple[Finding, ...]:
    with Capability.open(f"{repository}@{tag}") as capability:
        return inspect(capability, only=ROWS).findings


def counted(findings: tuple[Finding, ...]) -> dict[tuple[str, str], int]:
    """How many of each rule and arch."""
    return dict(Counter((each.rule.id, each.message.partition(":")[0]) for each in findings))


# The counts of the specification, rule by rule; nothing else of these rules is found.
KNOWN = {
    "v0.1.20": {("MLA005", "gfx950"): 1, ("MLA007", "gfx942"): 2, ("MLA009", "gfx950"): 5},
    "v0.1.17": {("MLA007", "gfx942"): 2, ("MLA009", "gfx950"): 3},
    "v0.1.10.post1": {
        ("MLA006", "gfx942"): 1,
        ("MLA006", "gfx950"): 1,
        ("MLA007", "gfx942"): 4,
        ("MLA008", "gfx942"): 1,
        ("MLA008", "gfx950"): 1,
    },
}


@pytest.mark.parametrize("tag", KNOWN)
def test_rows(aiter_git: Path, tag: str) -> None:
    assert counted(rows(aiter_git, tag)) == KNOWN[tag]


def test_the_rows_of_one_key(aiter_git: Path) -> None:
    (finding,) = (each for each in rows(aiter_git, "v0.1.20") if each.rule.id == "MLA005")
    assert "qType=bf16 kvType=bf16 Gqa=8 ps=0 qSeqLen=2" in finding.message
    assert [place.line for place in finding.evidence] == [34, 35]


def test_the_missing_files_are_of_the_prefill(aiter_git: Path) -> None:
    found = [each for each in rows(aiter_git, "v0.1.20") if each.rule.id == "MLA007"]
    assert all("mla_pfl_" in each.message for each in found)


def found(repository: Path, tag: str, *rules: str, **scope: object) -> tuple[Finding, ...]:
    with Capability.open(f"{repository}@{tag}") as capability:
        chosen = Scope(archs=("gfx942", "gfx950"), **scope)  # type: ignore[arg-type]
        return inspect(capability, chosen, only=rules).findings


@pytest.mark.parametrize("tag", ["v0.1.10.post1", "v0.1.14", "v0.1.17", "v0.1.20"])
def test_more_heads_than_there_are_kernels_for(aiter_git: Path, tag: str) -> None:
    """One note in every release: the planner folds them, the dispatcher refuses them."""
    (finding,) = (
        each
        for each in found(aiter_git, tag, "MLA001", heads=FEW, qlens=(1,))
        if each.level is Level.NOTE
    )
    assert "144-256 (multiples of 16) heads" in finding.message


def test_planner_and_dispatcher_of_v0_1_7_post3(aiter_git: Path) -> None:
    """bf16/fp8 128 heads: the planner folds by 8, the dispatcher does not."""
    errors = [
        each
        for each in found(aiter_git, "v0.1.7.post3", "MLA001", heads=FEW, qlens=(1,))
        if each.level is Level.ERROR
    ]
    assert any("bf16/fp8" in e.message and "by 8" in e.message for e in errors)


@pytest.mark.parametrize(("tag", "there"), [("v0.1.16.post2", True), ("v0.1.15", False)])
def test_dtypes_left_out(aiter_git: Path, tag: str, there: bool) -> None:
    """gfx950 fp8 32 heads qlen 1: right by luck on v0.1.15, incoherent on v0.1.16."""
    shown = found(aiter_git, tag, "MLA010", heads=(32,), qlens=(1,), plain_heads=(), knobs=False)
    shape = replace(FP8_32, planner=OMITTED)
    assert any(each.region is not None and shape in each.region for each in shown) is there


def test_buffers_of_v0_1_16(aiter_git: Path) -> None:
    """fp8 32 heads qlen 4, batch 512, 16 splits per batch, 256 compute units: 32 GiB."""
    scope = Scope(
        archs=("gfx950",), heads=(32,), qlens=(4,), dtypes=((Dtype.FP8, Dtype.FP8),), beyond=()
    )
    with Capability.open(f"{aiter_git}@v0.1.16") as capability:
        (finding,) = inspect(capability, scope, only=("MLA011",)).findings
    assert finding.message == (
        "gfx950 fp8/fp8, 32 heads, qlen 4: a batch of 512 with 16 splits each asks for at least "
        "32 GiB of partial results (32 heads at qlen 4 for 32 GiB)"
    )


def test_what_sizing_refuses(aiter_git: Path) -> None:
    shown = found(aiter_git, "v0.1.20", "MLA011", heads=(12, 16), qlens=(1,))
    assert [each.message.partition(" (")[0] for each in shown] == [
        "gfx950 bf16/bf16, 12 heads, qlen 1: planner and dispatcher take it, and sizing refuses "
        "it: assert num_head_qo % 8 == 0"
    ]


@pytest.mark.parametrize(
    ("tag", "argument", "flag"),
    [("v0.1.20", False, False), ("v0.1.19.post2", True, True), ("v0.1.14", True, True)],
)
def test_arguments_without_effect(aiter_git: Path, tag: str, argument: bool, flag: bool) -> None:
    shown = found(aiter_git, tag, "MLA012", heads=(128,), qlens=(1,), plain_heads=(128,))
    assert any("is_causal has no effect" in each.message for each in shown) is argument
    hidden = [each for each in shown if "AITER_ENABLE_EXPERIMENTAL=1" in each.message]
    assert bool(hidden) is flag


@pytest.mark.parametrize(("tag", "there"), [("v0.1.20", True), ("v0.1.19.post2", False)])
def test_a_function_that_is_not_defined(aiter_git: Path, tag: str, there: bool) -> None:
    shown = found(aiter_git, tag, "MLA017", heads=(128,), qlens=(1,), plain_heads=(128,))
    assert any("hk_mla_decode_fwd" in each.message for each in shown) is there


def test_errata(aiter_git: Path) -> None:
    shown = found(aiter_git, "v0.1.20", "MLA015", heads=(24,), qlens=(2,), plain_heads=(64,))
    for known in ("emulated-24-heads", "emulated-no-mask"):
        assert any(known in each.message for each in shown)

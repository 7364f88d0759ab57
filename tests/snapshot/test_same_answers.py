"""A snapshot answers what its source answers, on all of its grid, and off it says so."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.behaviour import Numbering
from mlaprobe.core.grid import Grid
from mlaprobe.core.shape import Decision, DecodeShape, Dtype, PlannerCall, Route, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.opening.probing import probe
from mlaprobe.snapshot import OUTSIDE, Snapshot
from mlaprobe.snapshot.file import parse
from mlaprobe.snapshot.making import make
from mlaprobe.snapshot.scope import STANDARD_HEADS, STANDARD_QLENS, Scope
from tests.stages.ask import opened
from tests.trees import following, indices, today
from tests.trees.common import changed

OURS = Scope(
    archs=("gfx950",),
    heads=(1, 8, 16, 24, 32, 40, 48, 64, 96, 128),
    qlens=(1, 2, 5),
    page_sizes=(1, 64),
)
INSIDE = DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=32, qlen=1)
UNREAD = (("A_VARIABLE_THAT_NOTHING_READS", "1"),)


def some(archs: tuple[str, ...], heads: int, qlens: int, **more: Any) -> Scope:
    """A part of the standard grid: the usual counts, and others by chance, each run the same."""
    choose = random.Random(17)
    chosen = {1, 16, 32, 48, 128, *choose.sample(STANDARD_HEADS, heads)}
    lengths = {1, *choose.sample(STANDARD_QLENS, qlens)}
    return Scope(archs=archs, heads=tuple(sorted(chosen)), qlens=tuple(sorted(lengths)), **more)


Pair = tuple[Capability, Snapshot, Scope]


def taken(capability: Capability, scope: Scope) -> Pair:
    """A source with the snapshot of it, written and read back."""
    text = make(capability, scope=scope)
    return capability, Snapshot(parse(text.encode(), "snapshot"), label="snapshot"), scope


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return taken(opened(tmp_path_factory.mktemp("today"), today.tree()), OURS)


@pytest.fixture(scope="module")
def next_layout(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    scope = replace(OURS, heads=(8, 16, 32, 64, 128), qlens=(1, 2), page_sizes=(1,))
    return taken(opened(tmp_path_factory.mktemp("following"), following.tree()), scope)


@pytest.fixture(scope="module")
def wheel() -> Iterator[Pair]:
    """PyPI's amd-aiter."""
    capability = probe("installed")
    assert isinstance(capability, Capability)
    with capability:
        yield taken(capability, some(capability.archs, heads=8, qlens=2))


@pytest.fixture(scope="module", params=["v0.1.12", "v0.1.16.post2", "v0.1.20"])
def release(request: pytest.FixtureRequest) -> Iterator[Pair]:
    repository = request.getfixturevalue("aiter_git")
    capability = probe(f"{repository}@{request.param}")
    assert isinstance(capability, Capability)
    with capability:
        yield taken(capability, some(("gfx950",), heads=4, qlens=1, page_sizes=(1,)))


def shape_of(choose: random.Random, scope: Scope) -> DecodeShape:
    """A shape of a grid, each as likely as any other, of any batch size, and with a variable set
    that nothing reads."""
    q_dtype, kv_dtype = choose.choice(scope.dtypes)
    told = [PlannerCall(), PlannerCall(q_dtype=None, kv_dtype=None)]
    sizes = [None, None, 1, 31, 32, 33, 64, choose.randint(1, 2048)]
    return DecodeShape(
        arch=choose.choice(scope.archs),
        q_dtype=q_dtype,
        kv_dtype=kv_dtype,
        num_heads=choose.choice(scope.heads),
        qlen=choose.choice(scope.qlens),
        page_size=choose.choice(scope.page_sizes),
        lse=choose.random() < 0.5,
        persistent=choose.random() < 0.7,
        causal=choose.random() < 0.7,
        cp_round_robin=choose.random() < 0.3,
        batch=choose.choice(sizes),
        planner=choose.choice(told),
        route=Route.GLUON if choose.random() < 0.1 else Route.ASM,
        env=choose.choice([(), UNREAD]),
        kv_cache_bytes=choose.choice([None, None, 5 << 30]),
        num_kv_splits=choose.choice([None, None, 1, 2, 16]),
        sparse=choose.random() < 0.2,
    )


def said(decision: Decision) -> list[Any]:
    """All of an answer. A snapshot keeps one place for what decided, and no buffer sizes."""
    names = ("verdict", "fold", "qlen_fold", "failure", "stage", "message", "kernels", "key")
    stages = [(n, replace(o, evidence=(), sizes=None)) for n, o in decision.stages]
    return [*(getattr(decision, n) for n in names), decision.notes, stages]


def same_answers(pair: Pair, count: int) -> set[Verdict]:
    """Asks both; which verdicts there were."""
    live, kept, scope = pair
    choose = random.Random(20)
    seen = set()
    for _ in range(count):
        shape = shape_of(choose, scope)
        answer = kept.decide(shape)
        assert said(answer) == said(live.decide(shape)), shape
        assert answer.stage != OUTSIDE, shape
        seen.add(answer.verdict)
    return seen


def test_a_snapshot_answers_like_its_source(ours: Pair) -> None:
    seen = same_answers(ours, 500)
    assert {Verdict.NATIVE, Verdict.FOLDED, Verdict.NO_KERNEL, Verdict.REJECTED} <= seen


def test_a_query_of_one_token_is_a_question_of_its_own(tmp_path: Path) -> None:
    """An entry that unpacks a query without an axis for the length refuses every longer one, and
    that says nothing of the short ones, whichever was asked first."""
    dims = ('q_nope.dim() in (3, 4), f"q_nope has {q_nope.dim()} dimensions"', "k_pe is None")
    unpacked = ("heads = q_nope.shape[-2]", "batch, heads, _ = q_nope.shape")
    scope = replace(OURS, heads=(8, 16, 32), qlens=(1, 2, 4), page_sizes=(1,))
    tree = changed(today.tree(), today.GLUON, dims, unpacked)
    live, kept, _ = taken(opened(tmp_path, tree), scope)
    verdicts = {}
    for heads, qlen in scope.cells():
        shape = replace(INSIDE, num_heads=heads, qlen=qlen, route=Route.GLUON)
        answer = kept.decide(shape)
        assert said(answer) == said(live.decide(shape))
        verdicts[heads, qlen] = answer.verdict
    native = [cell for cell, verdict in verdicts.items() if verdict is Verdict.NATIVE]
    assert native == [(8, 1), (16, 1)]


def test_of_the_next_layout(next_layout: Pair) -> None:
    assert len(same_answers(next_layout, 150)) > 1


def test_of_the_wheel(wheel: Pair) -> None:
    assert {Verdict.NATIVE, Verdict.FOLDED, Verdict.REJECTED} <= same_answers(wheel, 300)


def test_of_a_release(release: Pair) -> None:
    assert {Verdict.NATIVE, Verdict.FOLDED, Verdict.NO_KERNEL} <= same_answers(release, 400)


def test_of_what_does_not_fit_together(tmp_path: Path) -> None:
    """A fold whose index vectors do not follow, where a kernel reads them by request."""
    scope = replace(OURS, archs=("gfx942",), heads=(16, 32, 48, 128), qlens=(1, 2))
    live, kept, _ = taken(opened(tmp_path, indices.tree()), scope)
    bf16 = replace(INSIDE, arch="gfx942", q_dtype=Dtype.BF16, kv_dtype=Dtype.BF16)
    seen = {}
    for heads, qlen in scope.cells():
        for round_robin in (False, True):
            shape = replace(bf16, num_heads=heads, qlen=qlen, cp_round_robin=round_robin)
            answer = kept.decide(shape)
            assert said(answer) == said(live.decide(shape))
            seen[heads, qlen, round_robin] = answer.verdict
    fits = {False: Verdict.FOLDED, True: Verdict.INCOHERENT}
    assert seen == {cell: fits[cell[2]] if cell[0] > 16 else Verdict.NATIVE for cell in seen}
    part = Grid(
        archs=scope.archs,
        dtypes=((Dtype.BF16, Dtype.BF16),),
        heads=scope.heads,
        qlens=scope.qlens,
        cp_round_robin=(True,),
    )
    numbering = Numbering()
    rows = kept.behaviour_rows(part, numbering)
    assert rows is not None
    words = [[numbering.by_number[number].words for number in row] for row in rows]
    assert words == [["native"] * 2, *[["incoherent"] * 2] * 3]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"arch": "gfx942"}, "gfx942 (it holds gfx950)"),
        ({"kv_dtype": Dtype.BF16}, "fp8/bf16 (it holds bf16/bf16, bf16/fp8, fp8/fp8)"),
        ({"num_heads": 33}, "33 heads (it holds 1,8,16,24,32,40,48,64,96,128)"),
        ({"num_heads": 512}, "512 heads"),
        ({"qlen": 3}, "qlen 3 (it holds 1-2,5)"),
        ({"page_size": 16}, "page size 16 (it holds 1,64)"),
        ({"env": (("AITER_ENABLE_EXPERIMENTAL", "1"),)}, "AITER_ENABLE_EXPERIMENTAL set"),
        ({"env": (("AITER_ENABLE_EXPERIMENTAL", "0"),)}, "AITER_ENABLE_EXPERIMENTAL set"),
        ({"planner": PlannerCall(q_dtype=None)}, "a planner told the dtypes nothing/fp8"),
        ({"planner": PlannerCall(num_heads=33)}, "a planner told 33 heads and qlen 1"),
        ({"planner": PlannerCall(uniform_qlen=-1)}, "a planner told the uniform qlen -1"),
        ({"planner": PlannerCall(fast_mode=False)}, "a planner told fast_mode=0 (it holds what"),
        ({"planner": PlannerCall(max_split_per_batch=8)}, "ask the AITER source itself"),
        ({"planner": PlannerCall(intra_batch_mode=True)}, "a planner told intra_batch_mode=1"),
        (
            {"planner": PlannerCall(intra_batch_mode=True), "persistent": False, "num_heads": 16},
            "a planner told intra_batch_mode=1",
        ),
        ({"planner": PlannerCall(cp_round_robin=True)}, "a planner told cp_round_robin=1"),
    ],
)
def test_off_the_grid(ours: Pair, change: dict[str, Any], what: str) -> None:
    kept = ours[1]
    assert kept.decide(INSIDE).verdict is Verdict.NATIVE
    answer = kept.decide(replace(INSIDE, **change))
    assert (answer.verdict, answer.stage) == (Verdict.UNKNOWN, OUTSIDE)
    assert answer.message is not None
    assert answer.message.startswith("outside the snapshot")
    assert what in answer.message


TOLD = (
    PlannerCall(fast_mode=False),
    PlannerCall(intra_batch_mode=True),
    PlannerCall(max_split_per_batch=8),
    PlannerCall(cp_round_robin=True),
)


def test_a_stage_that_is_told_otherwise_is_never_answered_for_the_usual(ours: Pair) -> None:
    kept = ours[1]
    for told in TOLD:
        for persistent in (True, False):
            asked = replace(INSIDE, planner=told, persistent=persistent)
            for stage in ("planner", "sizing"):
                assert kept.ask(stage, asked).status == "unknown", (stage, told)
    passed = replace(INSIDE, planner=PlannerCall(intra_batch_mode=True))
    assert kept.ask("dispatcher", passed).status == "unknown"


def test_what_makes_no_difference_is_answered(ours: Pair) -> None:
    """Round robin that is as launched, and a planner that is not asked at all."""
    live, kept, _ = ours
    for told in (PlannerCall(cp_round_robin=False), PlannerCall(fast_mode=True)):
        asked = replace(INSIDE, planner=told)
        assert kept.decide(asked).verdict is live.decide(asked).verdict is Verdict.NATIVE
    away = replace(INSIDE, persistent=False, planner=PlannerCall(fast_mode=False))
    assert kept.decide(away).verdict is live.decide(away).verdict
    for stage in ("dispatcher", "host"):
        alone = replace(INSIDE, planner=PlannerCall(fast_mode=False))
        assert kept.ask(stage, alone).status == live.ask(stage, alone).status

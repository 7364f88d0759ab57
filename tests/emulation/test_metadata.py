"""What the planner of a release writes for a batch.

``planned.json`` holds what the same source wrote when it was compiled for a CPU, one fiber for each
thread, with stand-ins for tensors and the GPU runtime; ``null`` is what it left unwritten.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, PlannerCall
from mlaprobe.deciding.capability import Capability
from mlaprobe.emulation.batches.batch import IndexVectors
from mlaprobe.emulation.batches.works import Works
from mlaprobe.emulation.metadata import BatchPlanner, NoWorks
from mlaprobe.stages.environment.device import Device

CASES = json.loads((Path(__file__).parent / "planned.json").read_text())


@cache
def _planner(source: str) -> BatchPlanner:
    return BatchPlanner(Capability.open(source))


Plan = Callable[..., Works | NoWorks]


@pytest.fixture
def plan(aiter_git: Path) -> Plan:
    """Plans a case of ``planned.json``, or one like it."""

    def planned(
        *,
        arch: str = "gfx950",
        dtypes: str = "bf16/bf16",
        heads: int = 16,
        qlen: int = 1,
        kv: list[int],
        cu: int,
        release: str = "v0.1.20",
        qlens: list[int] | None = None,
        page: int = 1,
        causal: int = 1,
        parallel: int | None = None,
        told: dict[str, Any] | None = None,
        uniform: int | None = None,
        split: int = -1,
    ) -> Works | NoWorks:
        env = () if parallel is None else (("AITER_MLA_META_USE_PARALLEL", str(parallel)),)
        call: dict[str, Any] = {"max_split_per_batch": split, **(told or {})}
        if uniform is not None:
            call["uniform_qlen"] = uniform
        shape = DecodeShape(
            arch=arch,
            q_dtype=Dtype(dtypes.split("/")[0]),
            kv_dtype=Dtype(dtypes.split("/")[1]),
            num_heads=heads,
            qlen=qlen,
            causal=bool(causal),
            page_size=page,
            env=env,
            planner=PlannerCall(**call),
        )
        lens = tuple(qlens or [qlen] * len(kv))
        requests = IndexVectors.of(kv, lens, page)
        return _planner(f"{aiter_git}@{release}").plan(shape, requests, Device.of(arch, cu))

    return planned


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['release']}-{c['dtypes']}-{c['heads']}")
def test_works_are_those_of_the_compiled_planner(plan: Plan, case: dict[str, Any]) -> None:
    names = [name for name in case if name.startswith(("work_", "reduce_"))]
    works = plan(**{k: v for k, v in case.items() if k not in names})
    assert isinstance(works, Works), works
    for name in names:
        field = "work_info" if name == "work_info_set" else name
        found, written = getattr(works, field), works.written[field]
        expected = case[name]
        rows = found[: len(expected)].tolist(), written[: len(expected)].tolist()
        for row, there, wanted in zip(*rows, expected, strict=True):
            assert row == wanted or not _any(there), (name, expected)
            assert _any(there) == (wanted not in (None, [None, None])), (name, expected)
        assert not written[len(expected) :].any(), name


def _any(there: bool | list[bool]) -> bool:
    return any(there) if isinstance(there, list) else there


@pytest.mark.parametrize(
    "case",
    [
        {"kv": [5000, 1, 16, 17, 31, 32, 33, 2000], "cu": 24},
        {"kv": [700, 64, 1, 2, 900], "cu": 20, "qlen": 4, "dtypes": "fp8/fp8"},
        {"kv": [333] * 40, "cu": 16, "arch": "gfx942", "dtypes": "fp8/fp8", "heads": 128},
        {"kv": [800, 9, 70], "cu": 16, "heads": 128, "qlen": 2},
        {"kv": [4000, 600], "cu": 13, "parallel": 0},
    ],
)
def test_every_token_is_covered_once(plan: Plan, case: dict[str, Any]) -> None:
    works = plan(causal=0, **case)
    assert isinstance(works, Works), works
    qlen = case.get("qlen", 1)
    starts = [sum(case["kv"][:at]) for at in range(len(case["kv"]) + 1)]
    seen: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
    for request, _, q_start, q_end, first, behind, left, _ in works.work_info[
        : works.num_works
    ].tolist():
        assert behind + left == starts[request + 1]
        seen.setdefault((request, q_start, q_end), []).append((first, behind))
    for request, length in enumerate(case["kv"]):
        tiles = sorted(key[1:] for key in seen if key[0] == request)
        assert [t[0] for t in tiles] == [request * qlen, *(t[1] for t in tiles[:-1])]
        assert tiles[-1][1] == (request + 1) * qlen
        for tile in tiles:
            parts = sorted(seen[request, tile[0], tile[1]])
            assert parts[0][0] == starts[request]
            assert [p[0] for p in parts[1:]] == [p[1] for p in parts[:-1]]
            assert parts[-1][1] == starts[request] + length


@pytest.mark.parametrize(
    "case",
    [
        {"kv": [5000, 40, 2000], "cu": 24},
        {"kv": [700, 64, 900], "cu": 20, "qlen": 4, "dtypes": "fp8/fp8"},
        {"kv": [3000, 50], "cu": 20, "arch": "gfx942", "heads": 48},
    ],
)
def test_what_is_merged_is_what_was_split(plan: Plan, case: dict[str, Any]) -> None:
    works = plan(**case)
    assert isinstance(works, Works), works
    info = works.work_info[: works.num_works].tolist()
    partial = {
        (w[2], w[3]): sorted(v[1] for v in info if v[2:4] == w[2:4]) for w in info if w[1] >= 0
    }
    merged = {}
    for tile, (start, end) in enumerate(works.reduce_final_map.tolist()):
        first, behind = works.reduce_indptr[tile : tile + 2].tolist()
        if behind > first:
            merged[start, end] = works.reduce_partial_map[first:behind].tolist()
    assert partial
    assert merged == partial
    rows = [
        row
        for (start, end), parts in merged.items()
        for p in parts
        for row in range(p, p + end - start)
    ]
    assert sorted(rows) == list(range(works.num_partials))


def test_a_folded_plan_has_a_batch_for_each_fold(plan: Plan) -> None:
    case: dict[str, Any] = {"arch": "gfx942", "dtypes": "fp8/fp8", "kv": [100, 60], "cu": 16}
    folded = plan(heads=64, qlen=2, **case)
    assert isinstance(folded, Works), folded
    requests = {int(w[0]) for w in folded.work_info[: folded.num_works]}
    assert requests == set(range(8))  # 64 heads as 4 times 16
    native = plan(heads=16, qlen=2, **case)
    assert isinstance(native, Works)
    assert {int(w[0]) for w in native.work_info[: native.num_works]} == {0, 1}
    told = plan(heads=64, qlen=2, told={"num_heads": 16}, **case)
    assert isinstance(told, Works)
    assert told.work_info.tolist() == native.work_info.tolist()


@pytest.mark.parametrize(
    ("arch", "works"),
    [
        # 16 parts where there are blocks for them: 13 blocks, and 57 in parts of 4; the last 4 of
        # 900 tokens go to the part before
        ("gfx942", [16] * 12 + [8] + [64] * 13 + [68]),
        # a part for each 196 tokens: 1, and 4 of 15 blocks of 16 tokens
        ("gfx950", [200, 240, 240, 240, 180]),
    ],
)
def test_every_request_is_split_alike(plan: Plan, arch: str, works: list[int]) -> None:
    told = {"fast_mode": False, "intra_batch_mode": True}
    found = plan(arch=arch, kv=[200, 900], cu=20, told=told, split=16)
    assert isinstance(found, Works), found
    assert found.origin.endswith("(kn_get_mla_metadata_v1_0)")
    info = found.work_info[: found.num_works]
    assert (info[:, 5] - info[:, 4]).tolist() == works
    assert found.work_indptr[-1] == len(works)


def test_a_refusal_is_no_plan(plan: Plan) -> None:
    refused = plan(arch="gfx942", heads=24, kv=[100], cu=16)
    assert isinstance(refused, NoWorks)
    assert refused.status == "rejected"


@pytest.mark.parametrize(
    ("case", "status", "reason"),
    [
        # of a folded request only the first batches have an entry
        (
            {"arch": "gfx942", "dtypes": "fp8/fp8", "heads": 64, "qlen": 2, "page": 16},
            "outside",
            "kv_last_page_lens",
        ),
        ({"dtypes": "bf16/fp8", "heads": 64, "uniform": -1}, "outside", "seqlens_qo_indptr"),
        # lengths of queries are read from LDS before they are stored there
        ({"heads": 64, "qlen": 4, "uniform": -1, "qlens": [4, 1]}, "undetermined", "LDS"),
    ],
)
def test_a_plan_of_garbage_is_said_to_be_that(
    plan: Plan, case: dict[str, Any], status: str, reason: str
) -> None:
    found = plan(kv=[3318, 3550], cu=8, **case)
    assert isinstance(found, NoWorks)
    assert found.status == status
    assert reason in found.reason
    assert found.span.file.startswith("csrc/kernels/mla/metadata/")


def test_pages_are_counted_from_tokens() -> None:
    found = IndexVectors.of((1, 16, 17, 0), (1, 2, 1, 1), page_size=16)
    assert found.kv_indptr.tolist() == [0, 1, 2, 4, 4]
    assert found.qo_indptr.tolist() == [0, 1, 3, 4, 5]
    assert found.last_page.tolist() == [1, 16, 1, 0]

"""DeepSeek-V4's decode kernels of real releases, run: right as AITER launches them, and wrong where
a launch is changed; and the batch that they are given."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlaprobe.core.enums import Layout
from mlaprobe.core.shape import DecodeShape, Dtype, Operation
from mlaprobe.deciding.capability import Capability
from mlaprobe.decode.rules import rules as decode_rules
from mlaprobe.emulation.batches.packedvalues import PackedValues
from mlaprobe.emulation.case import Case
from mlaprobe.emulation.launch import Change
from mlaprobe.emulation.matrix import Scope, cases
from mlaprobe.emulation.outcome import Emulated, Standing
from mlaprobe.emulation.padding import Padding
from mlaprobe.emulation.running import Settings, emulate
from mlaprobe.stages.environment.device import Device
from tests.emulation.changing import adding, doubling, null, swapping

NEW = "v0.1.20.post1"
CO = "hsa/gfx950/mla_v4/mla_a8w8_qh64_qseqlen1_gqaratio64_nm.co"
LENS = (40, 33)
EDGES = (1, 31, 32, 33, 63, 64, 65, 97)


@lru_cache(maxsize=3)
def opened(repository: Path, tag: str) -> Capability:
    return Capability.open(f"{repository}@{tag}")


def case(heads: int = 64, qlen: int = 1, lens: tuple[int, ...] = LENS, **more: Any) -> Case:
    shape = DecodeShape(
        op=Operation.V4,
        arch="gfx950",
        q_dtype=Dtype.FP8,
        kv_dtype=Dtype.FP8,
        num_heads=heads,
        qlen=qlen,
        persistent=False,
        batch=len(lens),
        **more,
    )
    return Case(symbol="", co="", shape=shape, kv_lens=tuple(max(n, qlen) for n in lens))


def run(
    capability: Capability, asked: Case, splits: int | None = 2, change: Change | None = None
) -> Emulated:
    shape = asked.shape
    settings = Settings(
        tolerance=decode_rules().tolerance(shape.q_dtype, shape.kv_dtype),
        device=Device.of(shape.arch, 256),
        planned_units=4,
        persistent=False,
        kv_splits=splits,
        budget=400_000,
    )
    padding = Padding(heads=shape.num_heads, qlen=shape.qlen)
    decision = capability.decide(shape)
    return emulate(capability, asked.batch, padding, decision, settings, change)


@pytest.mark.parametrize(
    ("heads", "qlen", "splits", "lens"),
    [
        (16, 1, None, LENS),
        (16, 2, 1, LENS),
        (16, 4, 2, (70, 4)),
        (32, 1, 4, LENS),
        (64, 1, 3, EDGES),
        (128, 1, 1, LENS),
    ],
)
def test_they_are_right(
    aiter_git: Path, heads: int, qlen: int, splits: int | None, lens: tuple[int, ...]
) -> None:
    found = run(opened(aiter_git, NEW), case(heads, qlen, lens), splits)
    assert found.standing is Standing.PASSED, found
    assert found.kernel is not None
    assert found.kernel.co == CO
    assert found.error is not None
    assert found.error.max_abs < 0.01
    assert not found.returned
    assert found.merged == (None if splits == 1 else "_fwd_kernel_stage2_asm")


@pytest.mark.parametrize(("tag", "splits"), [("v0.1.18", 1), ("v0.1.18", 2), ("v0.1.19", 2)])
def test_they_are_right_in_older_releases(aiter_git: Path, tag: str, splits: int) -> None:
    found = run(opened(aiter_git, tag), case(lens=(70, 70)), splits)
    assert found.standing is Standing.PASSED, found
    assert found.blob == "040438f2ca7d20b6e04e1439c6e4afb2ba04f321"
    # Up to v0.1.18 the result of one split is what is returned.
    assert found.returned == (splits == 1)


@pytest.mark.parametrize(("tag", "right"), [("v0.1.18", False), ("v0.1.19", True)])
def test_more_splits_than_short_caches_get(aiter_git: Path, tag: str, right: bool) -> None:
    """What faults.md says: 73 KV tokens of two requests get one split in v0.1.18, which still
    launches the two that are asked for, and merges one."""
    found = run(opened(aiter_git, tag), case(), 2)
    assert found.grid == (1, 2, 2)
    assert (found.standing is Standing.PASSED) == right, found


def test_the_first_release_merges_no_splits(aiter_git: Path) -> None:
    """What faults.md says: its call of the merge has two arguments less than that takes, and its
    kernel is right but reads up to 1,536 bytes behind the rope of the query."""
    capability = opened(aiter_git, "v0.1.17")
    one = run(capability, case(), 1)
    assert one.error is not None
    assert one.error.passed
    assert one.standing is Standing.OUTSIDE, one
    assert {(each.region, each.kind) for each in one.outside} == {("ptr_QROPE", "read")}
    assert max(each.highest - each.size for each in one.outside) == 1536 - 4
    assert one.blob == "b9c61eb59db42fbb8e190a07a800fd6135ec2813"
    two = run(capability, case(), 2)
    assert two.standing is Standing.REFUSED, two
    assert two.message is not None
    assert "stride_lse_bs and USE_VALID_SPLIT_COUNT_REDUCE" in two.message
    assert two.place is not None
    assert two.place[0] == "aiter/mla.py"


WRONG: dict[str, Change] = {
    "the scale": doubling("scalar_f"),
    "query, a head on": adding("ptr_Q", 512),
    "cache, a token on": adding("ptr_KV", 512),
    "cache, a scale on": adding("ptr_KV", 2),
    "rope of the query, a head on": adding("ptr_QROPE", 128),
    "rope of the cache, a token on": adding("ptr_KVROPE", 128),
    "rope of the cache, a value on": adding("ptr_KVROPE", 2),
    "rope of the one for the other": swapping("ptr_QROPE", "ptr_KVROPE"),
    "rows of a query": adding("s_gqa_ratio", 64),
    "sink, a head on": adding("ptr_sink", 4),
    "the list of tokens, one on": adding("ptr_LTD", 4),
    "one part of two": adding("s_kv_split", 1),
    "no rope": null("ptr_KVROPE"),
}


@pytest.mark.parametrize("what", sorted(WRONG))
def test_a_wrong_launch_is_no_pass(aiter_git: Path, what: str) -> None:
    found = run(opened(aiter_git, NEW), case(), change=WRONG[what])
    assert found.standing in (Standing.WRONG, Standing.OUTSIDE, Standing.UNWRITTEN), found


@pytest.mark.parametrize("tag", ["v0.1.18", NEW])
def test_pages_of_several_tokens_are_read_as_one(aiter_git: Path, tag: str) -> None:
    """What faults.md says: no check refuses them, and of each page one token counts."""
    found = run(opened(aiter_git, tag), case(page_size=16), 1)
    assert found.standing is Standing.WRONG, found
    assert set(found.wrong) == {0, 1}


def test_the_size_of_pages_is_not_looked_at(aiter_git: Path) -> None:
    found = run(opened(aiter_git, NEW), case(), change=adding("s_log2_page", 4))
    assert found.standing is Standing.PASSED, found


def test_the_lengths_of_last_pages_are_not_looked_at(aiter_git: Path) -> None:
    found = run(opened(aiter_git, NEW), case(), change=null("ptr_LTL"))
    assert found.standing is Standing.PASSED, found


def numbers(token: Any, rope: Any) -> list[float]:
    """What a token of query or cache stands for, byte by byte (OCP's e4m3 and e8m0)."""
    found = []
    for at in range(448):
        code, scale = int(token[at]), int(token[448 + at // 64 * 2])
        assert int(token[449 + at // 64 * 2]) == scale
        field, fraction = code >> 3 & 15, code & 7
        size = (fraction / 8 + bool(field)) * 2.0 ** (max(field, 1) - 7)
        found.append((-size if code & 0x80 else size) * 2.0 ** (scale - 127))
    halves = (np.asarray(rope, np.uint32) << 16).view(np.float32)
    return [*found, *halves.astype(float).tolist()]


def test_a_packed_batch() -> None:
    """What attention gives, written out for one head that has a sink and for one that has none."""
    batch = case(heads=16, qlen=2).batch
    assert batch.layout is Layout.PACKED
    values = PackedValues.random(batch, seed=3)
    assert len({int(code) for code in values.kv[..., 448:462].ravel()}) > 2
    seen = values.kv_indices[LENS[0] :]
    keys = np.array([numbers(values.kv[n, 0, 0], values.kv_rope[n, 0, 0]) for n in seen])
    assert len(keys) == LENS[1]
    output, lse = values.reference()
    for head in (0, 5):
        query = np.array(numbers(values.q[3, head], values.q_rope[3, head]))
        weights = np.exp(keys @ query / np.sqrt(512))
        total = weights.sum() + (np.exp(float(values.sink[head])) if head else 0)
        np.testing.assert_allclose(output[3, head], weights @ keys / total, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(lse[3, head], np.log(total), rtol=1e-5)
    assert values.sink[0] == -np.inf


def test_what_nobody_may_see_is_large() -> None:
    values = PackedValues.random(case(page_size=4, lens=(6, 4)).batch, seed=1)
    own = set(values.kv_indices.tolist())
    for page in range(len(values.kv)):
        tokens = values.kv_rope[page, :, 0, 0].astype(np.uint32) << 16
        large = [page not in own] * 4
        if page == values.kv_indices[1]:  # the second page of six tokens
            large[2:] = [True, True]
        assert (tokens.view(np.float32) == 200).tolist() == large


def test_pages_far_from_each_other() -> None:
    batch = replace(case(heads=16), kv_cache_bytes=1 << 20).batch
    values = PackedValues.random(batch)
    assert values.num_pages == (1 << 20) // 512
    assert [(each.role, each.page_bytes) for each in values.spread] == [
        ("kv", 512),
        ("kv_rope", 128),
    ]
    stored = values.stored()
    kv, rope = stored["kv"], stored["kv_rope"]
    assert kv is not None
    assert rope is not None
    assert kv.shape == (2048, 1, 1, 512)
    assert rope.shape == (2048, 1, 1, 64)


def test_a_cache_of_more_than_four_gib(aiter_git: Path) -> None:
    asked = replace(case(lens=(40,)), kv_cache_bytes=5 << 30)
    found = run(opened(aiter_git, NEW), asked)
    assert found.standing is Standing.PASSED, found


def test_the_launches_of_the_command(aiter_git: Path) -> None:
    scope = Scope(arch="gfx950", op=Operation.V4, kv_lens=LENS)
    found, rest = cases(opened(aiter_git, NEW), scope)
    asked = [(c.shape.num_heads, c.shape.qlen, c.kv_splits, c.scales) for c in found]
    assert asked == [(n, 1, splits, (1.0, 1.0)) for n in (16, 128) for splits in (None, 1)]
    assert rest == ()
    sweep = replace(scope, heads=(16,), qlens=(1, 2, 3, 4), edges=True)
    every, _ = cases(opened(aiter_git, NEW), sweep)
    assert [(c.shape.qlen, c.kv_splits) for c in every] == [
        (qlen, splits) for qlen in (1, 2, 4) for splits in (1, 2, 3, 4)
    ]

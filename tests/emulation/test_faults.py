"""What docs/explanation/faults.md says, on the kernels of real releases."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlaprobe.core.axes import OMITTED
from mlaprobe.core.shape import DecodeShape, Dtype, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.decode.rules import rules as decode_rules
from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.batches.values import Values
from mlaprobe.emulation.launch import Call, prepare
from mlaprobe.emulation.outcome import Emulated, Standing
from mlaprobe.emulation.padding import Padding
from mlaprobe.emulation.planned import Options, emulate_launch
from mlaprobe.stages.environment.device import Device

B16, F8 = Dtype.BF16, Dtype.FP8
UNITS = {"gfx942": 304, "gfx950": 256}
"""Compute units of MI300X and MI355X."""
VALUES = 512
"""Of a head's output."""


@lru_cache(maxsize=8)
def opened(repository: Path, tag: str) -> Capability:
    return Capability.open(f"{repository}@{tag}")


def launch(
    capability: Capability,
    where: tuple[str, Dtype, int],
    lens: tuple[int, ...],
    *,
    splits: int | None = None,
    cache: int = 0,
    units: int | None = None,
    **fields: Any,
) -> tuple[Verdict, Emulated]:
    """The verdict of a shape, and what becomes of a launch of it."""
    arch, dtype, heads = where
    shape = DecodeShape(arch=arch, q_dtype=dtype, kv_dtype=dtype, num_heads=heads, **fields)
    batch = Batch(
        arch=arch,
        q_dtype=dtype,
        kv_dtype=dtype,
        num_heads=heads,
        kv_lens=lens,
        qlen=shape.qlen,
        lse=shape.lse,
        causal=shape.causal,
        kv_cache_bytes=cache,
    )
    options = Options(
        tolerance=decode_rules().tolerance(dtype, dtype), schedules="one", compute_units=units
    )
    decision = capability.decide(shape)
    padding = Padding(heads=heads, qlen=shape.qlen)
    return decision.verdict, emulate_launch(capability, batch, padding, decision, options, splits)


def unwritten(found: Emulated) -> int:
    assert found.error is not None
    return found.error.unwritten


@pytest.mark.parametrize("lse", [False, True])
@pytest.mark.parametrize("units", [3, 304])
@pytest.mark.parametrize("tag", ["v0.1.18", "v0.1.20.post1"])
def test_64_heads_are_right_at_page_size_1(
    aiter_git: Path, tag: str, units: int, lse: bool
) -> None:
    """As a caller launches them who tells the planner both dtypes (ROCm/aiter issue 4363)."""
    where, lens = ("gfx942", F8, 64), (300, 5, 131, 64, 33, 1)
    verdict, found = launch(opened(aiter_git, tag), where, lens, units=units, lse=lse)
    assert verdict is Verdict.NATIVE
    assert found.standing is Standing.PASSED, found
    assert found.metadata is not None
    assert found.metadata.startswith("AITER's planner")


@pytest.mark.parametrize("tag", ["v0.1.18", "v0.1.20.post1"])
def test_a_plan_that_is_not_told_the_dtypes(aiter_git: Path, tag: str) -> None:
    """It is for four times the requests, whose tiles do not fit what sizing made."""
    where = ("gfx942", F8, 64)
    verdict, found = launch(opened(aiter_git, tag), where, (512,), units=304, planner=OMITTED)
    assert verdict is Verdict.INCOHERENT
    assert found.standing is Standing.REFUSED
    assert found.message is not None
    # Of one request there is room for two numbers of 4 bytes.
    assert "write at byte 8 of reduce_indptr" in found.message


@pytest.mark.parametrize("splits", [2, 16])
@pytest.mark.parametrize("heads", [64, 128])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_kernels_without_a_causal_mask(
    aiter_git: Path, monkeypatch: pytest.MonkeyPatch, arch: str, heads: int, splits: int
) -> None:
    where = (arch, B16, heads)
    shape = {"qlen": 2, "persistent": False, "splits": splits}
    newest = opened(aiter_git, "v0.1.20")
    verdict, found = launch(newest, where, (40,), **shape)
    assert verdict is Verdict.ERRATUM
    assert found.standing is Standing.WRONG
    monkeypatch.setattr(Batch, "visible", lambda self, request: np.ones((2, 40), np.bool_))
    assert launch(newest, where, (40,), **shape)[1].passed


@pytest.mark.parametrize(
    ("arch", "tag", "wrong"),
    [
        ("gfx942", "v0.1.20", True),
        ("gfx950", "v0.1.14.post1", True),
        ("gfx950", "v0.1.15", False),
    ],
)
def test_rows_that_no_workgroup_does(aiter_git: Path, arch: str, tag: str, wrong: bool) -> None:
    """Of two query tokens of 32 heads, the second is left out."""
    shape = {"qlen": 2, "persistent": False, "splits": 2}
    verdict, found = launch(opened(aiter_git, tag), (arch, B16, 32), (70,), **shape)
    assert verdict is (Verdict.ERRATUM if wrong else Verdict.NATIVE)
    assert unwritten(found) == (32 * VALUES if wrong else 0)


@pytest.mark.parametrize("tag", ["v0.1.16", "v0.1.19"])
def test_several_query_tokens_of_8_heads(aiter_git: Path, tag: str) -> None:
    shape = {"qlen": 2, "persistent": False}
    verdict, found = launch(opened(aiter_git, tag), ("gfx950", B16, 8), (40,), **shape)
    assert verdict is Verdict.ERRATUM
    assert not found.passed
    assert unwritten(found) == (16 * VALUES if tag == "v0.1.16" else 0)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("qlen", [3, 4])
def test_three_and_four_query_tokens_of_fp8(aiter_git: Path, qlen: int, causal: bool) -> None:
    newest, where = opened(aiter_git, "v0.1.20"), ("gfx950", F8, 16)
    shape = {"qlen": qlen, "persistent": False, "causal": causal}
    verdict, found = launch(newest, where, (200,), splits=2, **shape)
    assert verdict is Verdict.ERRATUM
    assert found.standing is Standing.UNWRITTEN
    assert launch(newest, where, (200,), splits=1, **shape)[1].standing is Standing.OUTSIDE
    assert launch(newest, ("gfx942", F8, 16), (200,), splits=2, **{**shape, "causal": True})[
        1
    ].passed


MERGED = [
    # arch, dtype, heads, qlen, KV tokens, how many of the requests are not written
    ("gfx950", F8, 16, 1, (200, 120), 1),
    ("gfx950", F8, 16, 1, (200, 200), 0),
    ("gfx942", F8, 16, 1, (200, 120), 0),
    ("gfx942", F8, 16, 2, (100, 300, 3000), 2),
    ("gfx950", F8, 16, 2, (100, 300, 3000), 2),
    ("gfx950", B16, 32, 1, (100,), 1),
    ("gfx950", B16, 32, 1, (600,), 0),
    ("gfx942", F8, 128, 2, (40, 40), 0),
]


@pytest.mark.parametrize(("arch", "dtype", "heads", "qlen", "lens", "bad"), MERGED)
def test_splits_that_are_merged_and_were_never_written(
    aiter_git: Path,
    arch: str,
    dtype: Dtype,
    heads: int,
    qlen: int,
    lens: tuple[int, ...],
    bad: int,
) -> None:
    where, shape = (arch, dtype, heads), {"qlen": qlen, "persistent": False}
    _, found = launch(opened(aiter_git, "v0.1.20"), where, lens, **shape)
    assert unwritten(found) == bad * qlen * heads * VALUES


def test_a_query_token_with_a_block_less(aiter_git: Path) -> None:
    """Of 33 KV tokens the first of two query tokens sees 32, one block; two are merged."""
    shape = {"qlen": 2, "persistent": False}
    _, found = launch(opened(aiter_git, "v0.1.20"), ("gfx942", F8, 128), (33, 40), **shape)
    assert unwritten(found) == 128 * VALUES


LONG = [
    # release, heads, query length, how it ends, and what is said: other lengths may be wrong
    ("v0.1.20", 8, 8, Standing.WRONG, Verdict.ERRATUM),
    ("v0.1.16", 16, 5, Standing.REFUSED, Verdict.ERRATUM),
    ("v0.1.16", 16, 8, Standing.WRONG, Verdict.ERRATUM),
    ("v0.1.16", 32, 5, Standing.WRONG, Verdict.ERRATUM),
    ("v0.1.16", 32, 6, Standing.PASSED, Verdict.NATIVE),
    ("v0.1.17", 16, 5, Standing.PASSED, Verdict.ERRATUM),
    ("v0.1.17", 16, 8, Standing.PASSED, Verdict.NATIVE),
    ("v0.1.17", 32, 5, Standing.PASSED, Verdict.NATIVE),
]


@pytest.mark.parametrize(("tag", "heads", "qlen", "standing", "verdict"), LONG)
def test_long_queries_with_metadata(
    aiter_git: Path, tag: str, heads: int, qlen: int, standing: Standing, verdict: Verdict
) -> None:
    decided, found = launch(opened(aiter_git, tag), ("gfx950", B16, heads), (40,), qlen=qlen)
    assert (decided, found.standing) == (verdict, standing)


PAGES = 1 << 24
CACHES = [
    # release, arch, dtype, heads, work metadata, bytes of the cache that are right, and not
    ("v0.1.20", "gfx942", F8, 64, True, 4 << 30, 5 << 30),
    ("v0.1.20", "gfx942", B16, 16, True, 4 << 30, 5 << 30),
    ("v0.1.20", "gfx950", F8, 32, True, 4 << 30, 5 << 30),
    ("v0.1.20", "gfx950", B16, 8, False, 4 << 30, 5 << 30),
    ("v0.1.19", "gfx950", F8, 16, True, PAGES * 576, (PAGES + 8) * 576),
    ("v0.1.19", "gfx950", F8, 64, True, PAGES * 576, (PAGES + 8) * 576),
    ("v0.1.19", "gfx950", B16, 64, True, PAGES * 1152, (PAGES + 8) * 1152),
    ("v0.1.19.post1", "gfx950", F8, 16, True, 40 << 30, None),
    ("v0.1.19.post2", "gfx950", F8, 64, True, 40 << 30, None),
    ("v0.1.20", "gfx950", F8, 16, True, 40 << 30, None),
]


@pytest.mark.parametrize(("tag", "arch", "dtype", "heads", "persistent", "right", "wrong"), CACHES)
def test_large_caches(
    aiter_git: Path,
    tag: str,
    arch: str,
    dtype: Dtype,
    heads: int,
    persistent: bool,
    right: int,
    wrong: int | None,
) -> None:
    where = (arch, dtype, heads)
    for size in filter(None, (right, wrong)):
        _, found = launch(opened(aiter_git, tag), where, (40,), cache=size, persistent=persistent)
        assert found.passed is (size == right), found


def splits_of(units: int, batch: int, length: int) -> int:
    """The number of splits as faults.md has it."""

    def product(splits: int) -> float:
        groups = batch * splits
        full = groups / (units * -(-groups // units))
        return full * length / (length + 84.1 * splits)

    return max(range(1, 17), key=product)  # the first of several


@pytest.mark.parametrize(
    ("arch", "length", "last_of_more", "first_of_one"),
    [("gfx950", 40, 128, 129), ("gfx942", 40, 152, 153), ("gfx950", 512, 170, 171)],
)
def test_from_which_batch_on_there_is_one_split(
    aiter_git: Path, arch: str, length: int, last_of_more: int, first_of_one: int
) -> None:
    for count, one in ((last_of_more, False), (first_of_one, True)):
        batch = Batch(arch=arch, q_dtype=B16, kv_dtype=B16, num_heads=16, kv_lens=(length,) * count)
        call = Call(values=Values.random(batch), works=None, device=Device.of(arch, UNITS[arch]))
        found = prepare(opened(aiter_git, "v0.1.20"), call).launched.grid[2]
        assert found == splits_of(UNITS[arch], count, length)
        assert (found == 1) is one

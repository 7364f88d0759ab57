"""Plans carried out with the kernels of real releases."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.decode.rules import rules as decode_rules
from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.matrix import Scope, cases
from mlaprobe.emulation.outcome import Emulated, Standing
from mlaprobe.emulation.padding import Padding
from mlaprobe.emulation.planned import Options, emulate_launch, emulate_plan
from mlaprobe.padding.api import plan


@pytest.fixture(scope="module")
def newest(aiter_git: Path) -> Capability:
    """v0.1.20."""
    return Capability.open(f"{aiter_git}@v0.1.20")


def run(
    capability: Capability,
    arch: str,
    dtype: Dtype,
    heads: int,
    *,
    lens: tuple[int, ...] = (70,),
    qlen: int = 1,
    lse: bool = False,
    page_size: int = 1,
    persistent: bool = True,
    scale: float = 1.0,
    cache: int = 0,
) -> Emulated:
    """A plan for a batch, carried out."""
    asked = Batch(
        arch=arch,
        q_dtype=dtype,
        kv_dtype=dtype,
        num_heads=heads,
        kv_lens=lens,
        qlen=qlen,
        lse=lse,
        page_size=page_size,
        q_scale=scale,
        kv_scale=scale,
        kv_cache_bytes=cache,
    )
    found = plan(
        heads,
        capability=capability,
        arch=arch,
        q_dtype=dtype,
        kv_dtype=dtype,
        qlens=qlen,
        lse=lse,
        page_size=page_size,
        persistent=persistent,
        batch=len(lens),
    )
    options = Options(tolerance=decode_rules().tolerance(dtype, dtype), schedules="one")
    return emulate_plan(capability, found, asked, options)


@pytest.mark.parametrize(
    ("arch", "dtype", "heads", "qlen", "lse", "launched"),
    [
        ("gfx950", Dtype.BF16, 12, 1, False, 16),
        ("gfx950", Dtype.FP8, 48, 1, False, 64),
        ("gfx950", Dtype.BF16, 24, 1, True, 24),
        ("gfx950", Dtype.FP8, 16, 4, False, 16),
        ("gfx950", Dtype.BF16, 64, 3, False, 64),
        ("gfx942", Dtype.BF16, 12, 1, False, 16),
        ("gfx942", Dtype.FP8, 12, 1, False, 16),
        ("gfx942", Dtype.FP8, 48, 2, False, 48),
    ],
)
def test_plans_are_right(
    newest: Capability, arch: str, dtype: Dtype, heads: int, qlen: int, lse: bool, launched: int
) -> None:
    """The last of them folds a query of two tokens, and undoes that again."""
    found = run(newest, arch, dtype, heads, qlen=qlen, lse=lse)
    assert found.standing is Standing.PASSED, found
    assert found.padding.heads == launched
    if lse:
        assert found.error is not None
        assert found.error.lse_max_abs is not None
        assert found.error.lse_max_abs < 1e-5


def test_splits_without_metadata(newest: Capability) -> None:
    found = run(newest, "gfx950", Dtype.BF16, 16, persistent=False, lens=(130, 20))
    assert found.standing is Standing.PASSED, found
    assert found.metadata is None
    assert found.merged == "_fwd_kernel_stage2_asm"
    assert found.grid is not None
    assert found.grid[2] > 1


@pytest.mark.parametrize(
    ("arch", "heads", "qlen", "persistent"),
    [("gfx950", 16, 1, True), ("gfx950", 128, 1, False), ("gfx950", 16, 4, True),
     ("gfx942", 16, 1, True), ("gfx942", 64, 1, True)],
)  # fmt: skip
def test_scales_other_than_one(
    newest: Capability, arch: str, heads: int, qlen: int, persistent: bool
) -> None:
    found = run(newest, arch, Dtype.FP8, heads, qlen=qlen, persistent=persistent, scale=0.5)
    assert found.standing is Standing.PASSED, found


def test_a_log_sum_exp_that_nobody_writes(newest: Capability) -> None:
    """One request, one split: the persistent kernel of 32 heads leaves it out."""
    asked = {"lens": (40,), "lse": True}
    found = run(newest, "gfx950", Dtype.FP8, 32, **asked)  # type: ignore[arg-type]
    assert found.standing is Standing.UNWRITTEN
    assert found.error is not None
    assert (found.error.unwritten, found.error.lse_unwritten) == (0, 32)


@pytest.mark.parametrize(("gib", "right"), [(3, True), (5, False)])
def test_pages_beyond_four_gibibytes(newest: Capability, gib: int, right: bool) -> None:
    """As ROCm/aiter issue 5765 reports: offsets wrap at 4 GiB."""
    found = run(newest, "gfx950", Dtype.BF16, 16, persistent=False, lens=(30,), cache=gib << 30)
    assert found.passed is right
    wrapped = [access for access in found.outside if access.kind == "read"]
    assert bool(wrapped) is not right
    assert all(0 <= access.lowest <= access.highest < 1 << 32 for access in wrapped)


@pytest.mark.parametrize(("heads", "right"), [(64, True), (16, False)])
def test_pages_of_more_than_one_token(newest: Capability, heads: int, right: bool) -> None:
    """One kernel reads them; the others take a page for a token."""
    found = run(newest, "gfx942", Dtype.FP8, heads, page_size=64, lens=(100,))
    assert found.padding.heads == heads
    assert found.standing is (Standing.PASSED if right else Standing.WRONG)


@pytest.mark.parametrize(("tokens", "right"), [(100, False), (600, True)])
def test_splits_that_are_merged_and_never_written(
    newest: Capability, tokens: int, right: bool
) -> None:
    """The kernel of 32 heads cuts KV into blocks of 32 tokens, and the merge counts blocks of 16:
    of 16 splits of 100 tokens it takes 7, and 4 have something in them."""
    found = run(newest, "gfx950", Dtype.BF16, 32, persistent=False, lens=(tokens,))
    assert found.grid == (1, 1, 16)
    assert found.passed is right
    if not right:
        assert found.standing is Standing.UNWRITTEN
        assert found.error is not None
        assert found.error.unwritten == found.error.values


def launch(
    capability: Capability, heads: int, qlen: int, lens: tuple[int, ...], *, causal: bool = True
) -> tuple[Verdict, Emulated]:
    """What is said of a launch on gfx950 in bf16, with metadata of AITER's planner for one compute
    unit, and what becomes of it."""
    shape = DecodeShape(
        arch="gfx950", q_dtype=Dtype.BF16, kv_dtype=Dtype.BF16, num_heads=heads, qlen=qlen,
        causal=causal,
    )  # fmt: skip
    batch = Batch(
        arch="gfx950", q_dtype=Dtype.BF16, kv_dtype=Dtype.BF16, num_heads=heads, qlen=qlen,
        causal=causal, kv_lens=lens,
    )  # fmt: skip
    decision = capability.decide(shape)
    tolerance = decode_rules().tolerance(Dtype.BF16, Dtype.BF16)
    options = Options(tolerance=tolerance, schedules="one", compute_units=1)
    padding = Padding(heads=heads, qlen=qlen)
    found = emulate_launch(capability, batch, padding, decision, options)
    assert (found.metadata or "").startswith("AITER's planner")
    return decision.verdict, found


@pytest.mark.parametrize(("heads", "qlen"), [(24, 2), (8, 8)])
def test_a_mask_for_sixteen_rows_at_once(newest: Capability, heads: int, qlen: int) -> None:
    """With two query tokens of 24 heads, rows 16 to 31 are the last 8 heads of the first token and
    8 heads of the second: the kernel shows all of them what the second token sees."""
    verdict, found = launch(newest, heads, qlen, (30,))
    assert (verdict, found.standing) == (Verdict.ERRATUM, Standing.WRONG)
    padded = run(newest, "gfx950", Dtype.BF16, heads, qlen=qlen, lens=(30,))
    assert padded.padding.heads == {24: 32, 8: 16}[heads]
    assert padded.passed


def test_a_mask_of_whole_tokens_is_right(newest: Capability) -> None:
    assert run(newest, "gfx950", Dtype.BF16, 48, qlen=2, lens=(30,)).passed


@pytest.mark.parametrize(
    ("qlen", "wrong"), [(2, ()), (3, (65, 97)), (4, (65, 66, 97, 98)), (5, (67, 99))]
)
def test_a_mask_that_overwrites_addresses(
    newest: Capability, qlen: int, wrong: tuple[int, ...]
) -> None:
    """The tile behind one that the mask is made for is read from LDS at numbers of KV tokens: of
    16 heads, where the last tile has fewer tokens than the mask hides."""
    lens = (32, 33, 34, 64, 65, 66, 67, 68, 96, 97, 98, 99, 100)
    verdict, found = launch(newest, 16, qlen, lens)
    assert tuple(lens[request] for request in found.wrong) == wrong
    assert found.standing is (Standing.WRONG if wrong else Standing.PASSED)
    assert verdict is (Verdict.ERRATUM if wrong else Verdict.NATIVE)


def test_what_does_not_overwrite_them_is_right(newest: Capability) -> None:
    """No mask; and the kernel that 32 heads take."""
    assert launch(newest, 16, 4, (65, 66, 97), causal=False)[1].passed
    padded = run(newest, "gfx950", Dtype.BF16, 16, qlen=4, lens=(65, 66, 97))
    assert padded.padding.heads == 32
    assert padded.passed


@pytest.mark.parametrize("tag", ["v0.1.12", "v0.1.16.post2", "v0.1.19", "v0.1.20.post1"])
def test_other_releases(aiter_git: Path, tag: str) -> None:
    found = run(Capability.open(f"{aiter_git}@{tag}"), "gfx942", Dtype.FP8, 16)
    assert found.standing is Standing.PASSED, found


def test_what_an_erratum_warns_of_is_among_the_cases(newest: Capability) -> None:
    """The commands that show a fault go on showing it once the fault is an erratum."""
    pair = (Dtype.BF16, Dtype.BF16)
    scope = Scope(arch="gfx950", kv_lens=(30,), dtypes=(pair,), heads=(24,), qlens=(2,))
    found, _ = cases(newest, scope)
    assert {case.shape.causal for case in found} == {True, False}


def test_cases_are_batches_that_there_can_be(newest: Capability) -> None:
    """However few KV tokens are asked for, a request has those of its query."""
    pair = (Dtype.BF16, Dtype.BF16)
    scope = Scope(arch="gfx950", kv_lens=(1,), dtypes=(pair,), heads=(16,), qlens=(1, 4))
    found, _ = cases(newest, scope)
    assert {(case.shape.qlen, case.kv_lens) for case in found} == {(1, (1,)), (4, (4,))}

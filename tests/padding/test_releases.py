"""The resolver on real releases. What is expected is what the reports and the issue say of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, Route, Verdict
from mlaprobe.padding.api import plan
from mlaprobe.padding.plan import PadPlan
from mlaprobe.rulefiles import errata
from mlaprobe.rulefiles import loader as rulebook
from mlaprobe.sources import open_source
from tests.padding import blobs

At = Callable[[str], Any]


@pytest.fixture(scope="session")
def at(aiter_git: Path) -> At:
    """The capability of a release."""
    module = importlib.import_module("mlaprobe.deciding.capability")

    @lru_cache(maxsize=4)
    def probe(release: str) -> Any:
        return module.Capability.open(f"{aiter_git}@{release}")

    return probe


def ask(at: At, release: str, heads: int, where: str, **more: Any) -> PadPlan:
    arch, dtype = where.split()
    q_dtype, kv_dtype = dtype.split("/")
    return plan(
        heads,
        capability=at(release),
        arch=arch,
        q_dtype=q_dtype,
        kv_dtype=kv_dtype,
        **{"route": "asm", **more},
    )


FP8, BF16 = "gfx950 fp8/fp8", "gfx950 bf16/bf16"
OLD = "gfx942 fp8/fp8"
LONG = tuple(range(1, 9))


@pytest.mark.parametrize(
    ("release", "where", "heads", "more", "target"),
    [
        ("v0.1.20", FP8, 16, {}, 16),
        ("v0.1.20", FP8, 32, {}, 32),
        ("v0.1.20", FP8, 48, {}, 64),
        ("v0.1.20", FP8, 48, {"qlens": (1, 2, 3, 4)}, 64),
        ("v0.1.20", FP8, 80, {}, 128),
        ("v0.1.20", FP8, 96, {}, 128),
        ("v0.1.20", FP8, 112, {}, 128),
        ("v0.1.20", FP8, 12, {}, 16),
        ("v0.1.20", FP8, 160, {}, 160),
        ("v0.1.20", BF16, 24, {}, 24),
        ("v0.1.20", BF16, 24, {"lse": True}, 24),
        ("v0.1.20", BF16, 12, {}, 16),
        ("v0.1.20", BF16, 48, {}, 48),
        # 40 heads have no reducer; the next multiple of 16 is native.
        ("v0.1.20", BF16, 40, {}, 48),
        ("v0.1.20", BF16, 96, {}, 96),
        # Before v0.1.20 the reducer lacks 24 heads.
        ("v0.1.19.post2", BF16, 24, {}, 32),
        ("v0.1.20", OLD, 48, {"page_size": 64}, 64),
        ("v0.1.20", OLD, 32, {"page_size": 64}, 64),
        # The fault that is reported of 64 heads at page size 1 is that of a planner without dtypes.
        ("v0.1.20", OLD, 48, {}, 64),
        ("v0.1.20", OLD, 64, {}, 64),
        ("v0.1.20", OLD, 112, {}, 128),
        ("v0.1.20", OLD, 112, {"lse": True}, 112),
        ("v0.1.20", OLD, 32, {"qlens": (1, 4), "page_size": 64}, 32),
        ("v0.1.20", OLD, 32, {"qlens": (1, 4), "mode": "force"}, 128),
        # 64 heads have no kernel at qlen 5 to 8 there, whatever the planner says, and 48 are
        # refused at them: 128 is the first that runs, however far that is.
        ("v0.1.17", FP8, 48, {"qlens": LONG}, 128),
        # With the log-sum-exp and without metadata, 32 and 48 heads have no kernel.
        ("v0.1.20", FP8, 32, {"lse": True, "persistent": False}, 128),
        ("v0.1.20", FP8, 48, {"lse": True, "persistent": False}, 128),
        ("v0.1.17", FP8, 48, {"qlens": (1, 2, 3, 4)}, 64),
        # 32 heads fold there at qlen 1.
        ("v0.1.16.post2", FP8, 32, {}, 64),
        # No 32-head kernel with the log-sum-exp at qlen 1.
        ("v0.1.15", FP8, 32, {}, 32),
        ("v0.1.15", FP8, 32, {"lse": True}, 64),
        # An erratum of that release line; 48 are native there, and carry a note.
        ("v0.1.14", BF16, 32, {}, 48),
    ],
)
def test_targets(
    at: At, release: str, where: str, heads: int, more: dict[str, Any], target: int
) -> None:
    found = ask(at, release, heads, where, **more)
    assert found.padded_num_heads == target, found.reason


def test_a_count_that_is_not_native_at_every_qlen_is_refused(at: At) -> None:
    found = ask(at, "v0.1.20", 48, OLD, qlens=(1, 2, 4), page_size=64, mode="force")
    assert {r.num_heads: r.verdict for r in found.rejected}[64] is Verdict.FOLDED


def test_verdicts_of_what_cannot_be_helped(at: At) -> None:
    assert ask(at, "v0.1.20", 128, OLD, lse=True).verdict is Verdict.NO_KERNEL
    assert ask(at, "v0.1.20", 48, OLD, mode="off").verdict is Verdict.FOLDED
    assert ask(at, "v0.1.20", 64, OLD, mode="off").verdict is Verdict.NATIVE
    told = {"q_dtype": None, "kv_dtype": None}
    assert ask(at, "v0.1.20", 64, OLD, mode="off", planner=told).verdict is Verdict.INCOHERENT


def test_a_query_of_2_with_the_lse_rides_the_kernel_for_4(at: At) -> None:
    plain = ask(at, "v0.1.20", 16, FP8, qlens=2, lse=True, mode="off")
    assert (plain.kernel_qlen, plain.verdict) == (2, Verdict.NO_KERNEL)
    riding = ask(at, "v0.1.20", 16, FP8, qlens=2, lse=True, pad_qlen=True)
    assert (riding.kernel_qlen, riding.padded_num_heads) == (4, 16)
    assert riding.verdict is Verdict.NATIVE
    # Without that, twice the heads have a kernel.
    assert ask(at, "v0.1.20", 16, FP8, qlens=2, lse=True).padded_num_heads == 32


@pytest.mark.parametrize("release", ["v0.1.13", "v0.1.17", "v0.1.19.post2", "v0.1.20"])
def test_no_plan_names_a_route_that_its_source_refuses(at: At, release: str) -> None:
    capability = at(release)
    for arch, heads, qlen, dtype, mode, route in product(
        *(("gfx942", "gfx950"), range(1, 17), (1, 2, 4, 8)),
        *(("bf16/bf16", "bf16/fp8", "fp8/fp8"), ("off", "auto", "force"), ("auto", "gluon")),
    ):
        found = ask(at, release, heads, f"{arch} {dtype}", qlens=qlen, mode=mode, route=route)
        if found.route is Route.GLUON:
            q_dtype, kv_dtype = map(Dtype, dtype.split("/"))
            shape = DecodeShape(
                arch=arch,
                q_dtype=q_dtype,
                kv_dtype=kv_dtype,
                num_heads=found.padded_num_heads,
                qlen=qlen,
                route=Route.GLUON,
            )
            assert capability.decide(shape).verdict is Verdict.NATIVE
            assert arch == "gfx950"


def test_small_counts_take_gluon_where_it_is(at: At) -> None:
    for heads in (1, 2, 4, 8):
        found = ask(at, "v0.1.20", heads, BF16, route="auto")
        assert (found.route, found.padded_num_heads) == (Route.GLUON, heads)
        older = ask(at, "v0.1.13", heads, BF16, route="auto")
        assert (older.route, older.padded_num_heads) == (Route.ASM, 16)


@pytest.mark.parametrize("release", ["v0.1.16.post2", "v0.1.20"])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("dtype", ["bf16/bf16", "bf16/fp8", "fp8/fp8"])
def test_the_rule_holds_on_releases(at: At, release: str, arch: str, dtype: str) -> None:
    q_dtype, kv_dtype = map(Dtype, dtype.split("/"))
    capability = at(release)

    def verdicts(heads: int, qlens: tuple[int, ...], lse: bool) -> set[Verdict]:
        return {
            capability.decide(
                DecodeShape(
                    arch=arch,
                    q_dtype=q_dtype,
                    kv_dtype=kv_dtype,
                    num_heads=heads,
                    qlen=qlen,
                    lse=lse,
                )
            ).verdict
            for qlen in qlens
        }

    def native(heads: int, qlens: tuple[int, ...], lse: bool) -> bool:
        return verdicts(heads, qlens, lse) == {Verdict.NATIVE}

    def runs(heads: int, qlens: tuple[int, ...], lse: bool) -> bool:
        return all(verdict.runs for verdict in verdicts(heads, qlens, lse))

    for qlens, lse, mode in product(((1,), (1, 2, 3, 4)), (False, True), ("auto", "force")):
        for heads in range(1, 257):
            where = f"{arch} {dtype}"
            found = ask(at, release, heads, where, qlens=qlens, lse=lse, mode=mode)
            rounded = (heads + 15) // 16 * 16
            target = found.padded_num_heads
            if native(heads, qlens, lse):
                assert target == heads
            elif heads > 128:
                assert target == rounded
            elif target != rounded:
                alone = runs(rounded, qlens, lse)
                assert native(target, qlens, lse) or (not alone and runs(target, qlens, lse))
                capped = mode == "auto" and alone
                assert heads < target <= (min(128, 2 * rounded) if capped else 128)
            elif mode == "force":
                assert native(rounded, qlens, lse) or not any(
                    native(count, qlens, lse) for count in range(heads + 1, 129)
                )


def test_releases_are_told_apart_by_their_files(aiter_git: Path) -> None:
    rules = rulebook.load_rules(errata.BLOBS, errata.BLOB_SCHEMA)
    assert tuple(rules["files"]) == blobs.FILES
    for release in ("v0.1.6.post2", "v0.1.13", "v0.1.19.post2", "v0.1.20"):
        with open_source(f"{aiter_git}@{release}") as source:
            assert rules["releases"][release] == errata.fingerprint(source, rules["files"])
            assert errata.release_of(source) == release

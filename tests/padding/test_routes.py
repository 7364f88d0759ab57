"""Routes: gluon where the source accepts it, asm everywhere else."""

from __future__ import annotations

import logging
from itertools import product

import pytest

from mlaprobe.core.keeping import Topics
from mlaprobe.core.shape import DecodeShape, Dtype, Route, Verdict
from mlaprobe.padding import planning
from mlaprobe.padding.api import plan
from tests.padding.fake import Fake, later, no, small_gluon


@pytest.fixture(autouse=True)
def _no_warnings_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "WARNED", Topics())


def one_request_at_a_time(shape: DecodeShape) -> bool:
    return small_gluon(shape) and shape.batch == 1


def several_tokens(shape: DecodeShape) -> bool:
    return small_gluon(shape) and shape.qlen <= 4


GLUONS = (small_gluon, one_request_at_a_time, several_tokens)


@pytest.mark.parametrize("rule", GLUONS)
@pytest.mark.parametrize("route", ["auto", "gluon"])
def test_no_plan_names_a_route_that_its_source_refuses(rule: object, route: str) -> None:
    source = later(gluon=rule)
    dtypes = ("bf16/bf16", "bf16/fp8", "fp8/fp8", "fp16/fp16")
    for arch, heads, qlen, dtype, mode in product(
        *(("gfx942", "gfx950", "gfx1250"), range(1, 17), range(1, 9), dtypes),
        ("off", "auto", "force"),
    ):
        q_dtype, kv_dtype = dtype.split("/")
        for batch in (None, 52):
            found = plan(
                heads,
                capability=source,
                arch=arch,
                q_dtype=q_dtype,
                kv_dtype=kv_dtype,
                qlens=qlen,
                mode=mode,
                route=route,
                batch=batch,
            )
            if found.route is not Route.GLUON:
                continue
            for asked in (batch,) if batch else (1, 2, 52, 256):
                shape = DecodeShape(
                    arch=arch,
                    q_dtype=Dtype(q_dtype),
                    kv_dtype=Dtype(kv_dtype),
                    num_heads=found.padded_num_heads,
                    qlen=qlen,
                    batch=asked,
                    route=Route.GLUON,
                )
                assert source.decide(shape).verdict is Verdict.NATIVE
            assert found.padded_num_heads == (16 if mode == "off" else heads)


def _route(source: Fake, heads: int, dtype: str = "bf16/bf16", **more: object) -> tuple[Route, int]:
    q_dtype, kv_dtype = dtype.split("/")
    found = plan(
        heads,
        capability=source,
        q_dtype=q_dtype,
        kv_dtype=kv_dtype,
        **{"arch": "gfx950", **more},  # type: ignore[arg-type]
    )
    return found.route, found.padded_num_heads


def test_auto_takes_gluon_for_the_divisors_of_16() -> None:
    for heads in range(1, 65):
        expected = (Route.GLUON, heads) if heads in (1, 2, 4, 8) else Route.ASM
        found = _route(later(), heads)
        assert found == expected or found[0] == expected


def test_auto_takes_asm_for_everything_else() -> None:
    assert _route(later(), 8, qlens=(1, 2))[0] is Route.ASM
    assert _route(later(), 8, "bf16/fp8", batch=1) == (Route.ASM, 16)
    assert _route(later(), 8, "fp8/fp8") == (Route.ASM, 16)
    assert _route(later(), 8, arch="gfx942") == (Route.ASM, 16)
    assert _route(later(), 12) == (Route.ASM, 16)
    assert _route(later(gluon=no), 8) == (Route.ASM, 16)
    assert _route(later(gluon=one_request_at_a_time), 8) == (Route.ASM, 16)
    assert _route(later(gluon=one_request_at_a_time), 8, batch=1) == (Route.GLUON, 8)


def test_gluon_is_taken_where_it_is_asked_for_and_accepted() -> None:
    assert _route(later(), 12, route="gluon") == (Route.GLUON, 12)
    assert _route(later(), 8, "bf16/fp8", route="gluon", batch=1) == (Route.GLUON, 8)
    assert _route(later(), 8, route="gluon", qlens=(1, 4)) == (Route.GLUON, 8)
    assert _route(later(gluon=several_tokens), 8, route="gluon", qlens=(1, 8))[0] is Route.ASM


def test_gluon_that_is_not_there_falls_back_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "mlaprobe"):
        for heads in (1, 8, 12):
            assert _route(later(), heads, arch="gfx942", route="gluon") == (Route.ASM, 16)
        assert _route(later(gluon=no), 8, route="gluon") == (Route.ASM, 16)
    assert len(caplog.records) == 1
    assert "gluon" in caplog.text
    found = plan(
        8,
        capability=later(),
        arch="gfx942",
        q_dtype="bf16",
        kv_dtype="bf16",
        route="gluon",
    )
    assert "the asm route is used" in found.notes[0]


def test_off_gives_the_next_multiple_of_16_whatever_the_route() -> None:
    assert _route(later(), 8, mode="off") == (Route.ASM, 16)
    assert _route(later(), 8, mode="off", route="gluon") == (Route.GLUON, 16)
    assert _route(later(), 20, mode="off", route="gluon") == (Route.ASM, 32)


def test_a_gluon_plan_pads_nothing_and_needs_the_real_kv_length() -> None:
    found = plan(8, capability=later(), arch="gfx950", q_dtype="bf16", kv_dtype="bf16")
    assert (found.route, found.verdict, found.pads) == (Route.GLUON, Verdict.NATIVE, False)
    assert "gluon-min-kv" in [need.id for need in found.launch]
    assert found.expected_gain is None
    assert len(found.decisions) == len(found.qlens) == 1


def rides_4(shape: DecodeShape) -> bool:
    """With the log-sum-exp there are kernels for qlen 1 and 4 only."""
    return shape.num_heads == 16 and (not shape.lse or shape.qlen in (1, 4))


def test_a_query_rides_a_longer_kernel_only_where_that_is_asked_for() -> None:
    source = Fake(native=rides_4, no_kernel=lambda s: not rides_4(s))
    question = {
        **{"capability": source, "arch": "gfx950", "q_dtype": "bf16", "kv_dtype": "bf16"},
        **{"lse": True, "qlens": (1, 2, 3), "route": "asm"},
    }
    plain = plan(16, **question)  # type: ignore[arg-type]
    assert plain.kernel_qlens == (1, 2, 3)
    assert plain.verdict is Verdict.NO_KERNEL
    riding = plan(16, pad_qlen=True, **question)  # type: ignore[arg-type]
    assert riding.kernel_qlens == (1, 4, 4)
    assert riding.verdict is Verdict.NATIVE
    assert (riding.kernel_qlen, riding.kernel_qlen_for(1), riding.kernel_qlen_for(2)) == (4, 1, 4)
    assert riding.settings["max_seqlen_qo"] == (1, 4)
    with pytest.raises(KeyError):
        riding.kernel_qlen_for(4)


def test_a_query_longer_than_every_kernel_stays() -> None:
    source = Fake(native=rides_4, no_kernel=lambda s: not rides_4(s))
    found = plan(
        16,
        capability=source,
        arch="gfx950",
        q_dtype="bf16",
        kv_dtype="bf16",
        lse=True,
        qlens=5,
        pad_qlen=True,
    )
    assert (found.kernel_qlen, found.verdict) == (5, Verdict.NO_KERNEL)

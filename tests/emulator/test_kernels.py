"""Kernels that AITER ships, run against attention in float64."""

from __future__ import annotations

from functools import cache

import pytest

from mlaprobe.emulator.schedules import SWEEP
from mlaprobe.kernels.codeobject import CodeObject
from mlaprobe.sources import Source
from mlaprobe.sources.installed import InstalledSource
from tests.emulator.launching import Decode

BF16 = "mla_a16w16_qh16_m16x4_n16x1_coex0_mask1_ps.co"
FP8 = "mla_a8w8_qh16_qseqlen1_gqaratio16_ps.co"
TOLERANCE = {False: 0.005, True: 0.06}
"""Of fp8, the weights are rounded to three bits of mantissa before they meet the values."""


@cache
def code(arch: str, name: str) -> CodeObject:
    """A code object of PyPI's amd-aiter."""
    with InstalledSource.find(environ={}) as source:
        return CodeObject.read(read(source, f"hsa/{arch}/mla/{name}"))


def read(source: Source, path: str) -> bytes:
    file = source.read(path)
    assert file is not None
    return file.data


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("fp8", [False, True])
def test_a_decode_agrees_with_attention(arch: str, fp8: bool) -> None:
    decode = Decode(code=code(arch, FP8 if fp8 else BF16), fp8=fp8, kv_lens=(70, 33))
    out = decode.launch()
    assert decode.result.finished
    assert decode.result.outside == ()
    assert decode.memory.written("out").all()
    assert decode.error(out) < TOLERANCE[fp8]
    assert decode.result.workgroups == 2
    assert decode.result.instructions > 2000


def test_other_garbage_and_another_schedule_change_nothing() -> None:
    kernel = code("gfx950", FP8)
    plain = Decode(code=kernel, fp8=True).launch()
    assert (Decode(code=kernel, fp8=True).launch(garbage=7) == plain).all()
    assert (Decode(code=kernel, fp8=True).launch(SWEEP[2]) == plain).all()


@pytest.mark.parametrize(
    "change",
    [
        {"scale": 1 / 24},
        {"heads": -8},
        {"kv_stride": 4},
        {"kv": 576},
        {"q": 576},
        {"pages": 4},
        {"out": 1024},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_wrong_argument_shows(change: dict[str, int | float]) -> None:
    decode = Decode(code=code("gfx950", FP8), fp8=True, changes=change)
    out = decode.launch()
    assert decode.result.finished
    assert decode.error(out) > 0.5


def test_padding_does_not_reach_the_other_heads() -> None:
    kernel = code("gfx950", FP8)
    zero, large = (
        Decode(code=kernel, fp8=True, padding=factor).launch()[:, :12] for factor in (0.0, 50.0)
    )
    assert (zero == large).all()


def test_a_budget_ends_the_run() -> None:
    decode = Decode(code=code("gfx950", FP8), fp8=True, budget=500)
    decode.launch()
    assert decode.result.budget_exhausted
    assert not decode.result.finished
    assert decode.result.workgroups == 0
    assert not decode.memory.written("out").any()

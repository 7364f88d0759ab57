"""AITER's own kernels, of the wheel that is installed for the tests: right results, and runs that
are made to go wrong.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mlaprobe.core.shape import Dtype
from mlaprobe.deciding.capability import Capability
from mlaprobe.decode.rules import rules as decode_rules
from mlaprobe.emulation import running
from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.batches.values import Values
from mlaprobe.emulation.launch import Change
from mlaprobe.emulation.outcome import Emulated, Standing
from mlaprobe.emulation.padding import Padding, pad
from mlaprobe.emulation.planned import Options, emulate_plan
from mlaprobe.emulation.running import Settings, emulate
from mlaprobe.emulator.schedules import Schedule
from mlaprobe.padding.api import plan
from mlaprobe.sources import Source
from mlaprobe.stages.environment.device import Device
from mlaprobe.stages.launching import Launched

LENS = (70, 20)


@pytest.fixture(scope="module")
def capability(aiter_wheel: Source) -> Capability:
    """The installed AITER."""
    return Capability.open("installed")


def batch(arch: str, dtype: Dtype, heads: int = 16, qlen: int = 1) -> Batch:
    """A small batch."""
    return Batch(arch=arch, q_dtype=dtype, kv_dtype=dtype, num_heads=heads, kv_lens=LENS, qlen=qlen)


def run(
    capability: Capability,
    asked: Batch,
    change: Change | None = None,
    *,
    persistent: bool = True,
    again: tuple[tuple[Schedule, int], ...] = (),
    own: bool = True,
) -> Emulated:
    """A launch of a batch as it is."""
    found = plan(
        asked.num_heads,
        capability=capability,
        arch=asked.arch,
        q_dtype=asked.q_dtype,
        kv_dtype=asked.kv_dtype,
        qlens=asked.qlen,
        mode="off",
        persistent=persistent,
    )
    settings = Settings(
        tolerance=decode_rules().tolerance(asked.q_dtype, asked.kv_dtype),
        device=Device.of(asked.arch, 256),
        planned_units=4,
        own_metadata=own,
        persistent=persistent,
        again=again,
    )
    padding = Padding(heads=asked.num_heads, qlen=asked.qlen)
    return emulate(capability, asked, padding, found.decisions[0], settings, change)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("dtype", "qlen", "persistent"),
    [(Dtype.BF16, 1, True), (Dtype.FP8, 2, True), (Dtype.BF16, 1, False)],
)
def test_kernels_are_right(
    capability: Capability, arch: str, dtype: Dtype, qlen: int, persistent: bool
) -> None:
    again = ((Schedule.PLAUSIBLE, 2),) if dtype is Dtype.FP8 else ()
    found = run(capability, batch(arch, dtype, qlen=qlen), persistent=persistent, again=again)
    assert found.standing is Standing.PASSED, found
    assert found.passed
    assert found.kernel is not None
    assert found.kernel.co.startswith(f"hsa/{arch}/mla/")
    assert found.error is not None
    assert found.error.max_abs < (0.05 if dtype is Dtype.FP8 else 0.01)
    assert not found.outside
    assert found.instructions > 1000
    assert all(check.same for check in found.checks)
    assert (found.metadata is None) is not persistent


def test_a_fold_is_carried_out_as_the_source_says(capability: Capability) -> None:
    found = run(capability, batch("gfx942", Dtype.FP8, heads=32))
    assert found.standing is Standing.PASSED, found
    assert found.block is not None
    slot = found.block.slot("ptr_Q")
    assert slot is not None
    assert getattr(slot.value, "shape", None) == (4, 16, 576)


@pytest.mark.parametrize("strategy", ["tile", "zero"])
def test_what_padding_heads_hold_changes_no_bit(capability: Capability, strategy: str) -> None:
    """12 real heads among 16."""
    asked = batch("gfx942", Dtype.FP8, heads=12)
    whole = plan(
        12, capability=capability, arch="gfx942", q_dtype="fp8", kv_dtype="fp8", qlens=1,
        strategy=strategy,
    )  # fmt: skip
    assert whole.padded_num_heads == 16
    options = Options(tolerance=decode_rules().tolerance(Dtype.FP8, Dtype.FP8), schedules="one")
    found = emulate_plan(capability, whole, asked, options)
    assert found.standing is Standing.PASSED, found


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("persistent", [True, False])
def test_scales_of_query_and_cache(capability: Capability, arch: str, persistent: bool) -> None:
    """Their product is not 1, so that a kernel which takes none of them is not right."""
    asked = replace(batch(arch, Dtype.FP8), q_scale=0.75, kv_scale=2.5)
    assert run(capability, asked, persistent=persistent).standing is Standing.PASSED
    wrong = run(capability, asked, swapping("ptr_QSCALE", "ptr_KVSCALE"), persistent=persistent)
    assert wrong.standing is Standing.WRONG


# --- runs that have to go wrong ------------------------------------------------------------------


def slot_of(launched: Launched, name: str) -> tuple[int, int]:
    """Where a slot begins and ends."""
    slot = launched.block.slot(name)
    assert slot is not None
    return slot.offset, slot.offset + slot.size


def adding(name: str, amount: int) -> Change:
    """Adds to a number or an address."""

    def change(block: bytearray, launched: Launched) -> None:
        start, end = slot_of(launched, name)
        value = int.from_bytes(block[start:end], "little") + amount
        block[start:end] = value.to_bytes(end - start, "little")

    return change


def scaling(name: str, factor: float) -> Change:
    """Multiplies a float."""

    def change(block: bytearray, launched: Launched) -> None:
        start, end = slot_of(launched, name)
        value = np.frombuffer(bytes(block[start:end]), np.float32) * np.float32(factor)
        block[start:end] = value.tobytes()

    return change


def swapping(one: str, other: str) -> Change:
    """Exchanges two arguments."""

    def change(block: bytearray, launched: Launched) -> None:
        first, second = slice(*slot_of(launched, one)), slice(*slot_of(launched, other))
        block[first], block[second] = block[second], block[first]

    return change


WRONG = {
    "scalar": scaling("scalar", 2),
    "query, one head on": adding("ptr_Q", 576 * 2),
    "cache, one row on": adding("ptr_KV", 576 * 2),
    "row of the cache": adding("s_Bs", 576),
    "pages, one on": adding("ptr_LTD", 4),
    "output, one head on": adding("ptr_RP", 512 * 2),
    "null for the output": lambda block, launched: block.__setitem__(
        slice(*slot_of(launched, "ptr_RP")), bytes(8)
    ),
}


@pytest.mark.parametrize("what", sorted(WRONG))
def test_a_wrong_launch_is_no_pass(capability: Capability, what: str) -> None:
    found = run(capability, batch("gfx950", Dtype.BF16), WRONG[what])
    assert found.standing in (Standing.WRONG, Standing.OUTSIDE, Standing.UNWRITTEN), found
    assert not found.passed
    if "output" in what:
        assert any(access.kind == "write" for access in found.outside)
        assert found.standing is Standing.OUTSIDE
        assert found.error is not None
        assert found.error.unwritten >= 512


def test_a_wrong_number_of_rows_is_no_pass(capability: Capability) -> None:
    """The persistent kernel of 16 heads does not ask for it; this one does."""
    found = run(capability, batch("gfx950", Dtype.BF16), adding("s_MQA", -8), persistent=False)
    assert found.standing in (Standing.WRONG, Standing.OUTSIDE, Standing.UNWRITTEN), found


def test_a_wrong_order_of_heads_is_wrong(
    capability: Capability, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rolled(values: Values, padding: Padding) -> Values:
        padded = pad(values, padding)
        return replace(padded, q=np.roll(padded.q, 1, axis=1))

    monkeypatch.setattr(running, "pad", rolled)
    found = run(capability, batch("gfx942", Dtype.BF16))
    assert found.standing is Standing.WRONG
    assert found.error is not None
    assert found.error.complaints


def test_a_launch_that_the_source_refuses(capability: Capability) -> None:
    found = run(capability, batch("gfx942", Dtype.BF16, heads=12))
    assert found.standing is Standing.REFUSED
    assert found.message
    assert found.place is not None

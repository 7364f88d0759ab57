"""Launches run again, of which some are made to give another result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import mlaprobe
from mlaprobe.emulation import reruns, running
from mlaprobe.emulation.launch import Result, execute
from mlaprobe.emulation.outcome import Emulated, Standing
from mlaprobe.emulation.wording import details, race_line
from mlaprobe.emulator.races import Race, Watch
from mlaprobe.evaluator.values.unknown import UNINITIALISED, Unknown

pytestmark = pytest.mark.usefixtures("aiter_wheel")
Runs = list[dict[str, Any]]


def emulated(schedules: str, dtype: str = "fp8") -> Emulated:
    """A small launch of 16 heads."""
    return mlaprobe.emulate(
        16,
        kv_lens=(9, 5),
        arch="gfx942",
        q_dtype=dtype,
        kv_dtype=dtype,
        persistent=False,
        schedules=schedules,
    )


def spoil(monkeypatch: pytest.MonkeyPatch, when: Callable[[dict[str, Any]], bool]) -> Runs:
    """Runs again give another result for the second request ``when`` they are made so; what each
    was made with."""
    runs: Runs = []

    def run(ready: Any, **how: Any) -> Result:
        runs.append(how)
        found = execute(ready, **how)
        if when(how):
            rows = found.followed.rows
            out = rows.out.copy()
            out[1:] ^= 0x4000
            found = replace(found, followed=replace(found.followed, rows=replace(rows, out=out)))
        return found

    monkeypatch.setattr(reruns, "execute", run)
    return runs


def test_a_result_that_another_timing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is the timing or the garbage is told by one run more, and what it is by another
    in which uses of registers are watched."""
    runs = spoil(monkeypatch, lambda how: how["schedule"].name == "late")
    found = emulated("timing")
    assert found.standing is Standing.TIMING
    assert [(check.schedule, check.seed, check.passed) for check in found.checks] == [
        ("early", 2, True),
        ("late", 3, False),
        ("plausible", 3, True),
        ("plausible", 1, True),  # with zeros where the host stores nothing
    ]
    assert runs[-1]["schedule"].name == "clock-at-wait"
    assert isinstance(runs[-1]["watch"], Watch)
    assert len(runs) == 5


def test_a_result_that_hangs_on_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, lambda how: how["seed"] == 3)
    assert emulated("timing").standing is Standing.WRONG


def test_a_timing_that_no_hardware_has_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it changes is said."""
    spoil(monkeypatch, lambda how: how["schedule"].name == "clock-at-once")
    found = emulated("races")
    assert found.standing is Standing.PASSED
    assert [check.schedule for check in found.checks if not check.same] == ["clock-at-once"]


def test_nothing_hangs_on_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = spoil(monkeypatch, lambda how: False)
    found = emulated("races")
    assert found.standing is Standing.PASSED
    assert found.races == ()
    assert [how["schedule"].name for how in runs] == [
        "early", "late", "clock-at-once", "clock-at-wait"
    ]  # fmt: skip


def test_what_the_host_leaves_as_it_was_holds_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    """This AITER passes a bf16 launch no scales, and the kernel does not ask for them."""
    runs = spoil(monkeypatch, lambda how: False)
    found = emulated("garbage", "bf16")
    assert found.standing is Standing.PASSED
    assert [check.zeros for check in found.checks] == [False]
    assert found.block is not None
    assert {"ptr_QSCALE", "ptr_KVSCALE"} <= {slot.name for slot in found.block.uninitialised}
    assert runs[0]["unset"] is None


def test_a_result_that_hangs_on_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that the kernel asks for and the host leaves as it was, say."""

    def without_output(ready: Any, **how: Any) -> Result:
        block = ready.launched.block
        reason = Unknown("args.ptr_LTD has no value", free=UNINITIALISED)
        slots = tuple(
            replace(slot, value=reason) if slot.name == "ptr_LTD" else slot for slot in block.slots
        )
        launched = replace(ready.launched, block=replace(block, slots=slots))
        return execute(replace(ready, launched=launched), **how)

    monkeypatch.setattr(running, "execute", without_output)
    found = emulated("one", "bf16")
    assert not found.passed
    (check,) = found.checks
    assert (check.zeros, check.same) == (True, False)
    text = "the result hangs on what is in ptr_QSCALE, ptr_KVSCALE, _p0._p0, _p0._p1 and "
    assert details(found)[-1].startswith(text)


def test_one_wrong_request_of_many_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error is small among those of the others."""

    def run(ready: Any, **how: Any) -> Result:
        found = execute(ready, **how)
        rows = found.followed.rows
        out = rows.out.copy()
        out[7, :, :20] ^= 0x0080
        return replace(found, followed=replace(found.followed, rows=replace(rows, out=out)))

    for module in (running, reruns):
        monkeypatch.setattr(module, "execute", run)
    lens = tuple(range(20, 32))
    found = mlaprobe.emulate(
        16, kv_lens=lens, arch="gfx942", q_dtype="fp8", kv_dtype="fp8", schedules="one"
    )
    assert found.error is not None
    assert found.error.passed
    assert found.wrong == (7,)
    assert found.standing is Standing.WRONG
    assert details(found) == ("not right are the requests of 27 KV tokens",)


def test_a_pair_of_instructions_in_words() -> None:
    race = Race(
        load=16, load_text="ds_read_b32 v1, v2", use=32, use_text=" v_mov_b32 v3, v1", count=2
    )
    text = "v_mov_b32 v3, v1 at 0x20 does not wait for ds_read_b32 v1, v2 at 0x10, 2 times"
    assert race_line(race) == text

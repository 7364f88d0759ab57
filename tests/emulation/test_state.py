"""What an emulated launch leaves behind: nothing that another one could notice."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype
from mlaprobe.deciding.capability import Capability
from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.batches.values import Values
from mlaprobe.emulation.batches.works import Cutting, Works, own_works
from mlaprobe.emulation.launch import Call, Prepared, execute, prepare
from mlaprobe.emulation.metadata import BatchPlanner
from mlaprobe.emulator.memory import Memory
from mlaprobe.emulator.schedules import Schedule
from mlaprobe.sources import Source
from mlaprobe.stages.environment.device import Device

BATCH = Batch(arch="gfx942", q_dtype=Dtype.BF16, kv_dtype=Dtype.BF16, num_heads=16, kv_lens=(40, 9))
FP8 = replace(BATCH, q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, qlen=2)
BATCHES = (BATCH, FP8, replace(BATCH, arch="gfx950"), replace(FP8, arch="gfx950"))


@pytest.fixture(scope="module")
def capability(aiter_wheel: Source) -> Capability:
    """The installed AITER."""
    return Capability.open("installed")


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def ready(capability: Capability, batch: Batch) -> Prepared:
    """A persistent launch of a batch as it is."""
    call = Call(
        values=Values.random(batch),
        works=own_works(batch, Cutting(splits=2)),
        device=Device.of(batch.arch, 304),
    )
    return prepare(capability, call)


def bits(launch: Prepared, budget: int = 10_000_000) -> tuple[bytes, int]:
    """Every bit of the output of a run, and how many instructions it took."""
    found = execute(launch, schedule=Schedule.PLAUSIBLE, budget=budget)
    return found.followed.rows.out.tobytes(), found.run.instructions


@pytest.mark.usefixtures("switching")
def test_threads_do_not_notice_each_other(capability: Capability) -> None:
    """Of different launches and of one and the same, each prepared where it is run."""
    alone = [bits(ready(capability, batch)) for batch in BATCHES]
    fresh = Capability.open("installed")
    pairs = [batch for batch in BATCHES for _ in range(2)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda batch: bits(ready(fresh, batch)), pairs))
    assert together == [each for each in alone for _ in range(2)]


def planned(planner: BatchPlanner, batch: Batch) -> tuple[list[object], ...]:
    """What AITER's planner writes for a batch."""
    shape = DecodeShape(
        arch=batch.arch,
        q_dtype=batch.q_dtype,
        kv_dtype=batch.kv_dtype,
        num_heads=batch.num_heads,
        qlen=batch.qlen,
    )
    works = planner.plan(shape, batch.vectors, Device.of(batch.arch, 8))
    assert isinstance(works, Works), works
    return works.work_indptr.tolist(), works.work_info.tolist(), works.reduce_indptr.tolist()


@pytest.mark.usefixtures("switching")
def test_planners_do_not_notice_each_other(capability: Capability) -> None:
    alone = [planned(BatchPlanner(capability), batch) for batch in BATCHES]
    fresh = Capability.open("installed")
    shared = BatchPlanner(fresh)
    planners = [(each, batch) for batch in BATCHES for each in (shared, BatchPlanner(fresh))]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda given: planned(*given), planners))
    assert together == [each for each in alone for _ in range(2)]


@pytest.mark.parametrize("batch", BATCHES[:2])
def test_a_run_that_broke_off_leaves_nothing(
    capability: Capability, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = ready(capability, batch)
    before = bits(launch)
    for budget in (1, 50, 700, 2500):
        execute(launch, budget=budget)
        assert bits(launch) == before
    store, places = Memory.store, iter(range(3))

    def interrupted(memory: Memory, *given: Any) -> None:
        if next(places, None) is None:
            raise KeyboardInterrupt
        store(memory, *given)

    with monkeypatch.context() as patched:
        patched.setattr(Memory, "store", interrupted)
        with pytest.raises(KeyboardInterrupt):
            execute(launch)
    assert bits(launch) == before

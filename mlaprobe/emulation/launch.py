"""One launch of AITER's dispatcher on the emulator: from the values of a batch to an output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlaprobe.deciding.capability import Capability
from mlaprobe.emulation.arrays import Arrays, Marks, memory_of
from mlaprobe.emulation.batches.holding import Spread, Tensors
from mlaprobe.emulation.batches.works import Works
from mlaprobe.emulation.inputs import Inputs, inputs_of
from mlaprobe.emulation.regions import Regions
from mlaprobe.emulation.results.following import Followed, follow
from mlaprobe.emulator.machine import BUDGET, RunResult, run
from mlaprobe.emulator.memory import Memory
from mlaprobe.emulator.races import Watch
from mlaprobe.emulator.schedules import Schedule
from mlaprobe.errors import SourceError
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.kernels.codeobject import CodeObject
from mlaprobe.rulefiles.operations import Entry
from mlaprobe.stages.base import Absent
from mlaprobe.stages.environment.device import Device
from mlaprobe.stages.environment.placed import Placed
from mlaprobe.stages.kernelargs import Unset
from mlaprobe.stages.launching import Launched, Launching, LaunchQuestion, NotLaunchedError
from mlaprobe.stages.operations.functions import EntryCall

ARGUMENTS = "arguments"
"""The name of the region that holds the argument block."""
Change = Callable[[bytearray, Launched], None]
"""Changes the bytes of an argument block before a launch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """How a batch is launched."""

    values: Tensors
    works: Works | None
    """Work metadata; ``None`` for a launch without."""
    device: Device
    """The GPU."""
    splits: int | None = None
    """AITER's ``num_kv_splits``; ``None`` leaves it to AITER."""
    env: tuple[tuple[str, str], ...] = ()
    entry: Entry | None = None
    """The entry point of an operation; ``None`` for a decode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A launch, ready to be run again and again."""

    call: Call
    inputs: Inputs
    launched: Launched
    code: CodeObject
    data: bytes
    """The file of the code object."""

    def tensor(self, role: str) -> Placed:
        """A tensor that every caller gives, by what it means."""
        given = self.inputs[role]
        assert given is not None
        return given.tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a launch came to."""

    run: RunResult
    followed: Followed


def prepare(capability: Capability, call: Call) -> Prepared:
    """A launch with the code object that it loads.

    Raises:
        NotLaunchedError: AITER refuses it, or what is launched is not known.
        SourceError: there is no code object, or one that cannot be run.
    """
    inputs = inputs_of(call.values, call.works)
    batch = call.values.batch
    launched = _launching(capability, call.entry).launch(
        LaunchQuestion(
            arch=batch.arch,
            q_dtype=batch.q_dtype,
            kv_dtype=batch.kv_dtype,
            tensors={role: given and given.tensor for role, given in inputs.items()},
            numbers=_numbers(call),
            device=call.device,
            env=call.env,
        )
    )
    slot = launched.block.unknown
    if slot is not None and isinstance(slot.value, Unknown):
        raise NotLaunchedError(f"{slot.name} is not known: {slot.value.reason}", slot.value.span)
    file = capability.source.read(launched.kernel.co)
    if file is None:
        raise SourceError(
            f"{capability.source.label} has no {launched.kernel.co}",
            hint="name a source with AITER's code objects: a checkout or REPO@REV",
        )
    return Prepared(
        call=call,
        inputs=inputs,
        launched=launched,
        code=CodeObject.read(file.data),
        data=file.data,
    )


def _launching(capability: Capability, entry: Entry | None) -> Launching:
    """Evaluates calls of the function that launches."""
    host, function = capability.host, capability.dispatcher
    try:
        called = function if entry is None else EntryCall(capability.session, entry)
    except Absent as why:
        raise NotLaunchedError(str(why)) from None
    if called is None or host is None:
        raise NotLaunchedError("the source has no dispatcher or no host function")
    return Launching(called, host)


def execute(
    ready: Prepared,
    *,
    schedule: Schedule = Schedule.PLAUSIBLE,
    seed: int = 1,
    budget: int = BUDGET,
    change: Change | None = None,
    unset: Unset | None = None,
    watch: Watch | None = None,
) -> Result:
    """Runs a launch, and does what AITER does behind it.

    Args:
        seed: of the garbage in registers, LDS, memory that nobody has written, and members of the
            argument block that the host stores nothing in.
        budget: instructions that may be executed.
        change: changes the argument block, for runs that have to go wrong.
        unset: gives the bytes of those members instead.
        watch: counts uses of registers that loads are on their way to.

    Raises:
        NotFollowedError: what is in a tensor of the launch is not known.
    """
    memory, launched = Memory(), ready.launched
    arrays, marks = _given(ready, seed)
    output = ready.tensor("output")
    regions = Regions(memory, arrays, launched, _spread(ready, arrays))
    regions.place_metadata(ready.inputs)
    block = bytearray(
        launched.block.pack(regions.address, unset or np.random.default_rng(seed).bytes)
    )
    if change is not None:
        change(block, launched)
    result = run(
        ready.code,
        launched.kernel.symbol,
        memory=memory,
        arguments=memory.place(ARGUMENTS, np.frombuffer(bytes(block), np.uint8)),
        grid=launched.grid,
        schedule=schedule,
        seed=seed,
        budget=budget,
        watch=watch,
    )
    regions.take_back(marks)
    entry = ready.call.entry
    one = entry is not None and entry.returns_one_split
    followed = follow(launched, output, arrays, marks, returns_one_split=one)
    return Result(run=result, followed=followed)


def _given(ready: Prepared, seed: int) -> tuple[Arrays, Marks]:
    """The caller's arrays, and marks of what is written in them, which is nothing yet."""
    arrays, marks = Arrays(seed), Marks()
    for given in ready.inputs.values():
        if given is not None and given.array is not None:
            arrays.give(given.tensor, given.array)
            marks.give(given.tensor, np.zeros(given.array.shape, np.bool_))
    return arrays, marks


def _spread(ready: Prepared, arrays: Arrays) -> dict[int, Spread]:
    """What holds only some pages of a cache, by the id of the array that owns the memory."""
    return {
        id(memory_of(arrays.of(ready.tensor(spread.role)))): spread
        for spread in ready.call.values.spread
    }


def _numbers(call: Call) -> dict[str, Any]:
    batch = call.values.batch
    return {
        "qlen": max(batch.query_lens),
        "page_size": batch.page_size,
        "intra_batch": False,
        "return_lse": batch.lse,
        "world": batch.world,
        "rank": batch.rank,
        "causal": batch.causal,
        "scale": batch.sm_scale,
        "splits": call.splits,
    }

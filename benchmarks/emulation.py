"""Times AITER's kernels on the emulator."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from statistics import median

from benchmarks.sources import Meter
from mlaprobe.core.shape import Dtype
from mlaprobe.deciding.capability import Capability
from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.batches.values import Values
from mlaprobe.emulation.batches.works import Cutting, own_works
from mlaprobe.emulation.launch import Call, Prepared, execute, prepare
from mlaprobe.rulefiles.archs import compute_units
from mlaprobe.stages.environment.device import Device
from mlaprobe.stages.launching import NotLaunchedError

DECODE = (
    *("decode", "--backend", "emulate", "--arch", "gfx950", "--dtype", "bf16/bf16"),
    *("--heads", "12", "--batch", "2", "--kv-len", "200"),
)
"""The command that is timed from a cold process."""
PLAIN = Batch(arch="gfx950", q_dtype=Dtype.BF16, kv_dtype=Dtype.BF16, num_heads=16, kv_lens=(200,))
BATCHES = tuple(
    replace(PLAIN, arch=arch, q_dtype=dtype, kv_dtype=dtype, num_heads=heads, qlen=qlen)
    for arch, dtype, (heads, qlen) in product(
        ("gfx942", "gfx950"), (Dtype.BF16, Dtype.FP8), ((16, 1), (16, 4), (128, 1))
    )
)
"""What is launched, where the source has a kernel for it."""


def emulation(spec: str, meter: Meter, *, cold: bool) -> Iterator[str]:
    """Instructions of several kernels; ``cold``: one decode from a cold process as well.

    An instruction is one of a wave, which is one for all of its 64 lanes.
    """
    yield "AITER's kernels, emulated on one core"
    if cold:
        command = ("-m", "mlaprobe", *DECODE, "--aiter", spec)
        meter.cold(*command)  # the page cache, and compiled modules
        took = [meter.cold(*command) for _ in range(meter.starts)]
        wall, cpu = (meter.seconds(median(each[at] for each in took)) for at in (0, 1))
        yield meter.said("  12 heads padded to 16, batch 2, KV 200, cold", wall, "2 s")
        yield meter.said("  the same, CPU", cpu)
        peak = max(each[2] for each in took)
        yield meter.said("  peak memory", f"{peak / 1024:.0f} MB", "500 MB")
    each = [_instruction(launch) for launch in _launches(spec)]
    yield meter.said(f"  an instruction, median of {len(each)} kernels", _us(median(each)), "6 us")
    yield meter.said("  the slowest of them", _us(max(each)), "6 us")


def _us(seconds: float) -> str:
    return f"{seconds / 1e-6:.1f} us"


def _launches(spec: str) -> Iterator[Prepared]:
    with Capability.open(spec) as capability:
        for batch in BATCHES:
            call = Call(
                values=Values.random(batch),
                works=own_works(batch, Cutting(splits=2)),
                device=Device.of(batch.arch, compute_units(batch.arch)),
            )
            try:
                yield prepare(capability, call)
            except NotLaunchedError:
                continue  # this release has no such kernel


def _instruction(launch: Prepared) -> float:
    """CPU seconds of an instruction, in a run of a program that is compiled."""
    execute(launch)
    times = []
    for _ in range(3):
        begin = time.process_time()
        done = execute(launch)
        times.append((time.process_time() - begin) / done.run.instructions)
    return median(times)

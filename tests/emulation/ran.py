"""Small kernels, run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlaprobe.emulation.device.kinds import INT, PointerTo
from mlaprobe.emulation.device.launching import run_kernel, source_unit
from mlaprobe.emulation.device.machine import Launch
from mlaprobe.emulation.device.memory import Block
from mlaprobe.emulation.device.scopes import Functions, Scope
from mlaprobe.emulation.device.source import SourceUnit
from mlaprobe.emulation.device.values import Address, Value
from mlaprobe.evaluator.cpp.preprocess import TranslationUnit

FILE = "kernel.cu"


def unit_of(text: str) -> SourceUnit:
    """A source of one file."""
    return source_unit(TranslationUnit(lambda path: text if path == FILE else None, FILE))


def run(
    text: str, *numbers: int, threads: int = 64, elements: int = 64, budget: int = 100_000
) -> NDArray[Any]:
    """What the kernel ``k(int* out, ...)`` writes to ``out``; -1 where it writes nothing."""
    unit = unit_of(text)
    out = Block("out", 4 * elements)
    kernel = Functions("k", unit.visible("k", "", ""), Scope(unit, ""))
    arguments = (Value(PointerTo(INT), Address(out)), *(Value(INT, n) for n in numbers))
    config = (Value(INT, 1), Value(INT, threads), Value(INT, 1024))
    launch = Launch(kernel=kernel, config=config, arguments=arguments)
    run_kernel(launch, unit, wave_size=64, blocks=(out,), budget=budget)
    return np.where(out.written[::4], out.bytes.view(np.int32), -1)


def body(text: str, **options: Any) -> list[int]:
    """What a body writes to ``out``, with the thread's index as ``i``."""
    whole = "__global__ void k(int* out) { const int i = threadIdx.x; " + text + " }"
    return [int(n) for n in run(whole, **options)]

"""How an instruction on float32 is carried out: its sources, subnormals, EXEC."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from mlaprobe.emulator.modes import FloatMode, Subnormals, flushed
from mlaprobe.emulator.operands import RealSource
from mlaprobe.emulator.program import Context, Step
from mlaprobe.emulator.semantics.vectors import Target
from mlaprobe.emulator.wave import LANES, Wave

RealFunction: TypeAlias = Callable[..., object]
"""Sources as float32, and where the result goes."""


def real_step(
    function: RealFunction,
    sources: tuple[RealSource, ...],
    rows: tuple[int | None, ...],
    out: Target,
    mode: FloatMode,
    context: Context,
) -> Step:
    """Applies a function of float32 sources where EXEC is set; subnormals as the mode says.

    ``rows`` are the vector registers that sources always are, unmodified, or ``None``.
    """
    step = _any_step(function, sources, out, mode, context.subnormals((LANES,)))
    known = [row for row in rows if row is not None]
    if len(known) == len(rows) and isinstance(out, int) and mode.flush_inputs:
        inputs = context.subnormals((LANES,), parts=len(rows))
        results = context.subnormals((LANES,)) if mode.flush_results else None
        return _quick_step(function, known, out, inputs, results, step)
    return step


def _any_step(
    function: RealFunction,
    sources: tuple[RealSource, ...],
    out: Target,
    mode: FloatMode,
    subnormals: Subnormals,
) -> Step:
    scratch = np.empty(LANES, np.uint32)
    scratch_values = scratch.view(np.float32)
    inputs, results = mode.flush_inputs, mode.flush_results

    def step(wave: Wave) -> None:
        values = [source(wave) for source in sources]
        if inputs:
            values = [flushed(value) for value in values]
        row = out if isinstance(out, int) else out(wave)
        if wave.full:
            function(*values, wave.floats[row])
            if results:
                subnormals.flush(wave.rows[row])
        else:
            function(*values, scratch_values)
            if results:
                subnormals.flush(scratch)
            np.copyto(wave.rows[row], scratch, where=wave.exec_mask)

    return step


def _quick_step(
    function: RealFunction,
    rows: list[int],
    out: int,
    inputs: Subnormals,
    results: Subnormals | None,
    careful: Step,
) -> Step:
    """The same for sources that are registers and, nearly always, without subnormals."""
    first, second = rows[0], rows[-1]
    if len(rows) == 2:

        def two(wave: Wave) -> None:
            bits = wave.rows
            if not wave.full or inputs.among(bits[first], bits[second]):
                careful(wave)
                return
            values = wave.floats
            function(values[first], values[second], values[out])
            if results is not None:
                results.flush(bits[out])

        return two

    def any_number(wave: Wave) -> None:
        bits = wave.rows
        if not wave.full or inputs.among(*[bits[row] for row in rows]):
            careful(wave)
            return
        values = wave.floats
        function(*[values[row] for row in rows], values[out])
        if results is not None:
            results.flush(bits[out])

    return any_number

"""How long a call takes: on a GPU by its own clock, on a CPU by the host's."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mlaprobe.decode.tensors import torch

FLUSH_BYTES = 1 << 29
"""Read before each call where caches must be cold: more than any GPU's last-level cache. Reading
leaves nothing behind that the call would have to wait for until it is written back."""
FLUSH_PASSES = 4
"""How often it is read: the device is to be busy until the host has enqueued the whole call, so
that no gap between its kernels is timed."""
WARM_UP = 3
MOST_RUNS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Times of one call."""

    us: float
    """Microseconds, the median."""
    low_us: float
    """A quarter of the runs was faster."""
    high_us: float
    """A quarter of the runs was slower."""
    runs: int
    clock: str
    """``device`` or ``host``."""
    cold: bool
    """Whether caches were flushed before each run."""


def time_calls(
    calls: Sequence[Callable[[], Any]], device: Any, *, cold: bool = True, budget_s: float = 2.0
) -> tuple[Timing, ...]:
    """Times some calls in turn, so that whatever else changes meanwhile changes for all: a few
    times unseen, then up to 50 times each, or as often as the budget allows.

    Args:
        device: a torch device; on anything but a GPU, the host's clock is read and nothing is
            flushed.
        cold: whether to flush the caches before each run.
        budget_s: seconds to spend, flushes apart; each call is run at least once.
    """
    gpu = torch().device(device).type == "cuda"
    once = _on_device if gpu else _on_host
    flush = _flusher(device) if gpu and cold else lambda: None
    if gpu:
        for call in calls:  # a first call may compile
            call()
    first = [once(call, flush) for call in calls]
    runs = min(MOST_RUNS, int(budget_s * 1e6 / max(sum(first), 1)))
    for _ in range(WARM_UP if runs > 10 * WARM_UP else 0):
        for call in calls:
            once(call, flush)
    # What takes longer than the budget was timed already.
    times = [[once(call, flush) for call in calls] for _ in range(runs)] or [first]
    return tuple(
        _timing(sorted(column), clock="device" if gpu else "host", cold=gpu and cold)
        for column in zip(*times, strict=True)
    )


def time_call(
    call: Callable[[], Any], device: Any, *, cold: bool = True, budget_s: float = 2.0
) -> Timing:
    """Times one call; see ``time_calls``."""
    return time_calls((call,), device, cold=cold, budget_s=budget_s)[0]


def _timing(times: list[float], *, clock: str, cold: bool) -> Timing:
    # Of one time, all quartiles are that one.
    known = times if len(times) > 1 else times * 2
    low, _, high = statistics.quantiles(known, n=4, method="inclusive")
    return Timing(
        us=statistics.median(times),
        low_us=low,
        high_us=high,
        runs=len(times),
        clock=clock,
        cold=cold,
    )


def _on_host(call: Callable[[], Any], flush: Callable[[], Any]) -> float:
    flush()
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e6


def _on_device(call: Callable[[], Any], flush: Callable[[], Any]) -> float:
    cuda = torch().cuda
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    flush()
    start.record()
    call()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) * 1e3


def _flusher(device: Any) -> Callable[[], Any]:
    buffer = torch().zeros(FLUSH_BYTES // 4, dtype=torch().int32, device=device)

    def flush() -> None:
        for _ in range(FLUSH_PASSES):
            buffer.amax()

    return flush


def read_bandwidth(device: Any, *, budget_s: float = 1.0) -> float:
    """Bytes per second that a GPU reads from memory, measured by summing up a buffer."""
    t = torch()
    size = 1 << 30
    buffer = t.zeros(size // 4, dtype=t.float32, device=device)
    timing = time_call(lambda: buffer.sum(), device, cold=True, budget_s=budget_s)
    return size / (timing.us * 1e-6)

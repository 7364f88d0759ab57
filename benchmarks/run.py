"""Times mlaprobe and prints medians and ratios. Nothing here fails because something is slow.

    make bench
    .venv/bin/python -m benchmarks.run --quick
    MLAPROBE_AITER_GIT=path/to/aiter make bench

The AITER is a revision of the git repository that ``MLAPROBE_AITER_GIT`` names, or the installed
one. What is compared with something else (a cold start with that of the libraries under it) is
measured in turns, so that other load on the machine hits both.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import resource
import subprocess
import sys
import time
import timeit
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from multiprocessing import get_context
from statistics import mean, median, quantiles

import mlaprobe
from benchmarks.emulation import emulation
from benchmarks.sources import Meter, comparisons, kept, snapshots
from mlaprobe.core.grid import DtypePair, Grid
from mlaprobe.deciding.capability import Capability
from mlaprobe.opening import bundled
from mlaprobe.system.collecting import collect_rarely

GIT_VARIABLE = "MLAPROBE_AITER_GIT"
REVISION = "v0.1.20"
BEFORE = "v0.1.19.post2"
"""What a revision is compared with."""
ARCHS = ("gfx942", "gfx950", "gfx1250", "gfx90a")
DTYPES: tuple[DtypePair, ...] = tuple(
    (mlaprobe.Dtype.of(q), mlaprobe.Dtype.of(kv))
    for q, kv in (
        *(("bf16", "bf16"), ("bf16", "fp8"), ("fp8", "fp8")),
        *(("fp8", "bf16"), ("fp16", "fp16")),
    )
)
FULL = Grid(
    archs=ARCHS,
    dtypes=DTYPES,
    heads=tuple(range(1, 161)),
    qlens=tuple(range(1, 9)),
    lse=(False, True),
    persistent=(True, False),
)
STAGES = ("planner", "dispatcher", "host")
LIBRARIES = "import typer, rich"
PROCESSES = 2


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured."""

    starts: int
    """Cold processes of each kind."""
    shapes: int
    """New shapes on a loaded capability."""
    grid: Grid
    """Of the stage tables."""


THOROUGH = Effort(9, 4000, FULL)
QUICK = Effort(3, 500, replace(FULL, heads=(*range(1, 129, 16), 16, 24, 32, 48, 64, 96, 128)))


def main(argv: Sequence[str] | None = None) -> None:
    """Measures everything and prints it."""
    parser = argparse.ArgumentParser(description="What mlaprobe costs: medians and ratios.")
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument(
        "--revision", default=REVISION, help=f"of {GIT_VARIABLE} (default {REVISION})"
    )
    options = parser.parse_args(argv)
    effort = QUICK if options.quick else THOROUGH
    repository = os.environ.get(GIT_VARIABLE)
    spec = f"{repository}@{options.revision}" if repository else "installed"
    with mlaprobe.probe(spec) as capability:
        release = capability.release
    where = "a git revision" if repository else "installed"
    print(f"AITER {release}, {where}; Python {platform.python_version()}, {platform.machine()}")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before anything was measured\n")
    meter = Meter(cold, said, seconds, LIBRARIES, effort.starts)
    parts = [part(spec, effort) for part in (cold_report, stage_tables, shapes, plans)]
    parts.append(snapshots(spec, meter))
    parts.append(emulation(spec, meter, cold=bool(repository)))
    if repository:
        parts.append(comparisons(f"{repository}@{BEFORE}", spec, meter))
    if bundled.releases():
        parts.append(kept(meter))
    for part in parts:
        for line in part:
            print(line, flush=True)
        print()


def said(what: str, value: str, goal: str = "") -> str:
    """One measurement as a line."""
    return f"{what:<52}{value:>14}" + (f"   goal: {goal}" if goal else "")


def seconds(value: float) -> str:
    """A duration as people read it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.2f} {unit}"
    return f"{value / 1e-6:.1f} us"


# --- a cold process ------------------------------------------------------------------------------


def cold(*words: str) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds and peak memory (KiB) of a fresh interpreter."""
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    took = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} exited {process.returncode}")
    return took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def cold_report(spec: str, effort: Effort) -> Iterator[str]:
    """``mlaprobe report`` against what the libraries alone cost."""
    report = ("-m", "mlaprobe", "report", "--aiter", spec)
    cold(*report)  # the page cache, and compiled modules
    ours, theirs = [], []
    for _ in range(effort.starts):
        ours.append(cold(*report))
        theirs.append(cold("-c", LIBRARIES))
    wall, cpu = median(t for t, _, _ in ours), median(t for _, t, _ in ours)
    wall_under, cpu_under = median(t for t, _, _ in theirs), median(t for _, t, _ in theirs)
    memory = max(peak for _, _, peak in ours)
    yield f"A cold process, median of {effort.starts}"
    yield said("  mlaprobe report", seconds(wall), "about 1 s")
    yield said("  mlaprobe report, CPU", seconds(cpu))
    yield said(f'  python -c "{LIBRARIES}"', seconds(wall_under))
    yield said("  ratio", f"{wall / wall_under:.1f}x", "8x")
    yield said("  ratio of CPU times", f"{cpu / cpu_under:.1f}x")
    yield said("  peak memory of the report", f"{memory / 1024:.0f} MB", "200 MB")


# --- stage tables --------------------------------------------------------------------------------

_capability: mlaprobe.Capability | None = None
"""The capability of a worker process."""


def _open(spec: str) -> None:
    global _capability
    _capability = Capability.open(spec)


def _tabulate(grid: Grid) -> tuple[dict[str, tuple[int, float]], int]:
    """Answers and CPU seconds of each stage over a grid, and the worker's peak memory (KiB)."""
    assert _capability is not None
    found: dict[str, tuple[int, float]] = {}
    for stage in STAGES:
        asked = grid
        if stage == "planner":  # which is told neither
            asked = replace(grid, lse=(False,), persistent=(True,))
        begin = time.process_time()
        with collect_rarely():
            for shape in asked.shapes():
                _capability.ask(stage, shape)
        found[stage] = asked.size, time.process_time() - begin
    return found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def stage_tables(spec: str, effort: Effort) -> Iterator[str]:
    """The tables of the three stages that decide, in two processes."""
    parts = [
        replace(effort.grid, archs=(arch,), dtypes=(pair,))
        for arch, pair in product(effort.grid.archs, effort.grid.dtypes)
    ]
    begin = time.perf_counter()
    with ProcessPoolExecutor(
        PROCESSES, mp_context=get_context("spawn"), initializer=_open, initargs=(spec,)
    ) as pool:
        done = list(pool.map(_tabulate, parts))
    took = time.perf_counter() - begin
    grid = effort.grid
    yield (
        f"Stage tables: {len(grid.heads)} head counts, qlen 1-{max(grid.qlens)}, "
        f"{len(grid.dtypes)} dtype pairs, {len(grid.archs)} archs, both LSE, both modes"
    )
    yield said(f"  all three, {PROCESSES} processes, starts included", seconds(took), "15 s, full")
    total = sum(cpu for found, _ in done for _, cpu in found.values())
    yield said("  CPU of all answers, both processes together", seconds(total))
    for stage in STAGES:
        answers = sum(found[stage][0] for found, _ in done)
        cpu = sum(found[stage][1] for found, _ in done)
        each = seconds(cpu / answers)
        yield said(f"  {stage}: {answers} answers, CPU each", each)
    memory = max(peak for _, peak in done)
    yield said("  peak memory of a process", f"{memory / 1024:.0f} MB", "200 MB")


# --- one shape -----------------------------------------------------------------------------------


def timed(call: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def repeated(call: Callable[[], object], number: int = 20_000) -> float:
    """Seconds that a call takes which was made before: the best mean of several rounds."""
    return min(timeit.repeat(call, number=number, repeat=5)) / number


def shapes(spec: str, effort: Effort) -> Iterator[str]:
    """New and repeated shapes on a loaded capability."""
    sample = random.Random(7).sample(list(FULL.shapes()), effort.shapes + 1)
    with mlaprobe.probe(spec) as capability:
        first = timed(lambda: capability.decide(sample[-1]))
        times = [timed(partial(capability.decide, shape)) for shape in sample[:-1]]
        again = repeated(lambda: capability.decide(sample[0]))
    yield f"One shape, all stages composed: {effort.shapes} of {FULL.size} at random"
    yield said("  the very first, which reads the source", seconds(first))
    yield said("  a new one, median", seconds(median(times)), "250 us")
    yield said("  a new one, mean", seconds(mean(times)))
    yield said("  a new one, 99th percentile", seconds(quantiles(times, n=100)[98]))
    yield said("  a repeated one", seconds(again), "5 us")


def plans(spec: str, effort: Effort) -> Iterator[str]:
    """The resolver, first and repeated, on a loaded capability."""
    counts = (8, 12, 20, 24, 40, 48, 56, 72, 80, 96, 112)
    with mlaprobe.probe(spec) as capability:

        def ask(heads: int, lse: bool) -> int:
            return mlaprobe.padded_num_heads(
                heads,
                capability=capability,
                arch="gfx950",
                q_dtype="fp8",
                kv_dtype="fp8",
                qlens=(1, 2, 3, 4),
                lse=lse,
            )

        first = timed(lambda: ask(16, False))
        times = [timed(partial(ask, heads, lse)) for heads, lse in product(counts, (False, True))]
        again = repeated(lambda: ask(48, False))
    yield f"padded_num_heads, gfx950 fp8/fp8, qlens 1-4, with and without LSE: {len(times)} plans"
    yield said("  the very first, which reads source and rules", seconds(first))
    yield said("  a new one, median", seconds(median(times)), "50 ms")
    yield said("  a new one, slowest", seconds(max(times)))
    yield said("  a repeated one", seconds(again), "2 us")


if __name__ == "__main__":
    main()

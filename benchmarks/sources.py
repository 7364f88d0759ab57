"""Times what goes over whole sources: snapshots, comparisons, histories."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import mlaprobe
from mlaprobe.opening import bundled
from mlaprobe.snapshot import load

Cold = Callable[..., tuple[float, float, int]]
"""Wall seconds, CPU seconds and peak memory (KiB) of a fresh interpreter with those arguments."""
Said = Callable[..., str]


@dataclass(frozen=True, slots=True)
class Meter:
    """What the parts of the benchmark share."""

    cold: Cold
    said: Said
    seconds: Callable[[float], str]
    libraries: str
    """Code whose cold process the ratios are to."""
    starts: int
    """Cold processes of each kind."""


def _timed(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def snapshots(spec: str, meter: Meter) -> Iterator[str]:
    """Taking, loading and asking a snapshot; loading against ``json`` alone on the same bytes."""
    shape = mlaprobe.DecodeShape(
        arch="gfx950",
        q_dtype=mlaprobe.Dtype.FP8,
        kv_dtype=mlaprobe.Dtype.FP8,
        num_heads=48,
    )
    with TemporaryDirectory() as folder:
        file = Path(folder) / "snapshot.json"
        # In a process of its own: a child's peak counts what its parent has taken before.
        take = ("-m", "mlaprobe", "snapshot", "--aiter", spec, "--quiet", "-o", str(file))
        taking, _, peak = meter.cold(*take)
        loads, plain = [], []
        for _ in range(max(meter.starts, 5)):
            loads.append(_timed(lambda: load(file)))
            plain.append(_timed(lambda: json.loads(file.read_bytes())))
        kept = load(file)
        first = _timed(lambda: kept.decide(shape))
        start = [meter.cold("-m", "mlaprobe", "resolve", "--aiter", str(file), *RESOLVED)]
        under = [meter.cold("-c", meter.libraries)]
        size = file.stat().st_size
    yield f"A snapshot of the standard grid, {size / 1000:.0f} KB"
    yield meter.said("  taking it", meter.seconds(taking))
    yield meter.said("  peak memory", f"{peak / 1024:.0f} MB")
    yield meter.said("  loading it, median", meter.seconds(median(loads)), "30 ms")
    yield meter.said("  ratio to json.loads of the same bytes", f"{_ratio(loads, plain):.1f}x")
    yield meter.said("  the first shape asked of it", meter.seconds(first))
    yield from _against(meter, "mlaprobe resolve on it, cold", start, under)


RESOLVED = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "48")


DEPLOYMENTS = """\
deployments:
  - {name: kimi, model: kimi-k2.5, arch: gfx950, dtype: fp8/fp8, tp: 2}
  - {name: r1, model: deepseek-r1, arch: [gfx942, gfx950], dtype: [bf16/bf16, fp8/fp8], tp: 8,
     qlens: [1, 2, 4], lse: true, planner_dtypes: omitted}
"""


def comparisons(old: str, new: str, meter: Meter) -> Iterator[str]:
    """``mlaprobe compare`` of two git revisions, cold: those before the named ones, which are no
    releases, so that both are read."""
    before = (f"{old}~1", f"{new}~1")
    compared = ("-m", "mlaprobe", "compare", *before, "--quiet")
    yield f"Two git revisions compared: {' and '.join(map(_short, before))}"
    yield from _cold(meter, "mlaprobe compare, cold", compared, "20 s")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "deployments.yaml"
        file.write_text(DEPLOYMENTS)
        served = (*compared, "--deployments", str(file))
        yield from _cold(meter, "mlaprobe compare --deployments, cold", served, "2 s")


def kept(meter: Meter) -> Iterator[str]:
    """Bundled releases compared, and the history of all of them, cold."""
    old, new = (f"{bundled.PREFIX}{name}" for name in _neighbours())
    yield f"Two snapshots compared: {old} and {new}"
    compared = ("-m", "mlaprobe", "compare", old, new, "--quiet")
    yield from _cold(meter, "mlaprobe compare, cold", compared, "0.5 s")
    yield f"History of the {len(bundled.releases())} bundled releases"
    asked = ("-m", "mlaprobe", "history", "--arch", "gfx950", "--dtype", "fp8/fp8", "--quiet")
    shape = (*asked, "--heads", "32")
    yield from _cold(meter, "mlaprobe history of one shape, cold", shape, "2 s")
    yield from _cold(meter, "mlaprobe history of the native counts, cold", asked, "2 s")


def _neighbours() -> tuple[str, str]:
    """The last two bundled releases that answer otherwise."""
    files = {file: release for release, file in bundled.index().items()}
    old, new = list(files.values())[-2:]
    return old, new


def _short(spec: str) -> str:
    return spec.rpartition("@")[2]


def _cold(meter: Meter, what: str, words: tuple[str, ...], goal: str) -> Iterator[str]:
    ours, under = [], []
    for _ in range(min(meter.starts, 3)):
        ours.append(meter.cold(*words))
        under.append(meter.cold("-c", meter.libraries))
    yield from _against(meter, what, ours, under, goal)


def _against(
    meter: Meter,
    what: str,
    ours: list[tuple[float, float, int]],
    under: list[tuple[float, float, int]],
    goal: str = "",
) -> Iterator[str]:
    walls, floors = [w for w, _, _ in ours], [w for w, _, _ in under]
    yield meter.said(f"  {what}", meter.seconds(median(walls)), goal)
    yield meter.said(f'  ratio to python -c "{meter.libraries}"', f"{_ratio(walls, floors):.1f}x")
    peak = max(m for _, _, m in ours)
    yield meter.said("  peak memory", f"{peak / 1024:.0f} MB", "200 MB")


def _ratio(ours: list[float], under: list[float]) -> float:
    return median(ours) / median(under)

"""What follows from a sweep: from which KV length on padding pays, and a cost profile."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter
from typing import Any

from mlaprobe.core.shape import Dtype
from mlaprobe.decode.bench import Case, Form, Point, Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossover:
    """From which KV length on padding was faster than staying, for one head count."""

    heads: int
    launched: int
    """Query heads, padded."""
    fold: int
    """How often the unpadded decode reads the KV tokens."""
    q_dtype: Dtype
    kv_dtype: Dtype
    qlen: int
    batch: int
    loses: int | None
    """The longest measured KV length at which it was not faster; ``None``: it always was."""
    wins: int | None
    """The shortest from which on it always was; ``None``: not even at the longest."""
    about: int | None
    """Where a straight line between those two changes sign; ``None`` where one is missing."""


Timed = tuple[int, float, float]
"""KV length, and the microseconds of staying and of padding."""


def crossovers(points: Iterable[Point]) -> tuple[Crossover, ...]:
    """The crossover of every head count of which both forms were timed."""
    groups: dict[Case, list[tuple[int, Form, Form]]] = defaultdict(list)
    for point in points:
        stay, pad = point.form(Variant.STAY), point.form(Variant.PAD)
        if stay is not None and pad is not None:
            groups[replace(point.case, kv_len=0)].append((point.case.kv_len, stay, pad))
    return tuple(
        _crossover(case, sorted(group, key=itemgetter(0))) for case, group in groups.items()
    )


def _crossover(case: Case, group: list[tuple[int, Form, Form]]) -> Crossover:
    """The crossover of a case, by KV lengths and what was launched there."""
    _, stay, pad = group[-1]
    loses, wins, about = crossing([(kv_len, one.us, two.us) for kv_len, one, two in group])
    return Crossover(
        heads=case.heads,
        launched=pad.launched,
        fold=stay.fold,
        q_dtype=case.q_dtype,
        kv_dtype=case.kv_dtype,
        qlen=case.qlen,
        batch=case.batch,
        loses=loses,
        wins=wins,
        about=about,
    )


def crossing(times: list[Timed]) -> tuple[int | None, int | None, int | None]:
    """The longest KV length at which padding was not faster, the shortest from which on it always
    was, and about where in between the times are equal.

    Args:
        times: by ascending KV length.
    """
    lost = [kv_len for kv_len, stay, pad in times if pad >= stay]
    if not lost:
        return None, times[0][0], None
    for (before, stay, pad), (after, next_stay, next_pad) in pairwise(times):
        if before == lost[-1]:
            behind, ahead = pad - stay, next_stay - next_pad
            return before, after, round(before + (after - before) * behind / (behind + ahead))
    return lost[-1], None, None


def profiles(points: Iterable[Point], environment: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """A cost profile per data type, as ``mlaprobe.rulefiles.cost`` reads it.

    Its points are those of the batch and KV length with the most launches that differ, and among
    them of the largest cache; of the shortest query length.
    """
    groups: dict[tuple[Dtype, Dtype], list[Point]] = defaultdict(list)
    for point in points:
        if any(form.timing is not None for form in point.forms):
            groups[point.case.q_dtype, point.case.kv_dtype].append(point)
    return tuple(_profile(group, environment) for group in groups.values())


def _profile(points: list[Point], environment: Mapping[str, Any]) -> dict[str, Any]:
    qlen = min(point.case.qlen for point in points)
    rooms: dict[tuple[int, int], list[Point]] = defaultdict(list)
    for point in points:
        if point.case.qlen == qlen:
            rooms[point.case.batch, point.case.kv_len].append(point)
    (batch, kv_len), best = max(
        rooms.items(), key=lambda item: (len(_launches(item[1])), item[0][0] * item[0][1], item[0])
    )
    case, launches = best[0].case, _launches(best)
    device, backend = environment["device"], _backends(best)
    return {
        "name": f"{device}, {backend} back end, batch {batch}, {kv_len} KV tokens, qlen {qlen}",
        "arch": environment["ran_on"],
        "q_dtype": case.q_dtype.value,
        "kv_dtype": case.kv_dtype.value,
        "kv_len": kv_len,
        "batch": batch,
        "points": [
            {"heads": heads, "passes": fold, "us": round(us, 1)}
            for (heads, fold), us in sorted(launches.items())
        ],
        "aiter": str(environment["aiter"]),
        "hardware": device,
        "reference": [
            f"mlaprobe bench, {environment['date']}, decisions for {environment['arch']}, pages of "
            f"{environment['page_size']} tokens",
            *(f"{name} {environment[name]}" for name in ("torch", "triton") if environment[name]),
        ],
        "note": f"Medians with cold caches. Absolute figures hold for {device} only.",
        "crossovers": [_crossover_row(each) for each in crossovers(points)],
    }


def _launches(points: Iterable[Point]) -> dict[tuple[int, int], float]:
    """(heads, passes) -> microseconds; of several such launches, the median."""
    times: dict[tuple[int, int], list[float]] = defaultdict(list)
    for point in points:
        for form in point.forms:
            if form.timing is not None:
                times[form.launched, form.fold].append(form.timing.us)
    return {key: statistics.median(found) for key, found in times.items()}


def _backends(points: Iterable[Point]) -> str:
    names = {form.backend for point in points for form in point.forms if form.backend}
    return " and ".join(sorted(names))


def _crossover_row(found: Crossover) -> dict[str, Any]:
    row = {name: getattr(found, name) for name in ("heads", "launched", "qlen", "batch")}
    return {**row, "loses": found.loses or 0, "wins": found.wins or 0}

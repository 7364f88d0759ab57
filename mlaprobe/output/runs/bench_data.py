"""What a bench measured, for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mlaprobe.decode.bench import Point
from mlaprobe.decode.benchfile import point_json
from mlaprobe.decode.crossover import crossovers
from mlaprobe.output import SCHEMA
from mlaprobe.output.rows import to_json


def bench_json(
    points: Sequence[Point],
    left: int,
    environment: Mapping[str, Any],
    profiles: Sequence[str],
) -> str:
    """One object: ``environment``, ``points`` as the results file has them, ``crossovers``, how
    many cases are ``left``, and the files of the ``profiles``."""
    found = {
        "schema": SCHEMA,
        "environment": dict(environment),
        "points": [point_json(point) for point in points],
        "crossovers": [asdict(each) for each in crossovers(points)],
        "left": left,
        "profiles": list(profiles),
    }
    return to_json(found) + "\n"

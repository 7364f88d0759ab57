"""Answers of all kinds to a sample of questions, with the caches on or off: as JSON.

A process of its own, as the caches of modules are made with the modules. It imports nothing else
before it knows which are off.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from mlaprobe.core.caches import Cache, without

HEADS = (8, 20, 48)


def answers(source: str) -> Iterator[object]:
    """What a source answers: decisions with their proof, stages alone, a plan, behaviours, and a
    snapshot of a few shapes."""
    from mlaprobe.core.grid import Grid
    from mlaprobe.core.shape import DecodeShape, Dtype
    from mlaprobe.deciding.capability import Capability
    from mlaprobe.opening.probing import probe
    from mlaprobe.output.rows import decision_row, stage_row
    from mlaprobe.padding.api import plan
    from mlaprobe.snapshot.making import make
    from mlaprobe.snapshot.scope import Scope

    with probe(source) as capability:
        arch, fp8 = "gfx950", Dtype.FP8
        for heads in HEADS:
            shape = DecodeShape(arch=arch, q_dtype=fp8, kv_dtype=fp8, num_heads=heads, qlen=2)
            for stage in ("planner", "host"):
                yield stage_row(stage, shape, capability.ask(stage, shape))
            yield decision_row(capability.decide(shape))
        reduced = capability.reducer_rows(HEADS)
        yield [(heads, head_dim, found.status) for heads, head_dim, found in reduced]
        planned = plan(20, arch=arch, q_dtype=fp8, kv_dtype=fp8, qlens=[2], capability=capability)
        yield planned.padded_num_heads, planned.verdict, planned.reason
        if isinstance(capability, Capability):
            pair = ((fp8, fp8),)
            scope = Scope(archs=(arch,), dtypes=pair, heads=HEADS, qlens=(2,), page_sizes=(1,))
            yield make(capability, scope=scope)
        else:
            grid = Grid(archs=(arch,), dtypes=((fp8, fp8),), heads=HEADS, qlens=(1, 2))
            yield [decision_row(capability.decide(shape)) for shape in grid.shapes()]


def main(which: str, *sources: str) -> None:
    """Prints the answers of some sources with every cache (``on``), with none (``off``), or without
    those named."""
    picked = {"on": (), "off": tuple(Cache)}.get(which)
    with without(*(map(Cache, which.split(",")) if picked is None else picked)):
        print(json.dumps([list(answers(source)) for source in sources]))


if __name__ == "__main__":
    main(*sys.argv[1:])

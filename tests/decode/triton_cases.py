"""Runs the Triton back end in Triton's CPU interpreter, in a process of its own: whether kernels
are interpreted is settled when their module is imported, for a whole process.

Prints one JSON object per case: its name, and how far the results are from the reference.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from mlaprobe.decode.backends.triton import BACKEND, TritonPrepared
from mlaprobe.decode.backends.triton_tiles import Cut, Tile
from mlaprobe.decode.driver import Driver
from mlaprobe.decode.interface import Launch
from mlaprobe.decode.problem import Problem, make_inputs
from mlaprobe.padding.plan import PadPlan
from tests.decode.help import a_plan, a_problem, expected

TILE = Tile(rows=16, tokens=16, stages=2, warps=4)
EARLY = Tile(rows=64, tokens=16, stages=2, warps=8, early=True)
CASES: dict[str, Callable[[], dict[str, Any]]] = {}


class Cutting:
    """The back end, with programs of a given shape and requests cut in a given way."""

    name = "triton"

    def __init__(self, tile: Tile = TILE, splits: int = 1, chunk: int = 16) -> None:
        self._tile = tile
        self._cut = Cut(splits=splits, chunk=chunk)

    def unfit(self, problem: Problem, plan: PadPlan) -> str | None:
        return BACKEND.unfit(problem, plan)

    def prepare(self, launch: Launch) -> TritonPrepared:
        return TritonPrepared(launch, self._tile, self._cut)


def _run(
    kv_lens: tuple[int, ...],
    dtype: str = "bf16/bf16",
    *,
    heads: int = 16,
    backend: Any = None,
    **given: Any,
) -> dict[str, Any]:
    """Errors of a decode, and what it launched."""
    found = a_plan(heads, dtype, **given)
    problem = a_problem(found, kv_lens)
    inputs = make_inputs(replace(problem, scales=(0.5, 1.5)))
    driver = Driver(
        found,
        inputs.layout,
        q_scale=inputs.q_scale,
        kv_scale=inputs.kv_scale,
        backend=backend or "triton",
    )
    o, lse = driver(inputs.q, inputs.kv)
    want, want_lse = expected(problem, inputs)
    answer: dict[str, Any] = {
        "o": _error(o, want),
        "launched": driver.launch.num_heads,
        "fold": driver.launch.fold,
        "kernels": list(driver.prepared.kernels),
    }
    answer["lse"] = None if lse is None else (lse - want_lse).abs().max().item()
    return answer


def _error(o: Any, want: Any) -> float:
    """The largest difference, relative where values are above one: bfloat16 rounds so."""
    found: float = ((o.float() - want).abs() / want.abs().clamp_min(1)).max().item()
    return found


def _refreshed() -> dict[str, Any]:
    """A batch whose lengths change in place after it was prepared, to longer ones too."""
    found = a_plan(16, page_size=4, lse=True)
    problem = a_problem(found, (40, 9))
    inputs = make_inputs(problem)
    driver = Driver(found, inputs.layout, backend=Cutting(splits=2, chunk=16))
    longer = a_problem(found, (9, 40))
    other = make_inputs(longer)
    layout = inputs.layout
    for name in ("kv_indptr", "kv_page_indices", "kv_last_page_lens"):
        getattr(layout, name).copy_(getattr(other.layout, name))
    driver.refresh()
    o, lse = driver(other.q, other.kv)
    want, want_lse = expected(longer, other)
    return {
        "o": _error(o, want),
        "lse": (lse - want_lse).abs().max().item(),
    }


CASES = {
    "one split": lambda: _run((33, 7), lse=True),
    "splits, one empty": lambda: _run((60, 9), lse=True, backend=Cutting(splits=4)),
    "splits without lse": lambda: _run((60, 9), backend=Cutting(splits=4)),
    "pages": lambda: _run((37, 5), page_size=3, lse=True, backend=Cutting(splits=2, chunk=32)),
    "tiles of one page": lambda: _run((37, 21), page_size=32, lse=True, backend=Cutting(splits=2)),
    "padded": lambda: _run((20,), heads=12, lse=True),
    "folded": lambda: _run((20, 35), heads=32, mode="off", lse=True, backend=Cutting(splits=2)),
    "tail": lambda: _run((33, 5), qlens=3, lse=True, backend=Cutting(splits=3)),
    "tail of eight": lambda: _run((9, 8), qlens=8, page_size=4, lse=True),
    "folded tail": lambda: _run((21, 4), heads=32, qlens=3, mode="off", lse=True),
    "no tail": lambda: _run((20,), qlens=3, causal=False, lse=True),
    "rows of two tiles": lambda: _run((20,), heads=64, backend=Cutting(splits=1)),
    "tile of 32": lambda: _run(
        (20, 40), heads=64, backend=Cutting(Tile(rows=32, tokens=16, stages=2, warps=4))
    ),
    "tile of 64": lambda: _run(
        (20, 40),
        heads=64,
        lse=True,
        backend=Cutting(EARLY, splits=2),
    ),
    "copied tiles": lambda: _run(
        (70, 33), page_size=32, lse=True, heads=64, backend=Cutting(EARLY, splits=2, chunk=48)
    ),
    "copied fp8 tiles": lambda: _run(
        (37, 21), "fp8/fp8", qlens=2, page_size=16, lse=True, backend=Cutting(EARLY, splits=2)
    ),
    "fp8": lambda: _run((33, 7), "fp8/fp8", lse=True, backend=Cutting(splits=2)),
    "fp8 in wide tiles": lambda: _run(
        (33, 7),
        "fp8/fp8",
        heads=64,
        backend=Cutting(EARLY),
    ),
    "fp8 cache": lambda: _run((33, 7), "bf16/fp8", lse=True, backend=Cutting(splits=2)),
    "fp8 of gfx942": lambda: _run((33, 7), "fp8/fp8", arch="gfx942"),
    "refreshed": _refreshed,
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for name, case in CASES.items():
        print(json.dumps({"name": name, **case()}))
        sys.stdout.flush()

"""Launches of persistent decode kernels with hand-made metadata, and attention in float64."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mlaprobe.emulator import floats
from mlaprobe.emulator.machine import RunResult, run
from mlaprobe.emulator.memory import Memory
from mlaprobe.emulator.races import Watch
from mlaprobe.emulator.schedules import Schedule
from mlaprobe.kernels.codeobject import CodeObject

Array = npt.NDArray[Any]

LATENT, WIDTH = 512, 576
SCALE = 1 / 24
UNWRITTEN = 0x7FC1
"""A NaN of bfloat16."""
SLOT = 16
"""Bytes of an argument in the block."""
ARGUMENTS = (
    *("partial", "partial_lse", "q", "kv", "kv_starts", "pages", "last_page", "scale", "heads"),
    *("splits", "q_stride", "kv_stride", "log2_page", "q_starts", "works", "out"),
    *("q_scale", "kv_scale"),
)
"""The block of the persistent kernels that PyPI's wheel ships, in order."""


def bf16(values: Array) -> Array:
    """bfloat16 encodings."""
    return floats.bf16_from_f32(values.astype(np.float32).view(np.uint32)).astype(np.uint16)


def unbf16(codes: Array) -> Array:
    """Their values."""
    return floats.f32_from_bf16(codes)


@dataclass(slots=True, kw_only=True)
class Decode:
    """One decode step of a small batch, one query token a request."""

    code: CodeObject
    heads: int = 16
    kv_lens: tuple[int, ...] = (70,)
    fp8: bool = False
    seed: int = 0
    padding: float | None = None
    """What heads from 12 on are multiplied by: heads that nobody asked for."""
    budget: int = 10_000_000
    watch: Watch | None = None
    changes: dict[str, int | float] = field(default_factory=dict)
    """Arguments that are passed wrongly, by what is added to each."""
    memory: Memory = field(default_factory=Memory)
    result: RunResult = field(init=False)
    q: Array = field(init=False)
    rows: list[Array] = field(init=False)

    def stored(self, values: Array) -> tuple[Array, Array]:
        """How an input is stored, and its values then."""
        if not self.fp8:
            codes = bf16(values)
            return codes, unbf16(codes)
        form = floats.FP8[self.code.arch]
        codes = floats.narrow(values.astype(np.float32).view(np.uint32), form, saturate=True)
        return codes.astype(np.uint8), floats.widen(codes, form)

    def launch(self, schedule: Schedule = Schedule.PLAUSIBLE, garbage: int = 1) -> Array:
        """The outputs, ``[batch, heads, 512]`` as bfloat16 encodings."""
        addresses = self._lay_out()
        for name, change in self.changes.items():
            addresses[name] += change
        block = b"".join(
            struct.pack("<f" if name == "scale" else "<Q", addresses[name]).ljust(SLOT, b"\0")
            for name in ARGUMENTS
        )
        arguments = self.memory.place("arguments", np.frombuffer(block, np.uint8))
        self.result = run(
            self.code,
            self.code.kernels[0].symbol,
            memory=self.memory,
            arguments=arguments,
            grid=(len(self.kv_lens), 1, 1),
            schedule=schedule,
            seed=garbage,
            budget=self.budget,
            watch=self.watch,
        )
        return self.memory.read("out")

    def _lay_out(self) -> dict[str, int | float]:
        rng, batch = np.random.default_rng(self.seed), len(self.kv_lens)
        queries = rng.standard_normal((batch, self.heads, WIDTH))
        if self.padding is not None:
            queries[:, 12:] *= self.padding
        q, self.q = self.stored(queries)
        pages = sum(self.kv_lens) + 5
        kv, values = self.stored(rng.standard_normal((pages, WIDTH)))
        order = rng.permutation(pages)[: sum(self.kv_lens)].astype(np.int32)
        starts = np.cumsum((0, *self.kv_lens)).astype(np.int32)
        spans = list(pairwise(starts))
        self.rows = [values[order[a:b]] for a, b in spans]
        # A work: request, no partial result, query tokens from and to, KV from and to, KV behind.
        works = [[b, -1, b, b + 1, low, high, 0, 0] for b, (low, high) in enumerate(spans)]
        place = self.memory.place
        pointers = np.zeros(10, np.uint64)
        pointers[0] = place("work_starts", np.arange(batch + 1, dtype=np.int32))
        pointers[1] = place("work_list", np.array(works, np.int32))
        out = np.full((batch, self.heads, LATENT), UNWRITTEN, np.uint16)
        one = np.ones(1, np.float32)
        return {
            "partial": place("partial", np.zeros((1, LATENT), np.float32), writable=True),
            "partial_lse": place("partial_lse", np.zeros(16, np.float32), writable=True),
            "q": place("q", q),
            "kv": place("kv", kv),
            "kv_starts": place("kv_starts", starts),
            "pages": place("pages", order),
            "last_page": place("last_page", np.ones(batch, np.int32)),
            "scale": SCALE,
            "heads": self.heads,
            "splits": 1,
            "q_stride": q[0].nbytes,
            "kv_stride": kv[0].nbytes,
            "log2_page": 0,
            "q_starts": place("q_starts", np.arange(batch + 1, dtype=np.int32)),
            "works": place("works", pointers),
            "out": place("out", out, writable=True),
            "q_scale": place("q_scale", one),
            "kv_scale": place("kv_scale", one),
        }

    def expected(self) -> Array:
        """Attention in float64."""
        outputs = []
        for q, rows in zip(self.q.astype(np.float64), self.rows, strict=True):
            scores = q @ rows.astype(np.float64).T * SCALE
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            outputs.append(weights @ rows[:, :LATENT] / weights.sum(axis=-1, keepdims=True))
        return np.stack(outputs)

    def error(self, out: Array) -> float:
        """The largest error of a row, relative to its largest value; NaN counts as infinite."""
        expected = self.expected()
        each = np.abs(unbf16(out) - expected).max(axis=-1) / np.abs(expected).max(axis=-1)
        return float(np.nan_to_num(each, nan=np.inf).max())

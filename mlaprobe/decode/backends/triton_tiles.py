"""How the Triton back end cuts a decode into programs. Host arithmetic; needs no Triton."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mlaprobe.decode.tensors import HEAD_DIM, LATENT_DIM

MOST_SPLITS = 256
"""Splits of one request: the merge has them all in one program."""
START_TOKENS = 96
"""What starting and ending a program costs, in KV tokens that it could have read meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """The shape of a program."""

    rows: int
    """Query rows: 16, 32 or 64."""
    tokens: int
    """KV tokens per step."""
    stages: int
    """Of Triton's pipeline."""
    warps: int
    early: bool = False
    """Whether the next tile of tokens is loaded before the softmax of this one."""
    resident: int = 1
    """Programs that a multiprocessor holds at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The KV tokens of a batch, cut."""

    splits: int
    """Of the longest request."""
    chunk: int
    """KV tokens of each."""


def cut(kv_lens: Iterable[int], *, programs: int, rows: int, tile: Tile, units: int) -> Cut:
    """The cut that should take least time: full waves of programs, few partial results.

    A wave of programs takes as long as one reads its chunk. Merging is counted by its memory
    traffic against that of the cache.

    Args:
        kv_lens: KV tokens per request.
        programs: per request and split.
        rows: query rows in all.
        units: multiprocessors.
    """
    lens = tuple(kv_lens)
    longest = max(lens)
    slots = units * tile.resident
    merge = rows * LATENT_DIM * 8 / (HEAD_DIM * 2 * slots)
    best: tuple[float, Cut] | None = None
    for splits in range(1, min(MOST_SPLITS, -(-longest // tile.tokens)) + 1):
        chunk = _up(-(-longest // splits), tile.tokens)
        if best is not None and -(-longest // chunk) == best[1].splits:
            continue
        waves = -(-programs * sum(-(-n // chunk) for n in lens) // slots)
        cost = float(waves * (chunk + START_TOKENS))
        if splits > 1:
            cost += START_TOKENS + merge * splits
        if best is None or cost < best[0]:
            best = (cost, Cut(splits=-(-longest // chunk), chunk=chunk))
    assert best is not None
    return best[1]


def _up(count: int, step: int) -> int:
    return -(-count // step) * step


def tiles_for(rows: int, *, fp8: bool, page_size: int) -> tuple[Tile, ...]:
    """Programs for a launch, the best first; those after it need less shared memory.

    Measured on an NVIDIA H200; other GPUs run them, and may have better ones.

    Args:
        rows: query rows per request, of a folded one where the batch is folded.
        fp8: whether the cache is.
    """
    # Where a tile of tokens may lie on many pages, the pipeline reads their numbers first.
    ahead = 0 if page_size % 64 == 0 else 1
    small = (
        Tile(rows=16, tokens=32, stages=2, warps=4),
        Tile(rows=16, tokens=16, stages=2, warps=4),
        Tile(rows=16, tokens=16, stages=1, warps=4),
    )
    if rows <= 16:
        first = Tile(rows=16, tokens=64, stages=2 + ahead, warps=4, early=fp8, resident=2)
        return (first, *small)
    deep = 1 if fp8 and not ahead else 0
    wide = tuple(
        Tile(rows=64, tokens=tokens, stages=2 + ahead + deep, warps=8, early=True)
        for tokens in (64, 32, 16)
    )
    if rows <= 32 and not fp8:
        wide = (Tile(rows=32, tokens=64, stages=2 + ahead, warps=4), *wide)
    return (*wide, *small)

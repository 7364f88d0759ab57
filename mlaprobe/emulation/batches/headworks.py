"""Work metadata for a batch with keys and values of each head, of mlaprobe's own design."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.batches.works import OWN, Cutting, Works

ROWS, BLOCK = 256, 128
"""Query tokens that a workgroup does at once for one KV head, times the query heads that share it;
KV tokens that parts are whole multiples of."""


@dataclass(frozen=True, slots=True)
class _Tile:
    request: int
    start: int
    stop: int
    """Query tokens, of all requests."""
    begin: int
    end: int
    """Places in ``kv_indices`` that it reads."""
    whole: int
    """Where those of the request end."""


def head_works(batch: Batch, cutting: Cutting, why: str | None = None) -> Works:
    """Metadata of our own design for a batch; ``why`` it is not AITER's.

    Tiles are cut into parts for all heads alike, and each KV head has a work for each part.
    """
    group = batch.num_heads // batch.num_kv_heads
    works: list[list[int]] = []
    indptr, final, partial = [0], [], list[int]()
    for tile in _tiles(batch, ROWS // group):
        parts = _parts(tile, cutting.splits)
        split = len(parts) > 1
        for at, (begin, end) in enumerate(parts):
            row = (len(partial) + at) * (ROWS // group) if split else -1
            behind = tile.whole - end if end < tile.end else 0
            places = (tile.start, tile.stop, begin, end, behind)
            for head in range(0, batch.num_heads, group):
                works.append([tile.request, row, *places, head | (head + group) << 16])
        if split:
            partial += [(len(partial) + at) * (ROWS // group) for at in range(len(parts))]
            indptr.append(len(partial))
            final.append([tile.start, tile.stop])
    return Works(
        origin=OWN if why is None else f"{OWN}, because {why}",
        work_indptr=np.arange(len(works) + 1, dtype=np.int32),
        work_info=np.array(works, np.int32).reshape(-1, 8),
        reduce_indptr=np.array(indptr, np.int32),
        reduce_final_map=np.array(final, np.int32).reshape(-1, 2),
        reduce_partial_map=np.array([*partial, 0], np.int32),
    )


def _tiles(batch: Batch, rows: int) -> Iterator[_Tile]:
    starts, places = batch.vectors.qo_indptr.tolist(), batch.vectors.kv_indptr.tolist()
    for request, qlen in enumerate(batch.query_lens):
        begin, whole = places[request : request + 2]
        for first in range(0, qlen, rows):
            behind = min(first + rows, qlen)
            # What a tile in front of others does not see is left out, up to a whole block.
            seen = whole - begin - (qlen - behind if batch.causal else 0)
            end = min(begin + -(-seen // BLOCK) * BLOCK, whole)
            yield _Tile(
                request, starts[request] + first, starts[request] + behind, begin, end, whole
            )


def _parts(tile: _Tile, splits: int) -> list[tuple[int, int]]:
    """The KV tokens of a tile in as many parts, of whole blocks."""
    blocks = -(-(tile.end - tile.begin) // BLOCK)
    each = -(-blocks // splits) * BLOCK
    return [(start, min(start + each, tile.end)) for start in range(tile.begin, tile.end, each)]

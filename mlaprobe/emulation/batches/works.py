"""Work metadata of a persistent launch: which workgroup does which part of which request.

AITER's planner writes it on the device (:mod:`mlaprobe.emulation.metadata`). This module makes
metadata of its own design that says the same kind of thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mlaprobe.emulation.arrays import NotFollowedError
from mlaprobe.emulation.batches.batch import Batch

Ints: TypeAlias = npt.NDArray[np.int32]
OWN = "mlaprobe's own"
"""Where works come from that this module makes."""
_FIELDS = 8
"""Numbers of a work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Works:
    """The metadata of a launch, as AITER's sizing and planner lay it out. What nobody has written
    of it holds garbage."""

    origin: str
    """What made it."""
    work_indptr: Ints
    """``[workgroups + 1]``: where each workgroup's works begin."""
    work_info: Ints
    """``[works, 8]``: request (of a folded plan, one of the batches that it is folded into), first
    row of partial results (-1: none, the result is final), first query token, the one behind the
    last, first page, the one behind the last, KV tokens of the request behind these, and 0. The
    order is that of AITER's ``MlaWorkInfo``."""
    reduce_indptr: Ints
    """``[tiles + 1]``: where the partial results of each tile of query tokens begin."""
    reduce_final_map: Ints
    """``[tiles, 2]``: the tile's first query token, and the one behind its last."""
    reduce_partial_map: Ints
    """``[partial results]``: the row that each begins at."""
    written: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)
    """Of each of these arrays, by its name, the elements that were written; all of those that are
    not here."""

    @property
    def num_works(self) -> int:
        """Works of all workgroups together."""
        return int(self.work_indptr[-1])

    @property
    def num_partials(self) -> int:
        """Rows that a buffer for partial results needs."""
        info = self.work_info[: self.num_works]
        split = info[info[:, 1] >= 0]
        return int((split[:, 1] + split[:, 3] - split[:, 2]).max(initial=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutting:
    """How a batch is cut into works."""

    splits: int = 1
    """Parts that the KV tokens of a request are cut into, where there are as many blocks."""
    block: int = 64
    """KV tokens per block; parts are whole blocks but for the last."""
    tile: int = 0
    """Query tokens that a work has at most; 0: all of a request."""
    fold: int = 1
    """How often the batch is folded."""
    per_workgroup: int = 1
    """Works that a workgroup does, one after the other."""


@dataclass(frozen=True, slots=True)
class _Tile:
    request: int
    """Of the folded batch."""
    start: int
    stop: int
    """Query tokens, of all requests of the folded batch."""
    begin: int
    end: int
    """Pages that the tile reads, as places in ``kv_indices``,"""
    whole: int
    """and where those of the request end."""
    last: int
    """KV tokens on the request's last page."""


def own_works(batch: Batch, cutting: Cutting, why: str | None = None) -> Works:
    """Metadata of our own design for a batch; ``why`` it is not AITER's.

    Raises:
        NotFollowedError: it cannot say what this batch needs.
    """
    if batch.causal and batch.page_size > 1 and 0 < cutting.tile < batch.qlen:
        raise NotFollowedError("parts of a query that end within a page of KV tokens")
    size = max(1, cutting.block // batch.page_size)
    works: list[list[int]] = []
    indptr, final, partial = [0], [], list[int]()
    rows = 0
    for tile in _tiles(batch, cutting):
        parts = _parts(tile, cutting.splits, size)
        split = len(parts) > 1
        for begin, end in parts:
            behind = tile.whole - end
            behind = (behind - 1) * batch.page_size + tile.last if behind else 0
            place = rows if split else -1
            works.append([tile.request, place, tile.start, tile.stop, begin, end, behind, 0])
            if split:
                partial.append(rows)
                rows += tile.stop - tile.start
        if split:
            indptr.append(len(partial))
            final.append([tile.start, tile.stop])
    groups = -(-len(works) // cutting.per_workgroup)
    starts = np.arange(groups + 1, dtype=np.int32) * np.int32(cutting.per_workgroup)
    return Works(
        origin=OWN if why is None else f"{OWN}, because {why}",
        work_indptr=np.minimum(starts, np.int32(len(works))),
        work_info=np.array(works, np.int32).reshape(-1, _FIELDS),
        reduce_indptr=np.array(indptr, np.int32),
        reduce_final_map=np.array(final, np.int32).reshape(-1, 2),
        # As long as AITER's, which has a place for every work.
        reduce_partial_map=np.array([*partial, *[0] * (len(works) - len(partial))], np.int32),
    )


def _tiles(batch: Batch, cutting: Cutting) -> Iterator[_Tile]:
    ends = np.cumsum(batch.pages)
    tile = cutting.tile or batch.qlen
    for request, pages in enumerate(batch.pages):
        end = int(ends[request])
        last = batch.kv_lens[request] - (pages - 1) * batch.page_size
        for part in range(cutting.fold):
            folded = request * cutting.fold + part
            for first in range(0, batch.qlen, tile):
                behind = min(first + tile, batch.qlen)
                # A tile in front of others does not see the tokens of those.
                hidden = batch.qlen - behind if batch.causal else 0
                base = folded * batch.qlen
                start = end - pages
                yield _Tile(folded, base + first, base + behind, start, end - hidden, end, last)


def _parts(tile: _Tile, splits: int, size: int) -> list[tuple[int, int]]:
    """The pages of a tile in as many parts, of whole blocks of ``size`` pages."""
    blocks = -(-(tile.end - tile.begin) // size)
    each = max(1, -(-blocks // splits)) * size
    starts = range(tile.begin, max(tile.end, tile.begin + 1), each)
    return [(start, min(start + each, tile.end)) for start in starts]

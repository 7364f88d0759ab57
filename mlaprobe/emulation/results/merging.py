"""Merges the partial results of splits: our own computation, of what AITER's merges are given.

A persistent launch has a row of partial results per query token and part, the other mode one per
query token and split. What is merged of rows that no kernel wrote counts as unwritten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mlaprobe.core.shape import Dtype
from mlaprobe.emulation.arrays import NotFollowedError
from mlaprobe.emulation.batches.formats import encoded

Array: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """An output and its log-sum-exp, with masks of what was written. What is merged is written in
    place."""

    out: Array
    """``[rows, heads, 512]``: float32, or bits of bf16."""
    out_written: Mask
    lse: Array | None
    """``[rows, heads]`` float32."""
    lse_written: Mask | None


_BEYOND = "the merge reads or writes beyond its buffers: the plan is for another launch"


def merge_tiles(final: Rows, partial: Rows, indptr: Array, tiles: Array, places: Array) -> None:
    """Merges the tiles of a persistent launch.

    Args:
        indptr: where the parts of each tile begin in ``places``.
        tiles: ``[tiles, 2]``, the first query token of each and the one behind its last.
        places: the row of ``partial`` that each part begins at.

    Raises:
        NotFollowedError: a tile lies behind the end of the output or of the partial results, as
            those of a plan for another launch do.
    """
    for tile, (start, stop) in enumerate(tiles[: len(indptr) - 1].tolist()):
        rows = places[indptr[tile] : indptr[tile + 1]]
        if not len(rows):
            continue
        if stop > len(final.out) or rows.max() + stop - start > len(partial.out):
            raise NotFollowedError(f"{_BEYOND} (query tokens {start} to {stop - 1})")
        for token in range(start, stop):
            _merge(final, partial, token, rows + (token - start))


def merge_splits(final: Rows, partial: Rows, counts: list[int], splits: int) -> None:
    """Merges the splits of a launch without work metadata.

    Args:
        counts: splits of each query token that hold anything; where none does, which a kernel
            may have written, nothing is merged.
        splits: rows of ``partial`` for each.
    """
    for token, count in enumerate(counts):
        _merge(final, partial, token, token * splits + np.arange(count))


def _merge(final: Rows, partial: Rows, token: int, rows: Array) -> None:
    assert partial.lse is not None
    assert partial.lse_written is not None
    if not len(rows):
        final.out_written[token] = False
        return
    with np.errstate(all="ignore"):
        lse = partial.lse[rows].astype(np.float64)
        highest = lse.max(0)
        weights = np.exp(lse - highest)
        total = weights.sum(0)
        values = (weights[..., None] * partial.out[rows]).sum(0) / total[..., None]
        final.out[token] = encoded(values.astype(np.float32), Dtype.BF16, "")
        known = partial.out_written[rows] & partial.lse_written[rows][..., None]
        final.out_written[token] = known.all(0)
        if final.lse is not None and final.lse_written is not None:
            final.lse[token] = highest + np.log(total)
            final.lse_written[token] = partial.lse_written[rows].all(0)

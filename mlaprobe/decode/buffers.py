"""Into a padded buffer and out of it again, with every view made beforehand."""

from __future__ import annotations

from typing import Any

from mlaprobe.decode.tensors import torch
from mlaprobe.padding.tensors import Strategy, Tensor, check_target

Rows = tuple[int, int, int]
"""Requests, query rows of each, and rows of each as launched."""


class HeadFill:
    """Copies a query into a padded one: of its heads, and of the rows of each request.

    Heads are padded as ``mlaprobe.padding.tensors.pad_heads`` does it; rows that are added stand
    in front of the real ones and are zero. What is zero is written once, here. A call is one
    kernel where no rows are added, and moves as many bytes at a time as the widths allow.
    """

    def __init__(self, padded: Tensor, heads: int, strategy: Strategy, *, rows: Rows) -> None:
        """
        Args:
            padded: ``[requests * rows as launched, target, width]``, contiguous.
            heads: of the query, at most the target.
        """
        requests, real, launched = rows
        self._padded = padded
        target = padded.shape[1]
        check_target(heads, target, strategy)
        # Copies of bits: one-byte floats lack most operations, and a head takes few wide words.
        self._unit = _widest(padded)
        whole = padded.view(self._unit)
        if strategy is Strategy.ZERO or launched != real:
            whole.zero_()
        self._kept = heads if strategy is Strategy.ZERO else target
        room = whole.view(requests, launched, *whole.shape[1:])
        self._room = room[:, launched - real :, : self._kept]
        self._source = None
        if self._kept != heads:
            self._source = _source_heads(heads, target, strategy, padded.device)
        self._out = self._room.flatten(0, 1) if launched == real else None
        self._select = torch().index_select

    def __call__(self, q: Tensor) -> Tensor:
        """The padded query, which the next call overwrites.

        Args:
            q: ``[requests * rows, heads, width]``, of any strides.
        """
        heads = _as(q, self._unit)
        if self._source is None:
            self._room.copy_(heads.unflatten(0, self._room.shape[:2]))
        elif self._out is not None:
            self._select(heads, 1, self._source, out=self._out)
        else:
            picked = heads.index_select(1, self._source)
            self._room.copy_(picked.unflatten(0, self._room.shape[:2]))
        return self._padded


def _source_heads(heads: int, target: int, strategy: Strategy, device: Any) -> Tensor:
    """For each padded head the one that it repeats."""
    count = torch().arange(target, device=device)
    return count // (target // heads) if strategy is Strategy.REPEAT else count % heads


def _widest(tensor: Tensor) -> Any:
    """The widest type that a tensor's rows can be viewed as."""
    t = torch()
    size = tensor.shape[-1] * tensor.element_size()
    return next(
        unit
        for unit in (t.complex128, t.int64, t.int32, t.int16, t.uint8)
        if not size % unit.itemsize
    )


def _as(q: Tensor, unit: Any) -> Tensor:
    """A query as words of a type; copied first where its strides or its place do not allow it."""
    word = unit.itemsize
    if q.is_contiguous() and not q.data_ptr() % word:
        return q.view(unit)
    size = q.element_size()
    places = (q.storage_offset(), *q.stride()[:-1])
    if q.stride(-1) != 1 or any(place * size % word for place in places) or q.data_ptr() % word:
        q = q.contiguous()
    return q.view(unit)


class RealRows:
    """The real rows of a padded result."""

    def __init__(self, padded: Tensor, rows: Rows) -> None:
        """
        Args:
            padded: ``[requests * rows as launched, ...]``, its heads unpadded already.
        """
        requests, real, launched = rows
        self._view = padded.unflatten(0, (requests, launched))[:, launched - real :]
        self._split = (requests, real)
        packed = launched == real
        self._own = padded if packed else padded.new_empty(requests * real, *padded.shape[1:])
        self._in_place = packed

    def __call__(self, out: Tensor | None) -> Tensor:
        """The real rows: written to ``out`` where there is one, which is then returned."""
        if out is None and self._in_place:
            return self._own
        found = self._own if out is None else out
        found.unflatten(0, self._split).copy_(self._view)
        return found

"""Into a padded buffer and out of it again, with every view made beforehand."""

from __future__ import annotations

from mlaprobe.decode.tensors import torch
from mlaprobe.padding import Strategy, Tensor, check_target

Rows = tuple[int, int, int]
"""Requests, query rows of each, and rows of each as launched."""


class HeadFill:
    """Copies a query into a padded one: of its heads, and of the rows of each request.

    Heads are padded as ``mlaprobe.padding.pad_heads`` does it; rows that are added stand in front
    of the real ones and are zero. What is zero is written once, here.
    """

    def __init__(self, padded: Tensor, heads: int, strategy: Strategy, *, rows: Rows) -> None:
        """
        Args:
            padded: ``[requests * rows as launched, target, width]``, contiguous.
            heads: of the query, at most the target.
        """
        requests, real, launched = rows
        self._padded = padded
        self._split = (requests, real)
        # Copies of bits: one-byte floats lack most operations, bytes have them all.
        self._bytes = padded.element_size() == 1
        target = padded.shape[1]
        check_target(heads, target, strategy)
        whole = padded.view(torch().uint8) if self._bytes else padded
        if strategy is Strategy.ZERO or launched != real:
            whole.zero_()
        room = whole.view(requests, launched, *padded.shape[1:])[:, launched - real :]
        self._rest: Tensor | None = None
        self._heads_left = 0
        if strategy is Strategy.REPEAT:
            self._all = room.unflatten(-2, (heads, target // heads))
            self._new_axis = -2
        elif strategy is Strategy.ZERO:
            self._all = room.narrow(-2, 0, heads).unsqueeze(-3)
            self._new_axis = -3
        else:
            times, self._heads_left = divmod(target, heads)
            self._all = room.narrow(-2, 0, times * heads).unflatten(-2, (times, heads))
            self._new_axis = -3
            if self._heads_left:
                self._rest = room.narrow(-2, times * heads, self._heads_left)

    def __call__(self, q: Tensor) -> Tensor:
        """The padded query, which the next call overwrites.

        Args:
            q: ``[requests * rows, heads, width]``, of any strides.
        """
        source = (q.view(torch().uint8) if self._bytes else q).unflatten(0, self._split)
        self._all.copy_(source.unsqueeze(self._new_axis))
        if self._rest is not None:
            self._rest.copy_(source.narrow(-2, 0, self._heads_left))
        return self._padded


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

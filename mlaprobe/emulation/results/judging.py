"""Compares what launches of one batch give with attention, request by request."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mlaprobe.core.accuracy import Error, Tolerance
from mlaprobe.emulation.arrays import Array
from mlaprobe.emulation.batches.holding import Tensors
from mlaprobe.emulation.launch import Result
from mlaprobe.emulation.padding import Padding, unpad
from mlaprobe.emulation.results.merging import Rows
from mlaprobe.emulation.results.verify import verify


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A result without its padding, and how right it is."""

    rows: Rows
    error: Error
    """Of the whole batch."""
    wrong: tuple[int, ...]
    """The requests whose result is not right: one of many is lost in the error of all."""

    @property
    def passed(self) -> bool:
        """Whether the result of every request is right."""
        return self.error.passed and not self.wrong

    def same_bits(self, other: Judged, *, lse: bool) -> bool:
        """Whether another result is the same, and so the log-sum-exp where it is wanted."""
        pairs = [(self.rows.out, other.rows.out)]
        if lse and self.rows.lse is not None and other.rows.lse is not None:
            pairs.append((self.rows.lse, other.rows.lse))
        return all(_bits(one) == _bits(two) for one, two in pairs)


class Judge:
    """Compares results of one batch with attention."""

    def __init__(self, values: Tensors, padding: Padding, tolerance: Tolerance) -> None:
        self._values = values
        self._padding = padding
        self._tolerance = tolerance
        self._want, self._want_lse = values.reference()

    def judged(self, result: Result) -> Judged:
        """A result, compared."""
        rows = result.followed.rows
        real = Rows(
            out=self._real(rows.out),
            out_written=self._real(rows.out_written),
            lse=None if rows.lse is None else self._real(rows.lse),
            lse_written=None if rows.lse_written is None else self._real(rows.lse_written),
        )
        batch = self._values.batch
        whole = self._error(real, slice(None))
        starts = batch.vectors.qo_indptr.tolist()
        parts = (slice(first, behind) for first, behind in pairwise(starts))
        wrong = [n for n, part in enumerate(parts) if not self._error(real, part).passed]
        return Judged(rows=real, error=whole, wrong=tuple(wrong))

    def _error(self, rows: Rows, tokens: slice) -> Error:
        """How far some query tokens are from the reference."""
        batch = self._values.batch
        part = Rows(
            out=rows.out[tokens],
            out_written=rows.out_written[tokens],
            lse=None if rows.lse is None else rows.lse[tokens],
            lse_written=None if rows.lse_written is None else rows.lse_written[tokens],
        )
        want, want_lse = self._want[tokens], self._want_lse[tokens]
        return verify(part, want, want_lse, self._tolerance, lse=batch.lse, arch=batch.arch)

    def _real(self, rows: Array) -> Array:
        return unpad(rows, self._values, self._padding)


def _bits(array: Array) -> bytes:
    return np.ascontiguousarray(array).tobytes()

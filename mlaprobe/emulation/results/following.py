"""What AITER does behind a launch, done with arrays: merges of partial results, and tensors that
take the memory of others. The merges are our own computation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np

from mlaprobe.core.shape import Dtype
from mlaprobe.emulation.arrays import Array, Arrays, Marks, NotFollowedError
from mlaprobe.emulation.batches.formats import encoded
from mlaprobe.emulation.results.merging import Rows, merge_splits, merge_tiles
from mlaprobe.evaluator.engine.runs import Event
from mlaprobe.rulefiles.layouts import layouts
from mlaprobe.stages.environment.placed import Placed
from mlaprobe.stages.launching import Launched


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What a call of the dispatcher leaves behind."""

    rows: Rows
    """``[tokens, heads, 512]`` bits of bf16, and the log-sum-exp where one is returned."""
    merged: str | None
    """The function of AITER's whose work was done here; ``None`` where it calls none."""
    returned: bool = False
    """Whether the result is what is returned, and the output was left alone."""


def follow(
    launched: Launched,
    output: Placed,
    arrays: Arrays,
    marks: Marks,
    *,
    returns_one_split: bool = False,
) -> Followed:
    """Does what the dispatcher does behind a launch.

    Args:
        output: the tensor that the caller gets its output in.
        returns_one_split: whether it may return the result instead, as partial results of one
            split.

    Raises:
        NotFollowedError: that cannot be followed.
    """
    follower = _Follower(arrays, marks)
    merged = None
    for event in launched.after:
        if event.kind == "entry":
            follower.merge(event)
            merged = event.name
        elif event.kind == "set":
            follower.set(event)
    rows = follower.rows(output, None)
    result = launched.result
    lse = result[1] if isinstance(result, tuple) and len(result) > 1 else None
    if isinstance(lse, Placed):
        rows = follower.with_lse(rows, lse)
    if returns_one_split and merged is None and not rows.out_written.any():
        partial = result[0] if isinstance(result, tuple) and result else None
        if _is_one_split(partial):
            return Followed(rows=follower.narrowed(rows, partial), merged=None, returned=True)
    return Followed(rows=rows, merged=merged)


class _Follower:
    def __init__(self, arrays: Arrays, marks: Marks) -> None:
        self._arrays = arrays
        self._marks = marks

    def merge(self, event: Event) -> None:
        """Does the work of a merge of AITER's."""
        names = layouts().data["dispatcher"]
        for stage, functions, work in (
            ("reducer", names["reduce"], self._tiles),
            ("merge", names["merge"], self._splits),
        ):
            if event.name in functions:
                roles = layouts().roles(stage)
                work({roles[name]: value for name, value in event.kwargs if name in roles})
                return
        raise NotFollowedError(f"what {event.name} does behind the launch is not known")

    def set(self, event: Event) -> None:
        """A tensor takes the memory of another."""
        tensor, *others = event.args
        if len(others) != 1 or not isinstance(others[0], Placed):
            raise NotFollowedError(f"what becomes of {event.name} is not known")
        self._arrays.replace(tensor, others[0])
        self._marks.replace(tensor, others[0])

    def rows(self, out: Placed, lse: Placed | None) -> Rows:
        """An output with its log-sum-exp."""
        return Rows(
            out=self._arrays.of(out),
            out_written=self._marks.of(out),
            lse=None if lse is None else self._arrays.of(lse),
            lse_written=None if lse is None else self._marks.of(lse),
        )

    def with_lse(self, rows: Rows, lse: Placed) -> Rows:
        """An output with the log-sum-exp that is returned, where that has as many values."""
        values, written = self._arrays.of(lse), self._marks.of(lse)
        shape = rows.out.shape[:2]
        if values.size != shape[0] * shape[1]:
            return rows
        return replace(rows, lse=values.reshape(shape), lse_written=written.reshape(shape))

    def narrowed(self, rows: Rows, partial: Placed) -> Rows:
        """Partial results of one split ``[tokens, 1, heads, width]`` as an output."""
        values, written = self._arrays.of(partial), self._marks.of(partial)
        out = encoded(values.astype(np.float32), Dtype.BF16, "")
        shape = rows.out.shape
        return replace(rows, out=out.reshape(shape), out_written=written.reshape(shape))

    def _flat(self, out: Placed, lse: Placed) -> Rows:
        """Partial results as ``[rows, heads, ...]``."""
        rows = self.rows(out, lse)
        heads, width = rows.out.shape[-2:]
        assert rows.lse is not None
        assert rows.lse_written is not None
        return Rows(
            out=rows.out.reshape(-1, heads, width),
            out_written=rows.out_written.reshape(-1, heads, width),
            lse=rows.lse.reshape(-1, heads),
            lse_written=rows.lse_written.reshape(-1, heads),
        )

    def _tiles(self, given: Mapping[str, Any]) -> None:
        final = self.rows(_tensor(given, "output"), given.get("lse"))
        partial = self._flat(_tensor(given, "partial_output"), _tensor(given, "partial_lse"))
        names = ("reduce_indptr", "final_map", "partial_map")
        merge_tiles(final, partial, *(self._arrays.of(_tensor(given, n)) for n in names))

    def _splits(self, given: Mapping[str, Any]) -> None:
        out, partial = _tensor(given, "output"), _tensor(given, "partial_output")
        lse = given.get("lse") if given.get("has_lse") is True else None
        final = self.rows(out, lse)
        indptr = self._array(given, "splits_indptr")
        requests = len(indptr) - 1
        if given.get("may_be_final") is True and indptr[-1] == requests:
            self._take(final, partial)
            return
        counts = self._counts(given, indptr)
        per_request = len(final.out) // requests
        splits = partial.shape[1]
        each = [count for count in counts for _ in range(per_request)]
        merge_splits(final, self._flat(partial, _tensor(given, "partial_lse")), each, splits)

    def _counts(self, given: Mapping[str, Any], indptr: Array) -> list[int]:
        """Splits of each request that hold anything, as the merge counts them."""
        lengths = np.diff(self._array(given, "kv_indptr")).astype(np.int64)
        if given.get("by_pages") is True:
            pages = (lengths - 1) * _number(given, "page_size")
            lengths = pages + self._array(given, "last_page")
        counts = np.minimum(np.diff(indptr), -(-lengths // _number(given, "block")))
        if _flag(given, "use_valid_splits"):
            counts = np.minimum(counts, self._array(given, "valid_splits"))
        return [int(count) for count in counts]

    def _take(self, final: Rows, partial: Placed) -> None:
        """The kernel has left the output itself, as bf16, where partial results would be."""
        values = self._arrays.of(partial)
        bits = np.ascontiguousarray(values).reshape(-1).view(final.out.dtype)
        marks = self._marks.of(partial).reshape(-1)
        times = values.dtype.itemsize // final.out.dtype.itemsize
        size = final.out.size
        final.out[...] = bits[:size].reshape(final.out.shape)
        final.out_written[...] = np.repeat(marks, times)[:size].reshape(final.out.shape)

    def _array(self, given: Mapping[str, Any], role: str) -> Array:
        return self._arrays.of(_tensor(given, role))


def _tensor(given: Mapping[str, Any], role: str) -> Placed:
    value = given.get(role)
    if not isinstance(value, Placed):
        raise NotFollowedError(f"a merge gets no {role.replace('_', ' ')} that is known")
    return value


def _number(given: Mapping[str, Any], role: str) -> int:
    value = given.get(role)
    if type(value) is not int:
        raise NotFollowedError(f"a merge gets no {role.replace('_', ' ')} that is known")
    return value


def _flag(given: Mapping[str, Any], role: str) -> bool:
    """A flag; that of a merge which has no such parameter is off."""
    value = given.get(role, False)
    if not isinstance(value, int):
        raise NotFollowedError(f"a merge gets no {role.replace('_', ' ')} that is known")
    return bool(value)


def _is_one_split(value: Any) -> TypeGuard[Placed]:
    """Whether something is partial results of one split."""
    return isinstance(value, Placed) and value.shape[1:2] == (1,) and value.dtype.kind == "fp32"

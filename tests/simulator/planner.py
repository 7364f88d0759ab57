"""Builds work metadata as AITER documents it: who computes which rows over which pages, where the
partial results go, and which of them are merged to what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mlaprobe.core.shape import StageOutcome


def plan(given: dict[str, Any], outcome: StageOutcome, units: int) -> None:
    """Fills the buffers for what the planner made of the head count.

    A batch fold makes each request ``fold`` requests of as many rows, one after the other, that
    read the same pages; a fold of the query length makes its rows that many times as many.
    """
    rows = given["qlen"] * outcome.qlen_fold
    requests = list(_requests(given, outcome.fold, rows))
    step = max(1, given.get("granularity", 16) // given.get("page_size", 1))
    works = list(_cut(requests, step, units))
    _check_room(given, works, requests)
    given["work_info"].zero_()
    per_unit = -(-len(works) // units)
    for unit in range(given["work_indptr"].shape[0]):
        given["work_indptr"][unit] = min(unit * per_unit, len(works))
    partial = tile = 0
    given["reduce_indptr"].zero_()
    for request, pieces in _by_request(works):
        start, end = request * rows, (request + 1) * rows
        split = len(pieces) > 1
        for at, first, last, rest in pieces:
            where = partial if split else -1
            row = (request, where, start, end, first, last, rest, 0)
            given["work_info"][at] = given["work_info"].new_tensor(row)
            if split:
                given["reduce_partial_map"][partial // rows] = partial
                partial += rows
        if split:
            given["reduce_final_map"][tile] = given["reduce_final_map"].new_tensor((start, end))
            tile += 1
            given["reduce_indptr"][tile] = partial // rows
    given["reduce_indptr"][tile:] = partial // rows


Request = tuple[int, int, int, int]
"""First page, page after the last, KV tokens, tokens per page."""
Work = tuple[int, int, int, int]
"""Request, first page, page after the last, KV tokens after those."""


def _requests(given: dict[str, Any], fold: int, rows: int) -> Iterator[Request]:
    indptr, size = given["kv_indptr"].tolist(), given.get("page_size", 1)
    last = given["last_page"].tolist() if "last_page" in given else [1] * (len(indptr) - 1)
    for request in range(len(indptr) - 1):
        first, end = indptr[request], indptr[request + 1]
        yield from [(first, end, (end - first - 1) * size + last[request], size)] * fold


def _cut(requests: list[Request], step: int, units: int) -> Iterator[Work]:
    """Pieces of about the same number of pages, one per compute unit where that is possible."""
    pages = sum(end - first for first, end, _, _ in requests)
    most = max(step, -(-pages // units) // step * step)
    for at, (first, end, tokens, size) in enumerate(requests):
        for begin in range(first, end, most):
            stop = min(begin + most, end)
            yield at, begin, stop, max(0, tokens - (stop - first) * size)


def _by_request(works: list[Work]) -> Iterator[tuple[int, list[tuple[int, int, int, int]]]]:
    found: dict[int, list[tuple[int, int, int, int]]] = {}
    for at, (request, first, last, rest) in enumerate(works):
        found.setdefault(request, []).append((at, first, last, rest))
    yield from found.items()


def _check_room(given: dict[str, Any], works: list[Work], requests: list[Request]) -> None:
    split = [pieces for _, pieces in _by_request(works) if len(pieces) > 1]
    for role, needed in (
        ("work_info", len(works)),
        ("reduce_partial_map", sum(map(len, split))),
        ("reduce_final_map", len(split)),
        ("reduce_indptr", len(split) + 1),
    ):
        if given[role].shape[0] < needed:
            raise IndexError(f"{role} has room for {given[role].shape[0]}, and {needed} are needed")

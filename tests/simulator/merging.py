"""Merges partial results."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from tests.simulator.attend import Partials


def merge(values: Any, sums: Any) -> tuple[Any, Any]:
    """Output and log-sum-exp of ``[splits, rows, heads, ...]`` partial ones."""
    total = sums.logsumexp(0)
    weights = (sums - total).exp().unsqueeze(-1)
    return (values * weights).sum(0), total


def reduce(given: dict[str, Any]) -> None:
    """The merge of the persistent path: groups of partial rows to rows of the output."""
    torch = importlib.import_module("torch")
    out, lse = given["output"], given.get("lse")
    heads, width = out.shape[-2:]
    values = given["partial_output"].view(-1, heads, width)
    sums = given["partial_lse"].view(-1, heads)
    indptr, places = given["reduce_indptr"].tolist(), given["partial_map"].tolist()
    for tile in range(len(indptr) - 1):
        parts = places[indptr[tile] : indptr[tile + 1]]
        if not parts:
            continue
        start, end = given["final_map"][tile].tolist()
        rows = [slice(part, part + end - start) for part in parts]
        o, total = merge(
            torch.stack([values[r] for r in rows]), torch.stack([sums[r] for r in rows])
        )
        out[start:end] = o
        if lse is not None:
            lse[start:end] = total


def stage_two(found: Partials, given: Mapping[str, Any]) -> None:
    """The merge of the path without metadata: a Triton kernel of AITER's."""
    indptr = given["qo_indptr"].tolist()
    splits = given["num_kv_splits_indptr"].diff().tolist()
    out, lse = given["O"], given.get("Final_lse") if given.get("HAS_FINAL_LSE") else None
    for request in range(len(indptr) - 1):
        rows = slice(indptr[request], indptr[request + 1])
        count = min(splits[request], found.valid[request])
        o, total = merge(
            found.values[rows, :count].transpose(0, 1), found.sums[rows, :count].transpose(0, 1)
        )
        out[rows] = o.to(out.dtype)
        if lse is not None:
            lse[rows] = total

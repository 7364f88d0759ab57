"""Partial results of attention, as a decode kernel writes them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

LATENT = 512
BLOCK = 64
"""KV tokens that the smallest split holds."""


@dataclass
class Partials:
    """What a launch without metadata leaves to the merge: ``[rows, splits, heads, ...]``."""

    values: Any
    sums: Any
    valid: list[int]
    """Splits that hold something, by request."""


def persistent(given: dict[str, Any]) -> None:
    """Every piece of work: to the output where a request is whole, else to the partial rows."""
    q, indptr = given["q"], given["qo_indptr"].tolist()
    own = q.shape[0] // indptr[-1]
    spread = given["qlen"] // (indptr[1] - indptr[0])
    batch_fold = own // spread
    heads = q.shape[1]
    values, sums = given["split_data"].view(-1, heads, LATENT), given["split_lse"].view(-1, heads)
    lse = given.get("lse")
    for row in given["work_info"][: int(given["work_indptr"][-1])].tolist():
        request, where, start, end, first, last, rest, _ = row
        keys = _keys(given, first, last, rest, request // batch_fold)
        seen = [
            len(keys) + rest - (indptr[1] - indptr[0] - 1 - at // spread)
            if given.get("causal", True)
            else len(keys)
            for at in range(end - start)
        ]
        o, total = attend(given, q[start:end], keys, seen)
        if where < 0:
            given["output"][start:end] = o
            if lse is not None:
                lse[start:end] = total
        else:
            values[where : where + end - start] = o
            sums[where : where + end - start] = total


def split(given: dict[str, Any]) -> Partials:
    """Every request in as many splits as the launch is for."""
    t = importlib.import_module("torch")
    q, splits, heads = given["q"], given["split_data"].shape[1], given["q"].shape[1]
    values = t.zeros((q.shape[0], splits, heads, LATENT))
    sums = t.full((q.shape[0], splits, heads), float("-inf"))
    indptr, pages = given["qo_indptr"].tolist(), given["kv_indptr"].tolist()
    valid = []
    for request in range(len(indptr) - 1):
        rows = slice(indptr[request], indptr[request + 1])
        keys = _keys(given, pages[request], pages[request + 1], 0, request)
        qlen = rows.stop - rows.start
        step = max(BLOCK, -(-len(keys) // splits))
        valid.append(-(-len(keys) // step))
        for at in range(valid[-1]):
            part = keys[at * step : (at + 1) * step]
            after = len(keys) - at * step
            seen = [after - (qlen - 1 - i if given.get("causal", True) else 0) for i in range(qlen)]
            values[rows, at], sums[rows, at] = attend(given, q[rows], part, seen)
    found = Partials(values, sums, valid)
    _hand_over(given, found)
    return found


def _hand_over(given: dict[str, Any], found: Partials) -> None:
    """What the launch itself writes."""
    data, sums = given["split_data"], given["split_lse"]
    sums.copy_(found.sums.unsqueeze(-1))
    if data.shape[1] == 1:
        # One split: the result, where the launch was told to put it.
        given["output"].copy_(found.values[:, 0])
        data.copy_(found.values)
        if given.get("lse") is not None:
            given["lse"].copy_(found.sums[:, 0])
    else:
        data.copy_(found.values)
    if given.get("valid_splits") is not None and given.get("use_valid_splits"):
        given["valid_splits"].copy_(given["valid_splits"].new_tensor(found.valid))


def attend(given: dict[str, Any], q: Any, keys: Any, seen: list[int]) -> tuple[Any, Any]:
    """Output and log-sum-exp of some rows over some keys, of which row i sees the first
    ``seen[i]``."""
    query = q.float()
    if given.get("q_scale") is not None and q.element_size() == 1:
        query = query * given["q_scale"]
    scores = (query.flatten(0, 1) @ keys.T).unflatten(0, q.shape[:2]) * given["scale"]
    for at, count in enumerate(seen):
        scores[at, :, max(count, 0) :] = float("-inf")
    total = scores.logsumexp(-1)
    weights = (scores - total.nan_to_num(neginf=0.0).unsqueeze(-1)).exp()
    o = (weights.flatten(0, 1) @ keys[:, :LATENT]).unflatten(0, q.shape[:2])
    return o, total


def _keys(given: dict[str, Any], first: int, last: int, rest: int, request: int) -> Any:
    """The KV tokens on some pages of a request, ``rest`` more of which follow."""
    kv = given["kv"]
    pages = given["kv_indices"][first:last].long()
    keys = kv[pages].reshape(-1, kv.shape[-1]).float()
    if not rest:
        keys = keys[: (last - first - 1) * kv.shape[1] + int(given["last_page"][request])]
    if given.get("kv_scale") is not None and kv.element_size() == 1:
        keys = keys * given["kv_scale"]
    return keys

"""Launches of operations besides decode: the shapes that lead to kernels, and their batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mlaprobe.core.enums import Layout, Operation
from mlaprobe.core.shape import DecodeShape, Dtype
from mlaprobe.emulation.batches.headworks import ROWS
from mlaprobe.emulation.case import Case, layout_of
from mlaprobe.rulefiles.operations import Entry, operations

HEADS = (8, 16, 32, 64, 128)
QLENS = tuple(range(1, 9))
"""Query heads and query lengths of which shapes are made where nothing is said."""
_PROMPT_HEADS = {
    Layout.LATENT: ((16, None), (128, None)),
    Layout.HEADS: ((1, 1), (8, 8), (8, 1), (16, 1)),
}
"""Query heads of prompts with KV heads of their own, where an operation has them."""
_LATENT_ROWS = 128
"""Query tokens times heads that a workgroup does at once."""


def shapes(
    op: Operation,
    arch: str,
    dtypes: Sequence[tuple[Dtype, Dtype]],
    heads: Sequence[int] | None,
    qlens: Sequence[int] | None,
    *,
    page_size: int,
    batch: int,
) -> Iterator[DecodeShape]:
    """The shapes of an operation whose launches are emulated. ``heads`` are query heads, each with
    a KV head of its own where the operation has those; ``None`` takes a few counts. How many query
    tokens a prompt has, its launches say."""
    for entry in operations()[op].entries:
        paged = entry.asks("page_size")
        if entry.layout is None or (page_size > 1 and not paged):
            continue
        counts = _counts(entry, heads)
        lens = (1,) if entry.prompts else qlens or QLENS
        masks = (True, False) if entry.asks("causal") else (True,)
        asked = itertools.product(dtypes, counts, lens, masks)
        for (q, kv), (count, own), qlen, causal in asked:
            yield DecodeShape(
                op=op,
                arch=arch,
                q_dtype=q,
                kv_dtype=kv,
                num_heads=count,
                num_kv_heads=own,
                qlen=qlen,
                causal=causal,
                persistent=entry.mode,
                page_size=page_size,
                batch=batch,
            )


def _counts(entry: Entry, heads: Sequence[int] | None) -> Sequence[tuple[int, int | None]]:
    """Query heads with KV heads of their own."""
    if heads is None and entry.prompts:
        assert entry.layout is not None
        return _PROMPT_HEADS[entry.layout]
    return [(n, n if entry.layout is Layout.HEADS else None) for n in heads or HEADS]


def batches(case: Case, qlens: Sequence[int] | None) -> Iterator[Case]:
    """Launches of a shape: with so many query tokens of each request, those of a whole prompt at
    most. Where nothing is said, whole prompts and a last third of each; of a kernel whose
    workgroups do few tokens, a token more than two of them do."""
    lens = case.kv_lens
    if qlens is not None:
        for qlen in qlens:
            yield _with(case, tuple(min(qlen, length) for length in lens))
        return
    if layout_of(case.shape) is Layout.HEADS:
        yield _with(case, lens)
        yield _with(case, tuple(-(-length // 3) for length in lens))
        return
    most = 2 * max(1, _LATENT_ROWS // case.shape.num_heads) + 1
    yield _with(case, tuple(min(length, most - at) for at, length in enumerate(lens)))


def edges(case: Case, lens: Sequence[int]) -> Iterator[Case]:
    """Launches of a batch whose lengths end at and just behind the edges of tiles."""
    one = replace(case, shape=replace(case.shape, batch=len(lens)), kv_lens=tuple(lens))
    if layout_of(case.shape) is Layout.HEADS:
        yield _with(one, tuple(lens))
        yield _with(replace(one, kv_lens=tuple(length + ROWS for length in lens)), tuple(lens))
        return
    yield from batches(one, (1, 2 * _LATENT_ROWS // case.shape.num_heads))


def _with(case: Case, qlens: tuple[int, ...]) -> Case:
    return replace(case, shape=replace(case.shape, qlen=max(qlens)), qlens=qlens)

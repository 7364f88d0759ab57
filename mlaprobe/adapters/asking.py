"""The questions that adapters ask of the AITER at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mlaprobe.adapters.settings import Run, arch_here, capability_for, knobs
from mlaprobe.core.reducers import ReduceHeads
from mlaprobe.core.shape import Decision, DecodeShape, Dtype, Route
from mlaprobe.padding.api import plan
from mlaprobe.padding.planning import warn_once

Dtypes = tuple[Dtype, Dtype]


def decide(dtypes: Dtypes, *, heads: int, **fields: Any) -> Decision:
    """The decision on a shape of the arch at hand, in the environment of this process.

    Raises:
        NotConfiguredError: the arch is not known.
        SourceError: there is no AITER, or it cannot be read.
    """
    source = capability_for()
    q_dtype, kv_dtype = dtypes
    shape = DecodeShape(
        arch=arch_here(),
        q_dtype=q_dtype,
        kv_dtype=kv_dtype,
        num_heads=heads,
        env=knobs(source),
        **fields,
    )
    return source.decide(shape)


def runs_at(dtypes: Dtypes, *, heads: int, batches: Sequence[int] = (), **fields: Any) -> bool:
    """Whether a shape is known to run, also at each of some batch sizes."""
    first = decide(dtypes, heads=heads, **fields)
    if not first.verdict.runs:
        return False
    source = capability_for()
    return all(source.decide(replace(first.shape, batch=n)).verdict.runs for n in batches)


def served_heads(num_heads: int, run: Run, **more: Any) -> int | None:
    """The head count that serves all launches of a run; ``None``, with a warning, where none is
    known to.

    Args:
        more: other arguments of ``mlaprobe.plan``.
    """
    source = capability_for()
    found = plan(
        num_heads,
        capability=source,
        arch=arch_here(),
        q_dtype=run.q_dtype,
        kv_dtype=run.kv_dtype,
        qlens=run.qlens,
        lse=run.lse,
        route=Route.ASM,
        env=knobs(source),
        **more,
    )
    if not found.runs:
        warn_once(f"adapter {found.line}", f"{found.line}; {found.reason}")
        return None
    return found.padded_num_heads


def reducer_heads(head_dim: int) -> tuple[int, ...]:
    """The head counts that the reducer merges at a width of values; none where that is not known.

    Raises:
        SourceError: there is no AITER, or it cannot be read.
    """
    source = capability_for()
    return source.reduce_heads(head_dim) if isinstance(source, ReduceHeads) else ()

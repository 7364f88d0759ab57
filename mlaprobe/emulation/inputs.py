"""The tensors that a caller passes to AITER's dispatcher, with what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from mlaprobe.emulation.arrays import Array
from mlaprobe.emulation.batches.holding import Stored, Tensors
from mlaprobe.emulation.batches.works import Works
from mlaprobe.stages.environment.dtypes import DtypeToken, dtype_for
from mlaprobe.stages.environment.placed import Placed

_POINTERS = 10
"""Numbers in the tensor of pointers to the work metadata: the first two are used."""
_NAMES = {"last_page": "kv_last_page_lens"}
"""What is said of a tensor whose meaning has another name than users know it by."""


class Given(NamedTuple):
    """A tensor of the caller's."""

    tensor: Placed
    array: Array | None
    """What it holds; ``None`` where that is whatever was there."""


Inputs: TypeAlias = Mapping[str, Given | None]
"""By what the parameters of the dispatcher mean; ``None`` for one that is left out."""


def inputs_of(values: Tensors, works: Works | None) -> Inputs:
    """The tensors for a batch, with its work metadata where it has some."""
    batch, vectors = values.batch, values.vectors
    pointers = None if works is None else np.zeros(_POINTERS, np.uint64)
    world = np.array([0, *np.cumsum(batch.global_lens)], np.int32) if batch.world > 1 else None
    output = Placed(
        "output", (batch.tokens, batch.num_heads, batch.value_dim), dtype_for("bf16", batch.arch)
    )
    output.filled("empty", ())
    own = values.stored().items()
    return {
        **{role: stored and _stored(role, stored, batch.arch) for role, stored in own},
        "output": Given(output, None),
        "qo_indptr": _given("qo_indptr", vectors.qo_indptr),
        "kv_indptr": _given("kv_indptr", vectors.kv_indptr),
        "kv_indices": _given("kv_indices", values.kv_indices),
        "global_indptr": _given("global_indptr", world),
        "metadata": None
        if pointers is None
        else Given(Placed("work_metadata_ptrs", pointers.shape, DtypeToken("u64")), pointers),
        **_metadata(works),
    }


def _stored(role: str, stored: Stored, arch: str) -> Given:
    name = _NAMES.get(role, role)
    token = dtype_for(stored.dtype, arch)
    return Given(Placed(name, stored.shape or stored.array.shape, token), stored.array)


def _metadata(works: Works | None) -> dict[str, Given | None]:
    names = ("work_indptr", "work_info", "reduce_indptr", "reduce_final_map", "reduce_partial_map")
    if works is None:
        return dict.fromkeys(names)
    return {name: _given(name, getattr(works, name)) for name in names}


def _given(name: str, array: Array | None) -> Given | None:
    if array is None:
        return None
    return Given(Placed(name, array.shape, DtypeToken("i32")), array)

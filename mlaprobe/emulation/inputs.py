"""The tensors that a caller passes to AITER's dispatcher, with what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from mlaprobe.core.shape import Dtype
from mlaprobe.emulation.arrays import Array
from mlaprobe.emulation.batch import Values
from mlaprobe.emulation.formats import LATENT_DIM
from mlaprobe.emulation.works import Works
from mlaprobe.stages.environment.dtypes import DtypeToken, dtype_for
from mlaprobe.stages.environment.placed import Placed

_POINTERS = 10
"""Numbers in the tensor of pointers to the work metadata: the first two are used."""


class Given(NamedTuple):
    """A tensor of the caller's."""

    tensor: Placed
    array: Array | None
    """What it holds; ``None`` where that is whatever was there."""


Inputs: TypeAlias = Mapping[str, Given | None]
"""By what the parameters of the dispatcher mean; ``None`` for one that is left out."""


def inputs_of(values: Values, works: Works | None) -> Inputs:
    """The tensors for a batch, with its work metadata where it has some."""
    batch, vectors = values.batch, values.vectors
    scales = ((batch.q_dtype, batch.q_scale), (batch.kv_dtype, batch.kv_scale))
    q_scale, kv_scale = (
        np.array([scale], np.float32) if dtype is Dtype.FP8 else None for dtype, scale in scales
    )
    pointers = None if works is None else np.zeros(_POINTERS, np.uint64)
    world = np.array([0, *np.cumsum(batch.global_lens)], np.int32) if batch.world > 1 else None
    output = Placed(
        "output", (batch.tokens, batch.num_heads, LATENT_DIM), dtype_for("bf16", batch.arch)
    )
    output.filled("empty", ())
    return {
        "q": _given("q", values.q, batch.q_dtype.value, batch.arch),
        "kv": Given(_cache(values), values.kv),
        "output": Given(output, None),
        "qo_indptr": _given("qo_indptr", vectors.qo_indptr, "i32"),
        "kv_indptr": _given("kv_indptr", vectors.kv_indptr, "i32"),
        "kv_indices": _given("kv_indices", values.kv_indices, "i32"),
        "last_page": _given("kv_last_page_lens", vectors.last_page, "i32"),
        "q_scale": _given("q_scale", q_scale, "fp32"),
        "kv_scale": _given("kv_scale", kv_scale, "fp32"),
        "global_indptr": _given("global_indptr", world, "i32"),
        "metadata": _given("work_metadata_ptrs", pointers, "u64"),
        **_metadata(works),
    }


def _cache(values: Values) -> Placed:
    """The cache, of which only some pages have memory."""
    shape = (values.num_pages, *values.kv.shape[1:])
    return Placed("kv", shape, dtype_for(values.batch.kv_dtype.value, values.batch.arch))


def _metadata(works: Works | None) -> dict[str, Given | None]:
    if works is None:
        names = ("work_indptr", "work_info", "reduce_indptr")
        return dict.fromkeys((*names, "reduce_final_map", "reduce_partial_map"))
    return {
        "work_indptr": _given("work_indptr", works.work_indptr, "i32"),
        "work_info": _given("work_info", works.work_info, "i32"),
        "reduce_indptr": _given("reduce_indptr", works.reduce_indptr, "i32"),
        "reduce_final_map": _given("reduce_final_map", works.reduce_final_map, "i32"),
        "reduce_partial_map": _given("reduce_partial_map", works.reduce_partial_map, "i32"),
    }


def _given(name: str, array: Array | None, dtype: str, arch: str = "") -> Given | None:
    if array is None:
        return None
    token = dtype_for(dtype, arch) if arch else DtypeToken(dtype)
    return Given(Placed(name, array.shape, token), array)

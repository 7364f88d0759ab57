"""The host's call for a shape: all tensors valid."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from mlaprobe.core.shape import DecodeShape, StageName
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.stages.environment.dtypes import DtypeToken, dtype_for
from mlaprobe.stages.environment.tensors import Tensor

STAGE = StageName.HOST
BATCH, SPLITS = 2, 2


def family(question: DecodeShape) -> Hashable:
    """What questions that can share a run have in common."""
    flags = (question.persistent, question.lse, question.causal, question.cp_round_robin)
    return (STAGE, question.q_dtype, question.kv_dtype, flags)


def inputs_of(question: DecodeShape) -> dict[str, int]:
    """The numbers of a question."""
    return {"heads": question.num_heads, "qlen": question.qlen, "page_size": question.page_size}


def values_of(question: DecodeShape, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Valid arguments by role: contiguous Q, a paged KV cache of one head, two KV splits."""
    arch, qlen, heads = question.arch, inputs["qlen"], inputs["heads"]
    page_size = inputs["page_size"]
    tokens = binary("*", BATCH, qlen, ir.NOWHERE)
    int32, fp32 = DtypeToken("i32"), DtypeToken("fp32")
    indptr = Tensor("indptr", (BATCH + 1,), int32)
    scale = Tensor("scale", (1,), fp32)
    work = Tensor("work", (257,), int32) if question.persistent else None
    return {
        "q": Tensor("Q", (tokens, heads, 576), dtype_for(question.q_dtype.value, arch)),
        "kv": Tensor("KV", (64, page_size, 1, 576), dtype_for(question.kv_dtype.value, arch)),
        "qo_indptr": indptr,
        "kv_indptr": indptr,
        "kv_indices": Tensor("kv_page_indices", (64,), int32),
        "last_page": Tensor("kv_last_page_lens", (BATCH,), int32),
        "splits_indptr": None if question.persistent else indptr,
        "metadata": work,
        "work_indptr": work,
        "work_info": work,
        "qlen": qlen,
        "page_size": page_size,
        "kv_heads": 1,
        "scale": 1.0,
        "split_data": Tensor("splitData", (tokens, SPLITS, heads, 512), fp32),
        "split_lse": Tensor("splitLse", (tokens, SPLITS, heads, 1), fp32),
        "output": Tensor("output", (tokens, heads, 512), DtypeToken("bf16")),
        "lse": Tensor("lse", (tokens, heads), fp32) if question.lse else None,
        "q_scale": scale,
        "kv_scale": scale,
        "global_indptr": indptr if question.cp_round_robin else None,
        "world": 8 if question.cp_round_robin else 1,
        "rank": 0,
        "valid_splits": Tensor("valid_split_count", (BATCH,), int32),
        "use_valid_splits": 1,
        "causal": question.causal,
        "stream": None,
        "other": indptr,
    }

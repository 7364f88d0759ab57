"""Older layouts: kernels as statics in nested branches, a planner without a flag, a dispatcher
that holds a list of head counts, and the router macro in three generations."""

from __future__ import annotations

from tests.trees import today
from tests.trees.common import PACKAGE, Tree, code_object
from tests.trees.python import OPS_TEXT

CHECK = "TORCH_CHECK"

HOST_TEXT = """\
#include "aiter_hip_common.h"

struct __attribute__((packed)) HostArgs
{
    void* ptr_Q;
};

void mla_decode_stage1_asm_fwd(torch::Tensor& Q,
                               torch::Tensor& KV,
                               std::optional<torch::Tensor>& num_kv_splits_indptr,
                               std::optional<torch::Tensor>& work_indptr,
                               int max_seqlen_q,
                               int page_size,
                               int nhead_kv,
                               torch::Tensor& splitData,
                               torch::Tensor& output)
{
    const int gqa_ratio   = Q.size(1) / KV.size(2);
    const bool persistent = !num_kv_splits_indptr.has_value();
    HostArgs args;
    size_t arg_size = sizeof(args);
    args.ptr_Q      = Q.data_ptr();

    AiterAsmKernel* impl_ptr = nullptr;
    TORCH_CHECK(Q.is_contiguous(), __func__, ": Q must be dense");
    if(Q.dtype() == at::ScalarType::BFloat16)
    {
        if(gqa_ratio == 128)
        {
            static AiterAsmKernel impl_128("mla_bf16_h128", "/mla/mla_bf16_h128.co");
            impl_ptr = &impl_128;
        }
        else if(gqa_ratio == 16)
        {
            if(persistent && max_seqlen_q <= 4)
            {
                static AiterAsmKernel impl_ps("mla_bf16_h16_ps", "/mla/mla_bf16_h16_ps.co");
                impl_ptr = &impl_ps;
            }
            else if(max_seqlen_q == 1)
            {
                static AiterAsmKernel impl_16("mla_bf16_h16", "/mla/mla_bf16_h16.co");
                impl_ptr = &impl_16;
            }
        }
    }
    TORCH_CHECK(impl_ptr != nullptr, __func__, ": no kernel for this dtype or shape");
    impl_ptr->launch_kernel({&args, &arg_size, 1, 1, 1, 256, 1, 1, nullptr});
}
"""

PLANNER_TEXT = """\
#pragma once
#include "aiter_hip_common.h"

struct PlanParams
{
    int32_t num_batches;
    int32_t num_heads;
    int32_t uni_seqlen_qo;
};

__global__ void kn_plan(PlanParams params) {}

void get_mla_metadata_v1_2_device(const torch::Tensor& seqlens_kv_indptr,
                                  const int32_t num_heads_per_head_k,
                                  const int32_t num_heads_k,
                                  const int32_t uni_seqlen_qo)
{
    int32_t num_batches = seqlens_kv_indptr.size(0) - 1;
    int32_t num_heads   = num_heads_k * num_heads_per_head_k;

    if((num_heads != 16) && (num_heads != 128) && (num_heads % 16 == 0))
    {
        num_batches *= num_heads / 16;
        num_heads = 16;
    }
    TORCH_CHECK((num_heads == 16) || (num_heads == 128), __func__, ": cannot plan this")

    PlanParams params    = {};
    params.num_batches   = num_batches;
    params.num_heads     = num_heads;
    params.uni_seqlen_qo = uni_seqlen_qo;
    kn_plan<<<dim3(1, 1, 1), 64>>>(params);
}
"""

BINDING_TEXT = """\
#include "metadata/v1_2_device.cuh"

void get_mla_metadata_v1(const torch::Tensor& seqlens_kv_indptr,
                         const int32_t num_heads_per_head_k,
                         const int32_t num_heads_k,
                         const int32_t uni_seqlen_qo)
{
    get_mla_metadata_v1_2_device(seqlens_kv_indptr, num_heads_per_head_k, num_heads_k,
                                 uni_seqlen_qo);
}
"""

DISPATCHER_TEXT = """\
import torch

import aiter
from aiter import dtypes


def mla_decode_fwd(
    q, kv_buffer, o, qo_indptr, kv_indptr, kv_indices, kv_last_page_lens, max_seqlen_q,
    page_size=1, nhead_kv=1, num_kv_splits_indptr=None, work_meta_data=None, work_indptr=None,
    reduce_indptr=None, reduce_partial_map=None,
):
    total_s, nhead, v_head_dim = o.shape
    assert q.dtype == dtypes.bf16, f"{q.dtype=}"
    if nhead not in (16, 128):
        assert nhead in range(32, 128, 16) and work_meta_data is not None, f"{nhead=}"
        total_s, nhead = total_s * (nhead // 16), 16
        q = q.view(total_s, nhead, -1)
        o = o.view(total_s, nhead, -1)
    logits = torch.empty((total_s, 1, nhead, v_head_dim), dtype=dtypes.fp32)
    aiter.mla_decode_stage1_asm_fwd(
        q, kv_buffer, num_kv_splits_indptr, work_indptr, max_seqlen_q, page_size, nhead_kv,
        logits, o,
    )
    if work_meta_data is not None:
        attn_lse = torch.empty((total_s, 1, nhead, 1), dtype=dtypes.fp32)
        aiter.mla_reduce_v1(logits, attn_lse, reduce_indptr, max_seqlen_q, 1, o)
    return logits
"""


def _torch(text: str) -> str:
    return text.replace("AITER_CHECK", CHECK).replace("aiter_tensor_t", "torch::Tensor")


def _first_router() -> str:
    """Cases that take the work groups too, one line each."""
    lines = [
        "#define MERGE_WITH(HEADS_C, DIM_C, WG_C, NAME, ...) \\",
        "    { using Traits = MergeTraits<(DIM_C), (HEADS_C)>; __VA_ARGS__; }",
        "#define MERGE_CASE(HEADS_C, DIM_C, WG, NAME, ...) \\",
        "    if((WG) == 1) MERGE_WITH(HEADS_C, DIM_C, 1, NAME, __VA_ARGS__) \\",
        "    else if((WG) == 4) MERGE_WITH(HEADS_C, DIM_C, 4, NAME, __VA_ARGS__) \\",
        '    else { TORCH_CHECK(false, NAME " has no such work groups"); }',
        "#define MERGE_IF(HEADS, HEADS_C, DIM, DIM_C, WG, NAME, ...) \\",
        "    if(((HEADS) == (HEADS_C)) && ((DIM) == (DIM_C))) \\",
        "    { MERGE_CASE(HEADS_C, DIM_C, WG, NAME, __VA_ARGS__) }",
        "#define MERGE_EF(HEADS, HEADS_C, DIM, DIM_C, WG, NAME, ...) \\",
        "    else if(((HEADS) == (HEADS_C)) && ((DIM) == (DIM_C))) \\",
        "    { MERGE_CASE(HEADS_C, DIM_C, WG, NAME, __VA_ARGS__) }",
        "#define MERGE_ROUTER(HEADS, DIM, WG, NAME, ...) \\",
    ]
    for at, (heads, dim) in enumerate(today.ROUTED):
        word = "MERGE_EF" if at else "MERGE_IF"
        lines.append(f"    {word}(HEADS, {heads}, DIM, {dim}, WG, NAME, __VA_ARGS__) \\")
    lines.append('    else { TORCH_CHECK(false, NAME " cannot merge ", (HEADS), " ", (DIM)); }')
    return "\n".join(lines) + "\n"


def _first_entry() -> str:
    text = _torch(today.REDUCER_ENTRY).replace(
        "MERGE_ROUTER(num_heads, head_dim, ", "MERGE_ROUTER(num_heads, head_dim, wg, "
    )
    return text.replace(
        "    if(num_tiles > 0)",
        "    const int wg = get_cu_num() > 100 ? 1 : 4;\n    if(num_tiles > 0)",
    )


def _switch_router() -> str:
    """The latest generation: a switch over the dtypes around the chain, names swapped."""
    chain = today.router().replace(
        "MERGE_ROUTER(HEADS, DIM, NAME,", "MERGE_CHAIN(HEADS, DIM, NAME,"
    )
    return chain + (
        "#define MERGE_ROUTER(OUT, DIM, HEADS, NAME, ...) \\\n"
        "    switch((OUT)) { \\\n"
        "    case AITER_DTYPE_bf16: { MERGE_CHAIN(HEADS, DIM, NAME, __VA_ARGS__) } break; \\\n"
        "    case AITER_DTYPE_fp16: { MERGE_CHAIN(HEADS, DIM, NAME, __VA_ARGS__) } break; \\\n"
        '    default: AITER_CHECK(false, NAME, " has no such output"); }\n'
    )


ROUTERS = {"chain": today.router(), "groups": _first_router(), "switch": _switch_router()}
ENTRIES = {
    "chain": today.REDUCER_ENTRY,
    "groups": _first_entry(),
    "switch": today.REDUCER_ENTRY.replace(
        "MERGE_ROUTER(num_heads, head_dim,",
        "MERGE_ROUTER(final_output.dtype(), head_dim, num_heads,",
    ),
}


def tree() -> Tree:
    """A release before the kernel table."""
    symbols = ("mla_bf16_h128", "mla_bf16_h16_ps", "mla_bf16_h16")
    return {
        **PACKAGE,
        today.PLANNER: PLANNER_TEXT,
        today.BINDING: BINDING_TEXT,
        today.HOST: HOST_TEXT,
        today.REDUCER: _torch(today.REDUCER_HEAD) + ROUTERS["groups"] + ENTRIES["groups"],
        today.DISPATCHER: DISPATCHER_TEXT,
        today.OPS: OPS_TEXT,
        **{f"hsa/gfx942/mla/{s}.co": code_object(s) for s in symbols},
    }

"""A small AITER in the layout of today: a planner in a header of its own, a kernel table, a
dispatcher that holds the same rule in Python, a reducer behind a macro.

The rule: 16 heads are native everywhere; gfx950 has 32 and 128 for fp8 and 64 for one query token;
bf16 is native on gfx950 as it is. Any other multiple of 16 folds to 16 heads.
"""

from __future__ import annotations

from tests.trees.common import PACKAGE, Row, Tree, tables

PLANNER = "csrc/kernels/mla/metadata/v1_2_device.cuh"
BINDING = "csrc/kernels/mla/metadata.cu"
HOST = "csrc/py_itfs_cu/asm_mla.cu"
REDUCER = "csrc/kernels/mla/reduce.cu"
DISPATCHER = "aiter/mla.py"
OPS = "aiter/ops/attention.py"
GLUON = "aiter/ops/triton/gluon/mla_gluon.py"
TABLE = "hsa/gfx950/mla/mla_asm.csv"

PLANNER_TEXT = """\
#pragma once
#include "aiter_hip_common.h"

struct PlanParams
{
    int32_t* p_work;
    int32_t num_batches;
    int32_t num_heads;
    int32_t uni_seqlen_qo;
    int32_t qk_batch_ratio;
    bool is_causal;
};

template <int kPacked>
__global__ void kn_plan(PlanParams params)
{
    params.p_work[0] = kPacked;
}

void get_mla_metadata_v1_2_device(const aiter_tensor_t& seqlens_qo_indptr,
                                  const aiter_tensor_t& seqlens_kv_indptr,
                                  const int32_t num_heads_per_head_k,
                                  const int32_t num_heads_k,
                                  const bool is_causal,
                                  const int32_t max_seqlen_qo,
                                  const int32_t ori_uni_seqlen_qo,
                                  const AiterDtype q_dtype,
                                  const AiterDtype kv_dtype,
                                  aiter_tensor_t& work_indptr)
{
    hipDevice_t dev;
    hipDeviceProp_t dev_prop;
    hipGetDevice(&dev);
    hipGetDeviceProperties(&dev_prop, dev);

    int32_t num_batches    = seqlens_kv_indptr.size(0) - 1;
    int32_t num_heads      = num_heads_k * num_heads_per_head_k;
    int32_t qk_batch_ratio = 1;

    auto arch_id = get_gpu_arch();

    const bool q_is_fp8  = (q_dtype == AITER_DTYPE_fp8);
    const bool kv_is_fp8 = (kv_dtype == AITER_DTYPE_fp8);

    const bool natively_supported =
        (num_heads == 16) ||
        ((arch_id == "gfx950") && !q_is_fp8 && !kv_is_fp8) ||
        ((arch_id == "gfx950") && q_is_fp8 && kv_is_fp8 &&
         ((num_heads == 32) || (num_heads == 128))) ||
        ((arch_id == "gfx950") && q_is_fp8 && kv_is_fp8 && (num_heads == 64) &&
         (max_seqlen_qo == 1));

    if(!natively_supported && (num_heads % 16 == 0))
    {
        qk_batch_ratio = num_heads / 16;
        num_heads      = 16;
        num_batches *= qk_batch_ratio;
    }

    AITER_CHECK(natively_supported || (num_heads == 16), __func__,
                ": cannot plan #heads=", num_heads);

    PlanParams params     = {};
    params.p_work         = static_cast<int32_t*>(work_indptr.data_ptr());
    params.num_batches    = num_batches;
    params.num_heads      = num_heads;
    params.uni_seqlen_qo  = ori_uni_seqlen_qo;
    params.qk_batch_ratio = qk_batch_ratio;
    params.is_causal      = is_causal;

    const hipStream_t stream = aiter::getCurrentHIPStream();
    kn_plan<128><<<dim3(1, 1, 1), dev_prop.warpSize, 0, stream>>>(params);
}
"""

BINDING_TEXT = """\
#include "aiter_hip_common.h"
#include "metadata/v1_2_device.cuh"

// Plans the work of a persistent launch.
void get_mla_metadata_v1(const aiter_tensor_t& seqlens_qo_indptr,
                         const aiter_tensor_t& seqlens_kv_indptr,
                         const int32_t num_heads_per_head_k,
                         const int32_t num_heads_k,
                         const bool is_causal,
                         aiter_tensor_t& work_indptr,
                         const int32_t max_seqlen_qo,
                         const int32_t uni_seqlen_qo,
                         const std::optional<int64_t> dtype_q,
                         const std::optional<int64_t> dtype_kv)
{
    AITER_CHECK(seqlens_qo_indptr.stride(0) == 1, __func__, ": indptr must be dense");
    const AiterDtype q_dtype =
        dtype_q.has_value() ? static_cast<AiterDtype>(dtype_q.value()) : AITER_DTYPE_bf16;
    const AiterDtype kv_dtype =
        dtype_kv.has_value() ? static_cast<AiterDtype>(dtype_kv.value()) : AITER_DTYPE_bf16;
    get_mla_metadata_v1_2_device(seqlens_qo_indptr, seqlens_kv_indptr, num_heads_per_head_k,
                                 num_heads_k, is_causal, max_seqlen_qo, uni_seqlen_qo, q_dtype,
                                 kv_dtype, work_indptr);
}
"""

HOST_TEXT = """\
#include "aiter_hip_common.h"
#include "asm_mla_configs.hpp"

struct __attribute__((packed)) HostArgs
{
    void* ptr_Q;
    unsigned int s_MQA;
};

std::string pick_kernel(std::string q_type, std::string kv_type, int gqa, int ps, int qlen,
                        std::string arch_id, CFG* cfgs, int lse)
{
    for(const auto& el : *cfgs)
    {
        if(el.first.find(arch_id) != 0)
            continue;
        const auto& cfg = el.second;
        if(cfg.qType != q_type || cfg.kvType != kv_type || cfg.Gqa != gqa || cfg.ps != ps)
            continue;
        if(cfg.qSeqLen != qlen || cfg.lse != lse)
            continue;
        return el.first;
    }
    AITER_CHECK(false, __func__, ": no kernel for gqa:", gqa, " qlen:", qlen, " lse:", lse);
    return "";
}

AITER_C_ITFS
void mla_decode_stage1_asm_fwd(aiter_tensor_t* Q,
                               aiter_tensor_t* KV,
                               aiter_tensor_t* num_kv_splits_indptr, // nullable
                               aiter_tensor_t* work_indptr,          // nullable
                               int max_seqlen_q,
                               int page_size,
                               int nhead_kv,
                               aiter_tensor_t* splitData,
                               aiter_tensor_t* output,
                               aiter_tensor_t* lse, // nullable
                               hipStream_t stream)
{
    const int gqa_ratio   = Q->size(1) / nhead_kv;
    const bool persistent = (num_kv_splits_indptr == nullptr);
    HostArgs args         = {};
    size_t arg_size       = sizeof(args);
    args.ptr_Q            = Q->data_ptr();
    args.s_MQA            = gqa_ratio * max_seqlen_q;

    AITER_CHECK(Q->is_contiguous(), __func__, ": Q must be dense");

    std::string q_type, kv_type;
    if(Q->dtype() == AITER_DTYPE_bf16)
        q_type = "bf16";
    else if(Q->dtype() == AITER_DTYPE_fp8)
        q_type = "fp8";
    else
        AITER_CHECK(false, __func__, ": dtype of Q");
    kv_type = (KV->dtype() == AITER_DTYPE_fp8) ? "fp8" : "bf16";

    std::string arch_id = get_gpu_arch();
    CFG* config_map     = &cfg_mla_asm;
    static SynchronizedCache<std::string_view, AiterAsmKernel> impl_ptr_map;

    int config_qlen = max_seqlen_q;
    int config_gqa  = gqa_ratio;
    if(q_type == "bf16" && persistent)
    {
        config_qlen = 4; // padding
    }
    else if(gqa_ratio == 128)
    {
        config_qlen = 0;
    }

    int lse_flag           = (lse != nullptr && persistent) ? 1 : 0;
    std::string kernelName = pick_kernel(q_type, kv_type, config_gqa, persistent ? 1 : 0,
                                         config_qlen, arch_id, config_map, lse_flag);
    AiterAsmKernel* impl_ptr = nullptr;
    auto it                  = config_map->find(kernelName);
    if(it != config_map->end())
    {
        const auto& cfg     = it->second;
        const char* name    = cfg.knl_name.c_str();
        const char* co_name = cfg.co_name.c_str();
        impl_ptr            = &impl_ptr_map.get_or_create(
            name, [&]() { return AiterAsmKernel(name, co_name); });
    }
    AITER_CHECK(impl_ptr != nullptr, __func__, ": no such kernel ", kernelName);
    impl_ptr->launch_kernel({&args, &arg_size, 1, 1, 1, 256, 1, 1, stream});
}
"""

ROUTED = ((16, 128), (8, 512), (16, 512), (32, 512), (64, 512), (96, 512), (128, 512))
"""(heads, head_dim) pairs of the reducer."""

REDUCER_HEAD = """\
#include "aiter_hip_common.h"

template <int kDim, int kHeads>
struct MergeTraits
{
    static constexpr int dim   = kDim;
    static constexpr int heads = kHeads;
};

template <typename Traits>
void merge(const aiter_tensor_t& partial_output, int num_splits)
{
    kn_merge<Traits><<<1, 64, 0, 0>>>(partial_output.data_ptr(), num_splits);
}
"""

REDUCER_ENTRY = """\

void mla_reduce_v1(const aiter_tensor_t& partial_output,
                   const aiter_tensor_t& partial_lse,
                   const aiter_tensor_t& reduce_indptr,
                   const int max_seqlen_q,
                   const int num_kv_splits,
                   aiter_tensor_t& final_output, std::optional<aiter_tensor_t> final_lse)
{
    const int num_tiles = reduce_indptr.size(0) - 1;
    const int num_heads = partial_output.size(-2);
    const int head_dim  = final_output.size(-1);
    if(num_tiles > 0)
    {
        MERGE_ROUTER(num_heads, head_dim, "mla_reduce_v1",
                     merge<Traits>(partial_output, num_kv_splits));
    }
}
"""


def router(cases: tuple[tuple[int, int], ...] = ROUTED) -> str:
    """The router as a chain of branches whose cases are macros."""
    lines = [
        "#define MERGE_CASE(HEADS_C, DIM_C, ...)                \\",
        "    {                                                  \\",
        "        using Traits = MergeTraits<(DIM_C), (HEADS_C)>; \\",
        "        __VA_ARGS__;                                   \\",
        "    }",
        "#define MERGE_IF(HEADS, HEADS_C, DIM, DIM_C, ...)       \\",
        "    if(((HEADS) == (HEADS_C)) && ((DIM) == (DIM_C)))    \\",
        "    MERGE_CASE(HEADS_C, DIM_C, __VA_ARGS__)",
        "#define MERGE_ROUTER(HEADS, DIM, NAME, ...)             \\",
    ]
    for at, (heads, dim) in enumerate(cases):
        word = "    else " if at else "    "
        lines.append(f"{word}MERGE_IF(HEADS, {heads}, DIM, {dim}, __VA_ARGS__) \\")
    lines.append('    else { AITER_CHECK(false, NAME, " cannot merge #heads=", (HEADS)); }')
    return "\n".join(lines) + "\n"


ROWS = {
    "gfx942": [
        Row("bf16", "bf16", 16, 1, 4),
        Row("bf16", "bf16", 16, 1, 4, 1),
        Row("fp8", "fp8", 16, 1, 1),
        Row("fp8", "fp8", 16, 0, 1),
    ],
    "gfx950": [
        *(Row("bf16", "bf16", heads, 1, 4) for heads in (16, 24, 32, 64, 96)),
        Row("bf16", "bf16", 16, 1, 4, 1),
        *(Row("fp8", "fp8", heads, 1, qlen) for heads in (16, 32) for qlen in (1, 2)),
        Row("fp8", "fp8", 16, 1, 1, 1),
        Row("fp8", "fp8", 64, 1, 1),
        Row("fp8", "fp8", 128, 1, 0),
        Row("fp8", "fp8", 16, 0, 1),
    ],
}


def tree() -> Tree:
    """The whole tree."""
    from tests.trees.python import DISPATCHER_TEXT, GLUON_TEXT, OPS_TEXT

    return {
        **PACKAGE,
        PLANNER: PLANNER_TEXT,
        BINDING: BINDING_TEXT,
        HOST: HOST_TEXT,
        REDUCER: REDUCER_HEAD + router() + REDUCER_ENTRY,
        DISPATCHER: DISPATCHER_TEXT,
        OPS: OPS_TEXT,
        GLUON: GLUON_TEXT,
        "aiter/ops/triton/__init__.py": "",
        "aiter/ops/triton/gluon/__init__.py": "",
        **tables(ROWS),
    }

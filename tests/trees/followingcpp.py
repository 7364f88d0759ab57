"""The C++ side of the layout that follows: rules in an included header, a plan, a bridge."""

from __future__ import annotations

SHAPE_TEXT = """\
#pragma once
#include "aiter_enum.h"
#include "mla_reduce_cases.h"
#include <string_view>

enum class HeadPlan : int32_t
{
    Native      = 0,
    Folded      = 1,
    Taken       = 2,
    Unsupported = 7,
};

struct PlanFlags
{
    bool experimental;
    bool wide;
};

struct Plan
{
    HeadPlan plan;
    bool natively_supported;
    int32_t qk_batch_ratio;
    int32_t kernel_num_heads;
    int32_t packed = 128;
};

inline constexpr int32_t kNarrow = 64;

namespace mla_shape_detail {

inline HeadPlan classify(const bool native, const int32_t ratio, const bool accepted)
{
    if(!accepted)
    {
        return HeadPlan::Unsupported;
    }
    if(ratio != 1)
        return HeadPlan::Folded;
    return native ? HeadPlan::Native : HeadPlan::Taken;
}

} // namespace mla_shape_detail

inline Plan head_plan_v1_2(const std::string_view arch_id,
                           int32_t num_heads,
                           const int32_t max_seqlen_qo,
                           const AiterDtype q_dtype,
                           const AiterDtype kv_dtype,
                           const PlanFlags flags)
{
    int32_t qk_batch_ratio = 1;
    auto is_fp8            = [](const AiterDtype dtype) { return dtype == AITER_DTYPE_fp8; };
    const bool both_fp8    = is_fp8(q_dtype) && is_fp8(kv_dtype);
    const bool none_fp8    = !is_fp8(q_dtype) && !is_fp8(kv_dtype);

    const bool wide_heads = flags.wide && (arch_id == "gfx1250") && both_fp8 &&
                            ((num_heads == 96) || ((num_heads == 64) && (max_seqlen_qo == 1)));
    const bool natively_supported =
        (num_heads == 16) || wide_heads || ((arch_id == "gfx950") && none_fp8) ||
        ((arch_id == "gfx950") && both_fp8 && ((num_heads == 32) || (num_heads == 128))) ||
        ((arch_id == "gfx950") && both_fp8 && (num_heads == 96) && (max_seqlen_qo <= 6)) ||
        ((arch_id == "gfx950") && both_fp8 && (num_heads == 12) &&
         ((num_heads * max_seqlen_qo) <= 128));

    if(!natively_supported && (num_heads % 16 == 0))
    {
        qk_batch_ratio = num_heads / 16;
        num_heads      = 16;
    }

    const bool accepted = natively_supported || (num_heads == 16) ||
                          ((arch_id == "gfx942") && (num_heads == 8) && none_fp8);
    return {mla_shape_detail::classify(natively_supported, qk_batch_ratio, accepted),
            natively_supported,
            qk_batch_ratio,
            num_heads,
            max_seqlen_qo > 3 ? kNarrow : 128};
}

inline int32_t decode_backend(const std::string_view arch_id,
                              const int32_t num_heads,
                              const bool fp8,
                              const PlanFlags flags)
{
    if(flags.wide && arch_id == "gfx1250" && fp8)
    {
        return num_heads == 96 ? 2 : 1;
    }
    return flags.experimental && num_heads == 128 ? 3 : 0;
}

#define MERGES_X(HEADS_C, DIM_C, HEADS, DIM) || (((HEADS) == (HEADS_C)) && ((DIM) == (DIM_C)))
inline bool reduce_supports(const int32_t num_heads, const int32_t head_dim)
{
    return false MLA_REDUCE_CASES(MERGES_X, num_heads, head_dim);
}
#undef MERGES_X
"""

ROUTER_TEXT = """\
#define MERGE_X(HEADS_C, DIM_C, HEADS, DIM, NAME, ...)   \\
    if(((HEADS) == (HEADS_C)) && ((DIM) == (DIM_C)))     \\
    {                                                    \\
        using Traits = MergeTraits<(DIM_C), (HEADS_C)>;  \\
        __VA_ARGS__;                                     \\
    }                                                    \\
    else
#define MERGE_ROUTER(HEADS, DIM, NAME, ...)                         \\
    MLA_REDUCE_CASES(MERGE_X, HEADS, DIM, NAME, __VA_ARGS__)        \\
    { AITER_CHECK(false, NAME, " cannot merge #heads=", (HEADS)); }
"""

PLAN_TEXT = """\

std::tuple<std::string, int64_t, bool, int64_t, int64_t, bool, int64_t>
get_mla_decode_head_plan_v1(const int64_t num_heads,
                            const int64_t max_seqlen_qo,
                            const int64_t dtype_q,
                            const int64_t dtype_kv,
                            const std::string& arch,
                            const int64_t experimental,
                            const int64_t wide)
{
    if(num_heads < 1)
    {
        throw std::invalid_argument("get_mla_decode_head_plan_v1: #heads");
    }
    auto env_flag = [](const char* name) {
        return std::getenv(name) != nullptr && std::atoi(std::getenv(name)) != 0;
    };
    const std::string arch_id = arch.empty() ? get_gpu_arch() : arch;
    const PlanFlags flags{
        experimental < 0 ? env_flag("AITER_ENABLE_EXPERIMENTAL") : experimental != 0,
        wide < 0 ? env_flag("AITER_MLA_DECODE_PS1_FLYDSL") : wide != 0};
    const AiterDtype q_dtype  = static_cast<AiterDtype>(dtype_q);
    const AiterDtype kv_dtype = static_cast<AiterDtype>(dtype_kv);
    const Plan p = head_plan_v1_2(arch_id, static_cast<int32_t>(num_heads),
                                  static_cast<int32_t>(max_seqlen_qo), q_dtype, kv_dtype, flags);
    return {arch_id,
            static_cast<int64_t>(p.plan),
            p.natively_supported,
            p.qk_batch_ratio,
            p.kernel_num_heads,
            reduce_supports(p.kernel_num_heads, 512),
            decode_backend(arch_id, static_cast<int32_t>(num_heads), q_dtype == AITER_DTYPE_fp8,
                           flags)};
}
"""

BRIDGE_TEXT = """\
#pragma once
#include "aiter_hip_common.h"

#define AITER_CTYPES_ERROR_DEF                                             \\
    thread_local std::string g_aiter_last_error;                           \\
    AITER_C_ITFS const char* aiter_get_last_error()                        \\
    {                                                                      \\
        return g_aiter_last_error.empty() ? nullptr : g_aiter_last_error.c_str(); \\
    }

template <typename Func>
inline int aiter_safe_call(std::string& error, Func&& fn)
{
    const bool before               = aiter_detail::g_aiter_can_throw;
    aiter_detail::g_aiter_can_throw = true;
    error.clear();
    try
    {
        int ret                         = fn();
        aiter_detail::g_aiter_can_throw = before;
        return ret;
    }
    catch(const std::exception& e)
    {
        aiter_detail::g_aiter_can_throw = before;
        error                           = e.what();
        return -1;
    }
}

#define AITER_CTYPES_DEFINE_ENTRYPOINT_VOID(func, DECL_ARGS, CALL_ARGS) \\
    static void func##_impl DECL_ARGS;                                  \\
    AITER_C_ITFS int func DECL_ARGS                                     \\
    {                                                                   \\
        return aiter_safe_call(g_aiter_last_error, [&]() -> int {       \\
            func##_impl CALL_ARGS;                                      \\
            return 0;                                                   \\
        });                                                             \\
    }                                                                   \\
    static void func##_impl DECL_ARGS
"""

SECOND_ENTRY = """\

AITER_CTYPES_DEFINE_ENTRYPOINT_VOID(
    mla_ps1_fp8_asm_fwd,
    (aiter_tensor_t* q, aiter_tensor_t* work_indptr, aiter_tensor_t* final_lse, // nullable
     int max_seqlen_q, int causal, hipStream_t stream),
    (q, work_indptr, final_lse, max_seqlen_q, causal, stream))
{
    const std::string arch_id = get_gpu_arch();
    AITER_CHECK(arch_id == "gfx1250", __func__, ": needs gfx1250, got ", arch_id);
    const int num_heads  = q->size(1);
    const int lse_flag   = final_lse != nullptr ? 1 : 0;
    auto dense           = [](const aiter_tensor_t* t, const char* name) {
        AITER_CHECK(t != nullptr && t->is_contiguous(), name, " must be dense");
    };
    dense(work_indptr, "work_indptr");
    const mla_dsl::mla_dslConfig* cfg = nullptr;
    for(const auto& el : mla_dsl::cfg_mla_dsl)
    {
        const auto& c = el.second;
        if(el.first.find(arch_id) == 0 && c.qType == "fp8" && c.Gqa == num_heads &&
           (c.qSeqLen == 0 || c.qSeqLen == max_seqlen_q) && c.lse == lse_flag)
        {
            cfg = &c;
            break;
        }
    }
    AITER_CHECK(cfg != nullptr, __func__, ": no code object for ", num_heads, " heads");
    static SynchronizedCache<std::string_view, AiterAsmKernel> impl_ptr_map;
    const char* name    = cfg->knl_name.c_str();
    const char* co_name = cfg->co_name.c_str();
    AiterAsmKernel* impl_ptr =
        &impl_ptr_map.get_or_create(name, [&]() { return AiterAsmKernel(name, co_name); });
    HostArgs args{};
    size_t arg_size = sizeof(args);
    impl_ptr->launch_kernel({&args, &arg_size, 1, 1, 1, 256, 1, 1, stream,
                             static_cast<unsigned int>(cfg->dyn_lds)});
}
"""

"""What a tree needs to prefill: two entry points, a plan made on the host, rows of the table.

With work metadata: 8 query heads per KV head or one, fp8, on gfx950, merged at head_dim 128 (16
heads, ``today.ROUTED``). Without: 16 query heads for the one latent KV head, bf16.
"""

from __future__ import annotations

from tests.trees import today
from tests.trees.common import Tree, changed

ENTRY_TEXT = """

def mla_prefill_fwd(
    q, kv_buffer, o, qo_indptr, kv_indptr, kv_indices, kv_last_page_lens, max_seqlen_q,
    sm_scale=None, num_kv_splits=None,
):
    rows, nhead, v_head_dim = o.shape
    logits = o.view(rows, 1, nhead, v_head_dim)
    aiter.mla_prefill_asm_fwd(q, kv_buffer, qo_indptr, max_seqlen_q, logits)
    return o, None


def mla_prefill_ps_fwd(
    Q, K, V, output, qo_indptr, kv_indptr, kv_page_indices, work_indptr, work_info_set,
    max_seqlen_q, is_causal, reduce_indptr=None, reduce_final_map=None, reduce_partial_map=None,
    softmax_scale=None, q_scale=None, k_scale=None, v_scale=None,
):
    total_s, nhead, v_head_dim = output.shape
    rows = reduce_partial_map.size(0) * 256
    logits = torch.empty((rows, nhead, v_head_dim), dtype=dtypes.fp32)
    attn_lse = torch.empty((rows, nhead), dtype=dtypes.fp32)
    aiter.mla_prefill_ps_asm_fwd(Q, K, V, work_indptr, max_seqlen_q, is_causal, logits, output)
    aiter.mla_reduce_v1(logits, attn_lse, reduce_indptr, 256, 0, output)
    return output, attn_lse
"""

OPS_TEXT = """

@compile_ops("module_mla_asm", ffi_type="ctypes")
def mla_prefill_asm_fwd(
    Q: torch.Tensor, KV: torch.Tensor, qo_indptr: torch.Tensor, max_seqlen_q: int,
    splitData: torch.Tensor,
) -> None: ...


@compile_ops("module_mla_asm", ffi_type="ctypes")
def mla_prefill_ps_asm_fwd(
    Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor, work_indptr: torch.Tensor,
    max_seqlen_q: int, is_causal: bool, splitData: torch.Tensor, output: torch.Tensor,
) -> None: ...


def get_ps_metadata_info_v1(batch_size, num_head_k, max_qlen, qlen_granularity=256):
    assert num_head_k <= 112, f"{num_head_k=} is too many"
    tiles = batch_size * math.ceil(max_qlen / qlen_granularity)
    return (
        (2, torch.uint64),
        (get_cu_num() + 1, torch.int32),
        ((tiles * num_head_k, 8), torch.int32),
        (tiles + 1, torch.int32),
        ((tiles, 2), torch.int32),
        (tiles, torch.int32),
    )
"""

PLANNER_TEXT = """
inline int common_divisor(int a, int b)
{
    while(b != 0)
    {
        int rest = a % b;
        a        = b;
        b        = rest;
    }
    return a;
}

void get_ps_metadata_v1_2_host(const aiter_tensor_t& seqlens_qo_indptr, const int32_t num_heads_k,
                               aiter_tensor_t& work_indptr, const int32_t kvlen_granularity,
                               const int32_t block_size)
{
    hipDeviceProp_t dev_prop;
    hipGetDeviceProperties(&dev_prop, 0);
    assert(kvlen_granularity % block_size == 0);
    const int32_t clusters = common_divisor(num_heads_k, dev_prop.multiProcessorCount);
    const int32_t batch    = seqlens_qo_indptr.size(0) - 1;
    std::vector<int32_t> lengths(batch);
    std::vector<int32_t> works;
    for(int32_t c = 0; c < clusters; c++)
    {
        for(int32_t b = 0; b < batch; b++)
        {
            if(lengths[b] > c)
            {
                works.push_back(std::min(lengths[b], b));
            }
        }
    }
}

void get_ps_metadata_v1(const aiter_tensor_t& seqlens_qo_indptr,
                        const aiter_tensor_t& pages_kv_indptr,
                        const aiter_tensor_t& context_lens,
                        const int32_t gqa_ratio,
                        const int32_t num_heads_k,
                        aiter_tensor_t& work_indptr,
                        const int32_t qlen_granularity,
                        const int32_t kvlen_granularity,
                        const int32_t block_size,
                        const bool is_causal)
{
    AITER_CHECK(gqa_ratio <= 64, __func__, ": too many heads share a KV head: ", gqa_ratio);
    get_ps_metadata_v1_2_host(seqlens_qo_indptr, num_heads_k, work_indptr, kvlen_granularity,
                              block_size);
}
"""

HOST_TEXT = """
std::string pick_prefill(std::string q_type, int gqa, int ps, int causal, std::string arch_id,
                         CFG* cfgs)
{
    for(const auto& el : *cfgs)
    {
        const auto& cfg = el.second;
        if(el.first.find(arch_id) == 0 && cfg.qType == q_type && cfg.Gqa == gqa && cfg.ps == ps &&
           cfg.prefill == 1 && cfg.causal == causal)
            return el.first;
    }
    AITER_CHECK(false, __func__, ": no prefill kernel for gqa:", gqa);
    return "";
}

void launch_prefill(std::string name, HostArgs& args, hipStream_t stream)
{
    static SynchronizedCache<std::string_view, AiterAsmKernel> impl_ptr_map;
    CFG* config_map          = &cfg_mla_asm;
    size_t arg_size          = sizeof(args);
    const auto& cfg          = config_map->find(name)->second;
    AiterAsmKernel* impl_ptr = &impl_ptr_map.get_or_create(cfg.knl_name.c_str(), [&]() {
        return AiterAsmKernel(cfg.knl_name.c_str(), cfg.co_name.c_str());
    });
    impl_ptr->launch_kernel({&args, &arg_size, 1, 1, 1, 256, 1, 1, stream});
}

AITER_C_ITFS
void mla_prefill_asm_fwd(aiter_tensor_t* Q, aiter_tensor_t* KV, aiter_tensor_t* qo_indptr,
                         int max_seqlen_q, aiter_tensor_t* splitData, hipStream_t stream)
{
    AITER_CHECK(KV->size(2) == 1, __func__, ": one KV head");
    AITER_CHECK(Q->size(1) == 16, __func__, ": 16 heads, not ", Q->size(1));
    AITER_CHECK(Q->dtype() == AITER_DTYPE_bf16, __func__, ": bf16");
    HostArgs args = {};
    launch_prefill(pick_prefill("bf16", 16, 0, 0, get_gpu_arch(), &cfg_mla_asm), args, stream);
}

AITER_C_ITFS
void mla_prefill_ps_asm_fwd(aiter_tensor_t* Q, aiter_tensor_t* K, aiter_tensor_t* V,
                            aiter_tensor_t* work_indptr, int max_seqlen_q, int is_causal,
                            aiter_tensor_t* splitData, aiter_tensor_t* output, hipStream_t stream)
{
    const int gqa_ratio = Q->size(1) / K->size(1);
    AITER_CHECK(Q->dtype() == AITER_DTYPE_fp8, __func__, ": fp8");
    HostArgs args    = {};
    std::string name = pick_prefill("fp8", gqa_ratio, 1, is_causal ? 1 : 0, get_gpu_arch(),
                                    &cfg_mla_asm);
    launch_prefill(name, args, stream);
}
"""

ROWS = [
    ("bf16", 16, 0, 0, "pfl_bf16"),
    ("fp8", 1, 1, 1, "pfl_fp8_causal"),
    ("fp8", 1, 1, 0, "pfl_fp8"),
    ("fp8", 8, 1, 1, "pfl_fp8_gqa8"),
]


def tree() -> Tree:
    """Today's tree, and what prefills."""
    from tests.trees.common import code_object

    found = dict(today.tree())
    for path, text in (
        (today.DISPATCHER, ENTRY_TEXT),
        (today.OPS, OPS_TEXT),
        (today.BINDING, PLANNER_TEXT),
        (today.HOST, HOST_TEXT),
    ):
        found[path] = str(found[path]) + text
    rows = "".join(
        f"{dtype},{dtype},{gqa},{ps},0,1,{causal},0,0,{name},{name}.co\n"
        for dtype, gqa, ps, causal, name in ROWS
    )
    found[today.TABLE] = str(found[today.TABLE]) + rows
    for *_, name in ROWS:
        found[f"hsa/gfx950/mla/{name}.co"] = code_object(name)
    return found


def refusing() -> Tree:
    """The same; what plans the work may refuse inside of its loops."""
    return changed(
        tree(),
        today.BINDING,
        (
            "works.push_back(std::min(lengths[b], b));",
            'AITER_CHECK(lengths[b] < 7, __func__, ": a long one");',
        ),
    )

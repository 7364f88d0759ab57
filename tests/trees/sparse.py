"""What a tree needs to decode over picked tokens: an entry point with a kernel compiled in."""

from __future__ import annotations

from tests.trees import today
from tests.trees.common import Tree

ENTRY_TEXT = """

def mla_decode_fwd_ds32(
    q_nope_buffer, q_rope_buffer, kv_nope_buffer, kv_rope_buffer, o, qo_indptr, kv_indptr,
    kv_indices, kv_last_page_lens, max_seqlen_q, page_size=1, num_kv_splits=None, work_indptr=None,
    work_info_set=None, reduce_indptr=None, reduce_final_map=None, reduce_partial_map=None,
    q_scale=None, kv_scale=None, return_lse=False,
):
    assert get_gfx() == "gfx950", "only gfx950"
    total_s, heads, dim = q_nope_buffer.shape
    rows = reduce_partial_map.size(0) * max_seqlen_q
    logits = torch.empty((rows, 1, heads, dim), dtype=dtypes.fp32)
    attn_lse = torch.empty((rows, 1, heads, 1), dtype=dtypes.fp32)
    aiter.ds32_opus_fwd(
        q_nope_buffer, kv_nope_buffer, work_indptr, max_seqlen_q, page_size, logits, kv_scale
    )
    aiter.mla_reduce_v1(logits, attn_lse, reduce_indptr, max_seqlen_q, num_kv_splits, o)
    return o, None
"""

OPS_TEXT = """

@compile_ops("module_ds32")
def ds32_opus_fwd(
    q: torch.Tensor, kv: torch.Tensor, work_indptr: torch.Tensor, max_seqlen_q: int,
    page_size: int, logits: torch.Tensor, kv_scale: torch.Tensor,
) -> None: ...
"""

HOST = "csrc/kernels/mla/ds32.cu"
HOST_TEXT = """\
#include "aiter_hip_common.h"

template <int kTile>
struct PickedTraits
{
    static constexpr int kDim   = 512;
    static constexpr int kScale = kDim / 32;
    static constexpr int kRows  = kTile * 2;
};

template <typename Traits>
__global__ void kn_picked(void* q)
{
}

void ds32_opus_fwd(aiter_tensor_t& q, aiter_tensor_t& kv, aiter_tensor_t& work_indptr,
                   const int max_seqlen_q, const int page_size, aiter_tensor_t& logits,
                   aiter_tensor_t& kv_scale)
{
    using Traits = PickedTraits<16>;
    AITER_CHECK(page_size == 1, "one token per page, not ", page_size);
    AITER_CHECK(q.dtype() == AITER_DTYPE_fp8, "fp8");
    AITER_CHECK(kv_scale.size(-1) == Traits::kScale, "scales: ", kv_scale.size(-1));
    kn_picked<Traits><<<dim3(4, 1, 1), 64, 0, nullptr>>>(q.data_ptr());
}
"""


def tree() -> Tree:
    """Today's tree, and what decodes over picked tokens."""
    found = dict(today.tree())
    found[today.DISPATCHER] = str(found[today.DISPATCHER]) + ENTRY_TEXT
    found[today.OPS] = str(found[today.OPS]) + OPS_TEXT
    found[HOST] = HOST_TEXT
    return found

"""The Python side of the trees: the dispatcher, the operations with the sizing, the gluon route."""

from __future__ import annotations

OPS_TEXT = '''\
import math

import torch

from aiter.utility import dtypes

from ..jit.core import compile_ops, is_experimental_enabled
from ..jit.utils.chip_info import get_cu_num, get_gfx


@compile_ops("module_mla_asm", ffi_type="ctypes")
def mla_decode_stage1_asm_fwd(
    Q: torch.Tensor,
    KV: torch.Tensor,
    num_kv_splits_indptr: torch.Tensor | None,
    work_indptr: torch.Tensor | None,
    max_seqlen_q: int,
    page_size: int,
    nhead_kv: int,
    splitData: torch.Tensor,
    output: torch.Tensor,
    lse: torch.Tensor | None = None,
) -> None: ...


@compile_ops("module_mla_hk")
def hk_mla_decode_fwd(
    q: torch.Tensor, kv: torch.Tensor, work_indptr: torch.Tensor, max_seqlen_q: int
) -> None: ...


@compile_ops("module_mla_reduce")
def mla_reduce_v1(
    partial_output: torch.Tensor,
    partial_lse: torch.Tensor,
    reduce_indptr: torch.Tensor,
    max_seqlen_q: int,
    num_kv_splits: int,
    final_output: torch.Tensor, final_lse: torch.Tensor | None = None,
) -> None: ...


def get_mla_metadata_info_v1(
    batch_size: int,
    max_seqlen_qo: int,
    num_head_qo: int,
    q_dtype: torch.dtype,
    kv_dtype: torch.dtype,
    is_sparse: bool,
    fast_mode: bool = True,
):
    """Sizes of the metadata buffers."""
    assert num_head_qo % 8 == 0, f"{num_head_qo=} is no multiple of 8"
    tiles = math.ceil(max_seqlen_qo * num_head_qo / 128)
    work = (batch_size + get_cu_num() - 1) * tiles
    return (
        (2, torch.uint64),
        (get_cu_num() + 1, torch.int32),
        ((work, 8), torch.int32),
        (batch_size * tiles + 1, torch.int32),
        ((batch_size * tiles, 2), torch.int32),
        (work, torch.int32),
    )
'''

DISPATCHER_TEXT = """\
import functools
import os

import torch
import triton

import aiter
from aiter import dtypes
from aiter.jit.core import is_experimental_enabled
from aiter.jit.utils.chip_info import get_cu_num, get_gfx

_MAX_BATCH = 32


@functools.lru_cache(maxsize=1)
def _max_batch():
    return int(os.getenv("AITER_MLA_DECODE_PERSISTENT_MAX_BATCH", _MAX_BATCH))


def _split_count(total_kv, bs, nhead, max_seqlen_q):
    blocks = {16: 128, 32: 64, 64: 64, 128: 32}
    block = blocks[nhead * max_seqlen_q]
    return min(get_cu_num(), (total_kv + bs * block - 1) // (bs * block))


def mla_decode_fwd(
    q,
    kv_buffer,
    o,
    qo_indptr,
    kv_indptr,
    kv_indices,
    kv_last_page_lens,
    max_seqlen_q,
    page_size=1,
    nhead_kv=1,
    num_kv_splits=None,
    num_kv_splits_indptr=None,
    work_meta_data=None,
    work_indptr=None,
    work_info_set=None,
    reduce_indptr=None,
    reduce_partial_map=None,
    return_lse=False,
):
    total_s, nhead, v_head_dim = o.shape
    ori_total_s, ori_nhead = total_s, nhead
    bs = qo_indptr.shape[0] - 1
    persistent = work_meta_data is not None
    if persistent and nhead == 16 and q.dtype == dtypes.bf16 and get_gfx() == "gfx950":
        persistent = bs < _max_batch()
    final_lse = torch.empty((total_s, nhead), dtype=dtypes.fp32) if return_lse else None

    if not persistent:
        num_kv_splits = _split_count(kv_indices.shape[0], bs, nhead, max_seqlen_q)
        logits = torch.empty((total_s, num_kv_splits, nhead, v_head_dim), dtype=dtypes.fp32)
        splits = torch.arange(0, bs + 1, dtype=torch.int)
        aiter.mla_decode_stage1_asm_fwd(
            q, kv_buffer, splits, None, max_seqlen_q, page_size, nhead_kv, logits, o, final_lse
        )
        return logits, final_lse

    if (
        nhead == 16
        or (get_gfx() == "gfx950" and q.dtype == dtypes.bf16 and kv_buffer.dtype == dtypes.bf16)
        or (
            get_gfx() == "gfx950"
            and q.dtype == dtypes.fp8
            and kv_buffer.dtype == dtypes.fp8
            and (nhead == 32 or nhead == 128 or (nhead == 64 and max_seqlen_q == 1))
        )
    ):
        # taken as it is
        pass
    elif nhead in range(32, 128 + 1, 16):
        fold_factor = nhead // 16
        nhead = 16
        total_s = ori_total_s * fold_factor
        if max_seqlen_q == 1:
            q = q.view(total_s, nhead, -1)
        else:
            q = (
                q.reshape(ori_total_s // max_seqlen_q, max_seqlen_q, ori_nhead // nhead, nhead, -1)
                .permute(0, 2, 1, 3, 4)
                .reshape(total_s, nhead, -1)
            )
        o = o.view(total_s, nhead, -1)
        final_lse = torch.empty((total_s, nhead), dtype=dtypes.fp32) if return_lse else None
    else:
        assert False, f"{nhead=} and {max_seqlen_q=} not supported"

    rows = reduce_partial_map.size(0) * max_seqlen_q
    logits = torch.empty((rows, 1, nhead, v_head_dim), dtype=dtypes.fp32)
    attn_lse = torch.empty((rows, 1, nhead, 1), dtype=dtypes.fp32)
    if is_experimental_enabled() and nhead * max_seqlen_q == 128:
        aiter.hk_mla_decode_fwd(q, kv_buffer, work_indptr, max_seqlen_q)
    else:
        aiter.mla_decode_stage1_asm_fwd(
            q,
            kv_buffer,
            num_kv_splits_indptr,
            work_indptr,
            max_seqlen_q,
            page_size,
            nhead_kv,
            logits,
            o,
            final_lse,
        )
    aiter.mla_reduce_v1(logits, attn_lse, reduce_indptr, max_seqlen_q, get_cu_num(), o, final_lse)
    return logits, final_lse
"""

GLUON_TEXT = """\
import triton
from triton.experimental import gluon

from aiter.jit.utils.chip_info import get_gfx


@gluon.jit
def _mla_decode(q, kv, o, page_table, seq_info, scale, HEADS: gluon.constexpr):
    pass


def mla_gluon(
    q_nope, q_pe, kv_c, o, page_table, seq_info, sm_scale, k_pe=None, min_kv_seq_len=1,
    return_lse=False,
):
    assert get_gfx() == "gfx950", "mla_gluon needs gfx950"
    assert q_nope.dim() in (3, 4), f"q_nope has {q_nope.dim()} dimensions"
    heads = q_nope.shape[-2]
    assert heads <= 16, f"mla_gluon takes up to 16 heads, got {heads}"
    grid = (q_nope.shape[0], triton.cdiv(heads, 16))
    _mla_decode[grid](q_nope, kv_c, o, page_table, seq_info, sm_scale, HEADS=heads)
    return o, None
"""

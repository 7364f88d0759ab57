"""What a tree needs to launch kernels from Python: a decode that tiles heads, one with a file of
configurations for each arch, and sparse attention by the arch. Our own text."""

from __future__ import annotations

from tests.trees import today
from tests.trees.common import Tree

KERNELS_TEXT = """\
import triton


@triton.jit
def _tiled_kernel(q, out):
    pass


@triton.jit
def _merging_kernel(parts, out):
    pass
"""
GLUON_TEXT = """\
from triton.experimental import gluon


@gluon.jit
def _picked_kernel(q, out):
    pass
"""
ARCH_TEXT = """\
import triton


def get_arch():
    return triton.runtime.driver.active.get_current_target().arch
"""
DECODE_TEXT = """\
import torch
import triton

from aiter.ops.triton.kernels import _merging_kernel, _tiled_kernel
from aiter.ops.triton.utils.device import get_cu_num


def mla_decode_fwd(
    q, kv_buffer, out, cu_seqlens_q, seqused_k, max_seqlen_kv, block_tables, softmax_scale,
    kv_lora_rank, qk_rope_head_dim, causal, q_descale, kv_descale,
):
    assert causal, "a mask is always applied"
    tokens, heads, width = q.shape
    assert kv_lora_rank + qk_rope_head_dim == width
    rows = triton.next_power_of_2(heads)
    assert rows // heads >= 1 and rows <= 64, f"{heads} heads are too many"
    splits = 1 if get_cu_num() < 100 else 4
    parts = torch.empty((tokens, splits, heads, kv_lora_rank), dtype=torch.float32)
    _tiled_kernel[(tokens, triton.cdiv(heads, rows), splits)](q, parts)
    if splits > 1:
        _merging_kernel[(tokens, heads)](parts, out)
    return out
"""
ROPE_TEXT = """\
import copy
import json
import os

from aiter.ops.triton.arch import get_arch
from aiter.ops.triton.kernels import _merging_kernel, _tiled_kernel

FOLDER = os.path.abspath(f"{os.path.dirname(os.path.abspath(__file__))}/../configs")


def _configuration():
    if not hasattr(_configuration, "_read"):
        with open(f"{FOLDER}/{get_arch()}-ROPE.json", "r") as file:
            _configuration._read = json.load(file)
    return _configuration._read


def decode_attention_fwd_grouped_rope(
    q, k_buffer, v_buffer, o, kv_indptr, kv_indices, k_pe_tokens, kv_lora_rank, rotary_dim,
    cos_sin_cache, positions, attn_logits, num_kv_splits, sm_scale, config=None,
):
    if config is None:
        config = copy.deepcopy(_configuration())
    config["splits"] = num_kv_splits
    assert q.shape[1] <= config["most_heads"], f"{q.shape[1]} heads"
    _tiled_kernel[(q.shape[0],)](q, attn_logits, **config)
    _merging_kernel[(q.shape[0],)](attn_logits, o)
"""
SPARSE_TEXT = """\
from aiter.ops.triton.kernels import _tiled_kernel


def unified_attention_sparse_mla(
    q, kv, out, cu_seqlens_q, max_seqlen_q, seqused_k, max_seqlen_k, softmax_scale,
    topk_indices, block_table, kv_lora_rank,
):
    _tiled_kernel[(q.shape[0] * (q.shape[1] // 16),)](q, out)
"""
PICKED_TEXT = """\
import torch
import triton

from aiter.ops.triton.arch import get_arch
from aiter.ops.triton.gluon_kernels import _picked_kernel
from aiter.ops.triton.kernels import _tiled_kernel

ARCH = get_arch()


def pa_decode_sparse(
    q, unified_kv, kv_indices, kv_indptr, attn_sink, softmax_scale, kv_scales=None
):
    if q.dtype not in (torch.bfloat16, torch.float16):
        raise RuntimeError(f"no kernel for {q.dtype}")
    if kv_scales is None:
        assert unified_kv.dtype == q.dtype
    else:
        assert kv_scales.shape == (unified_kv.shape[0], unified_kv.shape[1] // 64)
    impl = _picked_kernel if ARCH == "gfx950" else _tiled_kernel
    sink = attn_sink if ARCH == "gfx950" else attn_sink or torch.empty(1)
    impl[(q.shape[0],)](q, sink)
    return q
"""
FOLDER = "aiter/ops/triton"


def tree() -> Tree:
    """Today's tree with all of them; gfx942 and gfx950 have a configuration."""
    found: Tree = {
        **today.tree(),
        f"{FOLDER}/__init__.py": "",
        f"{FOLDER}/attention/__init__.py": "",
        f"{FOLDER}/kernels.py": KERNELS_TEXT,
        f"{FOLDER}/gluon_kernels.py": GLUON_TEXT,
        f"{FOLDER}/arch.py": ARCH_TEXT,
        f"{FOLDER}/utils/device.py": "def get_cu_num():\n    return None\n",
        f"{FOLDER}/attention/mla.py": DECODE_TEXT,
        f"{FOLDER}/attention/mla_decode_rope.py": ROPE_TEXT,
        f"{FOLDER}/attention/unified_attention_sparse_mla.py": SPARSE_TEXT,
        f"{FOLDER}/attention/pa_decode_sparse.py": PICKED_TEXT,
        f"{FOLDER}/configs/gfx942-ROPE.json": '{"most_heads": 16, "rows": 8}',
        f"{FOLDER}/configs/gfx950-ROPE.json": '{"most_heads": 64, "rows": 16}',
    }
    return found

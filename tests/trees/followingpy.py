"""The Python side of the layout that follows: it asks the compiled plan."""

from __future__ import annotations

from tests.trees import python

_ASKING = """\
import enum as _enum
import functools as _functools
import math
import re
from collections import namedtuple as _namedtuple

import torch

from aiter.utility import dtypes
from aiter.utility.aiter_types import aiter_dtypes as _dtype_ids

from ..jit.core import compile_ops, env_flag_atoi, is_experimental_enabled
from ..jit.utils.chip_info import get_cu_num, get_gfx


@compile_ops("module_mla_metadata", fc_name="get_mla_decode_head_plan_v1")
def _head_plan(
    num_heads: int,
    max_seqlen_qo: int,
    dtype_q: int,
    dtype_kv: int,
    arch: str,
    experimental: int,
    wide: int,
) -> tuple[str, int, bool, int, int, bool, int]: ...


class _Kind(_enum.IntEnum):
    NATIVE = 0
    FOLDED = 1
    TAKEN = 2
    UNSUPPORTED = 7


class _Backend(_enum.IntEnum):
    ASM = 0
    FLYDSL = 1
    PS1_ASM = 2
    HK = 3


_Plan = _namedtuple("_Plan", "arch kind native ratio heads merges backend")
_IDS = {
    torch.float8_e4m3fn: _dtype_ids["fp8"],
    torch.float8_e4m3fnuz: _dtype_ids["fp8"],
    torch.bfloat16: _dtype_ids["bf16"],
    torch.float16: _dtype_ids["fp16"],
}


@_functools.cache
def _cpp_arch(device: int) -> str:
    return _head_plan(16, 1, _dtype_ids["bf16"], _dtype_ids["bf16"], "", *(0,) * 2)[0]


@_functools.lru_cache(maxsize=1024)
def _cached(num_heads, qlen, q_id, kv_id, arch, experimental, wide, asm_only):
    plan = _Plan(*_head_plan(num_heads, qlen, q_id, kv_id, arch, int(experimental), int(wide)))
    return plan._replace(backend=_Backend.ASM) if asm_only else plan


def mla_head_plan(num_heads, qlen, q_dtype, kv_dtype, *, arch=None):
    unlisted = any(d not in _IDS for d in (q_dtype, kv_dtype))
    fallback = _IDS[torch.bfloat16]
    return _cached(
        int(num_heads),
        int(qlen),
        _IDS.get(q_dtype, fallback),
        _IDS.get(kv_dtype, fallback),
        arch if arch is not None else _cpp_arch(torch.cuda.current_device()),
        env_flag_atoi("AITER_ENABLE_EXPERIMENTAL"),
        env_flag_atoi("AITER_MLA_DECODE_PS1_FLYDSL"),
        unlisted,
    )


@compile_ops("module_mla_asm", ffi_type="ctypes")
def mla_ps1_fp8_asm_fwd(
    q: torch.Tensor,
    work_indptr: torch.Tensor,
    final_lse: torch.Tensor | None,
    max_seqlen_q: int,
    causal: bool,
) -> None: ...
"""

OPS_TEXT = (
    (_ASKING + python.OPS_TEXT[python.OPS_TEXT.index("\n\n@compile_ops") :])
    .replace("num_head_qo % 8 == 0", "num_head_qo % 4 == 0")
    .replace("multiple of 8", "multiple of 4")
)

_START = python.DISPATCHER_TEXT.index("    if (\n        nhead == 16")
_END = python.DISPATCHER_TEXT.index("        # taken as it is")

DISPATCHER_TEXT = (
    (
        python.DISPATCHER_TEXT[:_START]
        + """\
    plan = mla_head_plan(nhead, max_seqlen_q, q.dtype, kv_buffer.dtype)
    wide = plan.backend in (_Backend.FLYDSL, _Backend.PS1_ASM)
    if wide or plan.kind in (_Kind.NATIVE, _Kind.TAKEN):
"""
        + python.DISPATCHER_TEXT[_END:]
    )
    .replace(
        "    elif nhead in range(32, 128 + 1, 16):\n        fold_factor = nhead // 16\n"
        "        nhead = 16\n",
        "    elif plan.kind == _Kind.FOLDED:\n        fold_factor = plan.ratio\n"
        "        nhead = plan.heads\n",
    )
    .replace(
        "    if is_experimental_enabled() and nhead * max_seqlen_q == 128:\n",
        """\
    if plan.backend == _Backend.PS1_ASM:
        aiter.mla_ps1_fp8_asm_fwd(q, work_indptr, final_lse, max_seqlen_q, True)
    elif plan.backend == _Backend.FLYDSL:
        from aiter.ops.flydsl.mla_kernels import flydsl_mla_fp8

        flydsl_mla_fp8(logits, q, kv_buffer, work_indptr, max_seqlen_q=max_seqlen_q)
    elif plan.backend == _Backend.HK:
""",
    )
    .replace(
        "from aiter.jit.core import is_experimental_enabled\n",
        "from aiter.ops.attention import _Backend, _Kind, mla_head_plan\n",
    )
)

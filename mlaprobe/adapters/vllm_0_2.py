"""The decisions of vLLM 0.2x's ROCm AITER MLA back end, by its own names and arguments.

Needs no vLLM, and no AITER where a snapshot is given (``configure``). PyTorch is imported by the
functions that take tensors, which can be compiled (``torch.compile(fullgraph=True)``). Two
environment variables are honoured, in any case:

``VLLM_ROCM_AITER_MLA_PAD_TO_NATIVE_SHAPE``
    ``auto``, ``off`` (the default) or ``force``: how far heads are padded.
``VLLM_ROCM_AITER_MLA_ASM_PADDING``
    ``auto`` (the default), ``gluon`` or ``asm``: which kernel serves fewer than 16 heads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mlaprobe.adapters.settings import arch_for, capability_for, configure, knobs
from mlaprobe.adapters.vllm_switches import (
    ASM_PADDING,
    PAD_TO_NATIVE_SHAPE,
    SwitchError,
    pad_to_native_mode,
    small_head_mode,
)
from mlaprobe.adapters.vllm_tensors import (
    RULES,
    get_actual_mla_num_heads,
    get_mla_padded_q,
    get_mla_unpadded_lse,
    get_mla_unpadded_o,
    pad_uniform_q_to_kernel_qlen,
    qo_indptr_for_uniform_qlen,
    unpad_uniform_rows,
)
from mlaprobe.core.protocols import Decider
from mlaprobe.core.shape import DecodeShape, Dtype, Route
from mlaprobe.errors import UsageError
from mlaprobe.padding.api import plan
from mlaprobe.padding.planning import warn_once
from mlaprobe.padding.request import Mode
from mlaprobe.padding.verdicts import native

__all__ = [
    "ASM_PADDING",
    "PAD_TO_NATIVE_SHAPE",
    "SwitchError",
    "asm_lse_ps_kernel_qlen",
    "check_num_heads_validity",
    "configure",
    "get_actual_mla_num_heads",
    "get_mla_padded_q",
    "get_mla_unpadded_lse",
    "get_mla_unpadded_o",
    "is_valid_num_heads",
    "pad_to_native_mode",
    "pad_uniform_q_to_kernel_qlen",
    "qo_indptr_for_uniform_qlen",
    "resolve_padded_mla_num_heads",
    "small_head_mode",
    "unpad_uniform_rows",
    "use_gluon_decode",
    "use_gluon_verify",
]

_PLAIN_CACHES = {
    "auto": Dtype.BF16,
    "bfloat16": Dtype.BF16,
    "bf16": Dtype.BF16,
    "float16": Dtype.FP16,
    "half": Dtype.FP16,
}


def is_valid_num_heads(num_heads: int) -> bool:
    """Whether the back end takes a head count: 1 to 128, and multiples of 16 above."""
    return num_heads > 0 and (num_heads <= RULES.largest or num_heads % RULES.multiple == 0)


def check_num_heads_validity(num_heads: int) -> None:
    """Checks that the back end takes a head count.

    Raises:
        UsageError: it does not.
    """
    if not is_valid_num_heads(num_heads):
        raise UsageError(
            f"AITER MLA does not take {num_heads} query heads per rank",
            hint=f"change the tensor parallel size: 1 to {RULES.largest} heads are padded, more "
            f"must be a multiple of {RULES.multiple}",
        )


def resolve_padded_mla_num_heads(
    num_heads: int,
    *,
    gfx942: bool,
    gfx950: bool,
    q_fp8: bool,
    kv_fp8: bool,
    max_qo_lens: Iterable[int],
    needs_lse: bool = False,
    page_size: int = 1,
    kv_cache_bytes: int | None = None,
    sparse: bool = False,
    capability: Decider | None = None,
    strict: bool = False,
) -> int:
    """The head count to launch with, constant for a run.

    Where no count is known to run it is the unpadded one, as with ``off``, and a warning says why:
    the caller may have another kernel. ``off`` needs no source.

    Args:
        num_heads: query heads per rank, after a DCP gather.
        gfx942, gfx950: which arch it is; neither: nothing is padded to a native count.
        q_fp8, kv_fp8: whether query and cache are fp8 (bf16 otherwise).
        max_qo_lens: every ``max_seqlen_qo`` that the run can reach.
        needs_lse: whether the log-sum-exp is needed, as under DCP.
        page_size: KV tokens per page as the kernel sees them; vLLM flattens its blocks to 1.
        kv_cache_bytes: bytes of one layer's KV cache, once it is allocated.
        sparse: whether the metadata is made for top-k tokens.
        strict: whether to raise where no count is known to run.

    Raises:
        SwitchError: the environment asks for something that is not.
        CannotRunError: ``strict``, and no count is known to run.
        SourceError: there is no AITER, or the installed one cannot be read.
    """
    mode = pad_to_native_mode()
    arch = "gfx942" if gfx942 else "gfx950" if gfx950 else None
    if mode is Mode.OFF or arch is None:
        return get_actual_mla_num_heads(num_heads)
    source = capability_for(capability)
    found = plan(
        num_heads,
        capability=source,
        arch=arch,
        q_dtype=_dtype(q_fp8),
        kv_dtype=_dtype(kv_fp8),
        qlens=tuple(max_qo_lens),
        lse=needs_lse,
        mode=mode,
        page_size=page_size,
        kv_cache_bytes=kv_cache_bytes,
        sparse=sparse,
        route=Route.ASM,
        env=knobs(source),
        strict=strict,
    )
    if not found.runs:
        warn_once(f"vllm {found.line}", f"{found.line}; {found.reason}")
        return get_actual_mla_num_heads(num_heads)
    return found.padded_num_heads


def _dtype(fp8: bool) -> Dtype:
    return Dtype.FP8 if fp8 else Dtype.BF16


def use_gluon_decode(
    num_heads: int,
    max_qo_len: int,
    kv_cache_dtype: str,
    dcp_world_size: int = 1,
    *,
    arch: str | None = None,
    capability: Decider | None = None,
) -> bool:
    """Whether a single-token decode takes the gluon kernel, which needs no padding.

    Args:
        num_heads: query heads per rank, after a DCP gather.
        kv_cache_dtype: as vLLM writes it: ``auto``, ``bfloat16``, ``fp8``, ...
        dcp_world_size: more than 1: the log-sum-exp is needed, and as many heads are taken as the
            kernel itself takes.
        arch: ``None``: as configured, else that of this machine's GPU.

    Raises:
        SwitchError: the environment asks for something that is not.
    """
    if max_qo_len != 1 or not _small(num_heads, dcp_world_size):
        return False
    mode = small_head_mode()
    if mode == "asm" or (mode == "auto" and RULES.multiple % num_heads):
        return False
    return _gluon(num_heads, 1, kv_cache_dtype, dcp_world_size > 1, mode, arch, capability)


def use_gluon_verify(
    num_heads: int,
    max_qo_len: int,
    kv_cache_dtype: str,
    dcp_world_size: int = 1,
    *,
    flattened: bool = False,
    arch: str | None = None,
    capability: Decider | None = None,
) -> bool:
    """Whether a multi-token verification takes the gluon kernel: for any small head count, as the
    asm route has no kernel for those.

    Args:
        dcp_world_size: more than 1: vLLM has another kernel for that, so no.
        flattened: whether the caller launches each token as a request of its own.

    Raises:
        SwitchError: the environment asks for something that is not.
    """
    if max_qo_len <= 1 or dcp_world_size > 1 or not _small(num_heads, 1):
        return False
    mode = small_head_mode()
    if mode == "asm":
        return False
    qlen = 1 if flattened else max_qo_len
    return _gluon(num_heads, qlen, kv_cache_dtype, False, mode, arch, capability)


def _small(num_heads: int, dcp_world_size: int) -> bool:
    return num_heads > 0 and (dcp_world_size > 1 or num_heads < RULES.multiple)


def _gluon(
    num_heads: int,
    qlen: int,
    kv_cache_dtype: str,
    lse: bool,
    mode: str,
    arch: str | None,
    capability: Decider | None,
) -> bool:
    """Whether the source at hand accepts it, whatever the batch; never for a quantized cache,
    which vLLM keeps on the asm route."""
    kv_dtype = _PLAIN_CACHES.get(str(kv_cache_dtype).lower())
    here = arch_for(arch)
    if kv_dtype is None:
        return False
    if here is not None:
        source = capability_for(capability)
        shape = DecodeShape(
            arch=here,
            q_dtype=kv_dtype,
            kv_dtype=kv_dtype,
            num_heads=num_heads,
            qlen=qlen,
            lse=lse,
            route=Route.GLUON,
            env=knobs(source),
        )
        batches = (None, *RULES.gluon_batches)
        if all(native(source.decide(replace(shape, batch=batch))) for batch in batches):
            return True
    if mode == "gluon":
        warn_once(
            "vllm-gluon",
            f"{ASM_PADDING}=gluon, but there is no gluon kernel for {num_heads} heads on "
            f"{here or 'this machine'}; using the padded asm decode instead",
        )
    return False


def asm_lse_ps_kernel_qlen(
    logical_qlen: int,
    num_heads: int = 16,
    *,
    arch: str | None = None,
    q_fp8: bool = False,
    kv_fp8: bool = False,
    capability: Decider | None = None,
) -> int | None:
    """The query length of the persistent kernel that serves a query with the log-sum-exp: its
    own, or that of a longer kernel; ``None`` where there is none.

    Args:
        num_heads: query heads as launched.
    """
    here = arch_for(arch)
    if here is None:
        return None
    source = capability_for(capability)
    found = plan(
        num_heads,
        capability=source,
        arch=here,
        q_dtype=_dtype(q_fp8),
        kv_dtype=_dtype(kv_fp8),
        qlens=logical_qlen,
        lse=True,
        mode=Mode.OFF,
        route=Route.ASM,
        env=knobs(source),
        pad_qlen=True,
    )
    return found.kernel_qlen if found.runs else None

"""The decisions of vLLM's ROCm AITER MLA back end, by its own names and arguments.

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

from mlaprobe.adapters.vllm_switches import (
    ASM_PADDING,
    PAD_TO_NATIVE_SHAPE,
    SwitchError,
    arch_for,
    capability_for,
    configure,
    knobs,
    pad_to_native_mode,
    small_head_mode,
)
from mlaprobe.core.shape import DecodeShape, Dtype, Route
from mlaprobe.errors import UsageError
from mlaprobe.padding import api as resolve
from mlaprobe.padding import tensors as padding
from mlaprobe.padding.plan import Mode
from mlaprobe.padding.planning import warn_once
from mlaprobe.padding.question import positive
from mlaprobe.padding.resolver import Decider, native
from mlaprobe.padding.tensors import Strategy, Tensor
from mlaprobe.rulefiles.policy import policy

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

_RULES = policy()
"""Read once and here: nothing that is given a tensor reads a file, and it can be compiled."""
_PLAIN_CACHES = {
    "auto": Dtype.BF16,
    "bfloat16": Dtype.BF16,
    "bf16": Dtype.BF16,
    "float16": Dtype.FP16,
    "half": Dtype.FP16,
}


def get_actual_mla_num_heads(num_heads: int) -> int:
    """The head count launched without any padding to a native one: the next multiple of 16."""
    return _RULES.unpadded(positive(num_heads, "num_heads"))


def is_valid_num_heads(num_heads: int) -> bool:
    """Whether the back end takes a head count: 1 to 128, and multiples of 16 above."""
    return num_heads > 0 and (num_heads <= _RULES.largest or num_heads % _RULES.multiple == 0)


def check_num_heads_validity(num_heads: int) -> None:
    """Checks that the back end takes a head count.

    Raises:
        UsageError: it does not.
    """
    if not is_valid_num_heads(num_heads):
        raise UsageError(
            f"AITER MLA does not take {num_heads} query heads per rank",
            hint=f"change the tensor parallel size: 1 to {_RULES.largest} heads are padded, more "
            f"must be a multiple of {_RULES.multiple}",
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
    capability: Decider | None = None,
    strict: bool = False,
) -> int:
    """The head count to launch with, constant for a run.

    Where no count is known to run it is the unpadded one, as with ``off``, and a warning says
    what is in the way: the caller may have another kernel for the shape. With ``off`` no source
    is asked, and nothing is said of what runs.

    Args:
        num_heads: query heads per rank, after a DCP gather.
        gfx942, gfx950: which arch it is; neither: nothing is padded to a native count.
        q_fp8, kv_fp8: whether query and cache are fp8 (bf16 otherwise).
        max_qo_lens: every ``max_seqlen_qo`` that the run can reach.
        needs_lse: whether the log-sum-exp is needed, as under DCP.
        page_size: KV tokens per page as the kernel sees them; vLLM flattens its blocks to 1.
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
    asked = capability_for(capability)
    found = resolve.plan(
        num_heads,
        capability=asked,
        arch=arch,
        q_dtype=Dtype.FP8 if q_fp8 else Dtype.BF16,
        kv_dtype=Dtype.FP8 if kv_fp8 else Dtype.BF16,
        qlens=tuple(max_qo_lens),
        lse=needs_lse,
        mode=mode,
        page_size=page_size,
        route=Route.ASM,
        env=knobs(asked),
        strict=strict,
    )
    if not found.runs:
        warn_once(f"vllm {found.line}", f"{found.line}; {found.reason}")
        return get_actual_mla_num_heads(num_heads)
    return found.padded_num_heads


def _strategy(num_heads: int, target: int) -> Strategy:
    """vLLM repeats heads in place where the target is a multiple of them, and tiles otherwise."""
    return Strategy.TILE if target % num_heads else Strategy.REPEAT


def _target(num_heads: int, padded_num_heads: int | None) -> int:
    if padded_num_heads is None:
        return get_actual_mla_num_heads(num_heads)
    return padded_num_heads


def get_mla_padded_q(num_heads: int, q: Tensor, padded_num_heads: int | None = None) -> Tensor:
    """The query with the resolved head count: ``[tokens, num_heads, 576]`` to
    ``[tokens, padded_num_heads, 576]``, packed; itself where nothing is padded.

    Args:
        padded_num_heads: what ``resolve_padded_mla_num_heads`` said; left out: the unpadded rule.
    """
    padding.check_heads(q.shape[-2], num_heads)
    target = _target(num_heads, padded_num_heads)
    return padding.pad_heads(q, target, _strategy(num_heads, target))


def get_mla_unpadded_o(num_heads: int, o: Tensor, padded_num_heads: int | None = None) -> Tensor:
    """The output of the real heads, as a view: the reverse of ``get_mla_padded_q``, which must
    have been given the same counts."""
    target = _target(num_heads, padded_num_heads)
    if target == num_heads:
        return o
    padding.check_heads(o.shape[-2], target)
    return padding.unpad_heads(o, num_heads, _strategy(num_heads, target))


def get_mla_unpadded_lse(
    num_heads: int, lse: Tensor, padded_num_heads: int | None = None
) -> Tensor:
    """The log-sum-exp of the real heads, as a view: ``[tokens, padded_num_heads]`` to
    ``[tokens, num_heads]``."""
    target = _target(num_heads, padded_num_heads)
    if target == num_heads:
        return lse
    padding.check_heads(lse.shape[-1], target)
    return padding.unpad_heads(lse, num_heads, _strategy(num_heads, target), dim=-1)


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
    if mode == "asm" or (mode == "auto" and _RULES.multiple % num_heads):
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
    return num_heads > 0 and (dcp_world_size > 1 or num_heads < _RULES.multiple)


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
        asked = capability_for(capability)
        shapes = (
            DecodeShape(
                arch=here,
                q_dtype=kv_dtype,
                kv_dtype=kv_dtype,
                num_heads=num_heads,
                qlen=qlen,
                lse=lse,
                batch=batch,
                route=Route.GLUON,
                env=knobs(asked),
            )
            for batch in (None, *_RULES.gluon_batches)
        )
        if all(native(asked.decide(shape)) for shape in shapes):
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
    asked = capability_for(capability)
    found = resolve.plan(
        num_heads,
        capability=asked,
        arch=here,
        q_dtype=Dtype.FP8 if q_fp8 else Dtype.BF16,
        kv_dtype=Dtype.FP8 if kv_fp8 else Dtype.BF16,
        qlens=logical_qlen,
        lse=True,
        mode=Mode.OFF,
        route=Route.ASM,
        env=knobs(asked),
        pad_qlen=True,
    )
    return found.kernel_qlen if found.runs else None


def pad_uniform_q_to_kernel_qlen(q: Tensor, logical_qlen: int, kernel_qlen: int) -> Tensor:
    """Queries of the kernel's length: zero rows go in front of each request's. The caller widens
    ``qo_indptr`` and unpads output and log-sum-exp with ``unpad_uniform_rows``."""
    return padding.pad_rows(q, logical_qlen, kernel_qlen)


def unpad_uniform_rows(x: Tensor, logical_qlen: int, kernel_qlen: int) -> Tensor:
    """The real rows of an output or log-sum-exp, packed."""
    return padding.unpad_rows(x, logical_qlen, kernel_qlen)


def qo_indptr_for_uniform_qlen(
    num_reqs: int, qlen: int, device: object = None, dtype: object = None
) -> Tensor:
    """Where each request's rows begin and the last ends, ``num_reqs + 1`` elements."""
    return padding.query_indptr(num_reqs, qlen, device=device, dtype=dtype)

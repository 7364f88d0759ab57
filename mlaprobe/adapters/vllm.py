"""The decisions of vLLM's ROCm AITER MLA back end (``rocm_aiter_mla.py``), by its own names and
arguments, each answered by the AITER at hand.

``configure`` says once which AITER, arch, dtypes and query lengths a process launches, as vLLM's
own calls have no more than a head count. Nothing here needs vLLM. What served vLLM 0.2x is in
``mlaprobe.adapters.vllm_0_2``. ``VLLM_ROCM_AITER_MLA_ASM_PADDING`` (``auto``, ``gluon`` or ``asm``)
is honoured: which kernel serves fewer than 16 heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, Generic, TypeVar

from mlaprobe.adapters.asking import decide, runs_at, served_heads
from mlaprobe.adapters.settings import arch_for, configure, configured_run
from mlaprobe.adapters.vllm_0_2 import (
    check_num_heads_validity,
    is_valid_num_heads,
)
from mlaprobe.adapters.vllm_switches import small_head_mode
from mlaprobe.adapters.vllm_tensors import RULES, qo_indptr_for_uniform_qlen
from mlaprobe.adapters.vllm_tensors import get_actual_mla_num_heads as unpadded
from mlaprobe.core.shape import Dtype, Operation, Route
from mlaprobe.padding import tensors as padding
from mlaprobe.padding.planning import warn_once
from mlaprobe.padding.tensors import Strategy, Tensor

__all__ = [
    "VERSION",
    "AiterMLAHelper",
    "_aiter_mla_native_h24_supported",
    "_aiter_mla_non_causal_asm_kernels",
    "_aiter_mla_small_head_mode",
    "_asm_dcp_verify_configured",
    "_asm_dcp_verify_heads",
    "_fp8_mla_prefill_supported",
    "_gluon_kv_cache_in_bounds",
    "_gluon_mla_decode_supported",
    "configure",
]

VERSION = "0.33.0"
"""The release of vLLM that the names and arguments are of."""
_MIN_CPRR_QLEN = 3
"""vLLM takes the round-robin kernels from this query length on."""
_MOST_QLEN = 8
"""No kernel is for longer queries."""
_PLAIN_CACHES = {
    "auto": Dtype.BF16,
    "bfloat16": Dtype.BF16,
    "bf16": Dtype.BF16,
    "float16": Dtype.FP16,
    "half": Dtype.FP16,
}
T = TypeVar("T")


class _Asked(Generic[T]):
    """A constant of vLLM's that is asked of AITER instead, whenever it is read."""

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask

    def __get__(self, instance: object, owner: type) -> T:
        return self._ask()


def _padded_most_qlen() -> int:
    """The longest query up to which 16 heads of bf16 run with metadata at every length."""
    lengths: Iterable[int] = range(1, _MOST_QLEN + 1)
    bad = (qlen for qlen in lengths if not runs_at(_BF16, heads=RULES.multiple, qlen=qlen))
    return next(bad, _MOST_QLEN + 1) - 1


_BF16, _FP8 = (Dtype.BF16, Dtype.BF16), (Dtype.FP8, Dtype.FP8)


class AiterMLAHelper:
    """vLLM's helper of that name. Where AITER is asked, ``SourceError`` says that there is none or
    that it cannot be read, and ``NotConfiguredError`` that the arch is not known."""

    _AITER_MIN_MLA_HEADS: Final = RULES.multiple
    _AITER_MAX_PADDED_MLA_HEADS: Final = RULES.largest
    _ASM_PADDED_MAX_PS_QLEN = _Asked(_padded_most_qlen)

    @staticmethod
    def qo_indptr_for_uniform_qlen(
        num_reqs: int, qlen: int, device: object, dtype: object = None
    ) -> Tensor:
        """``[0, qlen, 2*qlen, ..., num_reqs*qlen]``."""
        return qo_indptr_for_uniform_qlen(num_reqs, qlen, device, dtype)

    @staticmethod
    def check_num_heads_validity(num_heads: int) -> None:
        """Checks that the back end takes a head count.

        Raises:
            UsageError: it does not.
        """
        check_num_heads_validity(num_heads)

    @staticmethod
    def is_valid_num_heads(num_heads: int) -> bool:
        """Whether the back end takes a head count: 1 to 128, and multiples of 16 above."""
        return is_valid_num_heads(num_heads)

    @staticmethod
    def has_fp8_non_causal_qlen2_kernel(num_heads: int) -> bool:
        """Whether fp8 of two query tokens runs without a causal mask, at the count launched."""
        heads = AiterMLAHelper.get_actual_mla_num_heads(num_heads)
        return runs_at(_FP8, heads=heads, qlen=2, causal=False)

    @staticmethod
    def get_actual_mla_num_heads(num_heads: int) -> int:
        """The head count to launch: one that runs at all query lengths of the run, native where
        that pays. With the log-sum-exp (decode context parallelism) at one token: vLLM takes
        other kernels for longer causal queries there. The next multiple of 16 where no dtypes
        were configured, or none is known to run, with a warning."""
        run = configured_run()
        if run is None or arch_for() is None:
            return unpadded(num_heads)
        found = served_heads(num_heads, replace(run, qlens=(1,)) if run.lse else run)
        return unpadded(num_heads) if found is None else found

    @staticmethod
    def get_fp8_prefill_num_heads(num_heads: int) -> int:
        """The head count of the fp8 prefill: the least multiple of 16, from this count on, that
        runs, merge included; the next multiple of 16 where there is none, with a warning."""
        wanted = unpadded(num_heads)
        counts = range(wanted, RULES.largest + 1, RULES.multiple)
        found = next((n for n in counts if _prefills(n)), None)
        if found is None:
            text = f"AITER runs no fp8 prefill of {wanted} heads or more"
            warn_once(f"vllm prefill {wanted}", text)
        return wanted if found is None else found

    @staticmethod
    def get_mla_padded_q(num_heads: int, q: Tensor, target_heads: int | None = None) -> Tensor:
        """The query with as many heads as are launched: ``[tokens, num_heads, 576]`` to
        ``[tokens, target_heads, 576]``; itself where it has them. A query that is the front of a
        buffer with room for all becomes that buffer, without a copy."""
        heads = target_heads or AiterMLAHelper.get_actual_mla_num_heads(num_heads)
        if heads in (num_heads, q.shape[1]):
            return q
        if heads % num_heads and q.stride(0) == heads * q.stride(1):
            return q.as_strided((q.shape[0], heads, q.shape[2]), q.stride())
        return padding.pad_heads(q, heads, _strategy(num_heads, heads))

    @staticmethod
    def get_mla_unpadded_o(num_heads: int, o: Tensor) -> Tensor:
        """The output of the real heads, as a view."""
        return _unpadded(num_heads, o, -2)

    @staticmethod
    def get_mla_unpadded_lse(num_heads: int, lse: Tensor) -> Tensor:
        """The log-sum-exp of the real heads, as a view."""
        return _unpadded(num_heads, lse, -1)

    @staticmethod
    def use_gluon_decode(
        num_heads: int, max_qo_len: int, kv_cache_dtype: str, kv_cache_bytes: int | None = None
    ) -> bool:
        """Whether a single-token decode of fewer than 16 heads takes the gluon kernel.

        Args:
            kv_cache_dtype: as vLLM writes it: ``auto``, ``bfloat16``, ``fp8``, ...
            kv_cache_bytes: of one layer; ``None``: not known yet.
        """
        if num_heads >= RULES.multiple or max_qo_len != 1:
            return False
        mode = small_head_mode()
        if mode == "asm" or (mode == "auto" and RULES.multiple % num_heads):
            return False
        return _takes_gluon(num_heads, 1, kv_cache_dtype, kv_cache_bytes)

    @staticmethod
    def use_gluon_verify(
        num_heads: int,
        max_qo_len: int,
        kv_cache_dtype: str,
        dcp_world_size: int = 1,
        causal: bool = True,
        kv_cache_bytes: int | None = None,
    ) -> bool:
        """Whether a verification of several tokens takes the gluon kernel: causal, without decode
        context parallelism, with fewer than 16 heads."""
        if not causal or max_qo_len <= 1 or dcp_world_size > 1 or num_heads >= RULES.multiple:
            return False
        if small_head_mode() == "asm":
            return False
        return _takes_gluon(num_heads, max_qo_len, kv_cache_dtype, kv_cache_bytes)


def _strategy(num_heads: int, target: int) -> Strategy:
    """vLLM repeats heads in place where the target is a multiple of them, and tiles otherwise."""
    return Strategy.TILE if target % num_heads else Strategy.REPEAT


def _unpadded(num_heads: int, x: Tensor, dim: int) -> Tensor:
    heads = AiterMLAHelper.get_actual_mla_num_heads(num_heads)
    if heads == num_heads:
        return x
    return padding.unpad_heads(x, num_heads, _strategy(num_heads, heads), dim=dim)


def _takes_gluon(
    num_heads: int, qlen: int, kv_cache_dtype: str, kv_cache_bytes: int | None
) -> bool:
    """Whether the source accepts it whatever the batch; never for a quantized cache, which vLLM
    keeps on the asm route."""
    dtype = _PLAIN_CACHES.get(str(kv_cache_dtype).lower())
    if dtype is None or arch_for() is None:
        return False
    return _gluon_at(dtype, heads=num_heads, qlen=qlen, kv_cache_bytes=kv_cache_bytes)


def _gluon_at(dtype: Dtype, **fields: Any) -> bool:
    known = {name: value for name, value in fields.items() if value is not None}
    return runs_at((dtype, dtype), route=Route.GLUON, batches=RULES.gluon_batches, **known)


def _aiter_mla_small_head_mode() -> str:
    """Which kernel serves fewer than 16 heads, as the environment says.

    Raises:
        SwitchError: it says something else.
    """
    return small_head_mode()


def _gluon_mla_decode_supported() -> bool:
    """Whether gluon decodes any of the small head counts here."""
    here = arch_for()
    return here is not None and any(_gluon_at(Dtype.BF16, heads=heads) for heads in (1, 2, 4, 8))


def _gluon_kv_cache_in_bounds(kv_cache_bytes: int | None) -> bool:
    """Whether gluon is right for a layer's KV cache of this size."""
    return any(
        _gluon_at(Dtype.BF16, heads=heads, kv_cache_bytes=kv_cache_bytes) for heads in (1, 2, 4, 8)
    )


def _prefills(num_heads: int) -> bool:
    return runs_at(_FP8, heads=num_heads, op=Operation.PREFILL)


def _fp8_mla_prefill_supported() -> bool:
    """Whether an fp8 prefill with work metadata runs here at any multiple of 16."""
    counts = range(RULES.multiple, RULES.largest + 1, RULES.multiple)
    return arch_for() is not None and any(map(_prefills, counts))


def _aiter_mla_native_h24_supported() -> bool:
    """Whether 24 heads are launched as they are, at all query lengths of the run (of bf16 and one
    token, where none was configured)."""
    run = configured_run()
    dtypes, qlens, lse = (_BF16, (1,), False) if run is None else (run.dtypes, run.qlens, run.lse)
    found = [decide(dtypes, heads=24, qlen=qlen, lse=lse) for qlen in qlens]
    return all(decision.verdict.runs and decision.fold == 1 for decision in found)


def _aiter_mla_non_causal_asm_kernels() -> bool:
    """Whether the arch has kernels for several query tokens without a causal mask, for the dtypes
    of the run (for bf16 or fp8, where none was configured)."""
    run = configured_run()
    pairs = (_BF16, _FP8) if run is None else (run.dtypes,)
    return any(
        runs_at(pair, heads=heads, qlen=qlen, causal=False)
        for pair in pairs
        for heads in (16, 128)
        for qlen in (2, 4)
    )


def _asm_dcp_verify_configured(
    dcp_world_size: int, cp_interleave: int, multi_token_decode: bool
) -> bool:
    """Whether the round-robin kernels can be reached: under decode context parallelism with
    interleave 1, with several query tokens, where AITER has such kernels."""
    if not (dcp_world_size > 1 and cp_interleave == 1 and multi_token_decode):
        return False
    return _asm_dcp_verify_heads(RULES.multiple) > 0


def _asm_dcp_verify_heads(decode_num_heads: int) -> int:
    """The head count that a round-robin decode of so many gathered heads runs at, for all query
    lengths of the run from 3 on (fp8 and 3 tokens, where none was configured); 0: none does. It is
    not below that of a decode of one token, whose metadata goes to the same buffers."""
    run = configured_run()
    dtypes, qlens = (_FP8, (_MIN_CPRR_QLEN,)) if run is None else (run.dtypes, run.qlens)
    wanted = tuple(qlen for qlen in qlens if qlen >= _MIN_CPRR_QLEN) or (_MIN_CPRR_QLEN,)
    least = max(decode_num_heads, AiterMLAHelper.get_actual_mla_num_heads(decode_num_heads))
    counts = (n for n in range(least, RULES.largest + 1) if n % RULES.multiple == 0)
    return next(
        (n for n in counts if all(_round_robin(dtypes, heads=n, qlen=qlen) for qlen in wanted)), 0
    )


def _round_robin(dtypes: tuple[Dtype, Dtype], **fields: Any) -> bool:
    return runs_at(dtypes, cp_round_robin=True, lse=True, **fields)

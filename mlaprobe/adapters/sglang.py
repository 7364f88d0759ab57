"""The decisions of SGLang's AITER attention back ends (``aiter_backend.py``, ``dsa_backend.py``),
by their own names and arguments where these are functions, each answered by the AITER at hand.

``configure`` says once which AITER, arch, dtypes and query lengths a process launches. Nothing here
needs SGLang.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mlaprobe.adapters.asking import decide, reducer_heads, runs_at, served_heads
from mlaprobe.adapters.settings import NotConfiguredError, Run, configure, configured_run
from mlaprobe.core.shape import Dtype, Route
from mlaprobe.padding.planning import warn_once
from mlaprobe.padding.tensors import Strategy
from mlaprobe.rulefiles.policy import policy

__all__ = [
    "VERSION",
    "_MLA_REDUCE_V1_HEADS",
    "HeadPadding",
    "MetadataMode",
    "_asm_cprr_kernel_heads",
    "_asm_cprr_supports_shape",
    "asm_ps_max_qlen",
    "check_fp8_prefill_num_head",
    "configure",
    "head_padding",
    "metadata_mode",
    "prefer_mla_gluon_decode",
]

VERSION = "0.5.23"
"""The release of SGLang that the names and arguments are of."""
_FP8 = (Dtype.FP8, Dtype.FP8)
_GLUON = (Dtype.BF16, Dtype.FP8)
"""What the gluon kernel is handed: the model's query, and the cache."""
_REDUCED = (64, 128, 512)
"""Widths of values that SGLang's table has."""
_MOST_QLEN = 8


def _asm_cprr_supports_shape(heads: int, q_len: int) -> bool:
    """Whether a round-robin verification of fp8 runs at this head count as it is, not folded."""
    if not 0 < heads <= policy().largest or q_len < 1:
        return False
    found = decide(_FP8, heads=heads, qlen=q_len, cp_round_robin=True, lse=True)
    return found.verdict.runs and found.fold == found.qlen_fold == 1


def _asm_cprr_kernel_heads(gathered_heads: int, q_len: int) -> int:
    """The smallest multiple of 16, not below the gathered heads, that a round-robin verification
    runs at; 0: none."""
    multiple, largest = policy().multiple, policy().largest
    counts = (n for n in range(max(gathered_heads, 1), largest + 1) if n % multiple == 0)
    return next((n for n in counts if _asm_cprr_supports_shape(n, q_len)), 0)


class _ReducerHeads(Mapping[int, frozenset[int]]):
    """By a width of values, the head counts that ``mla_reduce_v1`` merges."""

    def __getitem__(self, head_dim: int) -> frozenset[int]:
        found = reducer_heads(head_dim)
        if not found:
            raise KeyError(head_dim)
        return frozenset(found)

    def __iter__(self) -> Iterator[int]:
        return (head_dim for head_dim in _REDUCED if reducer_heads(head_dim))

    def __len__(self) -> int:
        return len(list(iter(self)))


_MLA_REDUCE_V1_HEADS: Mapping[int, frozenset[int]] = _ReducerHeads()


def check_fp8_prefill_num_head(*, num_head: int, num_kv_head: int, v_head_dim: int) -> int | None:
    """The head count of the fp8 prefill: the smallest, from this one on, that AITER merges;
    ``None`` where there is none, or where query and KV heads differ and so none can be added."""
    supported = reducer_heads(v_head_dim)
    if num_head in supported:
        return num_head
    if num_head != num_kv_head:
        return None
    return min((n for n in supported if n > num_head), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadPadding:
    """How heads are padded, in the terms of SGLang's fields."""

    num_head_padded: int
    head_pad_mode: str
    """``none``, ``repeat`` (each head so many times) or ``zero``."""
    head_repeat_factor: int = 1

    @property
    def strategy(self) -> Strategy:
        """The same for ``mlaprobe.plan`` and its tensors."""
        return Strategy.REPEAT if self.head_pad_mode == "repeat" else Strategy.ZERO


def head_padding(num_head: int) -> HeadPadding:
    """The count that a decode is launched with at all query lengths of the run, and how it gets
    there: what ``_mla_low_head_repeat``, ``_mla_low_head_zero_pad`` and the dsa back end's factor
    decide. Where nothing is known to run, 16 or the count itself, with a warning.

    Raises:
        NotConfiguredError: neither dtypes nor an arch are known.
        SourceError: there is no AITER, or it cannot be read.
    """
    run = _run()
    padded = served_heads(num_head, run, planner=_told(run)) or max(num_head, policy().multiple)
    if padded == num_head:
        return HeadPadding(num_head_padded=padded, head_pad_mode="none")
    if padded % num_head:
        return HeadPadding(num_head_padded=padded, head_pad_mode="zero")
    factor = padded // num_head
    return HeadPadding(num_head_padded=padded, head_pad_mode="repeat", head_repeat_factor=factor)


def _run() -> Run:
    run = configured_run()
    if run is None:
        raise NotConfiguredError(
            "the dtypes of the decode are not known",
            hint='say them once: configure(q_dtype="fp8", kv_dtype="fp8", qlens=(1, 4))',
        )
    return run


def _told(run: Run) -> dict[str, Any]:
    """What the planner is told otherwise than it is launched: SGLang gives it the dtype of the
    cache for both."""
    return {} if run.q_dtype is run.kv_dtype else {"q_dtype": run.kv_dtype}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataMode:
    """How a decode is scheduled, in the terms of SGLang's module variables."""

    use_mla_ps_kernel: bool
    """Whether work metadata is passed."""
    fast_mode: bool
    intra_batch_mode: bool


def metadata_mode(num_head_padded: int) -> MetadataMode:
    """The mode in which a launch runs at all query lengths of the run: with work metadata, where
    planner and dispatcher fold alike, before any other. Where none is known to, the one without
    metadata, with a warning.

    Raises:
        NotConfiguredError: neither dtypes nor an arch are known.
        SourceError: there is no AITER, or it cannot be read.
    """
    run = _run()
    for fast_mode, intra_batch_mode in ((True, False), (False, True)):
        told = {"fast_mode": fast_mode, "intra_batch_mode": intra_batch_mode, **_told(run)}
        if _served(run, num_head_padded, planner=told):
            return MetadataMode(
                use_mla_ps_kernel=True, fast_mode=fast_mode, intra_batch_mode=intra_batch_mode
            )
    if not _served(run, num_head_padded, persistent=False):
        text = f"{num_head_padded} heads are not known to run, with metadata or without"
        warn_once(f"sglang {text} {run}", text)
    return MetadataMode(use_mla_ps_kernel=False, fast_mode=False, intra_batch_mode=False)


def _served(run: Run, heads: int, **fields: Any) -> bool:
    return all(runs_at(run.dtypes, heads=heads, qlen=n, lse=run.lse, **fields) for n in run.qlens)


def asm_ps_max_qlen(num_head_padded: int = 16) -> int:
    """The longest query up to which a decode with work metadata runs at every length: what
    ``_MLA_ASM_PS_MAX_QLEN`` says for bf16.

    Raises:
        NotConfiguredError: neither dtypes nor an arch are known.
        SourceError: there is no AITER, or it cannot be read.
    """
    run = _run()
    lengths = range(1, _MOST_QLEN + 1)
    fields: dict[str, Any] = {"heads": num_head_padded, "planner": _told(run)}
    bad = (n for n in lengths if not runs_at(run.dtypes, qlen=n, **fields))
    return next(bad, _MOST_QLEN + 1) - 1


def prefer_mla_gluon_decode(*, head_pad_mode: str, num_head: int, kv_cache_dtype: object) -> bool:
    """Whether a decode takes the gluon kernel, which takes heads as they are that would be filled
    up with zeros: with an fp8 cache and a bf16 query, at all query lengths of the run, whatever
    the batch.

    Whether this Triton compiles it is SGLang's own check (``_gluon_fn``).

    Raises:
        NotConfiguredError: neither dtypes nor an arch are known.
        SourceError: there is no AITER, or it cannot be read.
    """
    run = _run()
    if head_pad_mode != "zero" or Dtype.of_cache(kv_cache_dtype) is not Dtype.FP8:
        return False
    fields: dict[str, Any] = {"heads": num_head, "lse": run.lse, "batches": policy().gluon_batches}
    return all(runs_at(_GLUON, qlen=n, route=Route.GLUON, **fields) for n in run.qlens)

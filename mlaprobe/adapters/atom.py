"""The decisions of ATOM's MLA back ends (``attention_mla.py``, ``dcp_utils.py``,
``sparse_mla_indexer.py``), by their own names and arguments, each answered by the AITER at hand.

``configure`` says once which AITER, arch, dtypes and query lengths a process launches. Nothing here
needs ATOM.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlaprobe.adapters.asking import Dtypes, decide, runs_at, served_heads
from mlaprobe.adapters.settings import arch_for, configure, configured_run
from mlaprobe.core.shape import Dtype
from mlaprobe.padding.planning import warn_once
from mlaprobe.rulefiles.policy import policy

__all__ = [
    "VERSION",
    "_supports_sparse_mla_fast_metadata",
    "configure",
    "configured_run",
    "dcp_persistent_supported",
    "mla_dcp_kernel_num_heads",
    "mla_kernel_num_heads",
    "mla_min_query_heads",
    "segmented_refusal",
]

VERSION = "ffdf3bb5ddf8a15a64d521a2eeb3bc7438f9ac21"
"""The commit of ATOM that the names and arguments are of: 323 after v0.1.6-rc0, which has none of
these functions."""
_BF16, _FP8 = (Dtype.BF16, Dtype.BF16), (Dtype.FP8, Dtype.FP8)
_MIN_HEADS = 16


def _dtypes(kv_cache_dtype: str) -> Dtypes:
    """Of query and cache: ATOM gives fp8 queries to an fp8 cache."""
    return _FP8 if kv_cache_dtype.lower().startswith("fp8") else _BF16


def _counts(least: int) -> Iterator[int]:
    """The multiples of 16 from a count on."""
    multiple = policy().multiple
    return (n for n in range(max(least, 1), policy().largest + 1) if n % multiple == 0)


def mla_min_query_heads(kv_cache_dtype: str, block_width: int) -> int:
    """The least head count at which blocks of so many query tokens decode without a causal mask;
    16, with a warning, where none does."""
    dtypes = _dtypes(kv_cache_dtype)
    for heads in _counts(_MIN_HEADS):
        if runs_at(dtypes, heads=heads, qlen=block_width, causal=False):
            return heads
    text = f"AITER decodes no block of {block_width} query tokens in {kv_cache_dtype} unmasked"
    warn_once(f"atom {text}", text)
    return _MIN_HEADS


def mla_kernel_num_heads(num_heads: int) -> int:
    """The head count to launch: one that runs at all query lengths of the run. The next multiple
    of 16 where no dtypes were configured, or none is known to run, with a warning."""
    run = configured_run()
    if run is not None and arch_for() is not None:
        found = served_heads(num_heads, run)
        if found is not None:
            return found
    return policy().unpadded(num_heads)


def mla_dcp_kernel_num_heads(
    num_heads: int,
    dcp_world_size: int,
    min_kernel_heads: int = _MIN_HEADS,
    *,
    kv_cache_dtype: str,
    persistent: bool,
) -> int:
    """The head count to pad gathered heads to: the least one that decodes with the log-sum-exp at
    all query lengths of the run (of one token, where none was configured), round robin where
    there are several tokens. The next multiple of 16, with a warning, where none does."""
    gathered = max(num_heads * dcp_world_size, min_kernel_heads)
    run = configured_run()
    qlens = (1,) if run is None else run.qlens
    dtypes = _dtypes(kv_cache_dtype)
    for heads in _counts(gathered):
        if all(_gathers(dtypes, heads, qlen, persistent) for qlen in qlens):
            return heads
    text = f"AITER decodes no {gathered} gathered heads in {kv_cache_dtype} with the log-sum-exp"
    warn_once(f"atom {text} {persistent}", text)
    return policy().unpadded(gathered)


def _gathers(dtypes: Dtypes, heads: int, qlen: int, persistent: bool) -> bool:
    return runs_at(
        dtypes,
        heads=heads,
        qlen=qlen,
        lse=True,
        persistent=persistent,
        cp_round_robin=qlen > 1,
    )


def dcp_persistent_supported() -> bool:
    """Whether gathered heads decode with work metadata and the log-sum-exp however many they are,
    in the dtypes and at all query lengths of the run (in bf16 and fp8, of one token, where none
    was configured): then the largest count does, to which all can be padded."""
    run = configured_run()
    pairs, qlens = ((_BF16, _FP8), (1,)) if run is None else ((run.dtypes,), run.qlens)
    heads = policy().largest
    return all(_gathers(dtypes, heads, qlen, True) for dtypes in pairs for qlen in qlens)


def segmented_refusal(num_heads: int, kv_cache_dtype: str, page_size: int = 64) -> str | None:
    """Why a decode from the segmented cache does not run (``ATOM_MLA_PAGE_SIZE`` above 1, without
    metadata); ``None``: it does. Where pages of one token run as well, as on gfx942 and gfx950, a
    page holds whole tokens for all that is known, and not the segments that ATOM writes.

    Raises:
        NotConfiguredError: the arch is not known.
        SourceError: there is no AITER, or it cannot be read.
    """
    dtypes, heads = _dtypes(kv_cache_dtype), max(num_heads, _MIN_HEADS)
    found = decide(dtypes, heads=heads, persistent=False, page_size=page_size)
    if not found.verdict.runs:
        return f"{found.verdict}: {found.message or 'AITER has no kernel for it'}"
    plain = (runs_at(dtypes, heads=n, persistent=False) for n in _counts(_MIN_HEADS))
    return "pages of one token run too: segments may not be read" if any(plain) else None


def _supports_sparse_mla_fast_metadata(
    nhead: int,
    *,
    max_seqlen_qo: int,
    uni_seqlen_qo: int,
    q_dtype: object,
    kv_dtype: object,
) -> bool:
    """Whether a sparse decode runs with metadata in AITER's fast mode.

    Args:
        q_dtype, kv_dtype: names or torch dtypes.
    """
    return runs_at(
        (Dtype.of(q_dtype), Dtype.of_cache(kv_dtype)),
        heads=nhead,
        qlen=max_seqlen_qo,
        planner={"uniform_qlen": uni_seqlen_qo},
    )

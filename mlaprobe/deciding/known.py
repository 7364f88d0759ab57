"""What is known of a launch besides its source: reports (errata), and how large a KV cache its
kernels were emulated with."""

from __future__ import annotations

from collections.abc import Iterator

from mlaprobe.core.inputs import bytes_in_words
from mlaprobe.core.shape import Decision, Kernel, Verdict, altered
from mlaprobe.rulefiles import errata
from mlaprobe.rulefiles.cachelimits import limits
from mlaprobe.rulefiles.errata import BlobOf

SAFE = 2 << 30
"""Bytes of a KV cache that offsets of 31 bits reach; nothing was reported of smaller ones."""
WRAPS = 4 << 30
"""Bytes that offsets of 32 bits reach."""


def apply(
    decision: Decision, *, release: str | None, how: str = "", blob_of: BlobOf = lambda path: None
) -> Decision:
    """The decision with what is known of it; the arguments are those of ``errata.apply``.

    Raises:
        RuleError: the rules are wrong.
    """
    found = errata.apply(decision, release=release, how=how, blob_of=blob_of)
    if not found.verdict.runs or not found.kernels:
        return found
    for kernel in found.kernels:
        failing = _too_large(kernel, found)
        if failing is not None:
            return altered(found, verdict=Verdict.ERRATUM, stage="errata", message=failing)
    notes = tuple(note for kernel in found.kernels for note in _notes(kernel, found))
    return altered(found, notes=(*found.notes, *notes)) if notes else found


def _too_large(kernel: Kernel, decision: Decision) -> str | None:
    """Why a kernel is not launched with the caller's cache; ``None``: nothing is known.

    Emulated were pages of one token. An offset of 32 bits wraps whatever the pages; what goes wrong
    later may hang on the number of pages, of which there are fewer where they are larger.
    """
    shape, limit = decision.shape, limits().get(kernel.blob or "")
    size = shape.kv_cache_bytes
    if size is None or limit is None or limit.fails is None or size < limit.fails:
        return None
    if shape.page_size > 1 and limit.passes > WRAPS:
        return None
    paged = ", with pages of one token" * (shape.page_size > 1)
    return (
        f"{_named(kernel)} with a KV cache of {bytes_in_words(size)}: emulated launches (of "
        f"{limit.release}{paged}) are right at {bytes_in_words(limit.passes)} and wrong at "
        f"{bytes_in_words(limit.fails)} ({limit.text}); keep the cache of a layer below that, or "
        "launch another kernel"
    )


def _notes(kernel: Kernel, decision: Decision) -> Iterator[str]:
    size, limit = decision.shape.kv_cache_bytes, limits().get(kernel.blob or "")
    if size is None:
        if limit is not None and limit.fails is not None:
            yield (
                f"{_named(kernel)} is right with a KV cache of {bytes_in_words(limit.passes)} a "
                f"layer and wrong with {bytes_in_words(limit.fails)} (emulated; kv_cache_bytes not "
                "given)"
            )
        return
    doubt = f"{_named(kernel)}: whether a KV cache of {bytes_in_words(size)} is too large is open"
    if limit is None:
        if size > SAFE:
            yield f"{doubt}: it was not emulated with a large one"
    elif size > limit.passes:
        paged = " with pages of one token" * (decision.shape.page_size > 1)
        wrong = f", wrong at {bytes_in_words(limit.fails)}" if limit.fails is not None else ""
        yield f"{doubt}: emulated{paged} it is right at {bytes_in_words(limit.passes)}{wrong}"


def _named(kernel: Kernel) -> str:
    name = kernel.co.rpartition("/")[2]
    return f"{name} (blob {kernel.blob[:12]})" if kernel.blob else name

"""How large a KV cache a kernel was emulated with: ``rules/cache_limits.json``.

Derived from the outcomes in ``rules/kernels/`` by ``tools/kernel_outcomes.py``, so that deciding
does not load those. A limit belongs to a blob, as the outcomes do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.enums import Standing
from mlaprobe.errors import RuleError
from mlaprobe.rulefiles.loader import rules_dir
from mlaprobe.rulefiles.outcomes import KernelRun

FILE = "cache_limits.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheLimit:
    """The sizes of the KV cache at which one code object was emulated, with pages of one token."""

    passes: int
    """The largest at which, and below which, every launch was right."""
    fails: int | None
    """The smallest at which a launch was not; ``None``: all were right."""
    text: str = ""
    """What was wrong there."""
    release: str
    """The release whose host code launched it."""


def limit_of(runs: Iterable[KernelRun], release: str) -> CacheLimit | None:
    """What some launches of a code object say; ``None``: nothing.

    A launch tells something of the size only where the same launch is right with a smaller cache:
    what is wrong in any cache is no matter of its size.
    """
    launches: dict[object, dict[int, KernelRun]] = {}
    for run in runs:
        if run.kv_cache_bytes and run.page_size == 1:
            like = (*run.launch, run.world, run.kv_splits, run.scales, run.kv)
            launches.setdefault(like, {})[run.kv_cache_bytes] = run
    passes: list[int] = []
    failing: list[KernelRun] = []
    for sizes in launches.values():
        right = [size for size in sorted(sizes) if sizes[size].outcome is Standing.PASSED]
        wrong = [size for size in sorted(sizes) if size not in right]
        if not right or (wrong and wrong[0] < right[0]):
            continue
        passes.append(max(size for size in right if not wrong or size < wrong[0]))
        failing += [sizes[size] for size in wrong[:1]]
    if not passes:
        return None
    first = min(failing, key=lambda run: run.kv_cache_bytes, default=None)
    if first is None:
        return CacheLimit(passes=min(passes), fails=None, release=release)
    return CacheLimit(
        passes=min(passes), fails=first.kv_cache_bytes, text=first.text, release=release
    )


def row_of(limit: CacheLimit) -> dict[str, Any]:
    """A limit as JSON has it."""
    names = ("passes", "fails", "text", "release")
    return {name: value for name in names if (value := getattr(limit, name)) not in (None, "")}


@cached(Cache.RULES)
def limits() -> Mapping[str, CacheLimit]:
    """Every limit, by blob.

    Raises:
        RuleError: the file cannot be read, or is something else.
    """
    try:
        rows = json.loads((rules_dir() / FILE).read_text(encoding="utf-8"))["blobs"]
        return {blob: CacheLimit(**{"fails": None, **row}) for blob, row in rows.items()}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RuleError(
            f"no limits of caches: {error}",
            hint="this mlaprobe is not whole: install it again",
            file=f"rules/{FILE}",
        ) from None

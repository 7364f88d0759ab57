"""Outcomes of emulated launches, by the file of the kernel: ``rules/kernels/``.

One JSON file per arch, made by ``tools/kernel_outcomes.py``. A record belongs to a blob, so that it
holds for every release that ships the same file, and for none that replaced it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.enums import Standing
from mlaprobe.errors import RuleError
from mlaprobe.rulefiles.loader import rules_dir

FOLDER = "kernels"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRun:
    """Emulated launches of one kernel that had the same outcome."""

    dtype: str
    """Query and KV dtype, ``fp8/fp8``."""
    heads: int
    """Query heads that were launched."""
    qlen: int
    lse: bool = False
    persistent: bool = True
    """Whether it was launched with work metadata."""
    causal: bool = True
    world: int = 1
    """Ranks of round-robin context parallelism."""
    page_size: int = 1
    kv_splits: int | None = None
    """AITER's ``num_kv_splits``; ``None``: AITER chose."""
    kv_cache_bytes: int = 0
    """The size of the cache that the pages were spread over; 0: a small one."""
    scales: tuple[float, float] = (1.0, 1.0)
    """What query and cache were multiplied with, each where it is fp8."""
    kv: tuple[tuple[int, ...], ...]
    """KV tokens of each request, for each launch."""
    outcome: Standing
    text: str = ""
    """What was wrong, of the first launch."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> KernelRun:
        """A run from JSON."""
        kv, outcome = tuple(map(tuple, row["kv"])), Standing(row["outcome"])
        lists = {"scales": tuple(row["scales"])} if "scales" in row else {}
        return cls(**{**row, **lists, "kv": kv, "outcome": outcome})

    @property
    def launch(self) -> tuple[object, ...]:
        """What a caller's shape says of the launch."""
        return (
            *(self.dtype, self.heads, self.qlen, self.lse),
            *(self.persistent, self.causal, self.world > 1),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRecord:
    """Everything that was emulated of one code object."""

    blob: str
    kernel: str
    """Its symbol."""
    co: str
    """Its path in AITER's repository layout."""
    release: str
    """The release whose host code launched it."""
    runs: tuple[KernelRun, ...]


def read(folder: Path) -> dict[str, Mapping[str, Any]]:
    """What the files of a folder hold, by blob.

    Raises:
        RuleError: one cannot be read, or is something else.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            found.update(json.loads(path.read_text(encoding="utf-8"))["blobs"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise RuleError(
                f"no outcomes of kernels: {error}",
                hint="this mlaprobe is not whole: install it again",
                file=f"rules/{folder.name}/{path.name}",
            ) from None
    return found


@cached(Cache.RULES)
def _shipped() -> Mapping[str, Mapping[str, Any]]:
    return read(rules_dir() / FOLDER)


@cached(Cache.RULES, 256)
def record_of(blob: str) -> KernelRecord | None:
    """What was emulated of the code object with a git blob id; ``None`` where nothing was.

    Raises:
        RuleError: the rules cannot be read.
    """
    entry = _shipped().get(blob)
    if entry is None:
        return None
    runs = tuple(map(KernelRun.of, entry["runs"]))
    return KernelRecord(
        blob=blob, kernel=entry["kernel"], co=entry["co"], release=entry["release"], runs=runs
    )


def row_of(run: KernelRun) -> dict[str, Any]:
    """A run as JSON has it: what is as usual is left out."""
    return {
        each.name: value
        for each in fields(run)
        if (value := getattr(run, each.name)) != each.default
    }

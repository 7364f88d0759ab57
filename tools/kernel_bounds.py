"""Finds where large KV caches begin to fail, to a few pages, and adds that to ``rules/kernels/``.

    python -m tools.kernel_bounds PATH_OF_ROCM_AITER --record DIR

A code object that ``tools.kernel_outcomes`` found right with one size of the cache and wrong with
a larger one is launched at the sizes in between from which on offsets of 32 bits wrap and page
numbers of 24 bits are cut: with so many pages, and with eight more.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mlaprobe.core.releases import release_key
from mlaprobe.deciding.capability import Capability
from mlaprobe.decode.rules import rules
from mlaprobe.emulation.case import Case
from mlaprobe.emulation.matrix import DTYPES, How, Scope, blob_of, cases
from mlaprobe.emulation.pool import Record, run_cases
from mlaprobe.rulefiles.cachelimits import CacheLimit, limits
from mlaprobe.rulefiles.loader import rules_dir
from mlaprobe.rulefiles.outcomes import FOLDER, KernelRun, read
from tools.kernel_outcomes import ARCHS, Found, run_of, write

MORE = 8
"""Pages behind a bound."""


def main(words: Sequence[str] | None = None) -> int:
    """Emulates, and writes the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("repository", type=Path, help="a git repository of ROCm/aiter, with tags")
    parser.add_argument("--record", type=Path, required=True, help="a folder for results")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    options = parser.parse_args(words)
    options.record.mkdir(parents=True, exist_ok=True)
    found = shipped()
    open_ = {blob: limit for blob, limit in limits().items() if limit.fails is not None}
    for release in sorted({each.release for each in open_.values()}, key=release_key, reverse=True):
        with Capability.open(f"{options.repository}@{release}") as capability:
            for arch in sorted(set(ARCHS).intersection(capability.archs)):
                of_release = {b: limit for b, limit in open_.items() if limit.release == release}
                wanted = between(capability, arch, of_release)
                record = Record(options.record / f"{arch}.jsonl")
                run(capability, wanted, record, options, found)
        print(f"{release}: done", file=sys.stderr, flush=True)
    write(found)
    return 0


def shipped() -> dict[str, Found]:
    """What is known of every code object."""
    found = {}
    for blob, entry in read(rules_dir() / FOLDER).items():
        arch = entry["co"].split("/")[1]
        each = Found(symbol=entry["kernel"], co=entry["co"], release=entry["release"], arch=arch)
        for known in map(KernelRun.of, entry["runs"]):
            each.runs[replace(known, kv=())] = list(known.kv)
        found[blob] = each
    return found


def between(capability: Capability, arch: str, wanted: Mapping[str, CacheLimit]) -> list[Case]:
    """The launches of an arch at the bounds between what passes and what fails."""
    found = []
    for case in cases(capability, Scope(arch=arch, kv_lens=(40, 33)))[0]:
        limit = wanted.get(blob_of(capability, case.co) or "")
        if limit is None or limit.fails is None or case.shape.cp_round_robin:
            continue
        page = case.batch.page_bytes
        for bound in (1 << 32, page << 24):
            for size in (bound, bound + MORE * page):
                if limit.passes < size < limit.fails:
                    found.append(replace(case, kv_cache_bytes=size, first=False))
    return found


def run(
    capability: Capability,
    wanted: Sequence[Case],
    record: Record,
    options: argparse.Namespace,
    found: dict[str, Found],
) -> None:
    """Emulates some launches, and adds their outcomes."""
    how = How(tolerances={pair: rules().tolerance(*pair) for pair in DTYPES})
    source = capability.source.label
    results = run_cases(source, capability, wanted, how, record=record, jobs=options.jobs)
    for case, result in zip(wanted, results, strict=True):
        assert result.blob is not None
        found[result.blob].runs.setdefault(run_of(case, result), []).append(case.kv_lens)


if __name__ == "__main__":
    sys.exit(main())

"""Emulates every decode kernel of AITER's releases, and keeps the outcomes in ``rules/kernels/``.

    python -m tools.kernel_outcomes PATH_OF_ROCM_AITER --record DIR [--release TAG ...] [--edges]

The path is a git repository of ROCm/aiter with its tags. Releases are taken from the newest on; a
code object that a newer one has is launched as that one launches it. Results are kept in the folder
``--record`` as they come, and the same command goes on where an earlier one ended. Launches at the
edges of tiles take as long as all others together: only with ``--edges``. ``--known`` emulates
nothing, and writes what is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mlaprobe.core.enums import Standing
from mlaprobe.core.releases import release_key
from mlaprobe.deciding.capability import Capability
from mlaprobe.decode.rules import rules
from mlaprobe.emulation.case import Case, CaseResult
from mlaprobe.emulation.matrix import DTYPES, How, Scope, blob_of, cases
from mlaprobe.emulation.pool import Record, run_cases
from mlaprobe.opening import bundled
from mlaprobe.rulefiles.cachelimits import FILE, limit_of
from mlaprobe.rulefiles.cachelimits import row_of as limit_row
from mlaprobe.rulefiles.loader import rules_dir
from mlaprobe.rulefiles.outcomes import FOLDER, KernelRun, read, row_of

ARCHS = ("gfx942", "gfx950")
GIB = 1 << 30
_MOST_SAID = 2
EVERY = tuple(
    Scope(arch="", kv_lens=lens, heads=tuple(range(8, 129, 8)), qlens=tuple(range(1, 9)))
    for lens in ((70, 33), (65, 66, 97, 98, 99))
)
"""Every head count and query length that a kernel of its own is launched for; the second lengths
end just past a tile of 32, where masks and tiles meet."""
FEW = (
    Scope(arch="", kv_lens=(200, 163)),
    Scope(arch="", kv_lens=(200, 163), page_size=64),
    *(Scope(arch="", kv_lens=(40, 33), kv_cache_bytes=n * GIB) for n in (3, 5, 20)),
)
"""What the least and the largest query of each kernel are launched with besides."""
AT_EDGES = Scope(arch="", kv_lens=(200, 163), edges=True)


@dataclass(slots=True, kw_only=True)
class Found:
    """What is known of one code object so far."""

    symbol: str
    co: str
    release: str
    arch: str
    runs: dict[KernelRun, list[tuple[int, ...]]] = field(default_factory=dict)
    """By what the launches have in common; each with its KV tokens."""


def main(words: Sequence[str] | None = None) -> int:
    """Emulates, and writes the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("repository", type=Path, help="a git repository of ROCm/aiter, with tags")
    parser.add_argument("--record", type=Path, required=True, help="a folder for results")
    parser.add_argument("--release", action="append", help="only this one (repeatable)")
    parser.add_argument("--edges", action="store_true", help="also at the edges of tiles")
    parser.add_argument("--known", action="store_true", help="emulate nothing")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    options = parser.parse_args(words)
    options.record.mkdir(parents=True, exist_ok=True)
    found: dict[str, Found] = {}
    for release in options.release or sorted(bundled.index(), key=release_key, reverse=True):
        source = f"{options.repository}@{release}"
        with Capability.open(source) as capability:
            for arch in sorted(set(ARCHS).intersection(capability.archs)):
                emulated(source, capability, release, arch, options, found)
        print(f"{release}: {len(found)} code objects", file=sys.stderr, flush=True)
    write(found)
    return 0


def emulated(
    source: str,
    capability: Capability,
    release: str,
    arch: str,
    options: argparse.Namespace,
    found: dict[str, Found],
) -> None:
    """Adds what is new in an arch of a release."""
    scopes = (*EVERY, *FEW, *([AT_EDGES] if options.edges else []))
    wanted = [
        case
        for scope in scopes
        for case in cases(capability, replace(scope, arch=arch))[0]
        if _is_new(capability, case, release, found)
    ]
    how = How(tolerances={pair: rules().tolerance(*pair) for pair in DTYPES})
    record = Record(options.record / f"{arch}.jsonl")
    if options.known:
        wanted = [case for case in wanted if record.known(capability, case, how)]
    results = run_cases(source, capability, wanted, how, record=record, jobs=options.jobs)
    for case, result in zip(wanted, results, strict=True):
        assert result.blob is not None
        of = found.setdefault(
            result.blob, Found(symbol=case.symbol, co=case.co, release=release, arch=arch)
        )
        of.runs.setdefault(run_of(case, result), []).append(case.kv_lens)


def _is_new(capability: Capability, case: Case, release: str, found: dict[str, Found]) -> bool:
    blob = blob_of(capability, case.co)
    known = None if blob is None else found.get(blob)
    return blob is not None and (known is None or known.release == release)


def run_of(case: Case, result: CaseResult) -> KernelRun:
    """A launch and its outcome, without its KV tokens."""
    shape = case.shape
    right = result.standing == Standing.PASSED
    text = "; ".join((*result.said, *result.races, *result.outside)[:_MOST_SAID])
    return KernelRun(
        dtype=shape.dtype,
        heads=shape.num_heads,
        qlen=shape.qlen,
        lse=shape.lse,
        persistent=shape.persistent,
        causal=shape.causal,
        world=case.world if shape.cp_round_robin else 1,
        page_size=shape.page_size,
        kv_splits=case.kv_splits,
        kv_cache_bytes=case.kv_cache_bytes,
        scales=case.scales,
        kv=(),
        outcome=Standing(result.standing),
        text="" if right else text,
    )


def write(found: dict[str, Found]) -> None:
    """Writes a file for each arch, a line for each code object."""
    folder = rules_dir() / FOLDER
    folder.mkdir(exist_ok=True)
    for arch in ARCHS:
        of_arch = {blob: each for blob, each in found.items() if each.arch == arch}
        ordered = sorted(of_arch.items(), key=lambda item: (item[1].co, item[0]))
        lines = [f"{json.dumps(blob)}:{_compact(_entry(each))}" for blob, each in ordered]
        text = '{"blobs":{\n' + ",\n".join(lines) + "\n}}\n"
        (folder / f"{arch}.json").write_text(text, encoding="utf-8", newline="\n")
        print(f"{arch}: {len(lines)} code objects", file=sys.stderr)
    (rules_dir() / FILE).write_text(limits_text(), encoding="utf-8", newline="\n")


def limits_text() -> str:
    """What the outcomes say of large caches, a line for each code object."""
    found = {}
    for blob, entry in read(rules_dir() / FOLDER).items():
        limit = limit_of(map(KernelRun.of, entry["runs"]), entry["release"])
        if limit is not None:
            found[blob] = limit
    lines = [f"{json.dumps(blob)}:{_compact(limit_row(found[blob]))}" for blob in sorted(found)]
    return '{"blobs":{\n' + ",\n".join(lines) + "\n}}\n"


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _entry(of: Found) -> dict[str, Any]:
    rows = list(_rows(of.runs.items()))
    return {"kernel": of.symbol, "co": of.co, "release": of.release, "runs": rows}


def _rows(runs: Iterable[tuple[KernelRun, list[tuple[int, ...]]]]) -> Iterator[dict[str, Any]]:
    for run, kv in runs:
        yield row_of(replace(run, kv=tuple(dict.fromkeys(kv))))


if __name__ == "__main__":
    sys.exit(main())

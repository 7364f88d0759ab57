"""``mlaprobe kernels``: what is in AITER's code objects, and what they do when they are run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import typer

from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.options import SCHEDULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlaprobe.core.enums import Operation
    from mlaprobe.deciding.capability import Capability
    from mlaprobe.emulation.case import CaseResult
    from mlaprobe.emulation.inspecting import KernelFacts
    from mlaprobe.emulation.matrix import Scope
    from mlaprobe.errors import SourceError

FORMATS = ("text", "json", "junit")
FAILED, UNKNOWN = 10, 11
KV_LENS = "200,163"
SWEEP = "edges: lengths at the edges of tiles in one batch, in 1 to 4 parts."
EPILOG = """\b
Examples:
  mlaprobe kernels --aiter ~/src/aiter@v0.1.20 --arch gfx950          what is in them
  mlaprobe kernels --aiter ~/src/aiter@v0.1.20 --arch gfx950 --op prefill
  mlaprobe kernels --aiter ~/src/aiter@v0.1.20 --arch gfx950 --run    run each at its own shapes
  mlaprobe kernels --run --arch gfx942 --name qh16 --schedules all    some, under every schedule
  mlaprobe kernels --run --arch gfx950 --dtype bf16/bf16 --heads 24 --qlen 3 --kv-len 70
  mlaprobe kernels --run --arch gfx950 --name qh16 --kv-cache-bytes 5GiB
  mlaprobe kernels --run --arch gfx950 --dtype bf16/bf16 --heads 16 --qlen 4 --sweep edges
  mlaprobe kernels --run --arch gfx950 --op prefill --kv-len 300,70
  mlaprobe kernels --run --arch gfx950 --record runs.jsonl --format junit -o kernels.xml

Needs numpy, and a source with code objects. A run emulates AITER's own instructions on the CPU:
nothing is run on a GPU. One launch of each kernel is run again under other timings (auto; "one"
leaves that out), and one in fp8 with scales other than 1. --record FILE keeps every result as it
comes; the same command goes on where an earlier one ended.

Exit codes: 0 every launch is right, 10 one is not, 11 of one that is not known, 1 the source cannot
be read, 2 wrong usage.
"""


def kernels(
    ctx: typer.Context,
    aiter: o.AiterOption = "installed",
    arch: o.ArchHere = None,
    op: o.OperationOption = None,
    dtype: o.DtypeList = None,
    heads: o.HeadsList = None,
    qlen: o.QlenList = None,
    name: str = typer.Option(
        "", "--name", metavar="PART", help="Only code objects with this in their name."
    ),
    run: bool = typer.Option(False, "--run", help="Run each kernel at shapes that lead to it."),
    kv_len: str = typer.Option(
        None, "--kv-len", metavar="LIST", help=f"KV tokens of each request; default {KV_LENS}."
    ),
    sweep: str = typer.Option(None, "--sweep", metavar="WHICH", help=SWEEP),
    scales: o.Scales = None,
    page_size: o.PageSizeOne = "1",
    kv_cache_bytes: o.CacheBytes = None,
    schedules: str = typer.Option(
        "auto",
        "--schedules",
        metavar="WHICH",
        help=f"How a launch is run again: auto, {', '.join(SCHEDULES)}.",
    ),
    record: str = typer.Option(
        None, "--record", metavar="FILE", help="Keep results there, and go on from them."
    ),
    jobs: str = typer.Option(
        None, "--jobs", metavar="N", help="Processes; default: one for each core."
    ),
    format: str = typer.Option("text", "--format", metavar="FORMAT", help=", ".join(FORMATS) + "."),
    output: o.OutputOption = None,
    quiet: o.QuietOption = False,
) -> int:
    """What is in AITER's code objects, and whether they are right: AITER's own kernels of decode,
    prefill or v4, emulated and compared with attention in float32."""
    given = ctx.params
    _check(given)
    return _run(given) if run else _show(given)


def _check(given: dict[str, Any]) -> None:
    from importlib.util import find_spec

    from mlaprobe.cli.support import common
    from mlaprobe.decode.backends.emulate import NO_NUMPY
    from mlaprobe.decode.interface import DecodeError
    from mlaprobe.errors import UsageError

    formats = FORMATS if given["run"] else FORMATS[:2]
    common.parse_choice("--format", given["format"], formats)
    common.parse_choice("--schedules", given["schedules"], ("auto", *SCHEDULES))
    if given["sweep"] is not None:
        common.parse_choice("--sweep", given["sweep"], ("edges",))
        if given["kv_len"] is not None:
            raise UsageError("--sweep and --kv-len contradict each other")
    for option in ("record", "sweep", "scales"):
        if not given["run"] and given[option] is not None:
            raise UsageError(f"--{option} is for --run")
    if find_spec("numpy") is None:
        raise DecodeError(f"kernels cannot be emulated: {NO_NUMPY}")


def _opened(given: dict[str, Any]) -> Capability:
    from mlaprobe.cli.support import common
    from mlaprobe.errors import SourceError
    from mlaprobe.opening.shortcut import evaluated

    answers = common.reading(given["aiter"], quiet=given["quiet"])
    found = evaluated(answers)
    if found is None:
        raise SourceError(
            "a snapshot has no code objects",
            hint="--aiter names a source that has: a checkout of AITER, or REPO@REV",
        )
    return found


def _show(given: dict[str, Any]) -> int:
    from mlaprobe.cli import machine
    from mlaprobe.cli.support import emit
    from mlaprobe.cli.support.progress import Progress
    from mlaprobe.emulation.inspecting import facts, missing
    from mlaprobe.output.runs.kernels import kernels_json, kernels_text

    op, arch, capability = _operation(given), machine.arch(given), _opened(given)
    paths = _code_objects(capability, op, arch, given["name"])
    if not paths:
        raise _none(capability, op, arch, given["name"])
    with Progress("code objects read", quiet=given["quiet"]) as progress:
        found: list[KernelFacts] = []
        for path in paths:
            file = capability.source.read(path)
            found.extend(facts(path, file.data) if file is not None else (missing(path),))
            progress.step()
    if given["format"] == "json":
        emit.write([kernels_json(capability.source, found)], given["output"])
    else:
        wide = emit.width(given["output"])
        emit.write_lines(kernels_text(capability.source, found, width=wide), given["output"])
    return 0


def _operation(given: dict[str, Any]) -> Operation | None:
    """The operation that was named."""
    from mlaprobe.cli.support import common
    from mlaprobe.emulation.shipped import with_code_objects
    from mlaprobe.errors import UsageError

    if given["op"] is None:
        return None
    found, having = common.parse_operation("--op", given["op"]), with_code_objects()
    if found not in having:
        raise UsageError(
            f"--op: {found} has no code objects: its kernels are compiled where they run",
            hint=f"one of {', '.join(having)}",
        )
    return found


def _code_objects(
    capability: Capability, op: Operation | None, arch: str, name: str
) -> Sequence[str]:
    """Those of an operation; without one, all that lie with those of a decode."""
    from mlaprobe.emulation.shipped import code_objects
    from mlaprobe.rulefiles.layouts import layouts

    if op is not None:
        return [path for path in code_objects(capability, op, arch) if name in path]
    folder = f"hsa/{arch}/{layouts().data['host']['table_module']}"
    paths = sorted(path for path in capability.source.list(folder) if path.endswith(".co"))
    return [path for path in paths if name in path]


def _none(capability: Capability, op: Operation | None, arch: str, name: str) -> SourceError:
    """There is nothing to show, or to run."""
    from mlaprobe.errors import SourceError

    named = f" with {name} in its name" if name else ""
    return SourceError(
        f"{capability.source.label} has no code object of a {op or 'decode'} kernel for "
        f"{arch}{named}",
        hint="--aiter names a source that has: a checkout of AITER, or REPO@REV",
    )


def _run(given: dict[str, Any]) -> int:
    from pathlib import Path

    from mlaprobe.cli.support import common
    from mlaprobe.cli.support.progress import Progress
    from mlaprobe.decode.rules import rules
    from mlaprobe.emulation.matrix import DTYPES, How, cases, check_times
    from mlaprobe.emulation.pool import Record, run_cases

    scope, jobs = _scope(given), os.cpu_count() or 1
    if given["jobs"] is not None:
        jobs = common.parse_number("--jobs", given["jobs"])
    record = Record(None if given["record"] is None else Path(given["record"]))
    capability = _opened(given)
    wanted, rest = cases(capability, scope)
    tolerances = {pair: rules().tolerance(*pair) for pair in (*DTYPES, *scope.dtypes)}
    how = How(tolerances=tolerances, schedules=given["schedules"])
    if not wanted and not _code_objects(capability, scope.op, scope.arch, scope.names):
        raise _none(capability, scope.op, scope.arch, scope.names)
    check_times(capability, wanted, how)
    with Progress("launches run", len(wanted), quiet=given["quiet"]) as progress:
        results = run_cases(
            given["aiter"],
            capability,
            wanted,
            how,
            record=record,
            jobs=jobs,
            keep=lambda result: progress.step(),
        )
    narrow = given["heads"] is not None or given["qlen"] is not None
    _print(capability, results, () if narrow else rest, given)
    standings = {result.standing for result in results}
    if standings - {"PASSED", "UNKNOWN"}:
        return FAILED
    return UNKNOWN if "UNKNOWN" in standings else 0


def _scope(given: dict[str, Any]) -> Scope:
    from mlaprobe.cli import emulated, machine
    from mlaprobe.cli.support import common, shapes
    from mlaprobe.core.enums import Operation
    from mlaprobe.emulation.case import check_emulated
    from mlaprobe.emulation.matrix import DTYPES, Scope

    op = _operation(given) or Operation.DECODE
    check_emulated(op)

    given_lens = (given["kv_len"] or KV_LENS).split(",")
    lens = tuple(common.parse_number("--kv-len", part) for part in given_lens)
    grid = shapes.make_grid({**given, "arch": None}, archs=lambda: ("gfx950",))
    dtypes = grid.dtypes if given["dtype"] is not None else DTYPES
    return Scope(
        arch=machine.arch(given),
        kv_lens=lens,
        op=op,
        dtypes=dtypes,
        scales=common.parse_scales(given["scales"], dtypes),
        edges=given["sweep"] is not None,
        heads=grid.heads if given["heads"] is not None else None,
        qlens=grid.qlens if given["qlen"] is not None else None,
        page_size=common.parse_number("--page-size", given["page_size"]),
        kv_cache_bytes=emulated.cache_bytes(given),
        names=given["name"],
    )


def _print(
    capability: Capability,
    results: Sequence[CaseResult],
    rest: Sequence[str],
    given: dict[str, Any],
) -> None:
    from mlaprobe.cli.support import emit
    from mlaprobe.output.runs.kernels import runs_json, runs_junit, runs_text

    if given["format"] == "json":
        emit.write([runs_json(capability.source, results, rest)], given["output"])
    elif given["format"] == "junit":
        emit.write([runs_junit(results)], given["output"])
    else:
        wide = emit.width(given["output"])
        lines = runs_text(capability.source, results, rest, width=wide)
        emit.write_lines(lines, given["output"])

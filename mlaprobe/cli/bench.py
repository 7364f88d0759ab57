"""``mlaprobe bench``: measure fold against pad here, and write a cost profile."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlaprobe.cli import machine
from mlaprobe.cli.support import common, emit
from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.progress import Progress
from mlaprobe.errors import UsageError

if TYPE_CHECKING:
    from mlaprobe.decode.bench import Point, Sweep
    from mlaprobe.decode.benchfile import Kept

FORMATS = ("text", "json", "svg")
QUICK_SECONDS = 95.0
"""Of --quick: no case is begun later. The rest of two minutes is for the last one."""
QUICK = {"heads": "16,48,64,96,128", "batch": "1,32", "kv_len": "512,8192", "qlen": "1"}
FULL = {
    "heads": "16,32,48,64,80,96,112,128",
    "batch": "1,8,52",
    "kv_len": "128,512,2048,8192,16384,65536",
    "qlen": "1",
}
CPU = {"heads": "16,48,64", "batch": "1,2", "kv_len": "64,256", "qlen": "1"}
"""Where there is no GPU, the float32 reference runs: enough to see how the command works."""
NATIVE = "Head counts to take for native, others folded, whatever an AITER does."
PROFILES = "Where cost profiles go."
RETRY = "Measure again what ended the process or had no memory."
EPILOG = """\b
Examples:
  mlaprobe bench --quick                                     two minutes, this machine's GPU
  mlaprobe bench --results mi355x.jsonl --profiles .         everything; goes on where it stopped
  mlaprobe bench --quick --format svg -o bench.svg           the same as curves
  mlaprobe bench --heads 48,96 --dtype fp8/fp8 --batch 1,52 --kv-len 128,2048,16384
  mlaprobe bench --arch gfx950 --aiter ~/src/aiter@v0.1.20 --backend triton
  mlaprobe bench --native 16,64,128                          what folding costs on any GPU
  mlaprobe resolve --heads 48 --dtype fp8/fp8 --profile mlaprobe-gfx950-fp8-fp8.json    its use

A profile is written for each pair of dtypes. Its arch is that of the GPU it was measured on, so
that figures of another GPU are not taken for an AMD one's.

Exit codes: 0 something was measured, 1 everything failed, 2 wrong usage.
"""


def bench(
    ctx: typer.Context,
    heads: o.HeadsList = None,
    dtype: o.DtypeList = None,
    batch: Annotated[o.Text, o.option("--batch", "LIST", "Requests.")] = None,
    kv_len: Annotated[o.Text, o.option("--kv-len", "LIST", "KV tokens of each request.")] = None,
    qlen: o.QlenList = None,
    page_size: o.PageSizeOne = "1",
    lse: o.LseFlag = False,
    backend: o.BackendOption = "auto",
    arch: o.ArchHere = None,
    aiter: o.AiterOption = "installed",
    device: o.DeviceOption = None,
    native: Annotated[o.Text, o.option("--native", "LIST", NATIVE)] = None,
    quick: bool = typer.Option(False, "--quick", help="A small sweep, in two minutes."),
    results: o.ResultsFile = "mlaprobe-bench.jsonl",
    profiles: Annotated[str, o.option("--profiles", "DIR", PROFILES, callback=o.named)] = ".",
    retry: Annotated[bool, o.switch("--retry", RETRY)] = False,
    format: str = typer.Option("text", "--format", metavar="FORMAT", help=", ".join(FORMATS) + "."),
    output: o.OutputOption = None,
    quiet: o.QuietOption = False,
) -> int:
    """Times decodes as they are and padded, in turn, over head counts, KV lengths, batches, query
    lengths and dtypes; says from which KV length on padding is faster; writes a cost profile.

    An interrupted sweep goes on where it stopped: what --results holds is not measured again.
    """
    return _run(ctx.params, time.monotonic())


def _run(given: dict[str, Any], start: float) -> int:
    from mlaprobe.decode.bench import Outcome
    from mlaprobe.decode.benchfile import environment, load

    common.parse_choice("--format", given["format"], FORMATS)
    sweep = _sweep(given, machine.device(given["device"]))
    folder = _folder(given["profiles"])
    kept = load(Path(given["results"]))
    sweep = replace(sweep, arch=machine.arch(given))  # may warn: after what may be wrong
    answers, label = _decisions(given, sweep.arch)
    around = environment(sweep, label)
    _measure(given, sweep, kept, answers, around, start)
    held = load(Path(given["results"])).points
    points = [held[case] for case in sweep.cases if case in held]
    left = len(sweep.cases) - len(points)
    written = _write_profiles(points, around, folder)
    _show(given, points, left, around, written)
    # A back end that cannot run here, for example: whoever waits for figures has none.
    return 1 if points and all(point.status == Outcome.FAILED for point in points) else 0


def _show(
    given: dict[str, Any],
    points: list[Point],
    left: int,
    around: dict[str, Any],
    written: tuple[str, ...],
) -> None:
    if given["format"] == "json":
        from mlaprobe.output.runs.bench_data import bench_json

        emit.write(bench_json(points, left, around, written), given["output"])
    elif given["format"] == "svg":
        from mlaprobe.output.pictures.bench import bench_svg

        emit.write(bench_svg(points, around), given["output"])
    else:
        from mlaprobe.output.runs.bench_text import bench as lines_of

        emit.write_text(lines_of, points, left, around, written, output=given["output"])


def _measure(
    given: dict[str, Any],
    sweep: Sweep,
    kept: Kept,
    answers: Any,
    around: dict[str, Any],
    start: float,
) -> None:
    from mlaprobe.decode.bench import run
    from mlaprobe.decode.benchfile import CRASHED, Writer

    todo = tuple(
        case
        for case in sweep.cases
        if _open(kept.points.get(case), crashed=CRASHED, retry=given["retry"])
    )
    deadline = start + QUICK_SECONDS if given["quick"] else None
    with (
        Writer(Path(given["results"]), kept, around) as file,
        Progress("cases measured", len(todo), quiet=given["quiet"]) as progress,
    ):
        for point in run(answers, sweep, todo, begin=file.begin, deadline=deadline):
            file.add(point)
            progress.step()


def _open(point: Point | None, *, crashed: str, retry: bool) -> bool:
    """Whether a case is to be measured. What failed in an ordinary way is tried again; what ended
    the process would end it again."""
    from mlaprobe.decode.bench import Outcome

    if point is None:
        return True
    if retry:
        return point.status != Outcome.MEASURED
    return point.status == Outcome.FAILED and point.reason != crashed


def _sweep(given: dict[str, Any], device: str) -> Sweep:
    """The sweep of the options, its arch left open."""
    from mlaprobe.core.shape import Dtype
    from mlaprobe.decode.bench import Sweep

    usual = QUICK if given["quick"] else FULL
    if device == "cpu":
        usual = CPU
    numbers = {
        name: common.parse_numbers("--" + name.replace("_", "-"), given[name] or default)
        for name, default in usual.items()
    }
    pairs = ((Dtype.BF16, Dtype.BF16), (Dtype.FP8, Dtype.FP8))
    return Sweep(
        arch="",
        heads=numbers["heads"],
        dtypes=common.parse_dtypes("--dtype", given["dtype"]) if given["dtype"] else pairs,
        qlens=numbers["qlen"],
        batches=numbers["batch"],
        kv_lens=numbers["kv_len"],
        page_size=common.parse_number("--page-size", given["page_size"]),
        lse=given["lse"],
        backend=_backend(given, device),
        device=device,
        seconds=0.15 if given["quick"] else 0.5,
    )


def _backend(given: dict[str, Any], device: str) -> str:
    """The back end; AITER's own decides for itself what it folds."""
    from mlaprobe.decode.backends.registry import AUTO, NAMES

    named = common.parse_choice("--backend", given["backend"], (AUTO, *NAMES))
    if given["native"] is None:
        return named
    if named == "aiter":
        raise UsageError(
            "--native and --backend aiter contradict each other: AITER folds what it folds",
            hint="leave out one of them",
        )
    if named == AUTO:
        return "torch" if device == "cpu" else "triton"
    return named


def _decisions(given: dict[str, Any], arch: str) -> tuple[Any, str]:
    """Who decides what is folded, and its name."""
    from mlaprobe.decode.pretend import Pretended

    if given["native"] is None:
        answers = machine.answers(given)
        return answers, answers.source.release or answers.source.label
    native = common.parse_numbers("--native", given["native"])
    pretended = Pretended(native=native, archs=(arch,))
    return pretended, pretended.label


def _folder(name: str) -> Any:
    folder = Path(name)
    if not folder.is_dir():
        raise UsageError(f"--profiles: {name} is no directory", hint="make it first")
    return folder


def _write_profiles(points: list[Point], around: dict[str, Any], folder: Any) -> tuple[str, ...]:
    """Writes a profile per pair of dtypes, and says where."""
    from mlaprobe.decode.crossover import profiles

    written = []
    for profile in profiles(points, around):
        name = "-".join(("mlaprobe", profile["arch"], profile["q_dtype"], profile["kv_dtype"]))
        file = str(folder / f"{name}.json")
        emit.write(json.dumps(profile, indent=1) + "\n", file)
        written.append(file)
    return tuple(written)

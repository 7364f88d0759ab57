"""``mlaprobe resolve``: which head count to launch, and why."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from mlaprobe.cli.support import common, emit, shapes
from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.progress import Progress
from mlaprobe.core.enums import Operation

FORMATS = ("text", "json")
NOTHING_RUNS, UNDECIDED = 10, 11
"""Exit codes."""
QLENS = "Every query length of the run: 1-4."
EITHER = "With work metadata or without: whichever runs natively."
RIDE = "Let queries ride a kernel for longer ones."
EPILOG = """\b
Examples:
  mlaprobe resolve --heads 48 --arch gfx950 --dtype fp8/fp8
  mlaprobe resolve --heads 96 --arch gfx950 --dtype fp8/fp8 --qlens 1-4 --lse
  mlaprobe resolve --heads 8 --arch gfx950 --dtype bf16/bf16 --route gluon
  mlaprobe resolve --heads 32 --arch gfx950 --dtype fp8/fp8 --lse --auto-persistent
  mlaprobe resolve --heads 48 --arch gfx950 --dtype fp8/fp8 --planner fast_mode=0
  mlaprobe resolve --aiter ~/src/aiter@v0.1.20 --heads 32 --arch gfx942 --dtype fp8/fp8
  mlaprobe resolve --op prefill --heads 80 --arch gfx950 --dtype fp8/fp8
  mlaprobe resolve --heads 48 --arch gfx950 --dtype fp8/fp8 --format json
"""


def resolve(
    ctx: typer.Context,
    heads: o.HeadsOne,
    dtype: o.DtypeOne,
    aiter: o.AiterOption = "installed",
    arch: o.ArchHere = None,
    qlens: Annotated[str, o.option("--qlens --qlen", "LIST", QLENS)] = "1",
    lse: o.LseFlag = False,
    mode: o.ModeOption = "auto",
    route: o.PlanRoute = "auto",
    persistent: o.PersistentFlag = True,
    auto_persistent: Annotated[bool, o.switch("--auto-persistent", EITHER)] = False,
    causal: o.CausalFlag = True,
    cp_round_robin: o.RoundRobinFlag = False,
    batch: o.BatchOne = None,
    page_size: o.PageSizeOne = "1",
    kv_cache_bytes: o.CacheOne = None,
    num_kv_splits: o.SplitsOne = None,
    sparse: o.SparseFlag = False,
    kv_len: o.KvLenOne = None,
    strategy: o.StrategyOption = "tile",
    pad_qlen: Annotated[bool, o.switch("--pad-qlen", RIDE)] = False,
    profile: o.ProfileFile = None,
    planner: o.PlannerOption = None,
    env: o.EnvOption = None,
    op: o.OperationOption = None,
    format: str = typer.Option("text", "--format", metavar="FORMAT", help=", ".join(FORMATS) + "."),
    output: o.OutputOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Which head count to launch, by which route, and why: the answer for a whole run.

    Shows each count that was not taken with its reason, the expected gain, and what the launch
    needs. Where nothing runs it says what would, and exits with 10; where that is not known, with
    11.
    """
    _run(ctx.params)


def _run(given: dict[str, Any]) -> None:
    from mlaprobe.padding.api import plan
    from mlaprobe.padding.doubt import doubt
    from mlaprobe.reports.nativeways import native_ways

    common.parse_choice("--format", given["format"], FORMATS)
    if common.parse_operation("--op", given["op"] or "decode") is not Operation.DECODE:
        _operation(given)
        return
    question = _question(given)
    quiet = given["quiet"]
    answers = common.reading(given["aiter"], quiet=quiet, quick=True)
    common.warn_unnamed([answers], [question["arch"]], quiet=quiet)
    _warn_of_profile(question, given["profile"], quiet=quiet)
    with Progress("resolving", quiet=quiet):
        found = plan(capability=answers, **question)
        unclear = doubt(answers, found, question) if found.undecided and not found.runs else None
        ways = native_ways(answers, found.decisions[0]) if found.runs else ()
    if given["format"] == "json":
        from mlaprobe.output.resolve_data import plan_json

        emit.write(plan_json(answers.source, found, ways), given["output"])
    else:
        from mlaprobe.output.resolve_text import resolve as lines_of

        shown = partial(lines_of, doubt=unclear, ways=ways, spec=given["aiter"])
        emit.write_text(shown, answers.source, found, output=given["output"])
    if not found.runs:
        raise typer.Exit(UNDECIDED if found.undecided else NOTHING_RUNS)


def _operation(given: dict[str, Any]) -> None:
    """The least head count that an operation besides decode runs with."""
    from mlaprobe.output import least as shown
    from mlaprobe.padding.operations import least_count
    from mlaprobe.system.gpu import arch as local_arch

    common.refuse_of_decode(given, _OF_DECODE)
    qlens = common.parse_numbers("--qlens", given["qlens"])
    arch = given["arch"] or local_arch()
    shape = shapes.parse_shape({**given, "arch": arch, "qlen": str(qlens[0]), "route": "asm"})
    answers = common.reading(given["aiter"], quiet=given["quiet"], quick=True)
    common.warn_unnamed([answers], [shape.arch], quiet=given["quiet"])
    with Progress("resolving", quiet=given["quiet"]):
        found = least_count(answers, shape, qlens)
    if given["format"] == "json":
        emit.write(shown.least_json(answers.source, found), given["output"])
    else:
        emit.write_text(shown.least_lines, answers.source, found, output=given["output"])
    if not found.runs:
        raise typer.Exit(UNDECIDED if found.undecided else NOTHING_RUNS)


_OF_DECODE = {
    **{"mode": "auto", "route": "auto", "strategy": "tile", "planner": None, "profile": None},
    **{"kv_len": None, "auto_persistent": False, "pad_qlen": False},
}
"""Options that say how a decode is padded, with their defaults."""


def _question(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the library's call, checked."""
    from mlaprobe.system.gpu import arch as local_arch

    q_dtype, kv_dtype = shapes.parse_pair(given)
    return {
        "num_heads": common.parse_number("--heads", given["heads"]),
        "arch": shapes.parse_arch(given) or local_arch(),
        "q_dtype": q_dtype,
        "kv_dtype": kv_dtype,
        "qlens": common.parse_numbers("--qlens", given["qlens"]),
        **common.parse_plan(given),
        "env": common.parse_env("--env", given["env"] or ()),
        "planner": common.parse_planner("--planner", given["planner"] or ()),
        "profile": _profile(given["profile"]),
        **{name: shapes.parse_optional(given, name) for name in _NUMBERS},
        "kv_cache_bytes": shapes.parse_cache(given),
        **{name: given[name] for name in ("lse", "causal", "cp_round_robin", "sparse", "pad_qlen")},
        "persistent": "auto" if given["auto_persistent"] else given["persistent"],
    }


_NUMBERS = ("batch", "page_size", "num_kv_splits", "kv_len")


def _profile(path: str | None) -> Any:
    if path is None:
        return None
    from mlaprobe.rulefiles.cost import load_profile
    from mlaprobe.rulefiles.policy import policy

    return load_profile(path, policy().cost)


def _warn_of_profile(question: dict[str, Any], path: str | None, *, quiet: bool) -> None:
    """Says where a profile is of another arch or of other dtypes, and so of no use."""
    profile, arch = question["profile"], question["arch"]
    q_dtype, kv_dtype = question["q_dtype"], question["kv_dtype"]
    if profile is not None and not profile.covers(arch, q_dtype, kv_dtype):
        emit.warn(
            f"{path} was measured on {profile.arch} with {profile.q_dtype}/{profile.kv_dtype}: it "
            f"says nothing of {arch} with {q_dtype}/{kv_dtype}, and is not used",
            quiet=quiet,
        )

"""``mlaprobe decode``: run the padded decode here, verify it, time it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlaprobe.cli import emulated, machine
from mlaprobe.cli.support import common, emit, shapes
from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.options import SCHEDULES
from mlaprobe.cli.support.progress import Progress
from mlaprobe.errors import UsageError

if TYPE_CHECKING:
    from mlaprobe.core.protocols import LiveAnswers
    from mlaprobe.decode.problem import Problem
    from mlaprobe.decode.running import Run, Session
    from mlaprobe.padding.plan import PadPlan

FORMATS = ("text", "json")
FAILED = 10
"""The exit code where the result is not what attention gives."""
OF_THE_SELFTEST = (
    *("selftest", "json", "backend", "arch", "aiter", "device", "force"),
    *("schedules", "format", "output", "quiet"),
)
"""The options that go with --selftest."""
KV_LENS = "KV tokens of each request: one for all, or a list."
FORCE = "Launch also what AITER's source does not call safe."
RERUNS = f"How an emulated launch is run again: {', '.join(SCHEDULES)}."
EPILOG = """\b
Examples:
  mlaprobe decode --heads 48 --dtype fp8/fp8 --batch 52 --kv-len 16384
  mlaprobe decode --heads 48 --dtype fp8/fp8 --kv-len 4096 --compare
  mlaprobe decode --heads 12 --dtype bf16/bf16 --kv-len 300,9,77 --qlen 4 --lse
  mlaprobe decode --heads 12 --dtype bf16/bf16 --backend emulate --aiter REPO@v0.1.20 --kv-len 200
  mlaprobe decode --heads 16 --dtype fp8/fp8 --backend torch --format json
  mlaprobe decode --selftest --json selftest.json

On a gfx942 or gfx950 GPU it runs AITER's kernels, with PyTorch. Without a GPU it emulates them
instruction by instruction, where the source has their code objects (needs numpy, not PyTorch);
otherwise a stand-in carries out the same plan. Nothing of this has run on AMD hardware yet:
--selftest --json FILE there writes everything that tells whether it works.

Exit codes: 0 the result is right, 10 it is not, 11 that is not known (an instruction that the
emulator has no rule for, say), 1 it could not be run, 2 wrong usage.
"""


def decode(
    ctx: typer.Context,
    heads: Annotated[o.Text, o.option("--heads", "N", "Query heads per rank.")] = None,
    dtype: Annotated[o.Text, o.option("--dtype", "Q/KV", "Query and KV dtype: fp8/fp8.")] = None,
    batch: Annotated[o.Text, o.option("--batch", "N", "Requests; default 1.")] = None,
    kv_len: Annotated[str, o.option("--kv-len", "LIST", KV_LENS)] = "1024",
    qlen: o.QlenOne = "1",
    lse: o.LseFlag = False,
    page_size: o.PageSizeOne = "1",
    scales: o.Scales = None,
    mode: o.ModeOption = "auto",
    route: o.PlanRoute = "auto",
    persistent: o.PersistentFlag = True,
    strategy: o.StrategyOption = "tile",
    backend: o.DecodeBackendOption = "auto",
    arch: o.ArchHere = None,
    aiter: o.AiterOption = "installed",
    device: o.DeviceOption = None,
    compare: bool = typer.Option(False, "--compare", help="Run the unpadded launch as well."),
    seed: int = typer.Option(0, "--seed", metavar="N", help="Of the random inputs."),
    force: Annotated[bool, o.switch("--force", FORCE)] = False,
    kv_cache_bytes: o.CacheBytes = None,
    schedules: Annotated[str, o.option("--schedules", "WHICH", RERUNS)] = "timing",
    selftest: bool = typer.Option(False, "--selftest", help="Run a list of shapes instead."),
    json: o.RecordFile = None,
    format: str = typer.Option("text", "--format", metavar="FORMAT", help=", ".join(FORMATS) + "."),
    output: o.OutputOption = None,
    quiet: o.QuietOption = False,
) -> int:
    """Plans, decodes random inputs, verifies the result against attention in float32, and times
    it."""
    given = ctx.params
    _check_words(given)
    if not selftest:
        return _decode(given)
    _no_shape(ctx)
    return _selftest(given)


def _check_words(given: dict[str, Any]) -> None:
    """Checks what may only be one of several words, before anything is done."""
    from mlaprobe.decode.backends.emulate import EMULATE
    from mlaprobe.decode.backends.registry import AUTO, NAMES

    common.parse_choice("--format", given["format"], FORMATS)
    common.parse_choice("--backend", given["backend"], (AUTO, EMULATE, *NAMES))
    common.parse_choice("--schedules", given["schedules"], SCHEDULES)
    common.parse_plan(given)


def _no_shape(ctx: typer.Context) -> None:
    """Checks that the self-test, which has shapes of its own, was given none.

    Raises:
        UsageError: it was.
    """
    for name in ctx.params:
        source = ctx.get_parameter_source(name)
        if name not in OF_THE_SELFTEST and source is not None and source.name == "COMMANDLINE":
            option = "--" + name.replace("_", "-")
            raise UsageError(
                f"--selftest and {option} contradict each other",
                hint="the self-test has a list of shapes of its own, and decodes each as it wants",
            )
    if ctx.params["json"] == "-":
        raise UsageError("--json: a file is wanted", hint="--format json prints the record")


def _decode(given: dict[str, Any]) -> int:
    if given["json"] is not None:
        raise UsageError("--json is for --selftest", hint="--format json prints this as JSON")
    for option in ("heads", "dtype"):
        if given[option] is None:
            raise UsageError(f"missing option '--{option}'", hint="or --selftest")
    emulating = emulated.wanted(given)
    problem = _problem(given, "cpu" if emulating else machine.device(given["device"]))
    answers = machine.answers(given, quick=emulating)
    plan = _plan(answers, given, problem, given["mode"])
    if not emulating:
        return _run(answers, plan, problem, given)
    instead = emulated.passed_over(answers, plan, problem, given)
    if instead is None:
        return emulated.run(answers, plan, problem, given)
    problem = replace(problem, device=machine.device(given["device"]))
    return _run(answers, plan, problem, given, (instead,))


def _run(
    answers: LiveAnswers,
    plan: PadPlan,
    problem: Problem,
    given: dict[str, Any],
    passed_over: tuple[str, ...] = (),
) -> int:
    """Runs a plan with PyTorch, prints what became of it, and returns the exit code."""
    from mlaprobe.decode.environment import environment_of
    from mlaprobe.decode.running import Session

    with Progress("making inputs, decoding, verifying", quiet=given["quiet"]):
        session = Session(
            problem, backend=given["backend"], force=given["force"], seed=given["seed"]
        )
        run, unpadded = _runs(session, plan, answers, given)
    run = replace(run, passed_over=(*passed_over, *run.passed_over))
    done = answers.source, run, unpadded, environment_of(problem.device)
    if given["format"] == "json":
        from mlaprobe.output.runs.decode_data import decode_json

        emit.write(decode_json(*done), given["output"])
    else:
        from mlaprobe.output.runs.decode_text import decode as lines_of

        emit.write_text(lines_of, *done, output=given["output"])
    right = run.passed and (unpadded is None or isinstance(unpadded, str) or unpadded.passed)
    return 0 if right else FAILED


def _runs(
    session: Session, plan: PadPlan, answers: LiveAnswers, given: dict[str, Any]
) -> tuple[Run, Run | str | None]:
    """The run, and the unpadded one to compare it with, or why there is none."""
    from mlaprobe.decode.interface import DecodeError

    if not given["compare"]:
        return session.run(plan)[0], None
    other = _plan(answers, given, session.problem, "off")
    if other.padded_num_heads == plan.padded_num_heads:
        return session.run(plan)[0], f"the plan launches {plan.padded_num_heads} heads anyway"
    try:
        first, second = session.run(plan, other)
    except DecodeError:
        # Which of the two failed: the plan alone fails the command, the other is a remark.
        first = session.run(plan)[0]
        try:
            session.run(other, timed=False)
        except DecodeError as error:
            return first, f"{other.padded_num_heads} heads: {error.message}"
        raise
    return first, second


def _problem(given: dict[str, Any], device: str) -> Problem:
    from mlaprobe.decode.problem import Problem

    q_dtype, kv_dtype = shapes.parse_pair(given)
    return Problem(
        num_heads=common.parse_number("--heads", given["heads"]),
        q_dtype=q_dtype,
        kv_dtype=kv_dtype,
        kv_lens=_kv_lens(given["kv_len"], given["batch"]),
        qlen=common.parse_number("--qlen", given["qlen"]),
        page_size=common.parse_number("--page-size", given["page_size"]),
        lse=given["lse"],
        persistent=given["persistent"],
        scales=common.parse_scales(given["scales"], [(q_dtype, kv_dtype)]) or (1.0, 1.0),
        device=device,
        arch=machine.arch(given),  # may warn: after what may be wrong
    )


def _kv_lens(text: str, batch: str | None) -> tuple[int, ...]:
    """The KV length of each request."""
    lens = tuple(common.parse_number("--kv-len", part.strip()) for part in text.split(","))
    count = len(lens) if batch is None else common.parse_number("--batch", batch)
    if count > common.MOST_VALUES:
        raise UsageError(f"--batch: more than {common.MOST_VALUES} requests")
    if len(lens) == 1:
        return lens * count
    if len(lens) != count:
        raise UsageError(
            f"--kv-len names {len(lens)} lengths for a batch of {count}",
            hint="name one for all, or one for each request",
        )
    return lens


def _plan(answers: LiveAnswers, given: dict[str, Any], problem: Problem, mode: str) -> PadPlan:
    from mlaprobe.padding.api import plan

    return plan(
        capability=answers,
        **problem.question,
        **common.parse_plan({**given, "mode": mode}),
        kv_len=max(1, sum(problem.kv_lens) // problem.batch),
        batch=problem.batch,
    )


def _selftest(given: dict[str, Any]) -> int:
    from mlaprobe.decode.backends.emulate import EMULATE
    from mlaprobe.decode.selftest import Report, selftest
    from mlaprobe.output.runs.decode_data import selftest_json

    if given["backend"] == EMULATE:
        return emulated.selftest(given)
    device, arch = machine.device(given["device"]), machine.arch(given)
    answers = machine.answers(given)
    with Progress("shapes run", quiet=given["quiet"]) as progress:

        def keep(report: Report) -> None:
            progress.step()
            if given["json"] is not None:
                emit.write(selftest_json(answers, report), given["json"])

        report = selftest(
            answers,
            arch=arch,
            device=device,
            backend=given["backend"],
            force=given["force"],
            keep=keep,
        )
    if given["format"] == "json":
        emit.write(selftest_json(answers, report), given["output"])
    else:
        from mlaprobe.output.runs.decode_text import selftest as lines_of

        emit.write_text(lines_of, answers.source, report, output=given["output"])
    return 0 if report.passed else FAILED

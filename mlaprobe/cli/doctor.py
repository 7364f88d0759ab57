"""``mlaprobe doctor``: what is here, and what to do about it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlaprobe.cli.support import common, emit
from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.progress import Progress
from mlaprobe.errors import UsageError

if TYPE_CHECKING:
    from mlaprobe.system.doctor.engine import Served

FORMATS = ("text", "json")
ENGINE = (
    "A serving engine (vllm, sglang, atom): which it is, what it decides by hand, its launches."
)
MODEL = "With --engine: the model that is served, an id or name."
ARCH = "With --model; default: this machine's GPU."
PAIRS = "With --model: pairs q/kv."
EPILOG = """\b
Examples:
  mlaprobe doctor                                  the installed AITER, and this machine
  mlaprobe doctor --aiter ~/src/aiter              a checkout
  mlaprobe doctor --aiter ~/src/aiter@v0.1.20      a git repository at a tag
  mlaprobe doctor --format json                    for a bug report, or programs
  mlaprobe doctor --engine vllm --model kimi-k3 --tp 8    what an engine will launch

Exit codes: 0 answers can be had here, 1 they cannot (no AITER that can be read), 2 wrong usage.
"""


def doctor(
    ctx: typer.Context,
    aiter: o.AiterOption = "installed",
    engine: Annotated[o.Text, o.option("--engine", "NAME", ENGINE)] = None,
    model: Annotated[o.Text, o.option("--model", "NAME", MODEL)] = None,
    tp: Annotated[str, o.option("--tp", "N", "Tensor parallel size.")] = "8",
    dcp: Annotated[str, o.option("--dcp", "N", "Decode context parallel size.")] = "1",
    draft: Annotated[o.Text, o.option("--draft", "N", "Draft tokens per step.")] = None,
    arch: Annotated[o.Text, o.option("--arch", "LIST", ARCH)] = None,
    dtype: Annotated[str, o.option("--dtype", "LIST", PAIRS)] = "bf16/bf16,fp8/fp8",
    format: str = typer.Option("text", "--format", metavar="FORMAT", help=", ".join(FORMATS) + "."),
    output: o.OutputOption = None,
    quiet: o.QuietOption = False,
) -> int:
    """Looks at AITER, its files and stages, the variables that are set, the GPU, ROCm, PyTorch,
    Triton and the bundled releases, and says what to do about each problem.

    Nothing is changed. AITER is not imported, except to ask a query of its own, where it has one.
    """
    return _run(ctx.params)


def _run(given: dict[str, Any]) -> int:
    from mlaprobe.output.doctor import doctor as lines_of
    from mlaprobe.output.doctor import doctor_json
    from mlaprobe.system.doctor import checkup

    common.parse_choice("--format", given["format"], FORMATS)
    served = _served(given)
    with Progress("shapes asked", quiet=given["quiet"]) as progress:
        found = checkup(given["aiter"], step=progress.step, served=served)
    if given["format"] == "json":
        emit.write(doctor_json(found), given["output"])
    else:
        emit.write_text(partial(lines_of, spec=given["aiter"]), found, output=given["output"])
    return 0 if found.works else 1


def _served(given: dict[str, Any]) -> Served | None:
    """What an engine is to serve, where one was named."""
    from mlaprobe.cli.models import wanted_deployments
    from mlaprobe.system.doctor.engine import ENGINES, Served
    from mlaprobe.system.gpu import arch as local_arch

    if given["engine"] is None:
        if given["model"] is not None:
            raise UsageError("--model is for --engine", hint=f"add --engine {next(iter(ENGINES))}")
        return None
    common.parse_choice("--engine", given["engine"], tuple(ENGINES))
    if given["model"] is None:
        return Served(engine=given["engine"])
    archs = given["arch"]
    return Served(
        engine=given["engine"],
        deployments=tuple(wanted_deployments(given)),
        archs=common.parse_archs("--arch", archs) if archs else (local_arch(),),
        dtypes=common.parse_dtypes("--dtype", given["dtype"]),
    )

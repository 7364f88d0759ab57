"""``mlaprobe doctor``: what is here, and what to do about it."""

from __future__ import annotations

from functools import partial

import typer

from mlaprobe.cli.support import common, emit
from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.progress import Progress

FORMATS = ("text", "json")
EPILOG = """\b
Examples:
  mlaprobe doctor                                  the installed AITER, and this machine
  mlaprobe doctor --aiter ~/src/aiter              a checkout
  mlaprobe doctor --aiter ~/src/aiter@v0.1.20      a git repository at a tag
  mlaprobe doctor --format json                    for a bug report, or programs

Exit codes: 0 answers can be had here, 1 they cannot (no AITER that can be read), 2 wrong usage.
"""


def doctor(
    aiter: o.AiterOption = "installed",
    format: str = typer.Option("text", "--format", metavar="FORMAT", help=", ".join(FORMATS) + "."),
    output: o.OutputOption = None,
    quiet: o.QuietOption = False,
) -> int:
    """Looks at AITER, its files and stages, the variables that are set, the GPU, ROCm, PyTorch,
    Triton and the bundled releases, and says what to do about each problem.

    Nothing is changed. AITER is not imported, except to ask a query of its own, where it has one.
    """
    return _run(aiter, format=format, output=output, quiet=quiet)


def _run(aiter: str, *, format: str, output: str | None, quiet: bool) -> int:
    from mlaprobe.output.doctor import doctor as lines_of
    from mlaprobe.output.doctor import doctor_json
    from mlaprobe.system.doctor import checkup

    common.parse_choice("--format", format, FORMATS)
    with Progress("shapes asked", quiet=quiet) as progress:
        found = checkup(aiter, step=progress.step)
    if format == "json":
        emit.write(doctor_json(found), output)
    else:
        emit.write_text(partial(lines_of, spec=aiter), found, output=output)
    return 0 if found.works else 1

"""``mlaprobe snapshot``: an AITER's answers in a file that needs no AITER."""

from __future__ import annotations

from pathlib import Path

from mlaprobe.cli.support import emit
from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.progress import Progress
from mlaprobe.errors import UsageError

EPILOG = """\b
Examples:
  mlaprobe snapshot -o aiter.pin                                   the installed AITER
  mlaprobe snapshot --aiter ~/src/aiter@v0.1.20 -o aiter.pin       a git revision
  mlaprobe report --aiter aiter.pin                                a snapshot is a source

A snapshot holds every arch of the source, the usual dtype pairs, heads 1-128 and multiples of 16 to
256, qlen 1-8, with and without the LSE, work metadata, the causal mask and round robin, page sizes
1 and 64, the planner told both dtypes and told none, both routes, any batch size, no knob set.
"""


def snapshot(
    output: o.OutputFile,
    aiter: o.AiterOption = "installed",
    quiet: o.QuietOption = False,
) -> None:
    """Takes a snapshot of an AITER: what ``check`` compares a new one with.

    It takes one to three minutes: every stage is asked on the whole grid.
    """
    from mlaprobe.deciding.capability import Capability
    from mlaprobe.opening.probing import probe
    from mlaprobe.snapshot.making import make

    with Progress("reading AITER", quiet=quiet):
        answers = probe(aiter)
    if not isinstance(answers, Capability):
        raise UsageError(f"{aiter} is a snapshot already", hint=_copy(answers, output))
    with Progress("planes taken", quiet=quiet) as progress:
        text = make(answers, step=progress.step)
    emit.write(text, output)


def _copy(answers: object, output: str) -> str:
    location = getattr(getattr(answers, "source", None), "location", "it")
    return f"copy {Path(str(location)).name} to {output}"

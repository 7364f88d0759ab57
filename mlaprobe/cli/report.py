"""``mlaprobe report``: what an AITER does, at a glance."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlaprobe.cli.support import common, emit, shapes
from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.progress import Progress
from mlaprobe.core.enums import Operation
from mlaprobe.errors import UsageError

if TYPE_CHECKING:
    from mlaprobe.reports.survey import Survey

FORMATS = ("text", "json", "jsonl", "markdown", "csv", "html")
QLENS = tuple(range(1, 9))
AGAINST = "With html: show what differs from this one."
EPILOG = """\b
Examples:
  mlaprobe report                                   the installed AITER
  mlaprobe report --aiter ~/src/aiter@v0.1.20       a git repository at a tag
  mlaprobe report --arch gfx950 --dtype fp8/fp8     one table
  mlaprobe report --heads 1-128 --qlen 1            every head count
  mlaprobe report --lse 0,1 --persistent 0,1        every mode apart
  mlaprobe report --op prefill                      an operation besides decode
  mlaprobe report --format markdown -o report.md    for a document
  mlaprobe report --format html -o report.html      to look at, with findings and deployments
  mlaprobe report --format html -o report.html --against release:v0.1.19
"""


@o.with_filters
def report(
    ctx: typer.Context,
    aiter: o.AiterOption = "installed",
    filters: o.Filters = None,
    against: Annotated[o.Text, o.option("--against", "SOURCE", AGAINST, callback=o.named)] = None,
    format: str = typer.Option("text", "--format", metavar="FORMAT", help=", ".join(FORMATS) + "."),
    output: o.OutputOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Native head tiles per arch and dtype pair: which counts run natively, fold or fail.

    Without --heads the counts that models lead to are shown, and every other one that can be
    native. Where a shape runs, it is asked with the log-sum-exp too. What else is not given: every
    arch that the source names, the pairs bf16/bf16, bf16/fp8 and fp8/fp8, qlen 1-8, persistent,
    causal, page size 1, the asm route.
    """
    _run(ctx.params, aiter=aiter, format=format, output=output, quiet=quiet)


def _run(
    given: dict[str, Any], *, aiter: str, format: str, output: str | None, quiet: bool
) -> None:
    from mlaprobe.opening.probing import or_bundled

    common.parse_choice("--format", format, FORMATS)
    _needs_html(given["against"], format)
    shapes.check_filters(given)
    aiter, instead = or_bundled(aiter)
    banner = "" if instead is None else _instead(instead, aiter)
    if banner and format not in ("text", "html"):
        emit.warn(banner, quiet=quiet)
    if format == "html":
        from mlaprobe.cli.page import write_page

        write_page(given, aiter=aiter, banner=banner, output=output, quiet=quiet)
        return
    found = _surveyed(given, aiter, quiet=quiet)
    if format == "text":
        from mlaprobe.output.report import report as lines_of

        lines = partial(lines_of, spec=aiter, banner=banner, can_resolve=True)
        emit.write_text(lines, found, output=output)
    else:
        from mlaprobe.output.report_data import report_text

        emit.write(report_text(format, found), output)


def _surveyed(given: dict[str, Any], aiter: str, *, quiet: bool) -> Survey:
    """What a source does with the grid of the options."""
    from mlaprobe.reports.survey import Others, head_counts, survey

    answers = common.reading(aiter, quiet=quiet, quick=True)
    qlens = QLENS if given["op"] in (None, Operation.DECODE) else (1,)
    grid, others = shapes.make_grid(given, qlens=qlens, archs=lambda: answers.archs), Others.NONE
    common.warn_unnamed([answers], grid.archs, quiet=quiet)
    with Progress("head counts asked", quiet=quiet) as progress:
        if given["heads"] is None:
            heads, others = head_counts(answers, grid)
            grid = replace(grid, heads=heads)
        progress.total = grid.size // len(grid.qlens)
        found = survey(answers, grid, others=others, step=progress.step)
        if grid.op is not Operation.DECODE:
            from mlaprobe.reports.operations import variables

            found = replace(found, variables=variables(answers, found.decisions))
        if is_bare(given):
            from mlaprobe.reports.operations import overviews

            found = replace(found, operations=overviews(answers, grid.archs, grid.dtypes))
    return found


_OF_DECODE = (
    *("heads", "qlen", "lse", "persistent", "causal", "cp_round_robin", "batch"),
    *("page_size", "route", "env", "planner", "op", "kv_heads"),
)


def is_bare(given: dict[str, Any]) -> bool:
    """Whether a report is about everything, or all of an arch and of dtypes."""
    return not any(given[name] for name in _OF_DECODE)


def _instead(why: str, source: str) -> str:
    """The banner over the report of a release that nobody has installed."""
    release = source.partition(":")[2]
    return (
        f"{why}. This is what AITER {release} does, the newest release that mlaprobe brings along; "
        "--aiter names another source"
    )


def _needs_html(against: str | None, format: str) -> None:
    if against is not None and format != "html":
        raise UsageError(
            "--against goes with --format html",
            hint="mlaprobe compare shows what two sources do differently in every other format",
        )

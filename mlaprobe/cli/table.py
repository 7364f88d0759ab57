"""``mlaprobe table``: every answer, for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlaprobe.cli.support import common, emit, shapes
from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.progress import Progress
from mlaprobe.core.enums import StageName
from mlaprobe.errors import UsageError

if TYPE_CHECKING:
    from mlaprobe.core.grid import Grid
    from mlaprobe.core.protocols import LiveAnswers

REMEMBERED = 8192
"""Rows after which the capability forgets its answers: a table asks nothing twice."""
FORMATS = ("jsonl", "json", "csv", "markdown")
STAGE = "One stage alone: planner, sizing, dispatcher, host, reducer or gluon."
EPILOG = """\b
Examples:
  mlaprobe table --arch gfx950 --dtype fp8/fp8 --heads 1-160 --qlen 1-8
  mlaprobe table --aiter ~/src/aiter@v0.1.20 --lse 0,1 --persistent 0,1 -o table.jsonl
  mlaprobe table --env AITER_ENABLE_EXPERIMENTAL=1 --format csv
  mlaprobe table --op prefill --arch gfx950 --dtype fp8/fp8 --heads 1-128
  mlaprobe table --stage planner --heads 1-128
  mlaprobe table --stage reducer --heads 1-256
"""


@o.with_filters
def table(
    ctx: typer.Context,
    aiter: o.AiterOption = "installed",
    filters: o.Filters = None,
    stage: Annotated[o.Text, o.option("--stage", "STAGE", STAGE)] = None,
    format: str = typer.Option(
        "jsonl", "--format", metavar="FORMAT", help=", ".join(FORMATS) + "."
    ),
    output: o.OutputOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """One row per shape: the verdict, its kernels and its evidence, or one stage's answer.

    Every combination of the filters gives exactly one row. What is not given: every arch that the
    source names, the pairs bf16/bf16, bf16/fp8 and fp8/fp8, heads 1-128, qlen 1, without LSE,
    persistent, causal, no round robin, page size 1, batch unset, the asm route.
    """
    _run(ctx.params)


def _run(given: dict[str, Any]) -> None:
    from mlaprobe.output import SCHEMA
    from mlaprobe.output.report_data import source_row
    from mlaprobe.output.rows import STAGES
    from mlaprobe.output.tabular import table_text

    stage, output, quiet = given["stage"], given["output"], given["quiet"]
    common.parse_choice("--format", given["format"], FORMATS)
    if stage is not None:
        common.parse_choice("--stage", stage, STAGES)
    shapes.check_filters(given)
    if stage is not None and given["op"] is not None:
        raise UsageError(
            "--stage goes with decode", hint="the rows of an operation have its stages"
        )
    answers = common.reading(given["aiter"], quiet=quiet)
    grid = shapes.make_grid(given, archs=lambda: answers.archs)
    common.warn_unnamed([answers], grid.archs, quiet=quiet)
    head = {"schema": SCHEMA, "source": source_row(answers.source), "stage": stage}
    seen = output is None and sys.stdout.isatty()  # the rows themselves are the progress
    with Progress("rows", grid.size, quiet=quiet or seen) as progress:
        rows = _rows(answers, grid, stage, progress)
        emit.write(table_text(given["format"], rows, head), output)


def _rows(
    answers: LiveAnswers, grid: Grid, stage: str | None, progress: Progress
) -> Iterator[dict[str, Any]]:
    from mlaprobe.output import rows

    if stage == StageName.REDUCER:
        for num_heads, head_dim, outcome in answers.reducer_rows(grid.heads):
            yield rows.reducer_row(num_heads, head_dim, outcome)
            progress.step()
        return
    for number, shape in enumerate(grid.shapes(), start=1):
        if number % REMEMBERED == 0:
            answers.forget()
        if stage is None:
            yield rows.decision_row(answers.decide(shape))
        else:
            yield rows.stage_row(stage, shape, answers.ask(stage, shape))
        progress.step()

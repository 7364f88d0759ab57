"""``mlaprobe explain``: the whole chain for one shape."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import typer

from mlaprobe.cli.support import common, emit, shapes
from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.progress import Progress

if TYPE_CHECKING:
    from mlaprobe.core.shape import DecodeShape

FORMATS = ("text", "json")
EPILOG = """\b
Examples:
  mlaprobe explain --arch gfx950 --dtype fp8/fp8 --heads 48
  mlaprobe explain --arch gfx950 --dtype bf16/bf16 --heads 24 --qlen 4 --lse
  mlaprobe explain --aiter ~/src/aiter@v0.1.20 --arch gfx942 --dtype fp8/fp8 --heads 128
  mlaprobe explain --arch gfx950 --dtype fp8/fp8 --heads 32 --planner q_dtype=none
  mlaprobe explain --arch gfx950 --dtype fp8/fp8 --heads 16 --needs
  mlaprobe explain --op prefill --arch gfx950 --dtype fp8/fp8 --heads 80
  mlaprobe explain --arch gfx950 --dtype fp8/fp8 --heads 48 --format json
"""


def explain(
    ctx: typer.Context,
    arch: o.ArchOne,
    dtype: o.DtypeOne,
    heads: o.HeadsOne,
    aiter: o.AiterOption = "installed",
    qlen: o.QlenOne = "1",
    lse: o.LseFlag = False,
    persistent: o.PersistentFlag = True,
    causal: o.CausalFlag = True,
    cp_round_robin: o.RoundRobinFlag = False,
    batch: o.BatchOne = None,
    page_size: o.PageSizeOne = "1",
    kv_cache_bytes: o.CacheOne = None,
    num_kv_splits: o.SplitsOne = None,
    sparse: o.SparseFlag = False,
    route: o.RouteOption = "asm",
    env: o.EnvOption = None,
    planner: o.PlannerOption = None,
    needs: bool = typer.Option(False, "--needs", help="Find also what the launch needs."),
    op: o.OperationOption = None,
    kv_heads: o.KvHeadsOne = None,
    format: str = typer.Option("text", "--format", metavar="FORMAT", help=", ".join(FORMATS) + "."),
    output: o.OutputOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Why one shape runs natively, folds or fails: every stage with its clause and place.

    Says also which knobs would change the answer, and which shapes near by do better.
    """
    shape = shapes.parse_shape(ctx.params)
    _run(shape, aiter=aiter, needs=needs, format=format, output=output, quiet=quiet)


def _run(
    shape: DecodeShape, *, aiter: str, needs: bool, format: str, output: str | None, quiet: bool
) -> None:
    from mlaprobe.reports.explanation import explain as explanation

    common.parse_choice("--format", format, FORMATS)
    answers = common.reading(aiter, quiet=quiet)
    common.warn_unnamed([answers], [shape.arch], quiet=quiet)
    with Progress("explaining", quiet=quiet) as progress:
        found = explanation(answers, shape, progress.step, needs=needs)
    if format == "json":
        from mlaprobe.output.explaining.explain_data import explain_json

        emit.write(explain_json(found), output)
        return
    from mlaprobe.output.explaining.explain import explain as lines_of

    emit.write_text(partial(lines_of, spec=aiter, can_resolve=True), found, output=output)

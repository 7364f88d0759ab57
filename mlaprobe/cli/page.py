"""``mlaprobe report --format html``: everything about one AITER on one page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mlaprobe.cli.compare import grids_of
from mlaprobe.cli.findings import scope_of
from mlaprobe.cli.support import common, emit, shapes
from mlaprobe.cli.support.progress import Progress
from mlaprobe.compare.diff import compare
from mlaprobe.compare.results import Results, compared, found
from mlaprobe.compare.signatures import changed_signatures
from mlaprobe.core.enums import Operation
from mlaprobe.core.grid import Grid
from mlaprobe.core.protocols import LiveAnswers, Opened
from mlaprobe.findings.inspection import inspect
from mlaprobe.findings.rules import finding_rules
from mlaprobe.opening.shortcut import evaluated
from mlaprobe.output.html import Page, html_report
from mlaprobe.reports.deployments import Assessment, assess
from mlaprobe.reports.operations import overviews, variables
from mlaprobe.reports.survey import head_counts, survey
from mlaprobe.rulefiles.models import deployments, models
from mlaprobe.rulefiles.operations import operations

TPS, DCPS = (1, 2, 4, 8, 16), (1, 2, 4, 8)


def write_page(
    given: dict[str, Any], *, aiter: str, banner: str, output: str | None, quiet: bool
) -> None:
    """Gathers what the page shows, and writes it.

    Args:
        banner: what to know before anything else; empty where there is nothing.

    Raises:
        SourceError: a source cannot be read.
        UsageError: the file cannot be written.
    """
    from mlaprobe.cli.report import is_bare

    answers = common.reading(aiter, quiet=quiet, quick=True)
    named = given["against"]
    other = None if named is None else common.reading(named, quiet=quiet, quick=True)
    grid = _grid(given, answers)
    common.warn_unnamed([answers], grid.archs, quiet=quiet)
    with Progress("shapes asked", quiet=quiet) as progress:
        asked = survey(answers, grid, step=progress.step)
        if is_bare(given):
            asked = replace(asked, operations=overviews(answers, grid.archs, grid.dtypes))
        if grid.op is not Operation.DECODE:
            asked = replace(asked, variables=variables(answers, asked.decisions))
        page = Page(
            survey=asked,
            spec=aiter,
            banner=banner,
            assessments=_assessments(answers, grid, progress.step),
            # Some rules look at AITER's files, which a snapshot does not hold.
            findings=_findings(given, _with_files(answers), progress.step),
            changes=None if other is None else _changes(given, other, answers, progress.step),
            before=None if other is None else survey(other, grid, step=progress.step),
        )
    emit.write(html_report(page), output)


def _grid(given: dict[str, Any], answers: LiveAnswers) -> Grid:
    """What the filters say, and both values of what a page can switch between."""
    from mlaprobe.cli.report import QLENS

    qlens = QLENS if given["op"] in (None, Operation.DECODE) else (1,)
    grid = shapes.make_grid(given, qlens=qlens, archs=lambda: answers.archs)
    if given["heads"] is None:
        grid = replace(grid, heads=head_counts(answers, grid)[0])
    if grid.op is not Operation.DECODE:
        # Work metadata chooses the function, whose question may be another.
        switches = operations()[grid.op].entry(grid.persistent[0]).asks("lse")
        both = switches and given["lse"] is None
        return replace(grid, lse=(False, True) if both else grid.lse)
    return replace(
        grid,
        lse=(False, True) if given["lse"] is None else grid.lse,
        persistent=(True, False) if given["persistent"] is None else grid.persistent,
    )


def _with_files(answers: Opened) -> Opened:
    """The source itself, where answers come from a snapshot though it is at hand."""
    return evaluated(answers) or answers


def _assessments(answers: LiveAnswers, grid: Grid, step: Any) -> tuple[Assessment, ...]:
    """What deployments of the known models launch in a decode."""
    if grid.op is not Operation.DECODE:
        return ()
    wanted = tuple(
        each
        for model in models()
        for each in deployments([model], tps=TPS, dcps=DCPS, drafts=model.drafts)
    )
    return assess(
        answers,
        wanted,
        archs=grid.archs,
        dtypes=grid.dtypes,
        page_size=grid.page_sizes[0],
        kv_cache_bytes=grid.kv_cache_sizes[0],
        batch=grid.batches[0],
        env=grid.env,
        step=step,
    )


def _findings(given: dict[str, Any], answers: Opened, step: Any) -> Results:
    scope = scope_of(given, answers)
    result = inspect(answers, scope, step=step)
    return found(result, tuple(r.rule for r in finding_rules() if r.concerns(scope.op)), None)


def _changes(given: dict[str, Any], old: Any, new: Any, step: Any) -> Results:
    comparison = compare(old, new, grids_of(given, old, new), step=step)
    decode = given["op"] in (None, Operation.DECODE)
    return compared(comparison, changed_signatures(old, new) if decode else ())

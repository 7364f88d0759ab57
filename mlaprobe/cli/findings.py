"""``mlaprobe findings``: what one AITER contradicts itself in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlaprobe.cli.support import common, outputs, shapes
from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.outputs import FormatOption
from mlaprobe.cli.support.progress import Progress
from mlaprobe.core.enums import Operation
from mlaprobe.errors import UsageError

if TYPE_CHECKING:
    from mlaprobe.core.grid import Grid
    from mlaprobe.findings.engine import Findings
    from mlaprobe.findings.facts.shapes import Scope

LEVELS = ("error", "warning", "note", "never")
FAIL_ON = "The mildest level that exits with 10: " + ", ".join(LEVELS)
EPILOG = """\b
Examples:
  mlaprobe findings                                    the installed AITER
  mlaprobe findings --aiter ~/src/aiter@v0.1.20        a git repository at a tag
  mlaprobe findings --arch gfx950 --dtype fp8/fp8      one arch, one pair of dtypes
  mlaprobe findings --rule MLA005,MLA007               some rules
  mlaprobe findings --op prefill                       an operation besides decode
  mlaprobe findings --format json                      for programs
  mlaprobe findings --format sarif=aiter.sarif         for code scanning

Exit codes: 0 nothing of that level, 10 findings, 11 a rule could not be checked or source could
not be followed, 1 a source cannot be read, 2 wrong usage.
"""


def findings(
    ctx: typer.Context,
    aiter: o.AiterOption = "installed",
    arch: o.ArchList = None,
    dtype: o.DtypeList = None,
    heads: o.HeadsList = None,
    qlen: o.QlenList = None,
    op: o.OperationOption = None,
    rule: Annotated[o.Text, o.option("--rule", "LIST", "Only these rules: MLA001,...")] = None,
    fail_on: Annotated[str, o.option("--fail-on", "LEVEL", FAIL_ON)] = "warning",
    every: bool = typer.Option(False, "--all", help="Show every finding in the text."),
    format: FormatOption = None,
    output: o.OutputOption = None,
    quiet: o.QuietOption = False,
) -> int:
    """What does not fit together inside one AITER: stages that contradict each other, kernels
    that are missing or out of reach, arguments without effect.

    Rules are about a decode, or about any other operation, whose head counts are those that models
    lead to.
    """
    return _run(ctx.params)


def _run(given: dict[str, Any]) -> int:
    from mlaprobe.compare.results import found
    from mlaprobe.findings.inspection import inspect
    from mlaprobe.findings.model import Level
    from mlaprobe.findings.rules import finding_rules

    wanted = outputs.parse_outputs(given["format"], given["output"])
    common.parse_choice("--fail-on", given["fail_on"], LEVELS)
    known = [each.rule.id for each in finding_rules()]
    named = "" if given["rule"] is None else given["rule"].upper()
    some = () if given["rule"] is None else common.parse_names("--rule", named)
    for name in some:
        common.parse_choice("--rule", name, known)
    op = common.parse_operation("--op", given["op"] or "decode")
    _check_rules(some, op)
    shapes.check_filters(given)
    answers = common.reading(given["aiter"], quiet=given["quiet"])
    archs = common.parse_archs("--arch", given["arch"]) if given["arch"] else ()
    common.warn_unnamed([answers], archs, quiet=given["quiet"])
    with Progress("shapes asked", quiet=given["quiet"]) as progress:
        result = inspect(answers, scope_of(given, answers), only=some, step=progress.step)
    level = None if given["fail_on"] == "never" else Level(given["fail_on"])
    concerned = (each.rule for each in finding_rules() if each.concerns(op))
    rules = tuple(rule for rule in concerned if not some or rule.id in some)
    results = found(result, rules, level)
    outputs.write_outputs(results, wanted, specs={"source": given["aiter"]}, every=given["every"])
    return _code(result, bool(results.failing))


def _check_rules(ids: tuple[str, ...], op: Operation) -> None:
    """Checks that rules are about an operation.

    Raises:
        UsageError: one is not.
    """
    from mlaprobe.findings.rules import finding_rules

    for each in finding_rules():
        if each.rule.id in ids and not each.concerns(op):
            other = "a decode" if op is not Operation.DECODE else "another operation"
            hint = "leave --op out" if op is not Operation.DECODE else "name one with --op"
            raise UsageError(f"{each.rule.id} is about {other}", hint=hint)


def _code(result: Findings, failing: bool) -> int:
    if failing:
        return 10
    return 11 if result.unknown or result.skipped else 0


def scope_of(given: dict[str, Any], answers: Any) -> Scope:
    """The shapes to ask: all that matter, as far as no filter restricts them."""
    from mlaprobe.findings.facts.shapes import Scope

    grid = shapes.make_grid(given, archs=lambda: answers.archs)
    if grid.op is not Operation.DECODE:
        return _of_operation(given, grid)
    scope = Scope(archs=grid.archs, dtypes=grid.dtypes)
    if given["heads"] is not None:
        within = tuple(count for count in grid.heads if count <= max(scope.heads))
        beyond = tuple(count for count in grid.heads if count > max(scope.heads))
        scope = replace(scope, heads=within, beyond=beyond, plain_heads=within, knob_heads=within)
    if given["qlen"] is not None:
        scope = replace(scope, qlens=grid.qlens)
    return scope


def _of_operation(given: dict[str, Any], grid: Grid) -> Scope:
    from mlaprobe.findings.inspection import operation_scope

    named = {"heads": grid.heads, "qlens": grid.qlens}
    asked = {"heads": given["heads"], "qlens": given["qlen"]}
    restricted = {name: values for name, values in named.items() if asked[name] is not None}
    return operation_scope(grid.op, archs=grid.archs, dtypes=grid.dtypes, **restricted)

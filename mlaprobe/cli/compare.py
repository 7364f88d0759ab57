"""``mlaprobe compare``: what two AITERs do differently."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from mlaprobe.cli.support import common, outputs, shapes
from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.outputs import FormatOption
from mlaprobe.cli.support.progress import Progress
from mlaprobe.core.axes import AXES
from mlaprobe.core.grid import Grid
from mlaprobe.core.shape import Operation, PlannerCall, Route
from mlaprobe.errors import UsageError

EPILOG = """\b
Examples:
  mlaprobe compare ~/src/aiter@v0.1.15.post3 ~/src/aiter@v0.1.16.post2
  mlaprobe compare release:v0.1.19.post2 installed
  mlaprobe compare OLD NEW --arch gfx950 --dtype fp8/fp8 --heads 16-128
  mlaprobe compare OLD NEW --deployments deployments.yaml
  mlaprobe compare OLD NEW --format json
"""


@o.with_filters
def compare(
    ctx: typer.Context,
    old: Annotated[
        str,
        typer.Argument(metavar="OLD", callback=o.named, help="A source, as --aiter takes it."),
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", callback=o.named, help="Another one.")],
    deployments: o.DeploymentsFile = None,
    filters: o.Filters = None,
    needs: bool = typer.Option(
        False, "--needs", help="Compare also what launches need: takes minutes."
    ),
    every: bool = typer.Option(False, "--all", help="Show every change in the text."),
    format: FormatOption = None,
    output: o.OutputOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """What became different in behaviour, not in text: for which shapes, and whether it is a
    regression.

    Without filters: every head count at qlen 1-8, with and without the LSE, the planner told the
    dtypes and told none; usual counts without work metadata; small counts by the gluon route.
    """
    _run(ctx.params)


def _run(given: dict[str, Any]) -> None:
    from mlaprobe.compare.results import compared
    from mlaprobe.compare.scope import compare_wanted, requests_for
    from mlaprobe.compare.signatures import changed_signatures

    reads = (given["old"], given["new"], given["deployments"])
    wanted = outputs.parse_outputs(given["format"], given["output"], reads=reads)
    served = load_served(given)
    shapes.check_filters(given)
    requests = requests_for(served)
    old, new = common.sides(given["old"], given["new"], requests, quiet=given["quiet"])
    common.warn_unnamed([old, new], archs_of(given, served), quiet=given["quiet"])
    with Progress("shapes compared", quiet=given["quiet"]) as progress:
        comparison = compare_wanted(
            old,
            new,
            grids=() if served else grids_of(given, old, new),
            served=served,
            needs=given["needs"],
            step=progress.step,
        )
    results = compared(comparison, changed_signatures(old, new))
    specs = {"old": given["old"], "new": given["new"]}
    outputs.write_outputs(results, wanted, specs=specs, every=given["every"])


def load_served(given: dict[str, Any]) -> Any:
    """The deployments that were named.

    Raises:
        UsageError: the file is wrong, or filters were given as well.
    """
    from mlaprobe.rulefiles.serving import load_deployments

    if given["deployments"] is None:
        return ()
    option = next((axis.option for axis in AXES if given.get(axis.name)), None)
    if option is not None:
        raise UsageError(
            f"--deployments and {option} contradict each other",
            hint="the deployments say themselves which shapes they launch",
        )
    return load_deployments(given["deployments"])


def archs_of(given: dict[str, Any], served: Any) -> tuple[str, ...]:
    """The archs that were named, as filters or in deployments."""
    if given["arch"]:
        return common.parse_archs("--arch", given["arch"])
    return tuple(arch for each in served for arch in each.grid.archs)


def grids_of(given: dict[str, Any], old: Any, new: Any) -> tuple[Grid, ...]:
    """The standard grids, restricted by filters."""
    from mlaprobe.compare.scope import standard_grids

    standard = standard_grids((old, new))
    filtered = shapes.make_grid(given, archs=lambda: standard[0].archs)
    fixed = shapes.parse_filters(given)
    if filtered.op is not Operation.DECODE:
        return _operation_grids(filtered, fixed)
    found = [replace(grid, **_within(grid, fixed)) for grid in standard if _compatible(grid, fixed)]
    return tuple(dict.fromkeys(grid for grid in found if grid.size)) or (filtered,)


def _operation_grids(filtered: Grid, fixed: dict[str, Any]) -> tuple[Grid, ...]:
    """A grid for each function by which an operation is carried out."""
    from mlaprobe.rulefiles.operations import operations

    modes = fixed.get("persistent", (True, False))
    entries = operations()[filtered.op].entries
    modes = tuple(each.mode for each in entries if each.mode in modes)
    return tuple(replace(filtered, persistent=(mode,)) for mode in modes)


def _compatible(grid: Grid, fixed: dict[str, Any]) -> bool:
    """Whether a standard grid has what the filters ask for: the grids differ in the mode, in how
    the planner is called, and in the route."""
    if "route" in fixed and grid.route is not fixed["route"]:
        return False
    if "persistent" in fixed and not set(grid.persistent) & set(fixed["persistent"]):
        return False
    return "planner" not in fixed or grid.planner == PlannerCall()


def _within(grid: Grid, fixed: dict[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in fixed.items() if name != "persistent"}
    if grid.route is Route.GLUON and "heads" in found:
        found["heads"] = tuple(count for count in found["heads"] if count in grid.heads)
    return found

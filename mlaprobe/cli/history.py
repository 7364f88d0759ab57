"""``mlaprobe history``: what became of a shape from release to release."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlaprobe.cli.support import common, emit, shapes
from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.progress import Progress
from mlaprobe.errors import UsageError

if TYPE_CHECKING:
    from mlaprobe.compare.history import History, Named
    from mlaprobe.core.grid import Grid

FORMATS = ("text", "json", "markdown", "svg")
REPOSITORY = "A git repository of AITER, for its release tags. Default: the bundled releases."
EPILOG = """\b
Examples:
  mlaprobe history                                               every release, native head counts
  mlaprobe history --arch gfx950 --dtype fp8/fp8 --heads 32      one shape
  mlaprobe history --arch gfx950 --dtype fp8/fp8 --heads 48 --qlen 1-4 --lse
  mlaprobe history --aiter ~/src/aiter --since v0.1.14 --arch gfx950 --heads 32
  mlaprobe history --arch gfx950 --dtype fp8/fp8 --format svg -o history.svg
"""


@o.with_filters
def history(
    ctx: typer.Context,
    aiter: Annotated[o.Text, o.option("--aiter", "REPO", REPOSITORY, callback=o.named)] = None,
    since: Annotated[o.Text, o.option("--since", "RELEASE", "Leave out what is older.")] = None,
    until: Annotated[o.Text, o.option("--until", "RELEASE", "Leave out what is newer.")] = None,
    filters: o.Filters = None,
    format: str = typer.Option("text", "--format", metavar="FORMAT", help=", ".join(FORMATS) + "."),
    output: o.OutputOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """One line per release from which on the answer is another: of the shapes that --heads names,
    or of the set of native head counts.
    """
    _run(ctx.params)


def _run(given: dict[str, Any]) -> None:
    from mlaprobe.output import history as shown

    form = common.parse_choice("--format", given["format"], FORMATS)
    shapes.make_grid(given, archs=lambda: ("gfx950",))  # a slip is an error before anything is read
    found = _asked(given)
    native = given["heads"] is None
    if form == "text":
        emit.write_text(partial(shown.history, native=native), found, output=given["output"])
        return
    texts = {
        "json": shown.history_json,
        "markdown": shown.history_markdown,
        "svg": shown.history_svg,
    }
    emit.write(texts[form](found, native=native), given["output"])


def _asked(given: dict[str, Any]) -> History:
    from mlaprobe.compare.history import history as asked
    from mlaprobe.compare.history import within

    within((), given["since"], given["until"])  # a slip is an error before anything is read
    names = within(_names(given["aiter"]), given["since"], given["until"])
    if not names:
        raise UsageError(
            "no release is left between --since and --until",
            hint="mlaprobe history without them shows which there are",
        )
    grid = _grid(given, names)
    where = "bundled with mlaprobe" if given["aiter"] is None else "from a git repository"
    with Progress("shapes asked", grid.size * len(names), quiet=given["quiet"]) as progress:
        return asked(_opened(given["aiter"], names), grid, source=where, step=progress.step)


def _names(repository: str | None) -> tuple[str, ...]:
    """Every release at hand."""
    from mlaprobe.compare.history import release_tags
    from mlaprobe.errors import SourceError
    from mlaprobe.opening import bundled

    if repository is not None:
        return release_tags(repository)
    names = bundled.releases()
    if not names:
        raise SourceError(
            "no releases are bundled with this mlaprobe",
            hint="name a git repository that has AITER's release tags: --aiter REPO",
        )
    return names


def _opened(repository: str | None, names: Iterable[str]) -> Iterable[Named]:
    from mlaprobe.compare.history import bundled_releases, tagged_releases

    return bundled_releases(names) if repository is None else tagged_releases(repository, names)


def _grid(given: dict[str, Any], names: tuple[str, ...]) -> Grid:
    """What the filters say; the archs are by default those of the newest release. Live sources get
    the usual head counts, because each takes its time."""
    from mlaprobe.opening.shortcut import quickest
    from mlaprobe.reports.survey import USUAL_HEADS

    def archs() -> tuple[str, ...]:
        repository = given["aiter"]
        prefix = "release:" if repository is None else f"{repository}@"
        with quickest(f"{prefix}{names[-1]}") as newest:
            return newest.archs

    grid = shapes.make_grid(given, archs=archs)
    if given["aiter"] is not None and given["heads"] is None:
        return replace(grid, heads=USUAL_HEADS)
    return grid

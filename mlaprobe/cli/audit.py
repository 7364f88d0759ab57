"""``mlaprobe audit``: whether what a serving engine decides about AITER by hand agrees with it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlaprobe.cli.support import common, emit
from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.progress import Progress

FORMATS = ("text", "json")
ENGINE = "A checkout or an installed package of the engine, or its wheel; it is read, never run."
EPILOG = """\b
Examples:
  mlaprobe audit vllm-0.33.0-cp38-abi3-manylinux_2_28_x86_64.whl --aiter release:v0.1.20
  mlaprobe audit ~/src/sglang --aiter ~/src/aiter
  mlaprobe audit ~/src/ATOM/atom --format json

Exit codes: 0 all that is judged agrees, 10 something does not, 11 something is not known, 1 engine
or source cannot be read, 2 wrong usage.
"""


def audit(
    ctx: typer.Context,
    engine: Annotated[str, typer.Argument(help=ENGINE, metavar="ENGINE", show_default=False)],
    aiter: o.AiterOption = "installed",
    format: str = typer.Option("text", "--format", metavar="FORMAT", help=", ".join(FORMATS) + "."),
    output: o.OutputOption = None,
    quiet: o.QuietOption = False,
) -> int:
    """Lists of head counts, longest queries and texts that an engine looks for in AITER, each
    with its place: it agrees with the AITER at hand, it does not, or that is not known. Places
    that no rule knows are listed, and not judged.
    """
    return _run(ctx.params)


def _run(given: dict[str, Any]) -> int:
    from mlaprobe.audit.claims import Agreement
    from mlaprobe.audit.claims import audit as judge
    from mlaprobe.audit.places import find_places
    from mlaprobe.audit.rules import audit_rules
    from mlaprobe.audit.tree import python_files

    common.parse_choice("--format", given["format"], FORMATS)
    with Progress("reading the engine", quiet=given["quiet"]):
        places = find_places(python_files(given["engine"]), audit_rules())
    answers = common.reading(given["aiter"], quiet=given["quiet"], quick=True)
    found = judge(answers, places)
    if given["format"] == "json":
        from mlaprobe.output.audit import audit_json

        emit.write(audit_json(given["engine"], answers.source, found), given["output"])
    else:
        from mlaprobe.output.audit import audit as lines_of

        emit.write_text(lines_of, given["engine"], answers.source, found, output=given["output"])
    kinds = {each.agreement for each in found}
    if Agreement.DISAGREES in kinds:
        return 10
    return 11 if Agreement.UNKNOWN in kinds else 0

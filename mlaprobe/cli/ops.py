"""``mlaprobe ops``: the operations that can be asked about, and what decides in each."""

from __future__ import annotations

import typer

from mlaprobe.cli.support import common, emit
from mlaprobe.cli.support import options as o

FORMATS = ("text", "json")
EPILOG = """\b
Examples:
  mlaprobe ops
  mlaprobe ops --format json
  mlaprobe explain --op prefill --arch gfx950 --dtype fp8/fp8 --heads 80
"""


def ops(
    format: str = typer.Option("text", "--format", metavar="FORMAT", help=", ".join(FORMATS) + "."),
    output: o.OutputOption = None,
) -> None:
    """The operations that --op takes: their functions of AITER, and what each stage is."""
    from mlaprobe.rulefiles.operations import operations

    common.parse_choice("--format", format, FORMATS)
    found = tuple(operations().values())
    if format == "json":
        from mlaprobe.output.operations import operations_json

        emit.write(operations_json(found), output)
        return
    from mlaprobe.output.operations import operations_lines

    emit.write_text(operations_lines, found, output=output)

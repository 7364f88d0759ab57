"""Several outputs of one run: ``--format sarif=FILE --format markdown=FILE``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from mlaprobe.cli.support import emit
from mlaprobe.cli.support.common import parse_choice
from mlaprobe.errors import UsageError

if TYPE_CHECKING:
    from mlaprobe.compare.results import Results

FORMATS = ("text", "json-v1", "markdown", "sarif", "junit", "github")
_ALIASES = {"json": "json-v1", "md": "markdown"}
FormatOption = Annotated[
    Optional[list[str]],  # noqa: UP045 (typer reads it at run time, on Python 3.10 too)
    typer.Option(
        "--format",
        metavar="FORMAT[=FILE]",
        help=f"{', '.join(FORMATS)}; repeatable, to FILE or to stdout.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One output."""

    format: str
    file: str | None
    """``None``: stdout."""


def parse_outputs(
    formats: Sequence[str] | None, output: str | None = None, *, reads: Iterable[str | None] = ()
) -> tuple[Output, ...]:
    """What is to be written where; text to stdout where nothing else goes there. Files are looked
    at before anything is read.

    Args:
        reads: what the command reads, where that may be a file.

    Raises:
        UsageError: a format is not known, two go to one place, one to what is read, or a file
            cannot be written.
    """
    found: list[Output] = []
    for written in formats or ():
        name, equals, file = written.partition("=")
        name = _ALIASES.get(name, name)
        parse_choice("--format", name, FORMATS)
        if equals and not file:
            raise UsageError(f"--format: {written!r} names no file", hint=f"write {name}=FILE")
        found.append(Output(format=name, file=file or None))
    if all(each.file not in (None, "-") for each in found):
        found.append(Output(format="text", file=None))
    if output is not None:
        found = [_redirected(each, output) for each in found]
    _distinct(found)
    _apart(found, reads)
    for each in found:
        if each.file not in (None, "-"):
            emit.check_writable(Path(str(each.file)))
    return tuple(found)


def _redirected(output: Output, file: str) -> Output:
    return output if output.file else Output(format=output.format, file=file)


def _distinct(outputs: Sequence[Output]) -> None:
    places = [_place(each.file or "-") for each in outputs]
    for place, each in zip(places, outputs, strict=True):
        if place is not None and places.count(place) > 1:
            where = "stdout" if place == "-" else each.file
            raise UsageError(
                f"--format: two outputs go to {where}",
                hint="write all but one to files of their own: --format sarif=FILE",
            )


def _apart(outputs: Sequence[Output], reads: Iterable[str | None]) -> None:
    """Refuses to write over what is read: a pin that was a report would be no pin any more."""
    taken = {_place(name) for name in reads if name is not None and Path(name).is_file()}
    for each in outputs:
        if each.file is not None and _place(each.file) in taken - {None}:
            raise UsageError(
                f"{each.file} is read, and cannot be written as well",
                hint="name another file for the output",
            )


def _place(file: str) -> str | None:
    """The one name of a file however it is written; ``None`` for devices, which take anything."""
    if file == "-":
        return file
    real = os.path.realpath(file)
    return real if os.path.isfile(real) or not os.path.exists(real) else None


def write_outputs(
    results: Results, outputs: Sequence[Output], *, specs: dict[str, str], every: bool = False
) -> None:
    """Renders everything, then writes it: files first.

    Raises:
        UsageError: a file cannot be written.
    """
    ready = [(each, rendered(results, each.format)) for each in outputs if each.format != "text"]
    for each, text in sorted(ready, key=lambda pair: pair[0].file is None):
        emit.write(text, each.file)
    for each in outputs:
        if each.format == "text":
            from mlaprobe.output.results.text import results_lines

            lines = partial(results_lines, specs=specs, every=every)
            emit.write_text(lines, results, output=each.file)


_RENDERERS = {
    "json-v1": ("json", "json_v1"),
    "markdown": ("markdown", "results_markdown"),
    "sarif": ("sarif", "sarif"),
    "junit": ("junit", "junit"),
    "github": ("github", "github"),
}
"""By format, the module of ``mlaprobe.output.results`` and its function."""


def rendered(results: Results, format: str) -> str:
    """Results in one of the formats for programs and documents."""
    module, function = _RENDERERS[format]
    text: str = getattr(import_module(f"mlaprobe.output.results.{module}"), function)(results)
    return text

"""The page of the command line, from what typer makes of the commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from mlaprobe.cli import PROGRAM, command_of
from mlaprobe.output.escape import markdown


def cli_page() -> str:
    """Every command with its arguments, options and examples."""
    app = command_of()
    lines = ["# Command line", "", *_prose(app.help), *_epilog(app.epilog)]
    lines += ["| command | what it is for |", "|---|---|"]
    for name, command in app.commands.items():
        lines.append(f"| [`{name}`](#{PROGRAM}-{name}) | {command.short_help} |")
    lines += ["", *_options(app), *_shared()]
    for name, command in app.commands.items():
        lines += [f"## {PROGRAM} {name}", "", *_prose(command.help)]
        lines += ["```text", _usage(name, command), "```", ""]
        lines += [*_options(command), *_epilog(command.epilog)]
    return "\n".join(lines).rstrip() + "\n"


def _shared() -> list[str]:
    return [
        "Lists are comma lists of values and, for numbers, ranges: `--heads 1-64,128`. Where "
        "an option takes a list of flags (`0,1`), `--lse` alone means `--lse 1`, and "
        "`--no-persistent` means `--persistent 0`.",
        "",
        "`NO_COLOR` and `FORCE_COLOR` are honoured, and what does not go to a terminal is plain. "
        "`MLAPROBE_DEBUG=1` shows the traceback of a fault of mlaprobe itself.",
        "",
    ]


def _prose(text: str | None) -> Iterator[str]:
    """Paragraphs, each in one line; two backticks are typer's way to write code."""
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        yield " ".join(paragraph.replace("``", "`").split())
        yield ""


def _usage(name: str, command: Any) -> str:
    required = [
        f"{_names(p)[-1]} {p.metavar or p.type.name.upper()}"
        for p in command.params
        if p.required and p.param_type_name == "option"
    ]
    arguments = [p.metavar or p.name.upper() for p in command.params if _is_argument(p)]
    return " ".join([PROGRAM, name, *arguments, *required, "[OPTIONS]"])


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _names(parameter: Any) -> list[str]:
    return sorted((*parameter.opts, *parameter.secondary_opts), key=len)


def _options(command: Any) -> list[str]:
    rows = [_row(each) for each in command.params if each.name != "help"]
    return ["| option | | default |", "|---|---|---|", *rows, ""] if rows else []


def _row(parameter: Any) -> str:
    if _is_argument(parameter):
        name = f"`{parameter.metavar or parameter.name.upper()}`"
    else:
        flags = ", ".join(f"`{name}`" for name in _names(parameter))
        plain = parameter.is_flag or parameter.metavar is None
        name = flags if plain else f"{flags} `{parameter.metavar}`"
    default = parameter.default
    if parameter.required:
        shown = "required"
    elif default is False and parameter.secondary_opts:
        shown = f"`{parameter.secondary_opts[0]}`"
    elif default in (None, False, (), "") or callable(default):
        shown = ""
    elif default is True:
        shown = f"`{parameter.opts[0]}`"
    else:
        shown = f"`{default}`"
    return f"| {name} | {markdown(parameter.help or '')} | {shown} |"


def _epilog(text: str | None) -> list[str]:
    """Examples as a block of commands, the rest as prose."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\n", inspect.cleandoc(text or "").replace("\b\n", "")):
        head, _, rest = paragraph.partition("\n")
        if rest.startswith("  "):
            commands = re.sub(r"(?<=\S)( {2,})(?=\S)", r"\1# ", inspect.cleandoc(rest))
            lines += [head, "", "```sh", commands, "```", ""]
        elif paragraph:
            lines += [" ".join(paragraph.split()), ""]
    return lines

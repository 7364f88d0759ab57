"""The command line: one module per command, each imported only when it is wanted."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import typer

from mlaprobe.cli.support.arguments import Command, Group, prepare
from mlaprobe.cli.support.emit import warnings_shown
from mlaprobe.cli.support.streams import (
    PipeClosedError,
    let_go_of_stdout,
    let_go_of_unwritable,
    settled,
)
from mlaprobe.errors import MlaprobeError
from mlaprobe.system.collecting import collect_rarely, end_without_collecting

PROGRAM = "mlaprobe"
COMMANDS = (
    *("report", "explain", "table", "ops", "resolve", "models", "snapshot", "compare", "check"),
    *("findings", "history", "doctor", "decode", "bench", "kernels", "audit"),
)
"""In the order of ``--help``. Each is a function in the module of its name, with an ``EPILOG``."""
DEBUG_VARIABLE = "MLAPROBE_DEBUG"
INTERRUPTED, PIPE_CLOSED = 130, 141
"""What shells report for a program that SIGINT or SIGPIPE ended."""
EPILOG = """\b
Examples:
  mlaprobe report                                              the installed AITER
  mlaprobe report --aiter ~/src/aiter@v0.1.20                  a git revision
  mlaprobe explain --arch gfx950 --dtype fp8/fp8 --heads 48    why one shape folds
  mlaprobe table --heads 1-128 --qlen 1-8 -o table.jsonl       for programs

Exit codes: 0 clean, 1 a source cannot be read, 2 wrong usage, 10 a check failed or found something,
11 something that a check needs is not known.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    end_without_collecting()
    with settled(), collect_rarely():
        try:
            return _run(args)
        except KeyboardInterrupt:
            return INTERRUPTED
        except PipeClosedError:
            let_go_of_stdout()
            return PIPE_CLOSED
        except MlaprobeError as error:
            return _fail(error, args)
        except Exception as error:
            # A usage error of typer's own, or of the click that older ones take: both have this.
            message = getattr(error, "format_message", None)
            return _crash(error) if message is None else _wrong_usage(message(), args)


def _run(args: list[str]) -> int:
    command = command_of(_wanted(args))
    words = args or ["--help"]
    with warnings_shown(quiet=not {"-q", "--quiet"}.isdisjoint(words)):
        code = command.main(args=words, prog_name=PROGRAM, standalone_mode=False)
    sys.stdout.flush()
    if not args:
        return 2  # no command
    return code if isinstance(code, int) else 0


def _wanted(args: Sequence[str]) -> tuple[str, ...]:
    """The one command that is called, or all where that is not plain."""
    if args and args[0] in COMMANDS and f"_{PROGRAM.upper()}_COMPLETE" not in os.environ:
        return (args[0],)
    return COMMANDS


def _app(names: Sequence[str]) -> typer.Typer:
    # Plain help: it costs no start-up time, and pipes get no boxes.
    app = typer.Typer(
        name=PROGRAM,
        cls=Group,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(epilog=EPILOG)(_top)
    for name in names:
        module = f"{__name__}.{name}"
        if importlib.util.find_spec(module) is not None:
            loaded = importlib.import_module(module)
            app.command(cls=Command, short_help=_in_short(loaded.__doc__), epilog=loaded.EPILOG)(
                getattr(loaded, name)
            )
    return app


def command_of(names: Sequence[str] = COMMANDS) -> Any:
    """What typer makes of the commands."""
    command: Any = typer.main.get_command(_app(names))
    prepare(command.params)
    return command


def _in_short(doc: str | None) -> str:
    """What a command is for: the first line of its module, without its name."""
    return (doc or "").partition("\n")[0].partition(": ")[2].rstrip(".")


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        from mlaprobe.output import SCHEMA

        print(f"{PROGRAM} {version(PROGRAM)} (schema {SCHEMA})")
        raise typer.Exit


def _top(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_show_version,
        is_eager=True,
        help="Show the version, and that of the machine-readable outputs.",
    ),
) -> None:
    """Says what AITER's MLA decode does with a shape, by evaluating AITER's own source."""


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)


def _fail(error: MlaprobeError, args: Sequence[str]) -> int:
    from mlaprobe.output.escape import printable

    if not error.hint:
        error.hint = _next_step(error, args)
    _say("\n".join(map(printable, error.render().split("\n"))))
    let_go_of_unwritable()
    return error.exit_code


def _next_step(error: MlaprobeError, args: Sequence[str]) -> str:
    """What to do about an error that does not say it itself."""
    if error.file is not None:
        return "mend that file, and run the command again"
    return f"{_called(args)} --help shows the options, with examples"


def _called(args: Sequence[str]) -> str:
    return f"{PROGRAM} {args[0]}" if args and args[0] in COMMANDS else PROGRAM


def _wrong_usage(message: str, args: Sequence[str]) -> int:
    """What typer found wrong, in the form of every other error."""
    from mlaprobe.output.escape import printable

    message = message.strip().rstrip(".")
    _say(f"error: {printable(message[:1].lower() + message[1:])}")
    _say(f"help: {_called(args)} --help shows the options, with examples")
    return 2


def _crash(error: Exception) -> int:
    """A fault of mlaprobe itself."""
    from mlaprobe.output.escape import printable

    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error)
        return 1
    _say(f"error: mlaprobe itself failed: {type(error).__name__}: {printable(str(error))}")
    frames = traceback.extract_tb(error.__traceback__)
    if frames:
        _say(f"  --> {frames[-1].filename}:{frames[-1].lineno}")
    _say(f"help: set {DEBUG_VARIABLE}=1 for the traceback, and report it with the command")
    return 1

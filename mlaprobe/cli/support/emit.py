"""Writes text to its destination: stdout, a terminal, or a file that is never half-written."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlaprobe.errors import UsageError
from mlaprobe.output.escape import printable

if TYPE_CHECKING:
    from mlaprobe.output.style import Line

DEFAULT_WIDTH = 100


def width(output: str | None) -> int:
    """The columns to lay text out for: the terminal's, or what a page takes."""
    if output not in (None, "-"):
        return DEFAULT_WIDTH
    return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns


def warn(message: str, *, quiet: bool = False) -> None:
    """Something to know that is no part of the result."""
    if not quiet:
        print(f"warning: {printable(message)}", file=sys.stderr)


class _Warnings(logging.Handler):
    """Shows what the library logs while a command runs as warnings of the command."""

    def emit(self, record: logging.LogRecord) -> None:
        warn(record.getMessage())


@contextlib.contextmanager
def warnings_shown(*, quiet: bool = False) -> Iterator[None]:
    """Shows what the library logs, unless it is to be quiet."""
    logger = logging.getLogger("mlaprobe")
    handler: logging.Handler = logging.NullHandler() if quiet else _Warnings(logging.WARNING)
    logger.addHandler(handler)
    propagate, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def write(text: str | Iterable[str], output: str | None = None) -> None:
    """Text, whole or in pieces, to stdout or to a file.

    Raises:
        UsageError: the file cannot be written.
    """
    pieces = [text] if isinstance(text, str) else text
    if output is not None and output != "-":
        _write_file(pieces, Path(output))
        return
    for piece in pieces:
        sys.stdout.write(piece)
    sys.stdout.flush()


def write_text(lines_of: Callable[..., list[Line]], *data: Any, output: str | None) -> None:
    """Styled lines, laid out by a function that takes data and a ``width``."""
    write_lines(lines_of(*data, width=width(output)), output)


def write_lines(lines: list[Line], output: str | None = None) -> None:
    """Styled lines: in colour on a terminal that wants it, plain anywhere else."""
    from mlaprobe.output.style import plain, rich_text

    if output not in (None, "-") or not wants_colour():
        write(plain(lines), output)
        return
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    console.print(rich_text(lines), end="")


def wants_colour() -> bool:
    """Whether stdout is a terminal with colours, as far as the environment does not say
    otherwise (https://no-color.org, https://force-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _write_file(pieces: Iterable[str], path: Path) -> None:
    """Beside the file first, then in its place."""
    if path.exists() and not path.is_file():  # a device or a pipe: nothing to replace
        _write_through(pieces, path)
        return
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:64]}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n", errors="backslashreplace") as f:
            for piece in pieces:
                f.write(piece)
        Path(temporary).chmod(_mode(path))
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _write_through(pieces: Iterable[str], path: Path) -> None:
    try:
        with path.open("w", encoding="utf-8", newline="\n", errors="backslashreplace") as file:
            file.writelines(pieces)
    except OSError as error:
        raise _unwritable(path, error) from None


def _mode(path: Path) -> int:
    """The mode that the file has, or that a new one would get."""
    if path.exists():
        return path.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def check_writable(path: Path) -> None:
    """Looks whether a file can be written, before anything is done for it.

    Raises:
        UsageError: it cannot.
    """
    parent = path.parent
    if path.is_dir():
        why = "it is a directory"
    elif path.exists() and not path.is_file():  # a device or a pipe
        why = "" if os.access(path, os.W_OK) else "it cannot be written to"
    elif not parent.is_dir():
        why = "no such directory"
    else:
        why = "" if os.access(parent, os.W_OK) else "the directory cannot be written to"
    if why:
        raise UsageError(f"cannot write {path}: {why}", hint="name a file in a directory of yours")


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"cannot write {path}: {error.strerror or error}",
        hint="name a file in a directory that exists and can be written to",
    )

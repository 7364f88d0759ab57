"""The standard streams as they are found: closed, full, or left by their reader."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from mlaprobe.errors import MlaprobeError, UsageError

_NUMBERS = {"stdin": 0, "stdout": 1, "stderr": 2}


class PipeClosedError(Exception):
    """Whoever read stdout has gone. No ``OSError``: typer would take that for its own."""


class _Stdout:
    """stdout whose failures are not taken for those of anything else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _translated():
            return self._stream.write(text)

    def writelines(self, lines: Any) -> None:
        with _translated():
            self._stream.writelines(lines)

    def flush(self) -> None:
        with _translated():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise PipeClosedError from None
    except OSError as error:
        raise UsageError(
            f"cannot write to stdout: {error.strerror or error}",
            hint="name a file: --output FILE",
        ) from None


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """Until its end all three streams are there, text that they cannot show is written out rather
    than failing the command, and stdout tells its failures apart."""
    for name in _NUMBERS:
        if getattr(sys, name) is None:
            _open(name)
    streams: tuple[Any, ...] = (sys.stdout, sys.stderr)
    for stream in streams:
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")
    before = sys.stdout
    sys.stdout = _Stdout(before)
    try:
        yield
    finally:
        sys.stdout = before


def _open(name: str) -> None:
    """Puts something in the place of a closed stream, so that no file gets its number: what is
    written to stderr is lost, and what is written to stdout fails."""
    number, reads = _NUMBERS[name], name != "stderr"
    try:
        os.fstat(number)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_RDONLY if reads else os.O_WRONLY), number)
    setattr(sys, name, open(number, "r" if name == "stdin" else "w", closefd=False))  # noqa: SIM115


def let_go_of_stdout() -> None:
    """Nothing can be written any more: the interpreter must not try once again at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def let_go_of_unwritable() -> None:
    """Lets go of stdout where what it holds cannot be written."""
    try:
        sys.stdout.flush()
    except (MlaprobeError, PipeClosedError, ValueError):
        let_go_of_stdout()

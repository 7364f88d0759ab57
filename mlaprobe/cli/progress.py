"""Signs of life on stderr, for people only: on a terminal, and once something takes a while."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

PATIENCE = 1.0
"""Seconds before anything is shown."""
INTERVAL = 0.2


class Progress:
    """A counter that erases itself. ``step`` costs next to nothing where nothing is shown."""

    def __init__(self, what: str, total: int | None = None, *, quiet: bool = False) -> None:
        self._what = what
        self._total = total
        self._stream: TextIO | None = None if quiet or not sys.stderr.isatty() else sys.stderr
        self._count = 0
        self._next = time.monotonic() + PATIENCE
        self._shown = 0

    def step(self) -> None:
        """One piece of work is done."""
        self._count += 1
        if self._stream is None:
            return
        now = time.monotonic()
        if now >= self._next:
            self._next = now + INTERVAL
            of = f" of {self._total}" if self._total else ""
            self._show(f"{self._what}: {self._count}{of}")

    def _show(self, text: str) -> None:
        assert self._stream is not None
        self._stream.write("\r" + text.ljust(self._shown))
        self._stream.flush()
        self._shown = len(text)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stream is not None and self._shown:
            self._stream.write("\r" + " " * self._shown + "\r")
            self._stream.flush()

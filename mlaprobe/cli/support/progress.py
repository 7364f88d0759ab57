"""Signs of life on stderr, for people only: on a terminal, and once something takes a while."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from types import TracebackType
from typing import TextIO

PATIENCE = 1.0
"""Seconds before anything is shown."""
INTERVAL = 0.2
HEARTBEAT = 0.5
"""Seconds between looks at work that says nothing of itself."""


class Progress:
    """A counter that erases itself. ``step`` costs next to nothing where nothing is shown."""

    def __init__(self, what: str, total: int | None = None, *, quiet: bool = False) -> None:
        self._what = what
        self.total = total
        self._stream: TextIO | None = None if quiet or not sys.stderr.isatty() else sys.stderr
        self._count = 0
        self._start = time.monotonic()
        self._next = self._start + PATIENCE
        self._shown = 0
        self._done = threading.Event()
        self._lock = threading.Lock()

    def step(self) -> None:
        """One piece of work is done."""
        self._count += 1
        if self._stream is not None and time.monotonic() >= self._next:
            self.look()

    def look(self) -> None:
        """Shows the progress, once the work has taken a while."""
        now = time.monotonic()
        if self._stream is None or now < self._next:
            return
        self._next = now + INTERVAL
        of = f" of {self.total}" if self.total else ""
        far = f": {self._count}{of}" if self._count else f" ({now - self._start:.0f} s)"
        self._show(self._what + far)

    def _show(self, text: str) -> None:
        """One line, never broken: what is broken cannot be erased."""
        with self._lock:
            if self._stream is None or self._done.is_set():
                return
            text = text[: max(1, shutil.get_terminal_size().columns - 1)]
            self._stream.write("\r" + text.ljust(self._shown))
            self._stream.flush()
            self._shown = len(text)

    def _beat(self) -> None:
        while not self._done.wait(HEARTBEAT):
            self.look()

    def __enter__(self) -> Progress:
        if self._stream is not None:
            threading.Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        with self._lock:
            if self._stream is not None and self._shown:
                self._stream.write("\r" + " " * self._shown + "\r")
                self._stream.flush()

"""A source that is read in a process of its own, beside another one.

Two revisions that are compared have nothing in common to compute, so each gets a processor. The
other process is a fork of this one: it costs next to nothing to start, and holds what is imported
already. Requests that are announced early (``ahead``) are answered there in turn, while this
process is busy with the other source.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar, cast

from mlaprobe.compare.sides import (
    ComparisonSide,
    Request,
    Step,
    named_archs,
    numbered_rows,
    source_record,
)
from mlaprobe.core.behaviour import Numbering, Row
from mlaprobe.core.grid import Grid
from mlaprobe.core.protocols import Opened
from mlaprobe.errors import MlaprobeError, SourceError

T = TypeVar("T")


def can_be_apart() -> bool:
    """Whether a source can be read in a process of its own, and that is of use."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return False  # elsewhere, and beside other threads, a fork is not safe
    return len(os.sched_getaffinity(0)) > 1


class ForkedSide(ComparisonSide):
    """A source in a process of its own, which opens it at once."""

    def __init__(self, open_: Callable[[], Opened]) -> None:
        """``open_`` opens the source, in the other process."""
        context = get_context("fork")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(open_, other, self._pipe), daemon=True)
        self._process.start()
        other.close()
        self._begun: set[Request] = set()
        self._pending: deque[Request] = deque()
        self._answers: dict[Request, Any] = {}
        self.ahead([(source_record, ()), (named_archs, ())])

    def ahead(self, requests: Iterable[Request]) -> None:
        """Has the other process begin with requests."""
        new = [each for each in dict.fromkeys(requests) if each not in self._begun]
        self._begun.update(new)
        self._pending.extend(new)
        with suppress(OSError):  # it has ended, which shows where the answer is waited for
            self._pipe.send(new)

    def ask(self, question: Callable[..., T], *args: Hashable) -> T:
        """The answer to a question.

        Raises:
            MlaprobeError: the error of the other process, or that it has ended.
        """
        request = (question, args)
        self.ahead([request])
        while request not in self._answers:
            self._answers[self._pending.popleft()] = self._received()
        return cast(T, self._answers[request])

    def _received(self) -> object:
        try:
            answer = self._pipe.recv()
        except (EOFError, OSError):
            raise SourceError(
                "the process that read one of the sources has ended",
                hint="there may be too little memory; mlaprobe snapshot takes one source at a "
                "time, and two snapshots can be compared",
            ) from None
        if isinstance(answer, MlaprobeError):
            raise answer
        return answer

    def rows(self, part: Grid, numbering: Numbering, step: Step = lambda: None) -> Sequence[Row]:
        """The answer to ``rows``."""
        behaviours, found = self.ask(numbered_rows, part)
        numbers = [numbering.number(behaviour) for behaviour in behaviours]
        same = {row: tuple(numbers[n] for n in row) for row in set(found)}
        return [same[row] for row in found]

    def close(self) -> None:
        """Ends the other process."""
        self._process.terminate()
        self._process.join()


# --- in the other process ------------------------------------------------------------------------


def _serve(open_: Callable[[], Opened], pipe: Connection, others: Connection) -> None:
    """Answers requests until the asking process closes the pipe or ends."""
    others.close()  # or its end would not be noticed
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process gets it, and ends this one
    # Answers are sent by a thread: this one goes on while the asking process does not read.
    with suppress(EOFError, OSError), ThreadPoolExecutor(max_workers=1) as sender:
        try:
            answers = open_()
            while True:
                for question, args in pipe.recv():
                    sender.submit(pipe.send_bytes, pickle.dumps(question(answers, *args)))
        except MlaprobeError as error:
            sender.submit(pipe.send_bytes, pickle.dumps(error))

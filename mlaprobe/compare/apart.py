"""A source that is read and asked in a process of its own, beside another one.

Two revisions that are compared have nothing in common to compute, so each gets a processor. The
other process is a fork of this one: it costs next to nothing to start, and holds what is imported
already. It is told early what will be asked (``ahead``) and answers in turn, while this process
is busy with the other source.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, cast

from mlaprobe.compare.sides import Asked, LocalSide, Step
from mlaprobe.core.behaviour import Behaviour, Numbering, Row
from mlaprobe.core.shape import Decision, DecodeShape
from mlaprobe.errors import MlaprobeError, SourceError

if TYPE_CHECKING:
    from mlaprobe.core.grid import Grid
    from mlaprobe.core.protocols import SourceInfo

Answered = tuple[Asked, Any]
"""What was asked, and the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Where a source is, as the other process found it."""

    label: str
    kind: str
    release: str | None
    commit: str | None


def can_be_apart() -> bool:
    """Whether a source can be asked in a process of its own, and that is of use."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return False  # elsewhere, and beside other threads, a fork is not safe
    return len(os.sched_getaffinity(0)) > 1


class Apart:
    """A source in a process of its own. It is opened at once, and waited for when it is needed."""

    def __init__(self, open_: Callable[[], Any]) -> None:
        """``open_`` opens the source, in the other process."""
        context = get_context("fork")
        self._pipe, theirs = context.Pipe()
        ends = (theirs, self._pipe)
        self._process = context.Process(target=_serve, args=(open_, *ends), daemon=True)
        self._process.start()
        theirs.close()
        self._known: dict[Asked, Any] = {}
        self._begun: set[Asked] = set()
        self._arrived: SimpleQueue[Any] = SimpleQueue()
        # Always taken at once, so that neither process waits for the other to read.
        threading.Thread(target=self._receive, daemon=True).start()
        self.ahead([("source",), ("archs",)])

    # --- the source ------------------------------------------------------------------------------

    @property
    def source(self) -> SourceInfo:
        """Where the source is.

        Raises:
            SourceError: it cannot be read.
        """
        return cast("SourceInfo", self.ask("source"))

    @property
    def archs(self) -> tuple[str, ...]:
        """The archs that the source names."""
        return cast("tuple[str, ...]", self.ask("archs"))

    @property
    def stage_status(self) -> tuple[tuple[str, str, str], ...]:
        """Stage, ``present`` or ``absent``, and what there is to say about it."""
        return cast("tuple[tuple[str, str, str], ...]", self.ask("stage_status"))

    @property
    def knobs(self) -> tuple[str, ...]:
        """Environment variables that the deciding code has asked for so far."""
        self._known.pop(("knobs",), None)
        self._begun.discard(("knobs",))
        return cast("tuple[str, ...]", self.ask("knobs"))

    def decide(self, shape: DecodeShape) -> Decision:
        """What happens to a shape, with the proof."""
        return cast(Decision, self.ask("decide", shape))

    def signatures(self, functions: tuple[tuple[str, str], ...]) -> dict[str, Any]:
        """What ``findings.facts.calls.signatures`` finds for pairs of module and function."""
        return cast("dict[str, Any]", self.ask("signatures", functions))

    def side(self, numbering: Numbering) -> ForkedSide:
        """As one of the sources that are compared."""
        return ForkedSide(self, numbering)

    # --- the other process -----------------------------------------------------------------------

    def ahead(self, asked: Iterable[Asked]) -> None:
        """Has the other process begin with what will be asked."""
        new = [each for each in dict.fromkeys(asked) if each not in self._begun]
        if new:
            self._begun.update(new)
            with suppress(OSError):  # it has ended, which is found out by waiting for the answer
                self._pipe.send(new)

    def ask(self, *asked: Hashable) -> Any:
        """One answer.

        Raises:
            MlaprobeError: what the other process raised.
        """
        self.ahead([asked])
        while asked not in self._known:
            question, answer = self._received()
            self._known[question] = answer
        return self._known[asked]

    def _receive(self) -> None:
        """Takes what the other process says, until it ends."""
        with suppress(EOFError, OSError):
            while True:
                self._arrived.put(self._pipe.recv())
        self._arrived.put(None)

    def _received(self) -> Answered:
        found = self._arrived.get()
        if found is None:
            self._arrived.put(None)  # for whoever asks again
            raise SourceError(
                "the process that read one of the sources has ended",
                hint="there may be too little memory; mlaprobe snapshot takes one source at a "
                "time, and two snapshots can be compared",
            )
        if isinstance(found, BaseException):
            raise found
        return cast(Answered, found)

    def close(self) -> None:
        """Ends the other process."""
        self._process.terminate()
        self._process.join()

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ForkedSide:
    """A source in another process, as one of the sources that are compared."""

    def __init__(self, answers: Apart, numbering: Numbering) -> None:
        self.answers = answers
        self._numbering = numbering

    def ahead(self, asked: Iterable[Asked]) -> None:
        """Has the other process begin with what will be asked."""
        self.answers.ahead(asked)

    def rows(self, part: Grid, step: Step = lambda: None) -> Sequence[Row]:
        """The behaviours of a part of a grid."""
        behaviours, rows = self.answers.ask("rows", part)
        numbers = [self._numbering.number(behaviour) for behaviour in behaviours]
        same: dict[Row, Row] = {}
        for row in rows:
            if row not in same:
                same[row] = tuple(numbers[n] for n in row)
        return [same[row] for row in rows]

    def behaviour(self, shape: DecodeShape) -> Behaviour:
        """What a caller notices."""
        return cast(Behaviour, self.answers.ask("behaviour", shape))

    def decide(self, shape: DecodeShape) -> Decision:
        """The whole answer, with its proof."""
        return self.answers.decide(shape)

    def pad(self, shape: DecodeShape, qlens: tuple[int, ...]) -> int:
        """The head count that the resolver launches a shape with."""
        return cast(int, self.answers.ask("pad", shape, qlens))


# --- in the other process --------------------------------------------------------------------


def _serve(open_: Callable[[], Any], pipe: Connection, others: Connection) -> None:
    """Answers until nobody asks any more."""
    others.close()  # or its end would not be noticed
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the asking process is told, and ends this one
    with suppress(EOFError, OSError):
        try:
            server = _Server(open_())
        except MlaprobeError as error:
            pipe.recv()
            pipe.send(error)
            return
        while True:
            for answer in server.answered(pipe.recv()):
                pipe.send(answer)


class _Server:
    """One source, asked by messages."""

    def __init__(self, answers: Any) -> None:
        self._answers = answers
        self._here = LocalSide(answers, Numbering())

    def answered(self, asked: Iterable[Asked]) -> Iterator[Answered | MlaprobeError]:
        """The answers to a message, each as soon as it is there: the asking process goes on with
        its own source up to the first that is not."""
        try:
            for each in asked:
                yield each, self._one(*each)
        except MlaprobeError as error:
            yield error

    def _one(self, name: Any, *args: Any) -> Any:
        here, answers = self._here, self._answers
        if name == "source":
            return self._told()
        if name in ("archs", "knobs", "stage_status"):
            return getattr(answers, name)
        if name == "signatures":
            from mlaprobe.findings.facts.calls import signatures

            wanted = [{"module": module, "function": function} for module, function in args[0]]
            return signatures(answers, wanted)
        if name == "rows":
            here.numbering = Numbering()
            rows = here.rows(*args)
            return here.numbering.by_number, rows
        return getattr(here, name)(*args)

    def _told(self) -> Told:
        source = self._answers.source
        return Told(
            label=source.label, kind=source.kind, release=source.release, commit=source.commit
        )

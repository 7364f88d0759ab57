"""Many threads that ask the same questions at once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from mlaprobe.core.shape import Decision

THREADS = 16
Q = TypeVar("Q")


def everything(decision: Decision) -> tuple[Any, ...]:
    """A decision with all that it says, evidence and messages included."""
    stages = tuple((name, o.status, o.message, tuple(o.evidence)) for name, o in decision.stages)
    return (
        *(decision.verdict, decision.fold, decision.qlen_fold, decision.failure),
        *(decision.stage, decision.message, decision.kernels, decision.key, decision.notes),
        stages,
    )


@contextmanager
def restless() -> Iterator[None]:
    """Threads take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def wrong_answers(
    questions: Sequence[Q], expected: Sequence[Any], ask: Callable[[Q], Any]
) -> list[Any]:
    """What is answered otherwise, or raised, where every thread asks everything in an order of
    its own; and what is answered otherwise afterwards, in turn."""
    found: list[Any] = []
    start = threading.Barrier(THREADS)

    def work(number: int) -> None:
        order = list(range(len(questions)))
        order = order[number * 7 % len(order) :] + order[: number * 7 % len(order)]
        start.wait()
        for at in order if number % 2 else reversed(order):
            try:
                if ask(questions[at]) != expected[at]:
                    found.append(("other", questions[at]))
            except BaseException as error:
                found.append((repr(error), questions[at]))

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(THREADS)]
    with restless():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
    if any(thread.is_alive() for thread in threads):
        return ["a thread hangs"]
    again = zip(questions, expected, strict=True)
    return found + [("afterwards", q) for q, answer in again if ask(q) != answer]

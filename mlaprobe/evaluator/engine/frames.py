"""What a running function holds: its variables by slot, and two entries besides."""

from __future__ import annotations

from collections.abc import Callable

from mlaprobe.evaluator.values import Value

Frame = dict[str, Value]
"""One activation of a function: its slots, ``OUTER`` and ``RUN``."""
OUTER = "^"
"""The frame of the function around, or ``None``."""
RUN = "@"
"""The path that is being taken (``runs.Run``). Compiled code finds it here and nowhere else, so
that it can be run for several questions at a time."""
Eval = Callable[[Frame], Value]
"""A compiled expression, or a compiled statement that returns a signal."""
Store = Callable[[Frame, Value], None]
"""A compiled assignment target."""


def around(frame: Frame, depth: int) -> Frame:
    """The frame so many functions further out: a closure has the frame that its scope is of."""
    for _ in range(depth):
        frame = frame[OUTER]
    return frame


def storing(store: Store, value: Eval) -> Eval:
    """The statement that stores the value of an expression."""

    def run(e: Frame) -> Value:
        store(e, value(e))
        return None

    return run


def setting(slot: str, value: Eval) -> Eval:
    """The statement that puts the value of an expression into a slot, as it is."""

    def run(e: Frame) -> Value:
        e[slot] = value(e)
        return None

    return run

"""The calls that one question leads to, by path, and what is answered to all of them.

A caller may hand over different arguments on different paths (a buffer of another dtype where there
is one split only, say) and still do the same with the shape. The function that is called is then
evaluated for each of them, with what the path knows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mlaprobe.core.shape import StageOutcome, Status, altered
from mlaprobe.evaluator.engine.runs import Outcome
from mlaprobe.evaluator.symbolic.symbols import Sym
from mlaprobe.evaluator.values import Unknown
from mlaprobe.stages.instantiate import Deferred, Solved
from mlaprobe.stages.parameterize import Parameterized

NOTHING: Mapping[Hashable, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PathCall:
    """The call that one path makes."""

    given: Deferred
    """The arguments, by position."""
    decided: Mapping[Hashable, int]
    """Which side the path took of branches on unknown values, by their keys."""
    why: Unknown | None = None
    """An unknown value on which this path differs from others."""


def path_call(path: Outcome, given: Deferred) -> PathCall:
    """The call of a path."""
    why = path.decisions[-1][0] if path.decisions else None
    return PathCall(given=given, decided=path.decided, why=why)


Ask = Callable[[Deferred, Mapping[Hashable, int]], Solved[StageOutcome]]
"""Asks what is called about the arguments of a call, with some of what its path knows."""


class Calls:
    """The calls of all paths that come to one answer. As the run over symbols left them, for all
    questions that share it: most need an answer to the first call only."""

    __slots__ = ("_all", "_apart")

    def __init__(self, calls: Iterable[PathCall] = ()) -> None:
        self._all = tuple(calls)
        found: list[tuple[Parameterized, PathCall]] = []
        for call in self._all:
            parameterize = Parameterized(call.given.value, reasons=False)
            if not any(_alike(parameterize, other) for other, _ in found):
                found.append((parameterize, call))
        self._apart = tuple(call for _, call in found)

    def apart(self, question: Deferred) -> tuple[Deferred, ...]:
        """The arguments of calls that differ in them, as far as these are known, for the question
        that the arguments ``question`` are of."""
        return tuple(call.given.beside(question) for call in self._apart)

    def settled(self, question: Deferred, ask: Ask) -> Solved[StageOutcome]:
        """What is answered to every call, if that is one answer: as it was to the first.

        What the paths know is left out as long as it is not needed.
        """
        found = [ask(given, NOTHING) for given in self.apart(question)]
        if not _one(found):
            found = [ask(call.given.beside(question), call.decided) for call in self._all]
        if _one(found):
            return found[0]
        unknown = next((each for each in found if each.answer.status == Status.UNKNOWN), None)
        message = _depends(self._all)
        return unknown or Solved(
            altered(
                found[0].answer, status=Status.UNKNOWN, kernels=(), failure=None, message=message
            )
        )


def _alike(one: Parameterized, other: Parameterized) -> bool:
    """Whether the arguments are the same for any inputs."""
    if one.key != other.key:
        return False
    return all(map(_same_formula, one.numbers, other.numbers))


def _same_formula(one: Any, other: Any) -> bool:
    if type(one) is Sym and type(other) is Sym:
        return bool(one.expr == other.expr)
    return type(one) is type(other) and bool(one == other)


def _one(found: list[Solved[StageOutcome]]) -> bool:
    first = _what(found[0].answer)
    return first[0] != Status.UNKNOWN and all(_what(each.answer) == first for each in found)


def _what(answer: StageOutcome) -> tuple[object, ...]:
    """An answer without its evidence."""
    return (answer.status, answer.key, answer.kernels, answer.failure, answer.message)


def _depends(calls: tuple[PathCall, ...]) -> str:
    why = next((call.why for call in calls if call.why is not None), None)
    what = "something unknown" if why is None else why.reason
    return f"what is passed depends on {what}, and the answer on what is passed"

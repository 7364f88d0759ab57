"""Cells that take the path of one that was asked before: their answers differ in numbers only."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from mlaprobe.core.shape import DecodeShape, StageName, Status
from mlaprobe.evaluator.engine.runs import Outcome
from mlaprobe.snapshot.phrases import unmarked
from mlaprobe.snapshot.records import FIELDS
from mlaprobe.stages import dispatched, host, sizing

if TYPE_CHECKING:
    from mlaprobe.snapshot.asking import Answer, Ask, Asker
    from mlaprobe.stages.environment.solved import Leaf

_STATUS, _MESSAGE, _KEY, _REDUCES = (
    FIELDS.index(name) for name in ("status", "message", "key", "reduces")
)
_REFUSED = (Status.REJECTED, Status.NO_KERNEL)
Ending = tuple[str | None, tuple[tuple[str, object], ...] | None]
"""The message and the looked-up key of a path."""


class Shared:
    """Asks the cells of a plane: those that take a path that is known already, and whose answer
    follows from it, are answered from it."""

    def __init__(
        self,
        asker: Asker,
        stage: str,
        make: Callable[[int, int], DecodeShape],
        ask: Ask,
    ) -> None:
        self._asker = asker
        self._stage = stage
        self._make = make
        self._ask = ask
        self._last: dict[bool, Leaf] = {}
        """The run that was shared last. A query of one token is a question of its own: its tensor
        may have no axis for the query length, which a run of several tokens knows nothing of."""

    def __call__(self, heads: int, qlen: int) -> Answer:
        """The answer for a head count and a query length."""
        last = self._last.get(qlen == 1)
        known = None if last is None else last.other(heads=heads, qlen=qlen)
        if known is not None:
            found = self._asker.shared.get(self._key(known, heads, qlen))
            if found is not None:
                return self._refilled(found, known, heads)
        answer, leaf = self._ask(self._make(heads, qlen))
        if leaf is not None:
            self._last[qlen == 1] = leaf
            if self._shares(answer, leaf):
                self._asker.shared[self._key(leaf, heads, qlen)] = answer
        return answer

    def _key(self, leaf: Leaf, heads: int, qlen: int) -> Hashable:
        return (self._stage, leaf.clauses, by_number(self._stage, heads, qlen))

    def _shares(self, answer: Answer, leaf: Leaf) -> bool:
        """Whether nothing follows the numbers, or only what ``_refilled`` fills in."""
        fields = answer[0]
        if fields is None or any(answer[1:]):
            return False  # what is launched is asked for itself
        refused = fields[_STATUS] in _REFUSED
        if leaf.run.constant:
            return refused or self._stage != StageName.DISPATCHER
        picked = self._stage == StageName.HOST and fields[_STATUS] == Status.KERNEL
        return leaf.run.paths == 1 and self._stage in _ENDINGS and (refused or picked)

    def _refilled(self, found: Answer, leaf: Leaf, heads: int) -> Answer:
        if leaf.run.constant and self._stage != StageName.DISPATCHER:
            return found
        assert found[0] is not None
        fields = list(found[0])
        if not leaf.run.constant:
            message, key = _ENDINGS[self._stage](leaf.run.ending(leaf.inputs))
            if fields[_STATUS] in _REFUSED:
                fields[_MESSAGE] = unmarked(message)
            fields[_KEY] = key
        if fields[_REDUCES] is not None:
            fields[_REDUCES] = heads  # where nothing is launched, the shape itself is reduced
        return (tuple(fields), *found[1:])


def by_number(stage: str, heads: int, qlen: int) -> Hashable:
    """What the proof of an answer depends on besides the path: some are looked for by the head
    count, which may happen to be another number as well."""
    if stage not in (StageName.DISPATCHER, StageName.HOST):
        return None
    return (heads == qlen, heads if heads & (heads - 1) == 0 else 0)


def _planned(outcome: Outcome) -> Ending:
    return (None if outcome.failure is None else outcome.failure.message), None


def _sized(outcome: Outcome) -> Ending:
    return (None if outcome.failure is None else sizing.refusal(outcome.failure)), None


def _dispatched(outcome: Outcome) -> Ending:
    return (None if outcome.failure is None else dispatched.refusal(outcome.failure)), None


def _picked(outcome: Outcome) -> Ending:
    failure = host.handed_on(outcome).failure
    return (None if failure is None else failure.message), host.key_of(outcome)


_ENDINGS: dict[str, Callable[[Outcome], Ending]] = {
    StageName.PLANNER: _planned,
    StageName.SIZING: _sized,
    StageName.DISPATCHER: _dispatched,
    StageName.HOST: _picked,
}

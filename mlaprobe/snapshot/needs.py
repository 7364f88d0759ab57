"""What the launches of a snapshot need, as it was recorded when it was made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mlaprobe.core.needs import Consequence, Need
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Failure,
    PlannerCall,
    Route,
    StageName,
    Verdict,
    altered,
)
from mlaprobe.rulefiles import errata
from mlaprobe.rulefiles.variations import Variation, variation, variations
from mlaprobe.snapshot.file import Contents
from mlaprobe.snapshot.lookup import NONE, StageTable
from mlaprobe.snapshot.stages import words_of

NEEDS = "needs"
_NO_CALL = PlannerCall()


class RecordedNeeds:
    """The needs of one snapshot; errata are applied when it is asked."""

    def __init__(
        self,
        contents: Contents,
        decide: Callable[[DecodeShape], Decision],
        release: str | None,
    ) -> None:
        """
        Args:
            decide: what the snapshot answers to shapes.
            release: the release that errata are looked up for.
        """
        section = contents.data[NEEDS]
        self._scope = contents.scope
        self._decide, self._release = decide, release
        self._tried: Mapping[str, str] = section["tried"]
        self._sets: Mapping[str, str] = section["sets"]
        self._records: Mapping[str, list[Any]] = section["records"]
        self._table = StageTable(contents, NEEDS, NEEDS)

    def holds(self, shape: DecodeShape) -> bool:
        """Whether the needs of a shape on the snapshot's grid are recorded: those of the usual
        launches are."""
        usual = shape.causal and shape.batch is None and shape.planner == _NO_CALL
        asked = shape.route is Route.ASM and shape.page_size == self._scope.page_sizes[0]
        return usual and asked

    def needs(self, shape: DecodeShape) -> tuple[Need, ...]:
        """What a launch needs, in the order of the variations; nothing where it does not run.

        Raises:
            LookupError, TypeError, ValueError: the snapshot is damaged.
        """
        base = self._decide(shape)
        if not base.verdict.runs:
            return ()
        rows = {row[0]: row for row in self._rows(shape)}
        return tuple(self._found(base, rows))

    def _rows(self, shape: DecodeShape) -> Iterator[list[Any]]:
        plane = self._table.plane(words_of(StageName.DISPATCHER, shape))
        at = self._scope.qlen_at[shape.qlen]
        name = plane[self._table.head_at[shape.num_heads]][at]
        if name != NONE:
            yield from (self._records[each] for each in self._sets[name].split())

    def _found(self, base: Decision, rows: Mapping[str, list[Any]]) -> Iterator[Need]:
        for each in variations():
            if not each.tried_on(base.shape):
                continue
            row, shown = rows.get(each.id), each.shown(base.shape)
            need: Need | None = None
            if self._tried.get(each.id) != each.digest:
                need = altered(shown, message="it was not tried when the snapshot was made")
            elif row is not None:
                need = _need(shown, row)
            if need is None or need.outcome.other:
                need = self._avoided(each, base) or need
            if need is not None:
                yield need
        for name, row in rows.items():
            if variation(name) is None:
                text = "ask the source itself: this mlaprobe does not know what was tried"
                shown = Need(id=name, change=name, text=text, outcome=Consequence.UNKNOWN)
                yield _need(shown, row)

    def _avoided(self, tried: Variation, base: Decision) -> Need | None:
        """The need that errata show: they know shapes, and none of the arguments of a call."""
        if tried.arguments:
            return None
        asked = tried.applied(base.shape)
        if tried.shape:
            other = self._decide(asked)
        else:
            other = errata.apply(altered(base, shape=asked), release=self._release)
        if other.verdict is not Verdict.ERRATUM:
            return None
        return altered(
            tried.shown(base.shape),
            outcome=Consequence.ERRATUM,
            failure=other.failure,
            stage=other.stage,
            message=other.message,
        )


def _need(shown: Need, row: list[Any]) -> Need:
    """A need with what was recorded of it."""
    _, outcome, failure, stage, message = row
    return altered(
        shown,
        outcome=Consequence(outcome),
        failure=None if failure is None else Failure(failure),
        stage=stage,
        message=message,
    )

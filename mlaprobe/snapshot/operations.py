"""Operations besides decode in a snapshot: tables of an entry point's stages over head counts.

Where no stage looks at the query length, the tables hold for all lengths; else they have a column
for each length of the grid. So it is with page sizes and the LSE, which are axes else. The answers
for an open batch size are held; one that may depend on it is none for a certain size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mlaprobe.core.launch import Launch
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    StageName,
    StageOutcome,
    Status,
)
from mlaprobe.deciding.operation_chain import judge_operation
from mlaprobe.rulefiles.operations import Entry
from mlaprobe.snapshot.batches import speaks_of_batch
from mlaprobe.snapshot.file import Contents
from mlaprobe.snapshot.lookup import StageTable
from mlaprobe.snapshot.records import Record, Values
from mlaprobe.snapshot.stages import Stages, words_of

OPERATIONS = "operations"
"""The part of a snapshot that says which entry points it holds; one without answers for decode
only."""
OPEN = ("qlen", "page_size", "lse")
"""Axes of which all values may be held at once."""


def table_name(entry: Entry, stage: str) -> str:
    """The name of a table."""
    return f"{entry.key}/{stage}"


class RecordedEntry:
    """An entry point of an operation, for the chain (``deciding.operation_chain``)."""

    def __init__(self, contents: Contents, stages: Stages, entry: Entry) -> None:
        self._entry = entry
        self._contents = contents
        self._stages = stages
        self._held: dict[str, Any] = contents.data[OPERATIONS][entry.key]
        self.has_tables = stages.has_tables
        """Whether the source has a kernel table."""
        self.launches = entry.launches
        """Whether the entry point launches kernels of its own."""
        self._any = frozenset(self._held.get("any", ()))
        self._one_column = "qlen" in self._any or not entry.asks("qlen")
        columns = 1 if self._one_column else len(contents.scope.qlens)
        self._words: tuple[DecodeShape | None, dict[str, str]] = None, {}
        """Of the shape that was asked about last: its stages share them."""
        self._tables = {
            stage: StageTable(contents, table_name(entry, name), stage, columns)
            for name, stage in self._held.get("tables", {}).items()
        }

    def outside(self, shape: DecodeShape) -> str | None:
        """What of a shape is not held, in words; ``None`` where all of it is."""
        scope = self._contents.scope
        usual = shape.num_heads if self._entry.kv_heads == "heads" else 1
        if shape.num_kv_heads not in (None, usual):
            return f"{shape.num_kv_heads} KV heads (it holds the usual ones)"
        if not self._tables:
            return None
        if not self._one_column and shape.qlen not in scope.qlen_at:
            return f"qlen {shape.qlen}"
        if "page_size" not in self._any and shape.page_size not in scope.page_sizes:
            return f"page size {shape.page_size}"
        if shape.batch is None or not self._follows_batch(shape):
            return None
        return f"batch {shape.batch} (the answer may depend on it; ask the AITER source itself)"

    def _follows_batch(self, shape: DecodeShape) -> bool:
        """Whether the answers, which are those for an open batch size, may depend on it."""
        outcomes = [self.launch(shape).outcome, *(found for _, found in self.plans(shape))]
        return any(speaks_of_batch(found.status, found.notes) for found in outcomes)

    def judge(self, shape: DecodeShape) -> Decision:
        """The decision on a shape, errata apart."""
        return judge_operation(self, shape)

    def plans(self, shape: DecodeShape) -> Iterator[tuple[str, StageOutcome]]:
        """The stages before the entry point."""
        for name in self._entry.planned:
            table = self._tables[name]
            yield name, table.reader.outcome(self._record(table, shape), self._values(shape))

    def launch(self, shape: DecodeShape) -> Launch:
        """What the entry point does."""
        why = self._held.get("absent")
        if why is not None:
            stage = StageName.DISPATCHER
            return Launch(outcome=StageOutcome(stage=stage, status=Status.ABSENT, message=why))
        table = self._tables[StageName.DISPATCHER]
        return table.reader.launch(self._record(table, shape), self._values(shape))

    def called(self, shape: DecodeShape, launch: Launch) -> StageOutcome:
        """The host, with what the entry point passes it."""
        table = self._tables[StageName.HOST]
        return table.reader.outcome(self._record(table, shape), self._values(shape))

    def reduced(self, shape: DecodeShape, launch: Launch) -> StageOutcome:
        """The reducer, with what the entry point passes it."""
        return self._stages.reducer(launch.reduced_heads(shape), launch.partial_dim)

    def _record(self, table: StageTable, shape: DecodeShape) -> Record:
        at = 0 if self._one_column else self._contents.scope.qlen_at[shape.qlen]
        kept = self._words
        if kept[0] is not shape:
            kept = self._words = shape, words_of(StageName.DISPATCHER, shape)
        record = table.record(kept[1], shape.num_heads, at, None)
        assert record is not None
        return record

    @staticmethod
    def _values(shape: DecodeShape) -> Values:
        return Values(shape, shape.num_heads, shape.qlen)

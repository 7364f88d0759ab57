"""Operations besides decode in a snapshot: tables of an entry point's stages over head counts.

Where no stage looks at the query length, the tables hold for all lengths; else they have a column
for each length of the grid. So it is with page sizes and the LSE, which are axes else. The answers
for an open batch size are held; one that may depend on it is none for a certain size.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from mlaprobe.snapshot.phrases import number
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbers:
    """Head counts in the records of a cell, each maybe the name of a variable (``phrases``)."""

    planned: int | str | None
    """That which the planner plans for."""
    launched: int | str | None
    reduces: int | str | None
    """That which the reducer is called with."""
    reduced_dim: int | None

    def lead_to(self, values: Values, stages: Stages) -> Hashable:
        """Whether planner and launch agree, and what the reducer says."""
        agree = self.planned == self.launched or (
            _valued(self.planned, values) == _valued(self.launched, values)
        )
        reduces = _valued(self.reduces, values) or _valued(self.launched, values)
        if self.reduces is None:
            return agree
        found = stages.reducer(reduces or values["heads"], self.reduced_dim)
        return agree, found.status, found.failure


def _valued(written: int | str | None, values: Values) -> int | None:
    return None if written is None else number(written, values)


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

    def told_apart(self, setting: DecodeShape, heads: Sequence[int]) -> list[Hashable]:
        """For each head count all that its verdict can depend on, errata apart: the names of its
        records, and what the numbers in them lead to.

        Raises:
            LookupError: an answer for one of them is not held.
        """
        if not self._tables:
            return [None] * len(heads)
        column = 0 if self._one_column else self._contents.scope.qlen_at[setting.qlen]
        words = words_of(StageName.DISPATCHER, setting)
        rows = []
        for table in self._tables.values():
            plane = table.plane(words)
            rows.append([plane[table.head_at[count]][column] for count in heads])
        cells = list(zip(*rows, strict=True))
        numbers = {
            names: self._numbers(dict(zip(self._tables, names, strict=True)))
            for names in set(cells)
        }
        return [
            (names, numbers[names].lead_to(Values(setting, count, setting.qlen), self._stages))
            for count, names in zip(heads, cells, strict=True)
        ]

    def _numbers(self, names: Mapping[str, str]) -> _Numbers:
        """Those in the records of a cell, which are named by stage."""

        def record(stage: str) -> Record:
            return self._tables[stage].unset(names[stage])

        launch = record(StageName.DISPATCHER)
        planner = record(StageName.PLANNER) if StageName.PLANNER in names else launch
        return _Numbers(
            planned=planner.get("final_heads"),
            launched=launch.get("final_heads"),
            reduces=launch.get("reduces"),
            reduced_dim=launch.get("reduced_dim"),
        )

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
        words = words_of(StageName.DISPATCHER, shape)
        record = table.record(words, shape.num_heads, at, None)
        assert record is not None
        return record

    @staticmethod
    def _values(shape: DecodeShape) -> Values:
        return Values(shape, shape.num_heads, shape.qlen)

"""Finds the record of a question in a stage table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.numbers import numbers_of
from mlaprobe.snapshot.batches import applies
from mlaprobe.snapshot.cells import Plane, read_plane
from mlaprobe.snapshot.file import Contents, damaged
from mlaprobe.snapshot.records import Reader, Record

NONE = "-"
"""The name of no record."""


class StageTable:
    """One stage's answers."""

    def __init__(
        self, contents: Contents, name: str, stage: str, columns: int | None = None
    ) -> None:
        """``columns``: of a plane; ``None``: a column for each query length of the grid."""
        data = contents.data
        table = data["tables"][name]
        if isinstance(table, str):  # the same as another
            table = data["tables"][table]
        self.axes: tuple[str, ...] = tuple(table["axes"])
        heads = table.get("heads")
        self._heads = contents.scope.heads if heads is None else numbers_of(heads)
        self.head_at = {count: at for at, count in enumerate(self._heads)}
        columns = 1 if name == "reducer" else columns
        self._qlens = columns or len(contents.scope.qlens)
        self._records: dict[str, Record] = data["records"]
        self.reader = Reader(stage, data["columns"], contents.evidence, contents.kernels)
        self._planes: list[dict[str, Any]] = table["planes"]
        self._read: dict[int, Plane] = cache(Cache.RECORDS)
        self._index = {
            setting: at
            for at, plane in enumerate(self._planes)
            for setting in _settings(plane["for"])
        }
        self._name = contents.name

    def values(self, axis: str) -> tuple[str, ...]:
        """The words of an axis that occur, in order; none where nothing depends on it."""
        if axis not in self.axes:
            return ()
        at = self.axes.index(axis)
        return tuple(dict.fromkeys(setting[at] for setting in self._index))

    def record(
        self, words: Mapping[str, str], heads: int, qlen_at: int, batch: int | None
    ) -> Record | None:
        """The record of a cell; ``None`` where the snapshot does not know what holds at this
        batch size.

        Raises:
            SnapshotError: the snapshot is damaged.
        """
        try:
            plane = self._plane(self._index[tuple(words[axis] for axis in self.axes)])
            record = self._records[plane[self.head_at[heads]][qlen_at]]
            if "batch" not in record:
                return record
            return self._at_batch(record, batch)
        except (KeyError, ValueError, IndexError, TypeError, AttributeError):
            raise damaged(self._name) from None

    def plane(self, words: Mapping[str, str]) -> Plane:
        """The names of the records of every cell of a setting.

        Raises:
            LookupError: there is no such setting.
            ValueError: its cells do not fit together.
        """
        return self._plane(self._index[tuple(words[axis] for axis in self.axes)])

    def unset(self, name: str) -> Record:
        """The record of that name; of one that depends on the batch size, where that is unset.

        Raises:
            KeyError: there is none.
        """
        record = self._records[name]
        return self._records[record["unset"]] if "batch" in record else record

    def _at_batch(self, record: Record, batch: int | None) -> Record | None:
        if batch is None:
            return self._records[record["unset"]]
        if record["batch"] is None:
            return None
        name = next(name for kind, n, name in record["batch"] if applies(kind, n, batch))
        return self._records[name]

    def _plane(self, at: int) -> Plane:
        plane = self._read.get(at)
        if plane is None:
            rows = {span: row for span, row in self._planes[at].items() if span != "for"}
            plane = self._read[at] = read_plane(rows, self._heads, self._qlens)
        return plane


def _settings(lines: Sequence[str]) -> list[tuple[str, ...]]:
    """The settings that some lines stand for; one without axes where there is no line."""
    if not lines:
        return [()]
    return [
        setting
        for line in lines
        for setting in product(*(part.split(",") for part in line.split(" ")))
    ]

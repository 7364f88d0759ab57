"""Stage tables while they are made: what was answered where, before it is written as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

from mlaprobe.core.shape import Evidence, Kernel
from mlaprobe.snapshot.phrases import Fields

Setting = tuple[Any, ...]
"""A value for each axis of a table."""
Steps = tuple[tuple[str, int, int], ...] | None
"""The rules of ``batches``, with the places of records; ``None``: they are not known."""
NOTHING = -(1 << 30)
"""The place of no record: the stage is not reached."""


class Notebook:
    """What the records of all stages point to, by place."""

    def __init__(self) -> None:
        self.evidence: dict[Evidence, int] = {}
        self.kernels: dict[Kernel, int] = {}

    def evidence_at(self, found: Iterable[Evidence]) -> tuple[int, ...]:
        """The places of some evidence."""
        book = self.evidence
        return tuple(book.setdefault(each, len(book)) for each in found)

    def kernels_at(self, found: Iterable[Kernel]) -> tuple[int, ...]:
        """The places of some kernels."""
        book = self.kernels
        return tuple(book.setdefault(each, len(book)) for each in found)


class Table:
    """One stage over its inputs: for every setting a plane, which names a record for each cell."""

    def __init__(self, axes: Sequence[tuple[str, Sequence[Any]]]) -> None:
        self.axes = tuple(axes)
        self.planes: dict[Setting, list[int]] = {}
        self.switches: dict[tuple[int, Steps], int] = {}
        """Records that depend on the batch size, by the record where it is unset and the steps;
        their places are negative."""
        self._places: dict[Fields, int] = {}
        self._values: list[list[int | None]] = []

    def settings(self) -> Iterable[Setting]:
        """Every combination of the axes' values."""
        return product(*(values for _, values in self.axes))

    @property
    def records(self) -> list[tuple[Fields, list[int | None]]]:
        """All records by place, each with what the variables are in all of its cells."""
        return list(zip(self._places, self._values, strict=True))

    def note(self, fields: Fields, values: Sequence[int | None]) -> int:
        """The place of a record that holds where the variables have these values."""
        at = self._places.setdefault(fields, len(self._places))
        if at == len(self._values):
            self._values.append(list(values))
            return at
        known = self._values[at]
        for index, value in enumerate(values):
            if known[index] != value:
                known[index] = None
        return at

    def fields(self, at: int) -> Fields:
        """The record at a place; for one that depends on the batch size, where that is unset."""
        if at < 0:
            assert at != NOTHING
            at = next(unset for (unset, _), place in self.switches.items() if place == at)
        return self.records[at][0]

    def switch(self, unset: int, steps: Steps) -> int:
        """The place of a record that depends on the batch size."""
        return self.switches.setdefault((unset, steps), -1 - len(self.switches))

    def drop_idle_axes(self) -> None:
        """Leaves out every axis along which nothing changes."""
        for name, values in self.axes:
            at = [axis for axis, _ in self.axes].index(name)
            groups: dict[Setting, list[list[int]]] = {}
            for setting, plane in self.planes.items():
                groups.setdefault((*setting[:at], *setting[at + 1 :]), []).append(plane)
            if len(values) > 0 and all(p == group[0] for group in groups.values() for p in group):
                self.axes = (*self.axes[:at], *self.axes[at + 1 :])
                self.planes = {setting: group[0] for setting, group in groups.items()}

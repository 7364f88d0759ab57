"""Takes the tables of operations besides decode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

from mlaprobe.core.axes import AXES
from mlaprobe.core.enums import StageName
from mlaprobe.core.shape import DecodeShape, Status, left_open
from mlaprobe.deciding.operations import EntryPoint
from mlaprobe.evaluator.values import Unknown
from mlaprobe.rulefiles.operations import ONE_TOKEN, Entry
from mlaprobe.snapshot.asking import Asker, values_of
from mlaprobe.snapshot.operations import OPEN, table_name
from mlaprobe.snapshot.phrases import Fields
from mlaprobe.snapshot.scope import Scope
from mlaprobe.snapshot.tables import NOTHING, Table

_FLAGS = ("lse", "causal")
_OPEN = {name: Unknown(f"the {name}", key=("open", name), free="data") for name in OPEN}
_BOTH = {axis.name: (axis.usual, not axis.usual) for axis in AXES if axis.name in _FLAGS}
_STATUS = 0
"""The place of the status in a record."""


class OperationTaker:
    """Makes the tables of every entry point of one source."""

    def __init__(self, asker: Asker, scope: Scope, step: Callable[[], None]) -> None:
        self._asker = asker
        self._scope = scope
        self._step = step

    def taken(self, entries: Iterable[Entry]) -> tuple[dict[str, Any], dict[str, Table]]:
        """What is held of some entry points, and the tables by name."""
        held: dict[str, Any] = {}
        tables: dict[str, Table] = {}
        for entry in entries:
            point = self._asker.capability.entry_point(entry)
            if point.dispatcher is None:
                first = next(self._shapes(entry, {}))
                held[entry.key] = {"absent": point.launch(first).outcome.message}
                continue
            opened, found = self._most_open(point)
            held[entry.key] = {"any": list(opened)}
            names = {stage: table_name(entry, stage) for stage in found}
            held[entry.key]["tables"] = {str(stage): str(stage) for stage in found}
            tables.update({names[stage]: table for stage, table in found.items()})
        return held, tables

    def _most_open(self, point: EntryPoint) -> tuple[tuple[str, ...], dict[str, Table]]:
        """The tables with as much left open as the answers allow."""
        asked = tuple(name for name in OPEN if point.entry.asks(name))
        closed = tuple(name for name in asked if name != "qlen")
        for opened in (asked, closed):
            found = self._tables(point, opened)
            if found is not None:
                return opened, found
        found = self._tables(point, ())
        assert found is not None
        return (), found

    def _tables(self, point: EntryPoint, opened: tuple[str, ...]) -> dict[str, Table] | None:
        """The tables of an entry point; ``None`` where an answer depends on what is left open."""
        entry = point.entry
        host = () if entry.launches else (StageName.HOST,)
        stages: tuple[str, ...] = (*entry.planned, StageName.DISPATCHER, *host)
        axes: list[tuple[str, tuple[Any, ...]]]
        axes = [("arch", self._scope.archs), ("dtypes", self._scope.dtypes)]
        flags = (name for name in _FLAGS if entry.asks(name) and name not in opened)
        axes += [(name, _BOTH[name]) for name in flags]
        if entry.asks("page_size") and "page_size" not in opened:
            axes.append(("page_size", self._scope.page_sizes))
        tables = {stage: Table(axes) for stage in stages}
        names = [name for name, _ in axes]
        for setting in product(*(values for _, values in axes)):
            known = dict(zip(names, setting, strict=True))
            self._asker.forget()
            planes: dict[str, list[int]] = {stage: [] for stage in stages}
            for shape in self._shapes(entry, known, opened):
                answers = self._answers(point, shape)
                if opened and any(_unknown(fields) for fields in answers.values()):
                    return None
                values = self._values(shape, known, opened)
                for stage in stages:
                    fields = answers.get(stage)
                    place = NOTHING if fields is None else tables[stage].note(fields, values)
                    planes[stage].append(place)
            for stage in stages:
                tables[stage].planes[setting] = planes[stage]
            point.forget()
            self._step()
        return tables

    def _answers(self, point: EntryPoint, shape: DecodeShape) -> dict[str, Fields]:
        """The records of all stages for a shape."""
        asker = self._asker
        found: dict[str, Fields] = {}
        for name in point.entry.planned:
            found[name] = asker.fields(point.solve_plan(name, shape), shape)
        solved = point.solve_launch(shape)
        found[StageName.DISPATCHER] = asker.launched(solved, shape)
        hosted = solved.answer.outcome.entry is not None and not point.launches
        if hosted and not solved.answer.missing:
            called = point.solve_called(shape, solved.answer)
            found[StageName.HOST] = asker.fields(called, shape)
        return found

    def _shapes(
        self, entry: Entry, known: dict[str, Any], opened: tuple[str, ...] = ()
    ) -> Iterator[DecodeShape]:
        """The shapes of a plane."""
        q_dtype, kv_dtype = known.get("dtypes", self._scope.dtypes[0])
        flags = {name: known[name] for name in (*_FLAGS, "page_size") if name in known}
        left = {name: _OPEN[name] for name in opened}
        for heads in self._scope.heads:
            for qlen in self._qlens(entry, opened):
                shape = DecodeShape(
                    arch=known.get("arch", "gfx0"),
                    q_dtype=q_dtype,
                    kv_dtype=kv_dtype,
                    num_heads=heads,
                    qlen=qlen,
                    op=entry.op,
                    persistent=entry.mode,
                    **flags,
                )
                yield left_open(shape, **left) if left else shape

    def _qlens(self, entry: Entry, opened: tuple[str, ...]) -> tuple[int, ...]:
        """The query lengths of a plane, one where they are left open or the question has none."""
        one = "qlen" in opened or not entry.asks("qlen")
        return (ONE_TOKEN,) if one else self._scope.qlens

    @staticmethod
    def _values(
        shape: DecodeShape, known: dict[str, Any], opened: tuple[str, ...]
    ) -> tuple[int | None, ...]:
        free = "qlen" in opened
        values = values_of(shape.num_heads, 1 if free else shape.qlen, known)
        return (values[0], None, None, *values[3:]) if free else values


def _unknown(fields: Fields) -> bool:
    return bool(fields[_STATUS] == Status.UNKNOWN)

"""Patterns over decode shapes, as rule files write them.

A pattern is a mapping of fields to the values that they may have; a field that is left out may
have any, and the operation is decode unless it is named. Numbers are written alone, as a range
(``5-8``) or as an open range (``2+``)::

    arch: [gfx942]
    dtype: [fp8/fp8]
    heads: [16, 32-64]
    page_size: [2+]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from mlaprobe.core.axes import AXES, Axis, Kind
from mlaprobe.core.inputs import byte_count
from mlaprobe.core.shape import DecodeShape, Operation, Route
from mlaprobe.errors import UsageError
from mlaprobe.rulefiles.loader import Place
from mlaprobe.rulefiles.parts import planner_overrides
from mlaprobe.rulefiles.schema import (
    Checked,
    Either,
    Flag,
    ListOf,
    MapOf,
    Record,
    Schema,
    Text,
    whole,
)

_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+)|\+)")


def _is_size_range(value: str, place: Place, where: str) -> None:
    """Checks that text is ``4GiB``, ``4GiB-20GiB`` or ``4GiB+``, both ends meant."""
    try:
        first, last = _size_bounds(value)
    except UsageError:
        first, last = 1, 0
    if last is not None and last < first:
        raise place.error(
            f"{where}: {value!r} is no range of sizes",
            "write it like 4GiB-20GiB, or 4294967297+ for more than 4 GiB",
        )


def _is_range(value: str, place: Place, where: str) -> None:
    """Checks that text is ``5-8`` or ``2+``, both ends meant."""
    found = _RANGE.fullmatch(value)
    if found is None or int(found[1]) < 1 or int(found[2] or found[1]) < int(found[1]):
        raise place.error(
            f"{where}: {value!r} is no range", "write it like 5-8, or 2+ for 2 and more"
        )


def _some(item: Schema) -> Schema:
    return ListOf(item, at_least=1, unique=True)


_DTYPE = "(?:bf16|fp16|fp8|byte)"
_SCHEMAS: Mapping[Kind, Schema] = {
    Kind.ARCH: _some(Text(pattern="gfx[0-9a-f]+", form="an arch like gfx950")),
    Kind.DTYPES: _some(Text(pattern=f"{_DTYPE}/{_DTYPE}", form="a dtype pair like fp8/fp8")),
    Kind.NUMBER: _some(Either(whole(1), Checked(Text(), _is_range))),
    Kind.SIZE: _some(Either(whole(1), Checked(Text(), _is_size_range))),
    Kind.FLAG: Flag(),
    Kind.PLANNER: planner_overrides(-1),
    Kind.ROUTE: Text(choices=tuple(map(str, Route))),
    Kind.VARIABLES: MapOf(Text()),
    Kind.OPERATION: Text(choices=tuple(map(str, Operation))),
}
_AXES = {axis.name: axis for axis in AXES if axis.name != "batch"}
"""Where a source looks at the batch size, its answer shows it; no rule has to."""
PATTERN = Record(optional={name: _SCHEMAS[axis.kind] for name, axis in _AXES.items()})
"""The schema of a pattern; a file may add fields of its own to its ``optional``."""

Test = Callable[[DecodeShape], bool]


@dataclass(frozen=True, slots=True)
class Numbers:
    """A set of positive whole numbers, perhaps without an end."""

    ranges: tuple[tuple[int, int | None], ...]
    """First and last of each range; no last: all that follow."""

    @classmethod
    def of(cls, written: Iterable[int | str]) -> Numbers:
        """Numbers and ranges as a rule file writes them (checked before, by the schema)."""
        return cls(tuple(map(_bounds, written)))

    @classmethod
    def of_sizes(cls, written: Iterable[int | str]) -> Numbers:
        """Numbers of bytes and ranges of them, likewise."""
        return cls(tuple(map(_size_bounds, written)))

    def __contains__(self, number: int | None) -> bool:
        return number is not None and any(
            first <= number and (last is None or number <= last) for first, last in self.ranges
        )


def _bounds(written: int | str) -> tuple[int, int | None]:
    if isinstance(written, int):
        return written, written
    if written.endswith("+"):
        return int(written[:-1]), None
    first, _, last = written.partition("-")
    return int(first), int(last)


def _size_bounds(written: int | str) -> tuple[int, int | None]:
    if isinstance(written, int):
        return written, written
    first, dash, last = written.removesuffix("+").partition("-")
    start = byte_count(first, "a range")
    return start, None if written.endswith("+") else byte_count(last, "a range") if dash else start


_CELL = ("heads", "qlen")
_OP = "op"


class Pattern:
    """A pattern, ready to be matched with shapes."""

    __slots__ = ("_heads", "_open", "_qlens", "_tests", "op")

    def __init__(self, written: Mapping[str, Any]) -> None:
        meant = {_OP: Operation.DECODE, **written}
        self.op = Operation(meant[_OP])
        """The operation whose shapes it means."""
        self._tests = {name: _test(_AXES[name], value) for name, value in meant.items()}
        self._open = tuple(_AXES[name].field for name in written if _AXES[name].open)
        numbers = (Numbers.of(written[name]) if name in written else None for name in _CELL)
        self._heads, self._qlens = numbers

    def matches(self, shape: DecodeShape) -> bool:
        """Whether a shape has all that the pattern names; what a shape leaves unset is no value
        of a pattern."""
        return all(test(shape) for test in self._tests.values())

    def left_open(self, shape: DecodeShape) -> tuple[str, ...]:
        """The fields that keep a shape from matching only because it leaves them unset; none where
        it matches, or would not in any case."""
        if not self._open:
            return ()
        unset = tuple(field for field in self._open if getattr(shape, field) is None)
        if unset and all(test(shape) for name, test in self._tests.items() if name not in unset):
            return unset
        return ()

    def matches_but_for_numbers(self, shape: DecodeShape) -> bool:
        """Whether a shape has all that the pattern names besides head counts and query lengths."""
        return all(test(shape) for name, test in self._tests.items() if name not in _CELL)

    def names(self, heads: int, qlen: int) -> bool:
        """Whether it means a head count and a query length, whatever else."""
        return (self._heads is None or heads in self._heads) and (
            self._qlens is None or qlen in self._qlens
        )


def _test(axis: Axis, value: Any) -> Test:
    value_of = attrgetter(axis.field)
    if axis.kind is Kind.PLANNER:
        return lambda shape: all(getattr(shape.planner, key) == item for key, item in value.items())
    if axis.kind is Kind.VARIABLES:
        wanted = {(key, str(item)) for key, item in value.items()}
        return lambda shape: wanted <= set(shape.env)
    if axis.kind in (Kind.NUMBER, Kind.SIZE):
        numbers = Numbers.of(value) if axis.kind is Kind.NUMBER else Numbers.of_sizes(value)
        return lambda shape: value_of(shape) is not None and value_of(shape) in numbers
    if axis.kind in (Kind.FLAG, Kind.ROUTE, Kind.OPERATION):
        return lambda shape: bool(value_of(shape) == value)
    allowed = frozenset(value)
    return lambda shape: value_of(shape) in allowed

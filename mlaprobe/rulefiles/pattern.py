"""Patterns over decode shapes, as rule files write them.

A pattern is a mapping of fields to the values that they may have; a field that is left out may
have any. Numbers are written alone, as a range (``5-8``) or as an open range (``2+``)::

    arch: [gfx942]
    dtype: [fp8/fp8]
    heads: [16, 32-64]
    page_size: [2+]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mlaprobe.core.shape import DecodeShape
from mlaprobe.rulefiles.loader import Place
from mlaprobe.rulefiles.schema import Either, Flag, ListOf, MapOf, Record, Schema, Text, whole

_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+)|\+)")


@dataclass(frozen=True, slots=True, eq=False)
class _Range(Schema):
    """``5-8`` or ``2+``, both ends meant."""

    @property
    def expects(self) -> str:
        return "a range"

    def fits(self, value: Any) -> bool:
        return isinstance(value, str)

    def check_inside(self, value: Any, place: Place, where: str) -> None:
        found = _RANGE.fullmatch(value)
        if found is None or int(found[1]) < 1 or int(found[2] or found[1]) < int(found[1]):
            raise place.error(
                f"{where}: {value!r} is no range", hint="write it like 5-8, or 2+ for 2 and more"
            )


_NUMBERS = ListOf(Either(whole(1), _Range()), at_least=1, unique=True)
_ARCHS = ListOf(Text(pattern="gfx[0-9a-f]+", form="an arch like gfx950"), at_least=1, unique=True)
_DTYPE = "(?:bf16|fp16|fp8|byte)"
_DTYPES = ListOf(
    Text(pattern=f"{_DTYPE}/{_DTYPE}", form="a dtype pair like fp8/fp8"), at_least=1, unique=True
)

PATTERN = Record(
    optional={
        "arch": _ARCHS,
        "dtype": _DTYPES,
        "heads": _NUMBERS,
        "qlen": _NUMBERS,
        "page_size": _NUMBERS,
        "lse": Flag(),
        "persistent": Flag(),
        "causal": Flag(),
        "cp_round_robin": Flag(),
        "route": Text(choices=("asm", "gluon")),
        "planner": Record(
            optional={
                "fast_mode": Flag(),
                "intra_batch_mode": Flag(),
                "max_split_per_batch": whole(-1),
                "cp_round_robin": Flag(),
            }
        ),
        "env": MapOf(Text()),
    }
)
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

    def __contains__(self, number: int) -> bool:
        return any(
            first <= number and (last is None or number <= last) for first, last in self.ranges
        )


def _bounds(written: int | str) -> tuple[int, int | None]:
    if isinstance(written, int):
        return written, written
    if written.endswith("+"):
        return int(written[:-1]), None
    first, _, last = written.partition("-")
    return int(first), int(last)


_CELL = ("heads", "qlen")
_NUMERIC = {"heads": "num_heads", "qlen": "qlen", "page_size": "page_size"}
_EQUAL = ("lse", "persistent", "causal", "cp_round_robin", "route")


class Pattern:
    """A pattern, ready to be asked about shapes."""

    __slots__ = ("_heads", "_qlens", "_tests")

    def __init__(self, written: Mapping[str, Any]) -> None:
        self._tests = {name: _test(name, value) for name, value in written.items()}
        numbers = (Numbers.of(written[name]) if name in written else None for name in _CELL)
        self._heads, self._qlens = numbers

    def matches(self, shape: DecodeShape) -> bool:
        """Whether a shape has all that the pattern names."""
        return all(test(shape) for test in self._tests.values())

    def matches_but_for_numbers(self, shape: DecodeShape) -> bool:
        """Whether a shape has all that the pattern names besides head counts and query lengths."""
        return all(test(shape) for name, test in self._tests.items() if name not in _CELL)

    def names(self, heads: int, qlen: int) -> bool:
        """Whether it means a head count and a query length, whatever else."""
        return (self._heads is None or heads in self._heads) and (
            self._qlens is None or qlen in self._qlens
        )


def _test(name: str, value: Any) -> Test:
    if name in _NUMERIC:
        field, numbers = _NUMERIC[name], Numbers.of(value)
        return lambda shape: getattr(shape, field) in numbers
    if name in _EQUAL:
        return lambda shape: bool(getattr(shape, name) == value)
    if name == "planner":
        return lambda shape: all(getattr(shape.planner, key) == item for key, item in value.items())
    if name == "env":
        wanted = {(key, str(item)) for key, item in value.items()}
        return lambda shape: wanted <= set(shape.env)
    allowed = frozenset(value)
    return lambda shape: getattr(shape, name) in allowed

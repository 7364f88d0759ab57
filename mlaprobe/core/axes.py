"""The fields of a shape as axes: one table, which grids, options, rule files and texts go by."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from typing import Any

from mlaprobe.core.boxes import Box, Cell, cover, size
from mlaprobe.core.inputs import bytes_in_words
from mlaprobe.core.numbers import ranges as written
from mlaprobe.core.numbers import runs
from mlaprobe.core.shape import SAME, DecodeShape, Operation, PlannerCall, Route

OMITTED = PlannerCall(q_dtype=None, kv_dtype=None)
"""A planner call of an engine that leaves the dtypes out."""


class Kind(Enum):
    """What the values of an axis are, and so how options and rule files write them."""

    ARCH = "arch"
    DTYPES = "dtypes"
    NUMBER = "number"
    SIZE = "size"
    FLAG = "flag"
    PLANNER = "planner"
    ROUTE = "route"
    VARIABLES = "variables"
    OPERATION = "operation"


@dataclass(frozen=True, slots=True)
class Axis:
    """A field of a shape, or the pair of its dtypes."""

    name: str
    """The key in rows and rule files and, with dashes, the option."""
    kind: Kind
    field: str
    """The attribute of ``DecodeShape`` that holds the value, for dtypes their text."""
    grid: str
    """The attribute of ``Grid``."""
    usual: Any = SAME
    """The default; ``SAME``: no value is more usual than another."""
    describe: Callable[[tuple[Any, ...]], str] | None = None
    """Some of its values in words; ``None``: the description of a region begins with them."""
    quiet: bool = True
    """Whether the usual value is expected, and only others are described."""

    @property
    def option(self) -> str:
        """The command line's option."""
        return "--" + self.name.replace("_", "-")

    @property
    def open(self) -> bool:
        """Whether a shape may leave it unset, so that any value of it is possible."""
        return self.usual is None

    @property
    def fixed(self) -> bool:
        """Whether a grid holds one value of it, not several."""
        return self.kind in (Kind.PLANNER, Kind.ROUTE, Kind.VARIABLES, Kind.OPERATION)


# --- values in words ---------------------------------------------------------------------------

_MOST_PARTS = 6
"""More ranges are described by their pattern, where they have one."""


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers as people write them: ``1-7, 16, 24``; many ranges by their pattern, where
    they have one."""
    pattern = _pattern(numbers) if len(runs(numbers)) > _MOST_PARTS else None
    return pattern or written(numbers, ", ")


def _pattern(numbers: Sequence[int]) -> str | None:
    """Numbers that are all multiples of something in a range, or all that are not."""
    span = range(numbers[0], numbers[-1] + 1)
    for base in (16, 8, 4, 2):
        if list(numbers) == [n for n in span if n % base == 0]:
            return f"{span[0]}-{span[-1]} (multiples of {base})"
        if list(numbers) == [n for n in span if n % base]:
            return f"{span[0]}-{span[-1]} (no multiple of {base})"
    return None


def describe_call(call: PlannerCall) -> str:
    """The planner's arguments that differ from the launch; empty where none does."""
    if call == OMITTED:
        return "planner told no dtypes"
    return f"planner told {describe_overrides(call)}" if call != PlannerCall() else ""


def describe_overrides(call: PlannerCall) -> str:
    """Each field of a planner call that is not as usual, with its value."""
    return ", ".join(f"{name} {_override(value)}" for name, value in call.overrides.items())


def _override(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "nothing" if value is None else str(value)


def _flag(yes: str, no: str, both: str) -> Callable[[tuple[bool, ...]], str]:
    return lambda values: both if len(values) > 1 else yes if values[0] else no


def _numbers(what: str) -> Callable[[tuple[int | None, ...]], str]:
    def describe(values: tuple[int | None, ...]) -> str:
        parts = ["any " + what] if None in values else []
        if some := sorted(value for value in values if value is not None):
            parts.append(f"{what} {ranges(some)}")
        return " or ".join(parts)

    return describe


def _sizes(values: tuple[int | None, ...]) -> str:
    """Sizes of the KV cache."""
    parts = ["any size" if value is None else bytes_in_words(value) for value in values]
    return f"a KV cache of {' or '.join(parts)}"


def _kv_heads(values: tuple[int | None, ...]) -> str:
    parts = ["the usual KV heads"] if None in values else []
    if some := sorted(value for value in values if value is not None):
        parts.append(f"{ranges(some)} KV head{'' if some == [1] else 's'}")
    return " or ".join(parts)


def _calls(values: tuple[PlannerCall, ...]) -> str:
    if values == (PlannerCall(), OMITTED):
        return "planner told the dtypes or none"
    return " or ".join(describe_call(value) or "planner told the dtypes" for value in values)


def _routes(values: tuple[Route, ...]) -> str:
    return "route " + " or ".join(map(str, values))


def _operations(values: tuple[Operation, ...]) -> str:
    return " or ".join(map(str, values))


def _environments(values: tuple[tuple[tuple[str, str], ...], ...]) -> str:
    parts = [", ".join(f"{name}={value}" for name, value in env) or "no knob" for env in values]
    return "with " + " or ".join(parts)


# --- the table -----------------------------------------------------------------------------------

_LSE = _flag("with LSE", "without LSE", "with or without LSE")
_PERSISTENT = _flag("persistent", "non-persistent", "persistent or not")
_CAUSAL = _flag("causal", "not causal", "causal or not")
_SPARSE = _flag("sparse", "dense", "sparse or not")
_CPRR = _flag("round-robin context parallel", "no round robin", "with or without round robin")
AXES = (
    Axis("arch", Kind.ARCH, "arch", "archs"),
    Axis("dtype", Kind.DTYPES, "dtype", "dtypes"),
    Axis("heads", Kind.NUMBER, "num_heads", "heads"),
    Axis("qlen", Kind.NUMBER, "qlen", "qlens"),
    Axis("lse", Kind.FLAG, "lse", "lse", False, _LSE, quiet=False),
    Axis("persistent", Kind.FLAG, "persistent", "persistent", True, _PERSISTENT),
    Axis("causal", Kind.FLAG, "causal", "causal", True, _CAUSAL),
    Axis("cp_round_robin", Kind.FLAG, "cp_round_robin", "cp_round_robin", False, _CPRR),
    Axis("batch", Kind.NUMBER, "batch", "batches", None, _numbers("batch")),
    Axis("page_size", Kind.NUMBER, "page_size", "page_sizes", 1, _numbers("page size")),
    Axis("kv_cache_bytes", Kind.SIZE, "kv_cache_bytes", "kv_cache_sizes", None, _sizes),
    Axis("num_kv_splits", Kind.NUMBER, "num_kv_splits", "kv_splits", None, _numbers("KV splits")),
    Axis("sparse", Kind.FLAG, "sparse", "sparse", False, _SPARSE),
    Axis("planner", Kind.PLANNER, "planner", "planner", PlannerCall(), _calls),
    Axis("route", Kind.ROUTE, "route", "route", Route.ASM, _routes),
    Axis("env", Kind.VARIABLES, "env", "env", (), _environments),
    Axis("op", Kind.OPERATION, "op", "op", Operation.DECODE, _operations),
    Axis("kv_heads", Kind.NUMBER, "num_kv_heads", "kv_heads", None, _kv_heads),
)
"""In the order in which people write them."""
AXIS_NAMES = tuple(axis.name for axis in AXES)
_PLACES = {name: place for place, name in enumerate(AXIS_NAMES)}
LAUNCH_AXES = AXES[_PLACES["lse"] : _PLACES["planner"]]
"""The flags and numbers of a launch besides its arch, dtypes, heads and query length."""
_DTYPES = ("q_dtype", "kv_dtype")
_FIELDS = tuple(
    field for axis in AXES for field in (_DTYPES if axis.kind is Kind.DTYPES else (axis.field,))
)
_values_of = attrgetter(*_FIELDS)


def cell_of(shape: DecodeShape) -> Cell:
    """A shape as one value per axis."""
    arch, q_dtype, kv_dtype, *rest = _values_of(shape)
    return (arch, (q_dtype, kv_dtype), *rest)


def shape_of(cell: Sequence[Any]) -> DecodeShape:
    """The shape of a cell."""
    arch, dtypes, *rest = cell
    return DecodeShape(**dict(zip(_FIELDS, (arch, *dtypes, *rest), strict=True)))


_PLANNER_FIELDS = tuple(PlannerCall.__dataclass_fields__)
_planner_fields_of = attrgetter(*_PLANNER_FIELDS)


def planner_values(shape: DecodeShape) -> dict[str, Any]:
    """The planner's arguments for a shape, by the fields of a planner call."""
    values = dict(zip(_PLANNER_FIELDS, _planner_fields_of(shape.planner), strict=True))
    for name, value in values.items():
        if value is SAME:
            values[name] = values["qlen"] if name == "uniform_qlen" else getattr(shape, name)
    return values


# --- regions -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Region:
    """A set of shapes: all combinations of some values of each axis."""

    values: tuple[tuple[Hashable, ...], ...]
    """For each axis, sorted."""
    asked: tuple[tuple[Hashable, ...], ...]
    """For each axis, every value that was looked at."""

    @property
    def size(self) -> int:
        """How many shapes it holds."""
        return size(tuple(frozenset(v) for v in self.values))

    def axis(self, name: str) -> tuple[Any, ...]:
        """The values along one axis."""
        return self.values[_PLACES[name]]

    def __contains__(self, shape: DecodeShape) -> bool:
        return all(v in axis for v, axis in zip(cell_of(shape), self.values, strict=True))

    @property
    def first(self) -> DecodeShape:
        """The plainest shape of it: what is usual comes first along every axis."""
        return shape_of([values[0] for values in self.values])

    @property
    def description(self) -> str:
        """As people write it: ``gfx950 fp8/fp8, 32 heads, qlen 1, without LSE``. What holds
        whatever its value, and what is as usual and was not varied, is left out."""
        archs = ", ".join(self.axis("arch"))
        dtypes = ", ".join(f"{q}/{kv}" for q, kv in self.axis("dtype"))
        heads, qlens = ranges(sorted(self.axis("heads"))), ranges(sorted(self.axis("qlen")))
        plural = "head" if heads == "1" else "heads"
        parts = [f"{archs} {dtypes}", f"{heads} {plural}", f"qlen {qlens}"]
        for axis, values, asked in zip(AXES, self.values, self.asked, strict=True):
            if axis.describe is not None and _worth_describing(axis, values, asked):
                parts.append(axis.describe(values))
        return ", ".join(filter(None, parts))

    @property
    def row(self) -> dict[str, list[Any]]:
        """As JSON values: for each axis the values, in the order of ``AXES``."""
        return {
            axis.name: [_plain(axis.kind, value) for value in values]
            for axis, values in zip(AXES, self.values, strict=True)
        }


def _worth_describing(axis: Axis, values: Sequence[Hashable], asked: Sequence[Hashable]) -> bool:
    if axis.quiet:
        return values != (axis.usual,)
    return len(values) < len(asked) if len(asked) > 1 else values != (axis.usual,)


def regions(cells: Iterable[Cell], asked: Sequence[Sequence[Any]]) -> tuple[Region, ...]:
    """Few regions that hold exactly these cells, in the order of ``asked`` (for each axis every
    value that was looked at)."""
    orders = [{value: at for at, value in enumerate(values)} for values in asked]
    frozen = tuple(tuple(values) for values in asked)

    def region(box: Box) -> Region:
        return Region(
            tuple(
                tuple(sorted(values, key=order.__getitem__))
                for values, order in zip(box, orders, strict=True)
            ),
            frozen,
        )

    def place(found: Region) -> list[int]:
        return [order[v[0]] for order, v in zip(orders, found.values, strict=True)]

    return tuple(sorted(map(region, cover(cells)), key=place))


def asked_values(cells: Iterable[Cell]) -> tuple[tuple[Any, ...], ...]:
    """Every value of each axis of some cells, the usual one first, then ascending."""
    axes: list[dict[Any, None]] = [{} for _ in AXES]
    for cell in cells:
        for values, value in zip(axes, cell, strict=True):
            values[value] = None
    return tuple(order_values(axis, values) for axis, values in zip(AXES, axes, strict=True))


def order_values(axis: Axis, values: Iterable[Any]) -> tuple[Any, ...]:
    """Values of an axis, each once: the usual one first, then ascending."""
    return tuple(sorted(dict.fromkeys(values), key=lambda v: (v != axis.usual, _sortable(v))))


def _sortable(value: object) -> tuple[int, str]:
    if isinstance(value, int):
        return int(value), ""
    if isinstance(value, tuple):
        return 0, "/".join(map(str, value))
    return len(str(value)), str(value)  # gfx942 before gfx1250


def _plain(kind: Kind, value: Any) -> Any:
    if kind is Kind.DTYPES:
        return "/".join(map(str, value))
    if kind is Kind.VARIABLES:
        return dict(value)
    if isinstance(value, PlannerCall):
        return {name: plain(override) for name, override in value.overrides.items()}
    return plain(value)


def plain(value: Any) -> Any:
    """A member of an enumeration as its value; anything else as it is."""
    return value.value if isinstance(value, Enum) else value

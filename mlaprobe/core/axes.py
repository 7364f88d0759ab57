"""The fields of a shape as axes: from shapes to cells, and from boxes of cells to words."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlaprobe.core.boxes import Box, Cell, cover, size
from mlaprobe.core.numbers import ranges as written
from mlaprobe.core.numbers import runs
from mlaprobe.core.shape import SAME, DecodeShape, PlannerCall, Route

AXES = (
    *("arch", "dtype", "heads", "qlen", "lse", "persistent", "causal", "cp_round_robin"),
    *("batch", "page_size", "planner", "route", "env"),
)
"""In the order in which people say them."""


OMITTED = PlannerCall(q_dtype=None, kv_dtype=None)
"""A planner call of an engine that leaves the dtypes out."""


def cell_of(shape: DecodeShape) -> Cell:
    """A shape as one value per axis."""
    return (
        shape.arch,
        (shape.q_dtype, shape.kv_dtype),
        shape.num_heads,
        shape.qlen,
        shape.lse,
        shape.persistent,
        shape.causal,
        shape.cp_round_robin,
        shape.batch,
        shape.page_size,
        shape.planner,
        shape.route,
        shape.env,
    )


def shape_of(cell: Sequence[Any]) -> DecodeShape:
    """The shape of a cell."""
    arch, (q_dtype, kv_dtype), heads, qlen, lse, persistent, causal, cprr, *rest = cell
    batch, page_size, planner, route, env = rest
    return DecodeShape(
        arch=arch,
        q_dtype=q_dtype,
        kv_dtype=kv_dtype,
        num_heads=heads,
        qlen=qlen,
        lse=lse,
        persistent=persistent,
        causal=causal,
        cp_round_robin=cprr,
        batch=batch,
        page_size=page_size,
        planner=planner,
        route=route,
        env=env,
    )


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


_MOST_PARTS = 6
"""The most ranges that are written out where there is a pattern."""


def told(call: PlannerCall) -> str:
    """What the planner is told otherwise, in words; nothing where it is told the shape."""
    if call == OMITTED:
        return "planner told no dtypes"
    return f"planner told {told_words(call)}" if call != PlannerCall() else ""


def told_words(call: PlannerCall) -> str:
    """Each field that is not as usual, in words."""
    return ", ".join(f"{name} {_told_word(value)}" for name, value in call.told.items())


def _told_word(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "nothing" if value is None else str(value)


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
        return self.values[AXES.index(name)]

    def __contains__(self, shape: DecodeShape) -> bool:
        return all(v in axis for v, axis in zip(cell_of(shape), self.values, strict=True))

    @property
    def first(self) -> DecodeShape:
        """The plainest shape of it: what is usual comes first along every axis."""
        return shape_of([values[0] for values in self.values])

    @property
    def words(self) -> str:
        """As a person says it: ``gfx950 fp8/fp8, 32 heads, qlen 1, without LSE``. What holds
        whatever its value, and what is as usual and was not asked otherwise, is left out."""
        archs = ", ".join(self.axis("arch"))
        dtypes = ", ".join(f"{q}/{kv}" for q, kv in self.axis("dtype"))
        heads, qlens = ranges(sorted(self.axis("heads"))), ranges(sorted(self.axis("qlen")))
        plural = "head" if heads == "1" else "heads"
        parts = [f"{archs} {dtypes}", f"{heads} {plural}", f"qlen {qlens}"]
        for name, say in _SAYING.items():
            at = AXES.index(name)
            values, asked = self.values[at], self.asked[at]
            usual = values == (_USUAL[name],)
            silent = usual and (len(asked) == 1 or name in _QUIET)
            if not silent and (len(values) < len(asked) or len(asked) == 1 or name in _QUIET):
                parts.append(say(values))
        return ", ".join(filter(None, parts))

    @property
    def row(self) -> dict[str, list[Any]]:
        """As JSON values: for each axis the values, in the order of ``AXES``."""
        return {
            name: [_plain(name, value) for value in values]
            for name, values in zip(AXES, self.values, strict=True)
        }


def regions(cells: Iterable[Cell], asked: Sequence[Sequence[Any]]) -> tuple[Region, ...]:
    """The fewest regions that were found to hold exactly these cells, in the order of ``asked``
    (for each axis every value that was looked at)."""
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
    return tuple(order_values(name, values) for name, values in zip(AXES, axes, strict=True))


def order_values(name: str, values: Iterable[Any]) -> tuple[Any, ...]:
    """Values of an axis, each once: the usual one first, then ascending."""
    usual = _USUAL.get(name, SAME)
    return tuple(sorted(dict.fromkeys(values), key=lambda v: (v != usual, _sortable(v))))


def _sortable(value: Any) -> tuple[int, str]:
    if isinstance(value, int):
        return int(value), ""
    if isinstance(value, tuple):
        return 0, "/".join(map(str, value))
    return len(str(value)), str(value)  # gfx942 before gfx1250


def _plain(name: str, value: Any) -> Any:
    if name == "dtype":
        return "/".join(str(part) for part in value)
    if name == "env":
        return dict(value)
    if isinstance(value, PlannerCall):
        return {field: getattr(each, "value", each) for field, each in value.told.items()}
    return getattr(value, "value", value)


def _flag(yes: str, no: str, both: str) -> Callable[[tuple[Any, ...]], str]:
    return lambda values: both if len(values) > 1 else yes if values[0] else no


def _numbers(what: str) -> Callable[[tuple[Any, ...]], str]:
    def say(values: tuple[Any, ...]) -> str:
        some = sorted(value for value in values if value is not None)
        parts = ["any " + what] * (None in values) + [f"{what} {ranges(some)}"] * bool(some)
        return " or ".join(parts)

    return say


def _planner(values: tuple[Any, ...]) -> str:
    if values == (PlannerCall(), OMITTED):
        return "planner told the dtypes or none"
    return " or ".join(told(value) or "planner told the dtypes" for value in values)


def _environment(values: tuple[Any, ...]) -> str:
    parts = [", ".join(f"{name}={value}" for name, value in env) or "no knob" for env in values]
    return "with " + " or ".join(parts)


_SAYING: Mapping[str, Callable[[tuple[Any, ...]], str]] = {
    "lse": _flag("with LSE", "without LSE", "with or without LSE"),
    "persistent": _flag("persistent", "non-persistent", "persistent or not"),
    "causal": _flag("causal", "not causal", "causal or not"),
    "cp_round_robin": _flag(
        "round-robin context parallel", "no round robin", "with or without round robin"
    ),
    "batch": _numbers("batch"),
    "page_size": _numbers("page size"),
    "planner": _planner,
    "route": lambda values: "route " + " or ".join(str(value) for value in values),
    "env": _environment,
}
_USUAL: Mapping[str, Any] = {
    "lse": False,
    "persistent": True,
    "causal": True,
    "cp_round_robin": False,
    "batch": None,
    "page_size": 1,
    "planner": PlannerCall(),
    "route": Route.ASM,
    "env": (),
}
_QUIET = frozenset(_USUAL) - {"lse"}
"""Nobody expects these to be anything but usual: they are said exactly where they are not."""

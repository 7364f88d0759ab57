"""The shapes that options describe: one option for each axis.

Every function raises ``UsageError`` where an option is wrong, or has several values where one is
wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlaprobe.cli.support import common
from mlaprobe.core.axes import AXES, Kind, shape_of
from mlaprobe.core.grid import DtypePair, Grid, by_generation
from mlaprobe.core.shape import DecodeShape
from mlaprobe.errors import UsageError

_PARSERS: Mapping[Kind, Callable[[str, Any], Any]] = {
    Kind.ARCH: common.parse_archs,
    Kind.DTYPES: common.parse_dtypes,
    Kind.NUMBER: common.parse_numbers,
    Kind.SIZE: common.parse_sizes,
    Kind.FLAG: common.parse_flags,
    Kind.PLANNER: common.parse_planner,
    Kind.ROUTE: common.parse_route,
    Kind.VARIABLES: common.parse_env,
    Kind.OPERATION: common.parse_operation,
}


def parse_filters(given: Mapping[str, Any]) -> dict[str, Any]:
    """The filters that were given, by the fields of a grid."""
    return {
        axis.grid: _PARSERS[axis.kind](axis.option, given[axis.name])
        for axis in AXES
        if given.get(axis.name) not in (None, (), [])
    }


def make_grid(
    given: Mapping[str, Any], *, qlens: tuple[int, ...] = (1,), archs: Callable[[], tuple[str, ...]]
) -> Grid:
    """The grid that a command's filters describe, where the source's archs are the default."""
    found = {"qlens": qlens, **parse_filters(given)}
    if "archs" not in found:
        found["archs"] = by_generation(_named(archs()))
    return Grid(**found)


def check_filters(given: Mapping[str, Any]) -> None:
    """Checks a command's filters before anything is read."""
    make_grid(given, archs=lambda: ("gfx950",))


def parse_shape(given: Mapping[str, Any]) -> DecodeShape:
    """The shape that the options of a command about one shape describe; its arch is given."""
    values = Grid(**parse_filters(given)).axes
    return shape_of([common.parse_one(a.option, v) for a, v in zip(AXES, values, strict=True)])


def parse_pair(given: Mapping[str, Any]) -> DtypePair:
    """The one pair of dtypes that was given."""
    return common.parse_one("--dtype", common.parse_dtypes("--dtype", given["dtype"]))


def parse_arch(given: Mapping[str, Any]) -> str | None:
    """The one arch that was given; ``None`` where none was."""
    text = given["arch"]
    return None if text is None else common.parse_one("--arch", common.parse_archs("--arch", text))


def parse_optional(given: Mapping[str, Any], name: str) -> int | None:
    """The number of an option, by the name of its parameter; ``None`` where it was not given."""
    text = given[name]
    return None if text is None else common.parse_number("--" + name.replace("_", "-"), text)


def parse_cache(given: Mapping[str, Any]) -> int | None:
    """The size of the KV cache that was given; ``None`` where none was."""
    option, text = "--kv-cache-bytes", given["kv_cache_bytes"]
    return None if text is None else common.parse_one(option, common.parse_sizes(option, text))


def _named(archs: tuple[str, ...]) -> tuple[str, ...]:
    if not archs:
        raise UsageError(
            "the source names no GPU architecture", hint="name one, for example --arch gfx950"
        )
    return archs

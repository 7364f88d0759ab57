"""What a team serves: the deployments file, and the shapes that each deployment launches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mlaprobe.core.axes import LAUNCH_AXES, OMITTED, Kind
from mlaprobe.core.grid import Grid
from mlaprobe.core.inputs import ARCH, ARCH_FLAGS, arch_name, byte_count
from mlaprobe.core.shape import DecodeShape, Dtype, PlannerCall
from mlaprobe.errors import UsageError
from mlaprobe.rulefiles.loader import Place, RuleMap, input_file
from mlaprobe.rulefiles.models import Model, find
from mlaprobe.rulefiles.parts import planner_overrides, unique_by
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

_ARCH = Text(pattern=ARCH + ARCH_FLAGS, form="an arch like gfx950")
_PAIR = Text(pattern="[A-Za-z0-9_.]+/[A-Za-z0-9_.]+", form="a dtype pair like fp8/fp8")
_VARIABLE = Text(pattern="[A-Za-z_][A-Za-z0-9_]*", form="a name of an environment variable")
_VALUE = Either(Text(pattern="[^\0]+", form="a value of an environment variable"), whole())
GIVEN, LEFT_OUT = "given", "omitted"


def _has_heads(value: RuleMap, place: Place, where: str) -> None:
    """Checks that a deployment has a model or a number of heads."""
    if ("model" in value) is ("num_heads" in value):
        raise place.error(
            f"{where}: a deployment has a model or num_heads, and not both",
            hint="model: an id that mlaprobe models lists; num_heads: those of the whole model",
        )


def _is_size(value: object, place: Place, where: str) -> None:
    """Checks that a value is a number of bytes."""
    try:
        byte_count(value, where)
    except UsageError as error:
        raise place.error(error.message, hint=error.hint) from None


def _some(item: Schema) -> Schema:
    return Either(item, ListOf(item, at_least=1, unique=True))


_SIZE = Checked(Either(whole(1), Text()), _is_size)
_OF_KIND: Mapping[Kind, Schema] = {Kind.NUMBER: whole(1), Kind.SIZE: _SIZE, Kind.FLAG: Flag()}
FIELDS = Record(
    required={"name": Text(), "arch": _some(_ARCH), "dtype": _some(_PAIR)},
    optional={
        "model": Text(),
        "num_heads": whole(1),
        "tp": whole(1),
        "dcp": whole(1),
        "qlens": ListOf(whole(1), at_least=1, unique=True),
        **{axis.name: _OF_KIND[axis.kind] for axis in LAUNCH_AXES},
        "planner_dtypes": Text(choices=(GIVEN, LEFT_OUT)),
        "planner": planner_overrides(1),
        "env": MapOf(_VALUE, key=_VARIABLE),
    },
)
"""A deployment."""
SCHEMA = Record(
    required={"deployments": unique_by("name", "deployment", Checked(FIELDS, _has_heads))}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """One deployment of a team."""

    name: str
    num_heads: int
    """Query heads that a rank decodes, after any context-parallel gather."""
    grid: Grid
    """The shapes that it launches."""

    @property
    def shapes(self) -> Iterator[DecodeShape]:
        """Every shape that it launches unless heads are padded."""
        return self.grid.shapes()

    def padded(self, num_heads: int) -> Iterator[DecodeShape]:
        """The shapes that it launches with heads padded to another count."""
        return replace(self.grid, heads=(num_heads,)).shapes()


def load_deployments(file: Path | str) -> tuple[Serving, ...]:
    """The deployments of a file.

    Raises:
        InputFileError: it cannot be read, or something in it is wrong.
    """
    with input_file(file, "deployments file", SCHEMA) as loaded:
        return tuple(map(_serving, loaded["deployments"]))


def _heads(entry: RuleMap) -> int:
    """Heads per rank.

    Raises:
        RuleError: the sizes do not divide, or the model is not known.
    """
    tp, dcp = entry.get("tp", 1), entry.get("dcp", 1)
    total = entry.get("num_heads")
    if total is None:
        total = _model(entry).heads
    if total % tp:
        raise entry.places["tp"].error(f"{total} heads do not split evenly over tp {tp}")
    if tp % dcp:
        raise entry.places["dcp"].error(f"dcp {dcp} does not divide tp {tp}")
    heads: int = total // tp * dcp
    return heads


def _model(entry: RuleMap) -> Model:
    place = entry.places["model"]
    try:
        found = find(entry["model"])
    except UsageError as error:
        raise place.error(error.message, hint=error.hint) from None
    if len({model.heads for model in found}) > 1:
        raise place.error(
            f"{entry['model']!r} names models of several head counts",
            hint="name one of " + ", ".join(model.id for model in found),
        )
    return found[0]


def _list(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


def _pairs(entry: RuleMap) -> tuple[tuple[Dtype, Dtype], ...]:
    """The dtypes of query and cache.

    Raises:
        RuleError: one is none.
    """
    found = []
    for pair in _list(entry["dtype"]):
        query, _, cache = pair.partition("/")
        try:
            q_dtype = Dtype.of(query)
            found.append((q_dtype, Dtype.of_cache(cache, q_dtype)))
        except UsageError as error:
            raise entry.places["dtype"].error(error.message, hint=error.hint) from None
    return tuple(dict.fromkeys(found))


def _serving(entry: RuleMap) -> Serving:
    heads = _heads(entry)
    environment: Mapping[str, str | int] = entry.get("env", {})
    # Ranks that share a context merge their results by the log-sum-exp.
    given = {"lse": entry.get("dcp", 1) > 1, **entry}
    launched: dict[str, Any] = {
        axis.grid: (given.get(axis.name, axis.usual),) for axis in LAUNCH_AXES
    }
    if "kv_cache_bytes" in given:
        launched["kv_cache_sizes"] = (byte_count(given["kv_cache_bytes"], "kv_cache_bytes"),)
    omitted = entry.get("planner_dtypes", GIVEN) == LEFT_OUT
    grid = Grid(
        archs=tuple(dict.fromkeys(map(arch_name, _list(entry["arch"])))),
        dtypes=_pairs(entry),
        heads=(heads,),
        qlens=tuple(sorted(entry.get("qlens", (1,)))),
        **launched,
        env=tuple(sorted((name, str(value)) for name, value in environment.items())),
        planner=replace(OMITTED if omitted else PlannerCall(), **entry.get("planner", {})),
    )
    return Serving(name=entry["name"], num_heads=heads, grid=grid)

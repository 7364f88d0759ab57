"""What a launch is estimated to cost.

Published or measured points answer for themselves; everything else is
``constant + per_pass * passes * kv_len / reference_kv_len + per_head * heads`` microseconds, kept
between its neighbours among the points. A pass is one reading of the KV cache.
``rules/policy.yaml`` holds the default and says where it is from; a measured profile replaces it
for its arch and dtype pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mlaprobe.core.shape import Dtype
from mlaprobe.rulefiles.loader import RuleMap, input_file
from mlaprobe.rulefiles.schema import ListOf, Number, Record, Text, whole

POINT = Record(required={"heads": whole(1), "passes": whole(1), "us": Number(1e-3)})
_DTYPE = Text(choices=tuple(map(str, Dtype)))
_MEASURED = {
    "name": Text(),
    "arch": Text(),
    "q_dtype": _DTYPE,
    "kv_dtype": _DTYPE,
    "kv_len": whole(1),
    "batch": whole(1),
    "points": ListOf(POINT, at_least=1),
}
MODEL = Record(
    required={
        **_MEASURED,
        "constant": Number(),
        "per_pass": Number(0),
        "per_head": Number(0),
        "error": Number(0, 1),
        "reference": ListOf(Text(), at_least=1),
    }
)
CROSSOVER = Record(
    required={
        "heads": whole(1),
        "launched": whole(1),
        "qlen": whole(1),
        "batch": whole(1),
        "loses": whole(0),
        "wins": whole(0),
    }
)
"""From which KV length on padding was measured to pay, for people: ``loses`` is the longest
length at which it did not, ``wins`` the shortest from which on it did; 0: there is none."""
PROFILE = Record(
    required=_MEASURED,
    optional={
        "aiter": Text(),
        "hardware": Text(),
        "reference": ListOf(Text()),
        "note": Text(),
        "crossovers": ListOf(CROSSOVER),
    },
)
"""A measured profile: YAML or JSON, as the decode bench writes it."""


# Compared by identity: both are part of the resolver's cache keys.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CostModel:
    """Microseconds for a head count and a number of passes."""

    name: str
    """On what it was measured."""
    arch: str
    q_dtype: Dtype
    kv_dtype: Dtype
    constant: float
    per_pass: float
    """Microseconds of one pass over ``kv_len`` tokens per request."""
    per_head: float
    kv_len: int
    """KV tokens per request of the points."""
    batch: int
    """Requests per batch of the points."""
    points: Mapping[tuple[int, int], float]
    """(heads, passes) -> microseconds, measured."""
    error: float
    """The largest relative error of the formula at a point."""

    @property
    def where(self) -> str:
        """The arch and the dtypes that it was measured with."""
        return f"{self.arch} {self.q_dtype}/{self.kv_dtype}"

    def covers(self, arch: str, q_dtype: Dtype, kv_dtype: Dtype) -> bool:
        """Whether it was measured on this arch with these dtypes: only then are its microseconds
        theirs. Elsewhere it is borrowed, and only its ratios mean something."""
        return (self.arch, self.q_dtype, self.kv_dtype) == (arch, q_dtype, kv_dtype)

    def cost(self, heads: int, passes: int, kv_len: int | None = None) -> float:
        """Microseconds of one launch.

        Args:
            kv_len: KV tokens per request; ``None``: as measured.
        """
        if kv_len is None or kv_len == self.kv_len:
            measured = self.points.get((heads, passes))
            return self._between(heads, passes) if measured is None else measured
        scaled = self.per_pass * passes * kv_len / self.kv_len
        return self.constant + scaled + self.per_head * heads

    def _between(self, heads: int, passes: int) -> float:
        """The formula, kept between the nearest points of as many passes: more heads must not
        look cheaper than fewer, just because some of them were measured."""
        cost = self.constant + self.per_pass * passes + self.per_head * heads
        below = [us for (h, p), us in self.points.items() if p == passes and h < heads]
        above = [us for (h, p), us in self.points.items() if p == passes and h > heads]
        return min([max([cost, *below]), *above])

    def crossing(self, stay: tuple[int, int], pad: tuple[int, int]) -> float | None:
        """The KV length per request over which padding is cheaper than staying, by the formula;
        ``None`` where there is none. Each side is heads and passes.
        """
        saved = stay[1] - pad[1]
        if saved <= 0 or not self.per_pass:
            return None
        extra = self.per_head * (pad[0] - stay[0])
        return max(0.0, extra / (self.per_pass * saved) * self.kv_len)


def model_of(rules: Mapping[str, Any]) -> CostModel:
    """The model that a rule file holds under ``cost``, checked before."""
    kept = {each.name: rules[each.name] for each in fields(CostModel)}
    return CostModel(**{**kept, **_typed(rules)})


def _typed(rules: Mapping[str, Any]) -> dict[str, Any]:
    """What a file writes otherwise than a model has it."""
    return {
        "q_dtype": Dtype(rules["q_dtype"]),
        "kv_dtype": Dtype(rules["kv_dtype"]),
        "points": _points(rules["points"]),
    }


def _points(points: Iterable[Mapping[str, Any]]) -> dict[tuple[int, int], float]:
    return {(p["heads"], p["passes"]): float(p["us"]) for p in points}


class Profile(CostModel):
    """A measured model, in place of the policy's for its arch and dtypes."""

    __slots__ = ()


def load_profile(path: str | Path, default: CostModel) -> Profile:
    """A profile file. Its formula is fitted to its points; where they do not determine one
    (fewer than three, or all on a line), the default's is scaled to them.

    Args:
        default: the model of the policy.

    Raises:
        InputFileError: it cannot be read, or is not of the form of ``PROFILE``.
    """
    with input_file(path, "cost profile", PROFILE) as loaded:
        return _profile(loaded, default)


def _profile(loaded: RuleMap, default: CostModel) -> Profile:
    points = _points(loaded["points"])
    constant, per_pass, per_head = fit(points) or _scaled(points, default, loaded["kv_len"])
    off = [abs(constant + per_pass * p + per_head * h - us) / us for (h, p), us in points.items()]
    return Profile(
        **{name: loaded[name] for name in ("name", "arch", "kv_len", "batch")},
        **_typed(loaded),
        constant=constant,
        per_pass=per_pass,
        per_head=per_head,
        error=max(off),
    )


def _scaled(
    points: Mapping[tuple[int, int], float], default: CostModel, kv_len: int
) -> tuple[float, float, float]:
    """The default's formula, stretched so that it meets the points on average."""
    ratios = [us / default.cost(h, p, kv_len) for (h, p), us in points.items()]
    factor = sum(ratios) / len(ratios)
    per_pass = default.per_pass * kv_len / default.kv_len
    return default.constant * factor, per_pass * factor, default.per_head * factor


def fit(points: Mapping[tuple[int, int], float]) -> tuple[float, float, float] | None:
    """Constant, per pass and per head by least squares of the relative error, or ``None`` where
    the points do not determine them or no cost that grows fits."""
    # Weighted rows: dividing by the measurement makes the residual a relative one.
    rows = [(1 / us, p / us, h / us, 1.0) for (h, p), us in points.items() if us > 0]
    matrix = [[sum(r[i] * r[j] for r in rows) for j in range(4)] for i in range(3)]
    for column in range(3):
        pivot = max(range(column, 3), key=lambda row: abs(matrix[row][column]))
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        head = matrix[column][column]
        if abs(head) < 1e-12 * max(1.0, abs(matrix[0][0])):
            return None
        matrix[column] = [value / head for value in matrix[column]]
        for row in range(3):
            if row != column:
                factor = matrix[row][column]
                matrix[row] = [
                    a - factor * b for a, b in zip(matrix[row], matrix[column], strict=True)
                ]
    constant, per_pass, per_head = (row[3] for row in matrix)
    return (constant, per_pass, per_head) if per_pass >= 0 and per_head >= 0 else None

"""A map of named options, as a function of the source takes it: ``map<string, int>``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.stl.keptmaps import Entries, pair
from mlaprobe.evaluator.symbolic.symbols import Sym
from mlaprobe.evaluator.values.kinds import Builtin, Record


class Options(Entries):
    """Named numbers that a caller gives. A name that it does not give is not in the map."""

    __slots__ = ("items",)

    def __init__(self, items: Mapping[str, Any]) -> None:
        self.items = {name: pair(name, value) for name, value in items.items()}

    def entry(self, key: str) -> Record | None:
        return self.items.get(key)

    def equals(self, other: Any) -> bool | None:
        return False if other is None else True if other is self else None

    def get(self, name: str, span: Span) -> Any:
        if name in ("value", "has_value"):
            return Builtin(name, lambda run, a, k, s: self if name == "value" else True)
        return super().get(name, span)


def options(roles: Mapping[str, str], values: Mapping[str, Any]) -> Options:
    """The numbers among values, by the names of the parameters that mean them."""
    numbers = {n: values[r] for n, r in roles.items() if type(values.get(r)) in (bool, int, Sym)}
    return Options(numbers)

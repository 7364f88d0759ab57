"""A map of named options, as a function of the source takes it: ``map<string, int>``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.symbolic.symbols import Sym
from mlaprobe.evaluator.values.keptmaps import END, pair
from mlaprobe.evaluator.values.kinds import Builtin, Model, Record
from mlaprobe.evaluator.values.unknown import Unknown


class Options(Model):
    """Named numbers that a caller gives. A name that it does not give is not in the map."""

    __slots__ = ("items",)

    def __init__(self, items: Mapping[str, Any]) -> None:
        self.items = {name: pair(name, value) for name, value in items.items()}

    def equals(self, other: Any) -> bool | None:
        return False if other is None else True if other is self else None

    def get(self, name: str, span: Span) -> Any:
        if name in ("value", "has_value"):
            return Builtin(name, lambda run, a, k, s: self if name == "value" else True)
        if name in ("end", "cend"):
            return Builtin(name, lambda run, a, k, s: END)
        if name in ("find", "count", "contains", "at"):
            return Builtin(name, lambda run, a, k, s: self._asked(name, a, s))
        return Unknown(f"{name} of a map of options is not modelled", span)

    def index(self, key: Any, span: Span) -> Any:
        return self._asked("at", (key,), span)

    def _asked(self, name: str, args: tuple[Any, ...], span: Span) -> Any:
        if len(args) != 1 or not isinstance(args[0], str):
            return Unknown("an option of unknown name", span)
        found: Record | None = self.items.get(args[0])
        if name in ("count", "contains"):
            return int(found is not None) if name == "count" else found is not None
        if name == "find":
            return END if found is None else found
        return Unknown(f"no option {args[0]}", span) if found is None else found.fields["second"]


def options(roles: Mapping[str, str], values: Mapping[str, Any]) -> Options:
    """The numbers among values, by the names of the parameters that mean them."""
    numbers = {n: values[r] for n, r in roles.items() if type(values.get(r)) in (bool, int, Sym)}
    return Options(numbers)

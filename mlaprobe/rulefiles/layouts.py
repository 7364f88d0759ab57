"""The names that AITER gives to things, from ``rules/layouts.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mlaprobe.core.caches import Cache, cached
from mlaprobe.rulefiles.loader import load_rules
from mlaprobe.rulefiles.schema import Anything, ListOf, MapOf, Record, Text

_NAMES = ListOf(Text())
_STAGE = MapOf(Anything())
SCHEMA = Record(
    required={
        "include_dirs": _NAMES,
        "predefined": _NAMES,
        "foreign": Record(required={"succeeding": _NAMES, "prefixes": _NAMES}),
        "arch_functions": _NAMES,
        "unknown_device_functions": _NAMES,
        "loggers": _NAMES,
        "assumed_device_functions": MapOf(Anything()),
        "required_packages": _NAMES,
        "settings": Record(required={"bases": _NAMES, "booleans": MapOf(Anything())}),
        "bindings": _STAGE,
        "planner": _STAGE,
        "host": _STAGE,
        "reducer": _STAGE,
        "sizing": _STAGE,
        "dispatcher": _STAGE,
        "gluon": _STAGE,
        "calls": MapOf(MapOf(Text())),
        "dtypes": MapOf(_NAMES),
        "fp8_variants": MapOf(Text()),
        "parameters": MapOf(MapOf(_NAMES)),
        "entries": MapOf(_NAMES),
    }
)


@dataclass(frozen=True, slots=True)
class Layouts:
    """The rule file, by section."""

    data: Mapping[str, Any]
    _roles: dict[str, dict[str, str]] = field(default_factory=dict, compare=False)

    def roles(self, stage: str) -> Mapping[str, str]:
        """Parameter name -> what it means, for the functions of a stage."""
        found = self._roles.get(stage)
        if found is None:
            sections = self.data["parameters"][stage].items()
            found = {name: role for role, names in sections for name in names}
            self._roles[stage] = found
        return found

    def call_roles(self, stage: str) -> Mapping[str, str]:
        """Parameter name -> what it means, for the Python function that a caller of AITER uses."""
        return {**self.roles(stage), **self.roles(f"{stage}_call")}

    def python_places(self, name: str) -> tuple[tuple[str, str], ...]:
        """(module, function) where a Python function that a caller uses may be; the first that
        exists counts."""
        call = self.data["calls"].get(name)
        return self.places(name) if call is None else ((call["module"], call["function"]),)

    def places(self, stage: str) -> tuple[tuple[str, str], ...]:
        """(file or module, function) where a stage may be, the first that exists counts."""
        return tuple(
            (place.get("file") or place["module"], place["function"])
            for place in self.data[stage]["places"]
        )

    def fp8_variant(self, arch: str) -> str:
        """The fp8 encoding of an arch."""
        variants = self.data["fp8_variants"]
        return str(variants.get(arch, variants["default"]))


@cached(Cache.RULES)
def layouts() -> Layouts:
    """The names, read once."""
    return Layouts(load_rules("layouts", SCHEMA))

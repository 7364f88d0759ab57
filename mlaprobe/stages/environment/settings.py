"""Settings classes of packages outside AITER: their options read the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.handled import SettingsBase
from mlaprobe.evaluator.values.kinds import Builtin


def settings_externals(rules: Mapping[str, Any]) -> dict[str, Any]:
    """The base classes and options that ``rules/layouts.yaml`` names, by their dotted names."""
    found: dict[str, Any] = {name: SettingsBase() for name in rules["bases"]}
    for name, rule in rules["booleans"].items():
        found[name] = Builtin(name, _boolean(rule))
    return found


def _boolean(rule: Mapping[str, Any]) -> Any:
    """A boolean option: its default where the variable is not set."""
    default, variable, words = rule["default"], rule["variable"], tuple(rule["set"])

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        given = dict(zip((default, variable), args, strict=False)) | kwargs
        name = given.get(variable)
        if not isinstance(name, str):
            return Unknown("an option without a known environment variable", span)
        value = run.getenv(name)
        if value is None:
            return given.get(default, False)
        return value.lower() in words

    return call

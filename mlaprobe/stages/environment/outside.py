"""What AITER's C++ code finds outside its source: the GPU runtime, libraries, properties of the
device.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from mlaprobe.evaluator.cpp.builtins import builtins, check, message_of
from mlaprobe.evaluator.engine.runs import Outcome, Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import (
    Builtin,
    Closure,
    EnumMember,
    Model,
    Record,
    Ref,
    ToObject,
    identity,
)
from mlaprobe.evaluator.walk import READING
from mlaprobe.stages.environment import device
from mlaprobe.stages.environment.dtypes import named_dtypes

COMPUTING = ("std::", "__builtin_", "sizeof", "ck_tile::", "opus::")
"""Names of what computes from its arguments alone: open where these are, not otherwise."""
_MAKING = ("std::make_", "std::construct_at", "std::allocate_")
"""Names of what makes objects, maybe of the source's classes."""
_RUNNING = (Closure, Builtin, Record, ToObject)
"""Arguments with which a library may run code of the source."""
SUCCESS = EnumMember("hipError_t", "hipSuccess", 0, scoped=False)


@dataclass(slots=True, eq=False)
class Foreign(Model):
    """Something of the GPU runtime or a library, by name; calls to it return."""

    name: str
    succeeds: bool
    always_true = False
    """It may be a constant: ``std::is_same_v<int, short>`` has the value false."""

    @property
    def identity(self) -> Hashable:
        return ("foreign", self.name)

    @property
    def by_reference(self) -> bool:  # type: ignore[override]
        """Functions of the C++ library may write what they are given."""
        return self.name.startswith("std::") and self.name not in READING

    def get(self, name: str, span: Span) -> Any:
        return self._at_run_time(f"{self.name}.{name}", span, ("foreign", self.name, name))

    def call(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        from mlaprobe.evaluator.engine.calls import havoc

        given, args = args, tuple(a.load() if type(a) is Ref else a for a in args)
        for value in given:
            run.havocs(value, span)
            havoc(value, f"{self.name} may have written it", span)
        if self.name.startswith(_MAKING) or any(isinstance(a, _RUNNING) for a in args):
            run.lose_globals(Unknown(f"{self.name} may have written it", span))
        if self.succeeds and not self.name.endswith("_t"):
            return SUCCESS
        parts = [*map(identity, args), *map(identity, kwargs.values())]
        key = None if None in parts else ("foreign", self.name, *parts, *kwargs)
        if not self.name.startswith(COMPUTING):
            return self._at_run_time(f"{self.name}()", span, key)
        open_inputs = [a.free for a in (*args, *kwargs.values()) if isinstance(a, Unknown)]
        free = open_inputs[0] if open_inputs and None not in open_inputs else None
        return Unknown(f"{self.name}() is not followed", span, key=key, free=free, foreign=True)

    def _at_run_time(self, what: str, span: Span, key: Hashable | None) -> Unknown:
        reason = f"{what} is known at run time only"
        return Unknown(reason, span, key=key, free="device", foreign=True)


def foreign(names: Mapping[str, Any], name: str) -> Foreign | None:
    """Something that the source does not define and that by its name belongs to the GPU runtime or
    a library. ``names``: ``foreign`` in ``rules/layouts.yaml``."""
    if name.startswith(tuple(names["succeeding"])):
        return Foreign(name, succeeds=True)
    if name.startswith(tuple(names["prefixes"])):
        return Foreign(name, succeeds=False)
    return None


def cpp_externals() -> dict[str, Any]:
    """What C++ code finds outside the source, by name, properties of the device apart."""
    values = builtins()
    values.update({n: t for n, t in named_dtypes().items() if "::" in n})
    values["torch_check_failed"] = Builtin("torch_check_failed", _torch_check_failed, symbolic=True)
    values["AT_ASSERT"] = check("RuntimeError", "exception")
    values["TORCH_WARN"] = Builtin("TORCH_WARN", lambda run, a, k, span: None)
    values["hipSuccess"] = SUCCESS
    name = "hipGetDeviceProperties"
    values[name] = device.get_properties(SUCCESS, Foreign(name, succeeds=True))
    values["dim3"] = device.sizes(Foreign("dim3", succeeds=False))
    return values


def device_functions(names: Mapping[str, Any]) -> dict[str, Any]:
    """Functions that return properties of the device. ``names``: ``rules/layouts.yaml``."""
    found: dict[str, Any] = {}
    for name in names["arch_functions"]:
        found[name] = Builtin(name, _arch, constant=True)
    for name in names["unknown_device_functions"]:
        found[name] = Builtin(name, _device_property(name))
    for name, rule in names["assumed_device_functions"].items():
        found[name] = Builtin(name, _assumed(rule["value"], rule["note"]))
    return found


def _torch_check_failed(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    raise Failed("exception", "RuntimeError", message_of(args), span)


def _arch(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """The GPU that the question is about."""
    return run.facts["arch"]


def _assumed(value: Any, note: str) -> Callable[..., Any]:
    """A property of the device that is taken for granted, and noted."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        run.observations.append(("assumed", note))
        return value

    return call


def assumptions(outcome: Outcome) -> tuple[str, ...]:
    """What a path took for granted of the device."""
    found = (note for kind, note in outcome.observations if kind == "assumed")
    return tuple(dict.fromkeys(found))


def _device_property(name: str) -> Callable[..., Any]:
    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        value = device.known(run, name)
        if value is not None:
            return value
        return Unknown(
            f"{name}() is a property of the device",
            span,
            key=("device", name),
            free="device",
            foreign=True,
        )

    return call

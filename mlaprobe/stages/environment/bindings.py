"""Python stubs of compiled functions: what a call of one computes, read from the C++ it binds.

A stub that returns something is evaluated in the same run as the code that calls it. One that
returns nothing acts on the device; its call is what a stage waits for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.python.values import EntryPoint
from mlaprobe.evaluator.values import Args, Kwargs, Unknown
from mlaprobe.evaluator.values.kinds import EnumType
from mlaprobe.stages.environment.tensors import Tensor

if TYPE_CHECKING:
    from mlaprobe.stages.environment.session import SourceSession

_TRANSLATED = {
    "std::invalid_argument": "ValueError",
    "std::domain_error": "ValueError",
    "std::length_error": "ValueError",
    "std::range_error": "ValueError",
    "std::out_of_range": "IndexError",
    "std::overflow_error": "OverflowError",
    "std::bad_alloc": "MemoryError",
}
"""Python's exceptions for C++'s (pybind11's documentation, "Exceptions"); else RuntimeError."""


def default_of(param: ir.Param, reason: str = "", *, foreign: bool = True) -> Any:
    """A parameter's default where that is a constant, else unknown."""
    if isinstance(param.default, ir.Const):
        return param.default.value
    reason = reason or f"the argument {param.name} is not known"
    return Unknown(reason, param.span, foreign=foreign)


def bound(
    function: ir.Function, args: Args, kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments by position and by name, with simple defaults filled in. Of a stub that passes on
    whatever it gets, arguments without a parameter come last."""
    params = [p for p in function.params if p.kind not in _STARS]
    values: list[Any] = []
    for at, param in enumerate(params):
        if at < len(args) and param.kind != "keyword":
            values.append(args[at])
        elif param.kind != "placed" and param.name in kwargs:
            values.append(kwargs[param.name])
        else:
            values.append(default_of(param, foreign=False))
    names = [p.name for p in params]
    further = args[sum(p.kind != "keyword" for p in params) :]
    return (*values, *further), {**kwargs, **dict(zip(names, values, strict=True))}


_STARS = ("*", "**")


class Bindings:
    """The compiled functions of one source that compute something."""

    def __init__(self, session: SourceSession) -> None:
        self.session = session
        data = session.names.data
        self._decorators = frozenset(data["bindings"]["decorators"])
        self._name = data["bindings"]["name"]
        self._places = tuple(
            place
            for stage in ("planner", "reducer", "host")
            for place in session.names.places(stage)
        )

    def called(
        self,
        run: Run,
        entry: EntryPoint,
        args: Args,
        kwargs: Kwargs,
        span: ir.Span,
    ) -> Any:
        """What a call returns; ``NotImplemented`` for one that acts on the device, or whose C++
        cannot be found."""
        if not entry.gives or any(isinstance(a, Tensor) for a in (*args, *kwargs.values())):
            return NotImplemented
        if not any(d.rpartition(".")[2] in self._decorators for d in entry.decorators):
            return NotImplemented
        function = self.session.cpp_function(self.cpp_name(entry), self._places)
        if function is None:
            return NotImplemented
        values, _ = bound(self.signature(entry), args, kwargs)
        if len(values) != len(function.function.params):
            return NotImplemented
        try:
            return run.machine.call(run, function, values, {}, span)
        except Failed as failure:
            if failure.kind != "exception":
                raise
            how = _TRANSLATED.get(failure.how, "RuntimeError")
            raise Failed("exception", how, failure.message, failure.span) from None

    def signature(self, entry: EntryPoint) -> ir.Function:
        """The parameters of a stub; of one that passes on whatever it gets, those of the C++
        function that it binds."""
        if all(p.kind not in _STARS for p in entry.function.params):
            return entry.function
        found = self.session.cpp_function(self.cpp_name(entry), self._places)
        return entry.function if found is None else found.function

    def cpp_name(self, entry: EntryPoint) -> str:
        """The name of the C++ function that a stub binds."""
        return self.bound_name(entry.function, entry.name)

    def bound_name(self, function: ir.Function, name: str) -> str:
        """The same of a stub's function: the decorator may give another name."""
        for node in function.decorators:
            for key, value in getattr(node, "kwargs", ()):
                if key == self._name and isinstance(value, ir.Const):
                    return str(value.value)
        return name


def enum_ids(session: SourceSession, rule: Mapping[str, Any], run: Run) -> Any:
    """A C++ enum as the dict that AITER's Python makes of it."""
    if session.text(rule["file"]) is None:
        return Unknown(f"there is no {rule['file']}")
    found = session.cpp(rule["file"]).lookup(run, rule["enum"], ir.NOWHERE)
    if not isinstance(found, EnumType) or any(m.value is None for m in found.members):
        return Unknown(f"{rule['file']} defines no enum {rule['enum']} that can be read")
    return {m.name.removeprefix(rule["prefix"]): m.value for m in found.members}

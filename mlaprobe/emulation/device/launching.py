"""Kernel launches: a host function runs until it launches, and each launch runs its kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from mlaprobe.emulation.device.arithmetic import converted
from mlaprobe.emulation.device.binding import chosen, parameter_types, template_scope
from mlaprobe.emulation.device.builtins import triple
from mlaprobe.emulation.device.calls import call
from mlaprobe.emulation.device.expressions import compile_expression
from mlaprobe.emulation.device.kinds import (
    BOOL,
    DOUBLE,
    INT,
    ArrayOf,
    PointerTo,
    Scalar,
    Struct,
    Type,
)
from mlaprobe.emulation.device.machine import Launch, Machine
from mlaprobe.emulation.device.memory import Block
from mlaprobe.emulation.device.scopes import Argument, ClassTemplate, Functions, Scope, TypeName
from mlaprobe.emulation.device.signals import NotFollowed
from mlaprobe.emulation.device.source import SourceUnit
from mlaprobe.emulation.device.statements import compile_block
from mlaprobe.emulation.device.values import UNDEFINED, Address, Value, uniform
from mlaprobe.evaluator.cpp.preprocess import TranslationUnit

MOST_THREADS = 1024
MOST_STATEMENTS = 2_000_000
"""Statements, of all threads together, until a run is given up."""
Raw = int | float | Block | Mapping[str, Any] | None
"""An argument: a number, what a pointer points to, the members of an object, or nothing known."""


def run_kernel(
    launch: Launch,
    unit: SourceUnit,
    *,
    wave_size: int,
    blocks: Iterable[Block],
    budget: int = MOST_STATEMENTS,
) -> None:
    """Run a kernel.

    ``unit`` is the translation unit as the compiler sees it for the device.

    Raises:
        NotFollowed: something has no rule.
    """
    grid, block = (_sizes(v) for v in launch.config[:2])
    lds = uniform(launch.config[2], "the size of LDS") if len(launch.config) > 2 else 0
    if grid != (1, 1, 1):
        raise NotFollowed("a kernel of several workgroups")
    threads = block[0] * block[1] * block[2]
    if threads > MOST_THREADS or threads % wave_size:
        raise NotFollowed(f"a workgroup of {threads} threads")
    dynamic = Block("dynamic LDS", lds)
    machine = Machine(
        threads=threads,
        wave_size=wave_size,
        block=block,
        grid=grid,
        blocks=(*blocks, dynamic),
        budget=budget,
    )
    machine.dynamic = dynamic
    scope = Scope(unit, launch.kernel.definitions[0].namespace)
    definitions = unit.visible(launch.kernel.name, "", scope.namespace)
    arguments = tuple(_argument(machine, scope, a) for a in launch.kernel.arguments)
    kernel = Functions(launch.kernel.name, definitions, scope, None, arguments)
    values = tuple(Value(_type(machine, scope, v.type), v.data) for v in launch.arguments)
    call(machine, kernel, tuple(_again(machine, scope, v) for v in values))


def _sizes(value: Value) -> tuple[int, int, int]:
    if isinstance(value.data, dict):
        x, y, z = (uniform(value.data[n], "the size of a launch") for n in "xyz")
        return x, y, z
    return uniform(value, "the size of a launch"), 1, 1


def _argument(machine: Machine, scope: Scope, given: Argument) -> Argument:
    """A template argument of the host's unit in the device's."""
    if isinstance(given, TypeName):
        return TypeName(_type(machine, scope, given.type))
    if isinstance(given, ClassTemplate):
        return _template(scope, given.name, given.definitions[0].namespace)
    return given


def _template(scope: Scope, name: str, namespace: str) -> ClassTemplate:
    found = scope.unit.visible(name, namespace, "")
    if not found or {d.kind for d in found} != {"class"}:
        raise NotFollowed(f"{name} is not there on the device")
    return ClassTemplate(name, found, Scope(scope.unit, namespace))


def _type(machine: Machine, scope: Scope, kind: Type) -> Type:
    """A type of the host's unit in the device's."""
    if isinstance(kind, PointerTo):
        return PointerTo(_type(machine, scope, kind.target))
    if isinstance(kind, ArrayOf):
        return ArrayOf(_type(machine, scope, kind.element), kind.count)
    if isinstance(kind, Struct) and kind.template is not None:
        template = _template(scope, kind.name, kind.template.definitions[0].namespace)
        arguments = tuple(_argument(machine, scope, a) for a in kind.arguments)
        return machine.instance(template, arguments)
    return kind


def _again(machine: Machine, scope: Scope, value: Value) -> Value:
    """A value with the types of the device's unit inside it as well."""
    kind, data = value.type, value.data
    if isinstance(kind, Struct) and isinstance(data, dict):
        return Value(
            kind,
            {
                n: _again(machine, scope, Value(m.type, data[n].data))
                for n, m in kind.members.items()
                if n in data
            },
        )
    return value


def run_host(
    function: str,
    *,
    arguments: tuple[Raw, ...],
    template: tuple[int, ...],
    config: tuple[object, ...] | None = None,
    unit: SourceUnit,
    environment: Mapping[str, str],
) -> list[Launch]:
    """The kernels that a host function launches, in order; or, with ``config``, the launch of the
    function itself.

    Raises:
        NotFollowed: something has no rule.
    """
    launches: list[Launch] = []
    machine = Machine(environment=environment, launch=launches.append)
    scope = Scope(unit, "")
    definitions = unit.visible(function, "", "")
    if not definitions or {d.kind for d in definitions} != {"function"}:
        raise NotFollowed(f"{function} is not in the source")
    constants = tuple(Value(BOOL if isinstance(t, bool) else INT, t) for t in template)
    target = Functions(function, definitions, scope, None, constants)
    definition = chosen(target, len(arguments))
    kinds = parameter_types(machine, definition, template_scope(machine, target, definition, []))
    values = tuple(map(given, kinds, arguments))
    if config is not None:
        sizes = tuple(map(_configured, config[:3]))
        return [Launch(kernel=target, config=sizes, arguments=values)]
    call(machine, target, values)
    return launches


def _configured(size: object) -> Value:
    """One of the sizes of a launch."""
    if type(size) is int:
        return Value(INT, size)
    if isinstance(size, tuple) and len(size) == 3:
        return triple(*size)
    raise NotFollowed("the size of a launch")


def given(kind: Type, raw: Raw) -> Value:
    """What is handed to a function of the source; ``None`` has no value that is known."""
    if raw is None:
        return Value(kind, UNDEFINED)
    if isinstance(raw, Block) and isinstance(kind, PointerTo):
        return Value(kind, Address(raw))
    if isinstance(raw, Mapping) and isinstance(kind, Struct):
        own = (m for m in kind.members.values() if not m.overlaid)
        return Value(kind, {m.name: given(m.type, raw.get(m.name)) for m in own})
    if isinstance(kind, Scalar) and isinstance(raw, (int, float)):
        number = Value(INT if isinstance(raw, int) else DOUBLE, raw)
        return converted(number, kind, np.ones(1, np.bool_))
    raise NotFollowed(f"what is handed over as a {kind.name}")


def source_unit(unit: TranslationUnit) -> SourceUnit:
    """A translation unit whose functions can be run."""
    return SourceUnit(unit, compile_expression, compile_block)

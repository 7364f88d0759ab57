"""What the stages share: finding functions, calling them by role, judging the paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlaprobe.reading import ir
from mlaprobe.reading.machine import Outcome
from mlaprobe.reading.values import Closure, Unknown
from mlaprobe.shape import Evidence, Failure, StageOutcome, altered
from mlaprobe.stages.evidence import evidence
from mlaprobe.stages.world import World


class Absent(Exception):
    """The source does not have this stage; the text says what is missing."""


class Unreadable(Exception):
    """The source has this stage, and it cannot be read; the text says why."""

    def __init__(self, message: str, file: str) -> None:
        super().__init__(message)
        self.file = file


def find_cpp_function(world: World, stage: str) -> Closure:
    """The C++ function that a stage starts from.

    Raises:
        Absent: no file of this stage is in the source.
        Unreadable: a file is there, and defines no such function that can be read.
    """
    problem: Unreadable | None = None
    for path, name in world.names.places(stage):
        if world.text(path) is None:
            continue
        found = world.cpp(path).function(name)
        if found is not None:
            return found
        problem = problem or Unreadable(f"{path} defines no {name} that can be read", path)
    for _, name in world.names.places(stage):
        other = world.cpp_function(name)
        if other is not None:
            return other
    if problem is not None:
        raise problem
    path = world.names.places(stage)[0][0]
    raise Absent(f"there is no {path}")


def arguments(
    function: ir.Function, roles: Mapping[str, str], values: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Arguments by what each parameter means.

    A parameter of unknown meaning keeps its default, or is unknown.
    """
    result: list[Any] = []
    for param in function.params:
        if param.kind != "normal":
            continue
        role = roles.get(param.name)
        if role is not None and role in values:
            result.append(values[role])
        elif param.default is not None and isinstance(param.default, ir.Const):
            result.append(param.default.value)
        elif param.type is not None and param.type.kind == "other" and role is None:
            tensor = values.get("other")
            known = "tensor" in param.type.name.lower() and tensor is not None
            result.append(tensor if known else _mystery(param))
        else:
            result.append(_mystery(param))
    return tuple(result)


def _mystery(param: ir.Param) -> Unknown:
    return Unknown(f"the argument {param.name} is not known", param.span, foreign=True)


def how_failed(outcome: Outcome) -> Failure | None:
    """How a failed path ends."""
    if outcome.failure is None:
        return None
    return Failure.ABORT if outcome.failure.kind == "abort" else Failure.EXCEPTION


def why_unknown(outcomes: tuple[Outcome, ...]) -> tuple[str, ir.Span]:
    """The first reason why paths differ or could not be followed, and its place."""
    for outcome in outcomes:
        for unknown, _ in outcome.decisions:
            if unknown.free is None:
                return unknown.reason, unknown.span
    for outcome in outcomes:
        if outcome.kind == "unknown":
            return outcome.reason, outcome.span
    for outcome in outcomes:
        for unknown, _ in outcome.decisions:
            return unknown.reason, unknown.span
    return "the code could not be followed", ir.NOWHERE


def unknown(
    world: World, stage: str, outcomes: tuple[Outcome, ...], read: StageOutcome | None = None
) -> StageOutcome:
    """The outcome of a stage of which the paths do not say what it answers; ``read`` is what was
    read off them, if that says why."""
    reason, span = why_unknown(outcomes)
    told = read or StageOutcome(stage=stage, status="unknown")
    return altered(
        told,
        message=told.message or reason,
        evidence=told.evidence or place_evidence(world, stage, span),
    )


def place_evidence(world: World, stage: str, span: ir.Span) -> tuple[Evidence, ...]:
    """One place as evidence."""
    found = evidence(stage, span, world.text)
    return () if found is None else (found,)

"""Facts about the functions that callers use: their parameters, and those without effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from mlaprobe.core.axes import cell_of
from mlaprobe.core.shape import DecodeShape, Evidence
from mlaprobe.deciding.capability import Capability
from mlaprobe.evaluator import ir
from mlaprobe.findings.facts import Fact
from mlaprobe.findings.facts.decisions import shape_values
from mlaprobe.stages.base import place_evidence
from mlaprobe.stages.environment.session import SourceSession


def unused_arguments(
    capability: Capability, watched: Iterable[Mapping[str, str]]
) -> Iterator[Fact]:
    """Parameters of one stage that can only have an effect if another stage takes them as well.

    Args:
        watched: for each the ``role`` of the parameter, the ``stage`` that takes it and the stage
            that it ``needs``.
    """
    for entry in watched:
        stage, role, other = entry["stage"], entry["role"], entry["needs"]
        function = _function(capability, stage)
        if function is None or _function(capability, other) is None:
            continue
        roles = capability.session.names.roles(stage)
        names = [param.name for param in function.params if roles.get(param.name) == role]
        for name in names:
            place = place_evidence(capability.session, stage, function.span)
            yield Fact(
                about="argument",
                values={
                    "stage": stage,
                    "function": function.name,
                    "argument": name,
                    "needs": other,
                    "region": function.name,
                    "words": f"{name} has no effect, because the {other} takes no such argument",
                    "effect": _takes(capability, other, role),
                },
                proof=lambda place=place: place,  # type: ignore[misc]
                identity=f"{stage} {role}",
            )


def _function(capability: Capability, stage: str) -> ir.Function | None:
    return next((each.function for each in capability.stages if each.name == stage), None)


def _takes(capability: Capability, stage: str, role: str) -> bool:
    function = _function(capability, stage)
    roles = capability.session.names.roles(stage)
    return function is not None and any(roles.get(p.name) == role for p in function.params)


def ignored_flags(capability: Capability, shapes: Iterable[DecodeShape]) -> Iterator[Fact]:
    """Shapes whose call reaches an entry point other than the assembly one, and whether that
    receives the mask."""
    dispatcher = capability.dispatcher
    if dispatcher is None:
        return
    for shape in shapes:
        with_mask = dispatcher.decide(replace(shape, causal=True))
        if with_mask.entry is None or with_mask.missing or with_mask.outcome.entry == "asm":
            continue
        without = dispatcher.decide(replace(shape, causal=False))
        same = with_mask.passed == without.passed
        yield Fact(
            about="flag",
            values={
                **shape_values(shape),
                "flag": "causal",
                "entry": with_mask.entry,
                "words": f"causal has no effect: {with_mask.entry} is not told of it",
                "effect": not (same and with_mask.entry == without.entry),
            },
            cell=cell_of(shape),
            proof=lambda outcome=with_mask.outcome: tuple(outcome.evidence),  # type: ignore[misc]
        )


def parameter_lists(
    session: SourceSession, functions: Iterable[tuple[str, str]]
) -> dict[str, tuple[str, tuple[Evidence, ...]]]:
    """The parameter lists of functions that callers use, by name, with their places. A function is
    given by its module and its name."""
    found: dict[str, tuple[str, tuple[Evidence, ...]]] = {}
    for module, name in functions:
        function = session.python.function(module, name)
        if function is not None:
            text = ", ".join(map(_parameter, function.params))
            found[name] = (text, place_evidence(session, "caller", function.span))
    return found


def _parameter(param: ir.Param) -> str:
    stars = param.kind if param.kind.startswith("*") else ""
    if param.default is None:
        return f"{stars}{param.name}"
    if isinstance(param.default, ir.Const):
        return f"{stars}{param.name}={param.default.value!r}"
    return f"{param.name}=..."

"""What the planner hands to its device code: the parameters that the work metadata is made by.

Two calls that are taken alike may still lead to other metadata (another limit of splits, no round
robin). That shows in the parameters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from mlaprobe.core.shape import Evidence, StageOutcome
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Outcome
from mlaprobe.evaluator.values import Unknown
from mlaprobe.stages.base import Stage
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.evidence import Proof, Trace
from mlaprobe.stages.instantiate import Solved
from mlaprobe.stages.numbers import is_whole
from mlaprobe.stages.parameterize import Unknowns
from mlaprobe.stages.planner import STAGE, Planner, PlannerQuestion

_PLAIN = (bool, float, str, type(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """The parameters of the planner's device code."""

    paths: tuple[tuple[tuple[str, Any], ...], ...] = ()
    """For each path of the planner what is launched and its parameters by name: numbers, and
    formulas of what is not known. Nothing where that could not be followed."""
    places: tuple[tuple[str, Sequence[Evidence]], ...] = ()
    """Where each of them comes from."""

    def differing(self, other: Handed) -> tuple[str, ...] | None:
        """The names of parameters that another call has otherwise; ``None``: not known."""
        if not self.paths or not other.paths:
            return None
        if len(self.paths) != len(other.paths):
            return (LAUNCHED,)
        found: dict[str, None] = {}
        for one, two in zip(map(dict, self.paths), map(dict, other.paths), strict=True):
            names = (n for n in (*one, *two) if one.get(n, _NONE) != two.get(n, _NONE))
            found.update(dict.fromkeys(names))
        return (LAUNCHED,) if LAUNCHED in found else tuple(found)


_NONE = object()
LAUNCHED = ""
"""Stands for the device code itself among the names of its parameters."""


class Metadata(Stage[PlannerQuestion, Handed]):
    """The parameters of the device code of one source's planner."""

    name = STAGE

    def __init__(self, planner: Planner) -> None:
        super().__init__(planner.session)
        self._planner = planner

    def _solve(self, question: PlannerQuestion) -> Solved[Handed]:
        if self._planner.problem is not None:
            return Solved(Handed())
        return self._planner.solved(question, "handed", self._read)

    def _of(self, outcome: StageOutcome) -> Handed:
        return Handed()

    def _read(self, outcomes: tuple[Outcome, ...], inputs: object) -> Handed:
        paths = tuple(map(self._path, outcomes))
        if any(path is None for path in paths):
            return Handed()
        names = dict.fromkeys(name for path in paths if path is not None for name, _ in path)
        return Handed(
            paths=tuple(path for path in paths if path is not None),
            places=tuple(
                (name, Proof(STAGE, self.session.text, self._places, name)) for name in names
            ),
        )

    def _path(self, outcome: Outcome) -> tuple[tuple[str, Any], ...] | None:
        found = self._planner.parameters(outcome)
        if outcome.kind != "returned" or found is None:
            return None
        event, params = found
        unknowns = Unknowns(reasons=False)
        plain = ((name, _plain(value, unknowns)) for name, value in params.fields.items())
        return ((LAUNCHED, event.name), *plain)

    def _places(self, trace: Trace, outcome: Outcome, name: str) -> tuple[ir.Span, ...]:
        """Where a variable of a parameter's name gets its value, and where it is handed on."""
        declared = trace.declared.get(name)
        found = self._planner.parameters(outcome)
        spans = [declared.span] if declared is not None else []
        return (*spans, *([found[0].span] if found is not None else ()))


def _plain(value: Any, unknowns: Unknowns) -> Hashable | Any:
    """A number, or a symbol for it; what stands for anything else."""
    if is_whole(value) or isinstance(value, _PLAIN):
        return value
    if isinstance(value, Unknown):
        return unknowns.placed(value.key)
    return value.name if isinstance(value, Tensor) else type(value).__name__

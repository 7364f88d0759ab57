"""A Python function of the source that a stage starts from, called by what its parameters mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlaprobe.reading import ir
from mlaprobe.reading.machine import Abandon, Failed, Run
from mlaprobe.reading.values import Closure, Unknown
from mlaprobe.shape import StageOutcome
from mlaprobe.stages.base import Absent, place_evidence
from mlaprobe.stages.world import World


class PythonFunction:
    """The first function of a stage's places that exists in the source."""

    def __init__(self, world: World, stage: str) -> None:
        """Raises ``Absent`` where no file of this stage is in the source."""
        self.world = world
        self.stage = stage
        self.problem: str | None = None
        self._roles = world.names.roles(stage)
        self.file = ""
        for dotted, name in world.names.places(stage):
            module = world.python.module(dotted)
            if module is None:
                continue
            self.module, self.name, self.file = module, name, module.path
            try:
                self.function = world.python.function(dotted, name)
            except RecursionError:
                self.function = None
                self.problem = f"{self.file} is nested too deeply to be read from here"
                return
            if self.function is not None:
                return
        if not self.file:
            dotted = world.names.places(stage)[0][0]
            raise Absent(f"there is no {dotted.replace('.', '/')}.py")
        if world.python.module(self.module.dotted) is not None and self._certainly_missing():
            raise Absent(f"{self.file} defines no {self.name}")
        self.problem = f"{self.file} defines no {self.name} that can be read"

    def _certainly_missing(self) -> bool:
        """Whether the file is Python and does not mention the name at all."""
        text = self.world.text(self.file) or ""
        return bool(text.strip()) and self.name not in text

    def unreadable(self) -> StageOutcome:
        """The outcome where the function is there and cannot be read."""
        return StageOutcome(
            stage=self.stage,
            status="unknown",
            message=self.problem,
            evidence=place_evidence(self.world, self.stage, ir.Span(self.file, 1, 1, 1, 2)),
        )

    @property
    def parameters(self) -> tuple[str, ...]:
        """What the parameters mean, as far as that is known."""
        if self.function is None:
            return ()
        return tuple(self._roles.get(p.name, "") for p in self.function.params)

    def call(self, run: Run, values: Mapping[str, Any]) -> Any:
        """Call the function with arguments by role; what it does not take is left out.

        A parameter without a default whose meaning is not known is unknown.
        """
        if self.function is None:
            raise Abandon(self.problem or "no function", ir.NOWHERE)
        named: dict[str, Any] = {}
        for param in self.function.params:
            role = self._roles.get(param.name)
            if param.kind not in ("normal", "keyword"):
                continue
            if role is not None and role in values:
                named[param.name] = values[role]
            elif param.default is None:
                named[param.name] = Unknown(
                    f"the argument {param.name} is not known", param.span, foreign=True
                )
        value = self.module.lookup(run, self.name, self.function.span)
        if not isinstance(value, Closure):
            reason = value.reason if isinstance(value, Unknown) else f"{self.name} is no function"
            raise Failed("unknown", "unknown", reason, self.function.span)
        return run.machine.call(run, value, (), named, self.function.span)

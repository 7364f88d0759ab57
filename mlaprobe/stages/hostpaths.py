"""What a path of a host function comes to: whether it fails, and whether a kernel is picked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mlaprobe.core.shape import StageOutcome
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Outcome
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.stages.base import undecided
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.sizing import Read, accepted


def launched(session: SourceSession, stage: str) -> Read:
    """Reads off the paths of a function that launches a kernel of its own whether it does, or
    refuses."""
    read = accepted(session, stage)

    def found(outcomes: tuple[Outcome, ...], inputs: Mapping[str, Any]) -> StageOutcome:
        outcomes = tuple(map(handed_on, outcomes))
        for outcome in outcomes:
            launches = any(event.kind == "launch" for event in outcome.events)
            if outcome.kind == "returned" and not launches:
                return undecided(stage, "no kernel is launched")
        return read(outcomes, inputs)

    return found


def kernel_pointer(types: tuple[str, ...]) -> Callable[[ir.Node], tuple[str, ir.Node] | None]:
    """Recognises the check that a kernel has been picked, in releases without a table: it tests
    a lone pointer, and reports a failure otherwise. The pointer's declaration is not at hand
    where the branch is compiled, so what is observed is whether the pointer is null."""

    def watch(node: ir.Node) -> tuple[str, ir.Node] | None:
        if not isinstance(node, ir.If) or node.orelse or not _fails(node.then):
            return None
        test = node.test
        while isinstance(test, ir.Unary) and test.op == "not":
            test = test.value
        if isinstance(test, ir.Binary) and test.op in ("!=", "=="):
            sides = (test.left, test.right)
            if any(isinstance(s, ir.Const) and s.value is None for s in sides):
                name = next((s for s in sides if isinstance(s, ir.Name)), None)
                if name is not None:
                    return ("pointer", name)
        return None

    return watch


def _fails(body: tuple[ir.Node, ...]) -> bool:
    """Whether a branch does nothing but report a failure."""
    return (
        len(body) == 1 and isinstance(body[0], ir.ExprStmt) and isinstance(body[0].value, ir.Call)
    )


def handed_on(outcome: Outcome) -> Outcome:
    """An entry point that catches what fails inside and returns an error code, which its caller
    turns into an exception, has failed."""
    caught = [seen for kind, seen in outcome.observations if kind == "caught"]
    code = outcome.value
    if outcome.kind != "returned" or not caught or type(code) is not int or code == 0:
        return outcome
    return replace(outcome, kind="failed", failure=Failed(*caught[-1]))

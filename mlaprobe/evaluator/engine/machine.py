"""The abstract machine: runs the intermediate form for one question, with three-valued logic.

A question is answered by *exploring*: the function is run from its start, and wherever a branch
depends on an unknown, the run takes one side and is repeated for the other. Every run is one
consistent path, so nothing has to be merged, and what all paths agree on holds whatever the
unknown is. The number of paths, the steps of a path and the depth of calls are bounded; a run
that exceeds a bound is abandoned, which makes the answer unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlaprobe.evaluator.closures.compiler import Compiler
from mlaprobe.evaluator.engine.frames import OUTER, RUN
from mlaprobe.evaluator.engine.runs import Outcome, Run
from mlaprobe.evaluator.engine.signals import Failed, Restart, Unsupported
from mlaprobe.evaluator.ir import Node, Span
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.modules import Module

MAX_PATHS = 64
MAX_STEPS_OF_PATHS = 2_000
"""Rounds of loops in all paths together, after which no other path is begun."""


class Machine:
    """Compiles functions once and runs them for many questions."""

    def __init__(self) -> None:
        self.watch: Callable[[Node], tuple[str, Node] | None] = lambda branch: None
        """For a branch that is compiled: an expression to observe whenever it is reached, and the
        name to observe it under."""
        self.acting: set[Node] = set()
        """Operands of ``and`` and ``or`` that do more than give a value."""
        self.compiler = Compiler(self)

    def call(self, run: Run, value: Value, args: Args, kwargs: Kwargs, span: Span) -> Value:
        """Call a value of the program within the current path."""
        return self.compiler.call(run, value, args, kwargs, span)

    def evaluate(self, run: Run, node: Node, module: Module) -> Value:
        """The value of an expression in a module's scope."""
        return self.compiler.expression(node, module)({OUTER: None, RUN: run})

    def explore(
        self,
        start: Callable[[Run], Value],
        make_run: Callable[[tuple[int, ...]], Run],
        *,
        limit: int = MAX_PATHS,
        enough: Callable[[Outcome], bool] = lambda outcome: False,
    ) -> tuple[Outcome, ...]:
        """Every path of ``start``, at most ``limit`` and few where they go round loops often; one
        more, unknown, where there are more. After a path that is ``enough`` no other is taken."""
        outcomes: list[Outcome] = []
        steps = 0
        script: tuple[int, ...] = ()
        while True:
            run, outcome = self._attempt(start, make_run, script)
            outcomes.append(outcome)
            steps += run.steps
            if enough(outcomes[-1]):
                return tuple(outcomes)
            taken = [list(t[:2]) for t in run.taken]
            while taken and taken[-1][0] + 1 >= taken[-1][1]:
                taken.pop()
            if not taken:
                return tuple(outcomes)
            if len(outcomes) >= limit or steps > MAX_STEPS_OF_PATHS:
                reason = run.taken[0][2]
                outcomes.append(
                    Outcome(
                        "unknown",
                        reason=f"too many paths: {reason.reason}",
                        span=reason.span,
                        decisions=((Unknown("too many paths"), 0),),
                    )
                )
                return tuple(outcomes)
            taken[-1][0] += 1
            script = tuple(t[0] for t in taken)

    def _attempt(
        self,
        start: Callable[[Run], Value],
        make_run: Callable[[tuple[int, ...]], Run],
        script: tuple[int, ...],
    ) -> tuple[Run, Outcome]:
        """One path, started again whenever the code turns out to act where it was taken not to."""
        while True:
            run = make_run(script)
            try:
                return run, self._path(start, run)
            except Restart:
                continue

    def _path(self, start: Callable[[Run], Value], run: Run) -> Outcome:
        """One path to its end. What the evaluator itself raises is no answer, and goes through
        everything that would remember one."""
        try:
            outcome = Outcome("returned", value=start(run))
        except Failed as failure:
            # What was being handled when it was raised would keep that code's frames.
            failure.__traceback__ = failure.__context__ = failure.__cause__ = None
            if failure.kind == "unknown":
                outcome = Outcome("unknown", reason=failure.message, span=failure.span)
            else:
                outcome = Outcome("failed", failure=failure, span=failure.span)
        except Unsupported as stop:
            outcome = Outcome("unknown", reason=stop.reason, span=stop.span)
        outcome.events = tuple(run.events)
        outcome.observations = tuple(run.observations)
        outcome.frame = {slot: v for slot, v in run.frame.items() if slot != RUN}
        outcome.decisions = tuple((u, c) for c, _, u in run.taken)
        outcome.decided = run.decisions
        if run.trace is not None:
            outcome.trace = tuple(run.trace)
        return outcome

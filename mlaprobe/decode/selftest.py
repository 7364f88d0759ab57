"""Runs a list of shapes and keeps everything that tells whether decoding works here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from mlaprobe.core.enums import TextEnum
from mlaprobe.core.protocols import Decider
from mlaprobe.core.shape import DecodeShape, Route
from mlaprobe.decode.backends import registry as backends
from mlaprobe.decode.backends.aiter_calls import Functions, InstalledFunctions
from mlaprobe.decode.backends.aiter_gate import RefusedError
from mlaprobe.decode.environment import Environment, environment_of
from mlaprobe.decode.interface import Backend, DecodeError
from mlaprobe.decode.problem import Problem
from mlaprobe.decode.rules import SelfTest, rules
from mlaprobe.decode.running import Run, Session
from mlaprobe.decode.support import Agreement, agreement
from mlaprobe.errors import MlaprobeError
from mlaprobe.padding.api import plan as make_plan
from mlaprobe.padding.plan import PadPlan


class Outcome(TextEnum):
    """What became of a shape."""

    WAITING = "waiting"
    """It has not been run yet."""
    RUNNING = "running"
    """It was begun. Where nothing comes after, it ended the process."""
    PASSED = "passed"
    FAILED = "failed"
    """The result is wrong, or the back end failed."""
    REFUSED = "refused"
    """It was not launched: the source does not call it safe, or no back end takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One shape."""

    test: SelfTest
    outcome: Outcome = Outcome.WAITING
    plan: PadPlan | None = None
    run: Run | None = None
    message: str | None = None
    """Why it was refused, or failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All of it."""

    environment: Environment
    arch: str
    """Of the plans."""
    results: tuple[Result, ...]
    agreement: Agreement | None = None
    """With AITER's own query; ``None`` where the installed AITER has none, or none is installed."""
    agreement_problem: str | None = None
    """The reason where the query gave no answer."""

    @property
    def passed(self) -> bool:
        """Whether nothing that was run is wrong, and nothing is left to run."""
        return all(r.outcome in (Outcome.PASSED, Outcome.REFUSED) for r in self.results)

    def count(self, outcome: Outcome) -> int:
        """How many shapes ended so."""
        return sum(result.outcome is outcome for result in self.results)


Keep = Callable[[Report], None]


def selftest(
    capability: Decider,
    *,
    arch: str,
    device: str,
    backend: str | Backend = backends.AUTO,
    force: bool = False,
    functions: Functions | None = None,
    keep: Keep = lambda report: None,
) -> Report:
    """Runs every shape of ``rules/decode.yaml``.

    Args:
        capability: what plans are made by.
        functions: AITER's, to ask its own query; by default those of the installed one.
        keep: called with what is known, before each shape and at the end: a shape that ends the
            process is then on record as the one that was running.
    """
    report = Report(
        environment=environment_of(device),
        arch=arch,
        results=tuple(Result(test=test) for test in rules().selftest),
    )
    results = list(report.results)
    for at, result in enumerate(report.results):
        results[at] = replace(result, outcome=Outcome.RUNNING)
        keep(replace(report, results=tuple(results)))
        results[at] = _run(capability, result.test, arch, device, backend, force)
    report = replace(report, results=tuple(results))
    report = _asked(report, capability, functions or InstalledFunctions(), device)
    keep(report)
    return report


def _run(
    capability: Decider,
    test: SelfTest,
    arch: str,
    device: str,
    backend: str | Backend,
    force: bool,
) -> Result:
    problem = problem_of(test, arch, test.kv_lens, device)
    plan = plan_of(capability, test, problem)
    result = Result(test=test, plan=plan)
    try:
        session = Session(problem, backend=backend, force=force)
        # A stand-in on a CPU carries out the plan; how long it takes says nothing.
        (run,) = session.run(plan, timed=device != "cpu", budget_s=0.2)
    except (RefusedError, backends.UnfitError) as error:
        return replace(result, outcome=Outcome.REFUSED, message=error.message)
    except MlaprobeError as error:
        return replace(result, outcome=Outcome.FAILED, message=error.message)
    outcome = Outcome.PASSED if run.passed else Outcome.FAILED
    message = "; ".join(run.error.complaints) or None
    return replace(result, outcome=outcome, run=run, message=message)


def problem_of(test: SelfTest, arch: str, kv_lens: tuple[int, ...], device: str = "cpu") -> Problem:
    """The decode that a shape of the self-test is, with some KV lengths."""
    shared = ("q_dtype", "kv_dtype", "qlen", "page_size", "lse", "persistent")
    fields = {name: getattr(test, name) for name in shared}
    return Problem(arch=arch, num_heads=test.heads, kv_lens=kv_lens, device=device, **fields)


def plan_of(capability: Decider, test: SelfTest, problem: Problem) -> PadPlan:
    """The plan for a shape of the self-test."""
    return make_plan(capability=capability, mode=test.mode, route=test.route, **problem.question)


def _asked(report: Report, capability: Decider, functions: Functions, device: str) -> Report:
    """With what AITER's own query says of the same shapes."""
    here = report.environment
    # Without ROCm, importing AITER fails or starts compiling.
    if isinstance(functions, InstalledFunctions) and None in (here.aiter, here.rocm):
        return report
    try:
        found = agreement(functions, capability, _shapes(report))
    except DecodeError as error:
        return replace(report, agreement_problem=error.message)
    return replace(report, agreement=found)


def _shapes(report: Report) -> Iterable[DecodeShape]:
    """The shapes as launched, each once."""
    return dict.fromkeys(
        decision.shape
        for result in report.results
        if result.plan is not None and result.plan.route is Route.ASM
        for decision in result.plan.decisions
    )
